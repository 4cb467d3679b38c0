"""Positions in Kafka from other programs: read from their texts, and made a source's state from nothing.

| from                             | form                                                              |
|----------------------------------|-------------------------------------------------------------------|
| Spark's ``offsets/N``            | ``{"orders": {"0": 23, "1": 7}}``                                 |
| ``kafka-consumer-groups``        | lines of a table under ``TOPIC``, ``PARTITION``, ``CURRENT-OFFSET`` |
| a CSV file                       | columns ``topic``, ``partition``, ``offset``, as ``kafka`` takes  |

All of them are the offset of the next record, as in Flink's splits. Spark's ``startingOffsets`` has -2 for
the earliest and -1 for the latest record. A group that has committed nothing in a partition shows ``-``.

Readers get their splits, and the coordinator's state calls these assigned: without it each partition
would be assigned and read once more. Partitions that it does not know count as new.

Spark: ``KafkaSourceOffset``, ``JsonUtils``. Kafka: ``ConsumerGroupCommand.printOffsets``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_extensions.connectors.connector_rows import READER_STATE
from savepoint_extensions.connectors.kafka.kafka_source import (
    AssignmentStatus,
    CoordinatorState,
    KafkaEnumerator,
    KafkaPartition,
    KafkaSplit,
)
from savepoint_extensions.connectors.renewal.renewed_operator import byte_list_handle
from savepoint_formats.errors import RefusedError
from savepoint_formats.metadata import InlineStream, OperatorState, SubtaskState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from savepoint_extensions.connectors.kafka_state import KafkaOffset
    from savepoint_spark.writing import WriteContext

    Positions = str | Mapping[str, Any] | Iterable[Mapping[str, Any]]

_COORDINATOR_VERSION = 1
_VERSIONS = (1, 2, 3)
_SPARK_STARTS = {"earliest": -2, "latest": -1}
_WORDS = {number: name for name, number in _SPARK_STARTS.items()}
_GROUP_COLUMNS = ("TOPIC", "PARTITION", "CURRENT-OFFSET")


@dataclass(frozen=True, slots=True)
class KafkaSourceState:
    """The state of a ``KafkaSource`` that goes on at positions; a transformation of ``with_operator``.

    Attributes:
        splits: A split per partition.
        version: The version of the enumerator's state.
    """

    splits: tuple[KafkaSplit, ...]
    version: int

    @classmethod
    def of(cls, positions: Positions, version: int) -> KafkaSourceState:
        """See ``SavepointWriter.with_kafka_source``."""
        if version not in _VERSIONS:
            raise ValueError(f"version={version}, expected one of {', '.join(map(str, _VERSIONS))}")
        splits: dict[tuple[str, int], KafkaSplit] = {}
        for row in rows_of(positions):
            topic, partition = str(row["topic"]), _partition(row)
            if (topic, partition) in splits:
                raise ValueError(f"partition {topic}-{partition} has two offsets")
            split = KafkaSplit(topic, partition, 0)
            splits[topic, partition] = split.at(row["offset"], row.get("stopping_offset"))
        if not splits:
            raise ValueError("there is no offset of any partition")
        return cls(tuple(splits[place] for place in sorted(splits)), version)

    def write(self, context: WriteContext) -> OperatorState:
        """The record of the source; its state is in ``_metadata`` itself."""
        elements: dict[int, list[bytes]] = defaultdict(list)
        for number, split in enumerate(self.splits):
            elements[number % context.parallelism].append(split.to_bytes())
        subtasks = [
            SubtaskState(
                subtask,
                managed_operator_state=byte_list_handle(
                    {READER_STATE: lists}, f"kafka-{context.operator_id}-{subtask}"
                ),
            )
            for subtask, lists in sorted(elements.items())
        ]
        known = [
            KafkaPartition(split.topic, split.partition, AssignmentStatus.ASSIGNED)
            for split in self.splits
        ]
        enumerator = KafkaEnumerator(self.version, tuple(known), is_discovered=True)
        state = CoordinatorState(_COORDINATOR_VERSION, enumerator.to_versioned()).to_bytes()
        return OperatorState(
            context.operator_id,
            context.parallelism,
            context.max_parallelism,
            tuple(subtasks),
            InlineStream(f"kafka-coordinator-{context.operator_id}", state),
        )


def rows_of(positions: Positions) -> list[dict[str, Any]]:
    """Rows of ``topic``, ``partition`` and ``offset`` from any form of positions.

    Raises:
        ValueError: It is none of the forms, or a partition has no offset.
    """
    if isinstance(positions, str):
        text = positions.strip()
        return list(_of_spark(_json(text)) if text.startswith("{") else _of_group(text))
    if hasattr(positions, "keys"):
        return list(_of_spark(positions))
    rows = [dict(row) for row in positions]
    for row in rows:
        missing = [name for name in ("topic", "partition", "offset") if row.get(name) in (None, "")]
        if missing:
            raise ValueError(f"{row} has no {missing[0]}")
    return rows


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{text[:80]!r} is no JSON of offsets: {error}") from error


def _of_spark(topics: Any) -> Iterator[dict[str, Any]]:
    for topic, partitions in topics.items():
        if not isinstance(partitions, dict) or any(map(_is_nested, partitions.values())):
            raise ValueError(
                f"{topic!r} has {partitions!r}, expected partitions and offsets, such as"
                ' {"0": 23}: of several sources, name one, such as checkpoint.offsets["0"]'
            )
        for partition, offset in partitions.items():
            yield {
                "topic": topic,
                "partition": partition,
                "offset": _WORDS.get(offset, offset),
            }


def _is_nested(offset: Any) -> bool:
    return isinstance(offset, dict | list)


def _of_group(text: str) -> Iterator[dict[str, Any]]:
    """The rows of a table that ``kafka-consumer-groups --describe`` prints."""
    places: dict[str, int] | None = None
    for line in text.splitlines():
        words = line.split()
        if set(_GROUP_COLUMNS) <= set(words):
            places = {name: words.index(name) for name in _GROUP_COLUMNS}
            continue
        if places is None or not words:
            continue
        topic, partition, offset = (
            words[places[name]] if places[name] < len(words) else "" for name in _GROUP_COLUMNS
        )
        if not partition.isdecimal():
            raise ValueError(f"{line.strip()!r}, expected a row of {', '.join(_GROUP_COLUMNS)}")
        if offset == "-":
            raise ValueError(
                f"partition {topic}-{partition} has no committed offset: put a number, earliest or"
                " latest in place of -"
            )
        yield {"topic": topic, "partition": partition, "offset": offset}
    if places is None:
        raise ValueError(
            f"{text[:60]!r} is no table of kafka-consumer-groups --describe: it has no heading with"
            f" {', '.join(_GROUP_COLUMNS)}"
        )


def _partition(row: Mapping[str, Any]) -> int:
    text = str(row["partition"]).strip()
    if not text.isdecimal() or int(text) >= 1 << 31:
        raise ValueError(f"partition {text} of {row['topic']}, expected 0 or more")
    return int(text)


def starting_offsets(offsets: Sequence[KafkaOffset], operator: str | None) -> str:
    """See ``KafkaState.starting_offsets_json``."""
    sources = sorted({it.operator for it in offsets})
    if operator is None and len(sources) > 1:
        raise ValueError(f"there are several sources, name one: {', '.join(sources)}")
    topics: dict[str, dict[str, int]] = defaultdict(dict)
    for it in offsets:
        if operator is not None and it.operator != operator:
            continue
        place = f"{it.topic}-{it.partition}"
        if it.offset is None and it.start not in _SPARK_STARTS:
            raise RefusedError(
                f"partition {place} begins where its consumer group has {it.start}, which Spark has no"
                " number for: set the offset by savepoint kafka --set-offsets"
            )
        if it.stopping_offset is not None:
            raise RefusedError(
                f"partition {place} ends at offset {it.stopping_offset}, which startingOffsets can't"
                " say: give Spark's endingOffsets too, and set the offset without an end first"
            )
        offset = _SPARK_STARTS[it.start] if it.offset is None else it.offset
        other = topics[it.topic].setdefault(str(it.partition), offset)
        if other != offset:
            raise RefusedError(f"partition {place} has the offsets {other} and {offset}")
    if not topics:
        raise RefusedError(
            f"{operator or 'the savepoint'} has no offset of Kafka; sources that have:"
            f" {', '.join(sources) or 'none'}"
        )
    ordered = {
        topic: dict(sorted(topics[topic].items(), key=lambda pair: int(pair[0])))
        for topic in sorted(topics)
    }
    return json.dumps(ordered)
