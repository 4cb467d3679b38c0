"""State of sources as a table: where each of them continues.

A source has splits in its readers; the enumerator in its coordinator knows the other splits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_database.types import record_table
from savepoint_extensions.connectors.byte_elements import ByteElement, byte_elements
from savepoint_extensions.connectors.connector_rows import READER_STATE, SourceConnector, SplitFacts
from savepoint_extensions.connectors.kafka.kafka_source import CoordinatorState
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.old_consumers import CONSUMERS, Consumer
from savepoint_extensions.connectors.source_splits.split_connectors import (
    UNKNOWN,
    connector_of,
    read_enumerator,
)
from savepoint_formats.errors import FormatError, RefusedError
from savepoint_formats.printable import html_records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_database.snapshot import Operator, Snapshot


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A split, a table of a source, or the state of an enumerator.

    Attributes:
        number: Number of the row in the savepoint, from 0.
        operator: The source, by its uid or hash.
        connector: ``kafka``, ``mysql-cdc``, ``postgres-cdc``, ``oracle-cdc``, ``sqlserver-cdc``,
            ``mongodb-cdc``, ``cdc`` if no position tells which, ``file``, ``kinesis``,
            ``pulsar``, ``rabbitmq``, ``numbers``, ``hybrid`` or ``unknown``.
        subtask: Subtask whose reader has the split; None for the coordinator.
        split: Id of the split.
        kind: ``partition``, ``shard``, ``file``, ``range``, ``snapshot``, ``stream``, ``table``,
            ``enumerator``, ``messages``, ``monitor`` or ``unknown``.
        position: Where the reader continues, as JSON; empty where there is no position.
        table: Table or topic; empty where there is none, or many.
        state: ``reading``, ``finished``, ``suspended``, ``waiting``, ``assigned``, … .
        content: Other facts as ``name=value``; for an unknown connector, why there are none.
        version: Version of the connector's bytes; None for rows that detail another row, and
            for bytes without a version.
        bytes: The connector's bytes in hexadecimal digits; empty for rows that detail another.
    """

    number: int
    operator: str
    connector: str
    subtask: int | None
    split: str
    kind: str
    position: str
    table: str
    state: str
    content: str
    version: int | None
    bytes: str


UNVERSIONED = -1
"""Version of bytes that have none."""
_SHOWN = SourceEntry.__match_args__[:-2]


@dataclass(frozen=True, slots=True)
class SourceState:
    """State of all sources of a savepoint.

    Attributes:
        path: The savepoint.
        entries: Splits of readers, and what coordinators know, source by source.
    """

    path: str
    entries: tuple[SourceEntry, ...]

    def _repr_html_(self) -> str:
        """The entries as a table of a notebook."""
        return html_records(f"Sources of {self.path}", self.entries, _SHOWN)

    @classmethod
    def of(cls, snapshot: Snapshot) -> SourceState:
        """Reads the state of all sources.

        Raises:
            SavepointError: A file of a source is gone or damaged.
        """
        entries: list[SourceEntry] = []
        for operator in snapshot.operators():
            for place, facts, raw in _facts(operator):
                entries.append(_entry(len(entries), operator.name, place, facts, raw))
        return cls(snapshot.path, tuple(entries))

    def to_arrow(self) -> pa.Table:
        """A row per entry; ``bytes`` is binary."""
        table = record_table(SourceEntry, self.entries)
        data = pa.array([bytes.fromhex(entry.bytes) for entry in self.entries], pa.binary())
        return table.set_column(table.column_names.index("bytes"), "bytes", data)


def _entry(
    number: int, operator: str, subtask: int | None, facts: SplitFacts, raw: Versioned | None
) -> SourceEntry:
    return SourceEntry(
        number,
        operator,
        facts.connector,
        subtask,
        facts.split,
        facts.kind,
        facts.position,
        facts.table,
        facts.state,
        ", ".join(f"{name}={value}" for name, value in facts.facts.items()),
        None if raw is None or raw.version == UNVERSIONED else raw.version,
        "" if raw is None else raw.data.hex(),
    )


def _facts(operator: Operator) -> Iterator[tuple[int | None, SplitFacts, Versioned | None]]:
    reader = None
    for split in reader_splits(operator):
        reader = reader or split.connector
        yield split.element.subtask, split.facts, split.raw
    coordinator = CoordinatorState.of_source(operator.record)
    if coordinator is None:
        return
    raw = coordinator.enumerator
    connector, known = read_enumerator(raw, "enumerator", reader)
    if connector is None:
        reason = f"version {raw.version}, of an unknown enumerator"
        known = [SplitFacts(UNKNOWN, "", "enumerator", state="", facts={"reason": reason})]
    for number, item in enumerate(known):
        yield None, item, None if number else raw


@dataclass(frozen=True, slots=True)
class ReaderSplit:
    """A split in an element of a reader's state.

    ``connector`` is None for an unknown one. A consumer of the old API has no ``raw``, because its
    elements have no versions.
    """

    element: ByteElement
    facts: SplitFacts
    connector: SourceConnector | None = None
    raw: Versioned | None = None
    consumer: Consumer | None = None

    def at(self, position: Any) -> bytes:
        """The element at another position; raises what ``SourceConnector.move`` raises."""
        if self.consumer is not None:
            if self.consumer.move is None:
                raise RefusedError(f"positions of {self.consumer.name} can't be set")
            return self.consumer.move(self.element.data, self.facts, position)
        assert self.raw is not None
        assert self.connector is not None  # unknown connectors have no positions
        if self.connector.move is None:
            raise RefusedError(f"positions of {self.connector.name} can't be set")
        return self.connector.move(self.raw, position, self.element.state).to_bytes()


def reader_splits(operator: Operator) -> Iterator[ReaderSplit]:
    """The splits of a source's readers, in the order of their elements."""
    for consumer in CONSUMERS:
        splits = consumer.splits(operator)
        elements = byte_elements(operator, [consumer.state] if splits else [], is_sized=False)
        for element, facts in zip(elements, splits, strict=True):
            yield ReaderSplit(element, facts, consumer=consumer)
    for element in byte_elements(operator, [READER_STATE]):
        try:
            raw = Versioned.whole(element.data, element.state)
        except FormatError as error:
            facts = SplitFacts(UNKNOWN, "", UNKNOWN, state="", facts={"reason": error.message})
            yield ReaderSplit(element, facts, None, Versioned(UNVERSIONED, element.data))
        else:
            connector, facts = connector_of(raw, element.state)
            yield ReaderSplit(element, facts, connector, raw)
