"""Consumers of Flink's old source API, whose positions are a union list of ordinary values.

A row of ``CONSUMERS`` adds a consumer. Its state's name tells which one it is.

Kinesis' connector: ``FlinkKinesisConsumer``, ``SentinelSequenceNumber``.

| sequence number             | meaning                                                     |
|-----------------------------|-------------------------------------------------------------|
| LATEST_SEQUENCE_NUM         | the reader begins after the latest record                   |
| EARLIEST_SEQUENCE_NUM       | the reader begins with the oldest record, ``TRIM_HORIZON``  |
| AT_TIMESTAMP_SEQUENCE_NUM   | the reader begins at the time that the job is configured to |
| SHARD_ENDING_SEQUENCE_NUM   | the shard was read to its end                               |
| other                       | number of the last record that was read                     |
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_extensions.connectors.byte_elements import element_values
from savepoint_extensions.connectors.connector_rows import SplitFacts
from savepoint_extensions.connectors.kafka.kafka_source import (
    KafkaSplit,
    stored_number,
)
from savepoint_extensions.connectors.kafka_state import consumed
from savepoint_extensions.connectors.source_splits.split_connectors import (
    UNKNOWN,
    kafka_facts,
)
from savepoint_formats.errors import RefusedError
from savepoint_formats.layout import KryoClass, KryoField
from savepoint_formats.metadata import KAFKA_POSITIONS, KINESIS_POSITIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.snapshot import Operator

_NUMBER = struct.Struct(">q")
_TEXT = "java.lang.String"
_MODEL = "org.apache.flink.streaming.connectors.kinesis.model."
_SHARD_ENDING = "SHARD_ENDING"
_SENTINELS = {
    "LATEST_SEQUENCE_NUM": "LATEST",
    "EARLIEST_SEQUENCE_NUM": "TRIM_HORIZON",
    "AT_TIMESTAMP_SEQUENCE_NUM": "AT_TIMESTAMP",
    "SHARD_ENDING_SEQUENCE_NUM": _SHARD_ENDING,
}
# The shard is a POJO, which its serializer describes.
_SEQUENCE_NUMBER = KryoClass(
    f"{_MODEL}SequenceNumber",
    (
        KryoField("cachedHash", "int"),
        KryoField("sequenceNumber", _TEXT),
        KryoField("subSequenceNumber", "long"),
    ),
)


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer.

    Attributes:
        name: Its class.
        state: The union list with its positions.
        splits: Facts of its splits, in the order of the elements; none for another operator.
        move: An element at another position, given as JSON; raises ``RefusedError``,
            ``ValueError``. None where positions can't be set.
    """

    name: str
    state: str
    splits: Callable[[Operator], list[SplitFacts]]
    move: Callable[[bytes, SplitFacts, Any], bytes] | None = None


def _partitions(operator: Operator) -> list[SplitFacts]:
    return [kafka_facts(split) for _, split in consumed(operator)]


def _move_partition(element: bytes, facts: SplitFacts, position: Any) -> bytes:
    values = position if isinstance(position, dict) else {"offset": position}
    if values.get("stopping_offset") not in (None, ""):
        raise RefusedError(
            f"a FlinkKafkaConsumer has no stopping offsets: {facts.split} can't have one"
        )
    offset = KafkaSplit(facts.table, 0, 0).at(values.get("offset", ""), None).offset
    # The offset is the last number in the element.
    return element[: -_NUMBER.size] + _NUMBER.pack(stored_number(offset))


def _shards(operator: Operator) -> list[SplitFacts]:
    values = element_values(operator, KINESIS_POSITIONS, (_SEQUENCE_NUMBER,))
    return [_shard(value) for _, value in values]


def _shard(value: Any) -> SplitFacts:
    match value:
        case {
            "f0": {"streamName": str(stream), "shardId": str(shard)},
            "f1": {"sequenceNumber": str(number), "subSequenceNumber": int(part)},
        }:
            position = _position(number, part)
            state = "finished" if position["type"] == _SHARD_ENDING else "reading"
            return SplitFacts("kinesis", shard, "shard", json.dumps(position), stream, state)
    return SplitFacts(UNKNOWN, "", UNKNOWN, state="", facts={"reason": "a shard of another class"})


def _position(number: str, part: int) -> dict[str, int | str]:
    """The position; ``part`` counts the records of an aggregated record, -1 for any other."""
    if number in _SENTINELS:
        return {"type": _SENTINELS[number]}
    position: dict[str, int | str] = {"type": "AFTER_SEQUENCE_NUMBER", "sequence_number": number}
    return position if part < 0 else position | {"sub_sequence_number": part}


CONSUMERS = (
    Consumer("FlinkKafkaConsumer", KAFKA_POSITIONS, _partitions, _move_partition),
    Consumer("FlinkKinesisConsumer", KINESIS_POSITIONS, _shards),
)
