"""Shards of a ``FlinkKinesisConsumer``, and their positions.

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
from typing import TYPE_CHECKING, Any

from savepoint_extensions.connectors.byte_elements import element_values
from savepoint_extensions.connectors.connector_rows import SplitFacts
from savepoint_extensions.connectors.source_splits.split_connectors import UNKNOWN
from savepoint_formats.layout import KryoClass, KryoField
from savepoint_formats.metadata import KINESIS_POSITIONS

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator

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


def shards(operator: Operator) -> list[SplitFacts]:
    """Shards in the order of the elements; none for another operator."""
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
