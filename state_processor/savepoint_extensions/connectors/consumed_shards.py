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
from dataclasses import dataclass
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
PART = "sub_sequence_number"
"""Name of the number of a record in an aggregated one."""
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
class ConsumedShard:
    """A shard with its position.

    Attributes:
        subtask: Subtask that has it.
        stream: Name of its stream.
        shard: Its id.
        parents: Ids of the shards from which it was split or merged.
        hash_keys: Its first and last hash key; empty where it is not stored.
        position: The type of its position; a sequence number, and the number of a record in it.
    """

    subtask: int
    stream: str
    shard: str
    parents: tuple[str, ...]
    hash_keys: tuple[str, str]
    position: dict[str, int | str]

    @property
    def is_finished(self) -> bool:
        return self.position["type"] == _SHARD_ENDING

    def facts(self) -> SplitFacts:
        """What ``savepoint sources`` shows of it."""
        state = "finished" if self.is_finished else "reading"
        position = json.dumps(self.position)
        return SplitFacts("kinesis", self.shard, "shard", position, self.stream, state)


def consumed_shards(operator: Operator) -> list[ConsumedShard | None]:
    """Shards in the order of the elements, None for one of another class; none for other operators."""
    values = element_values(operator, KINESIS_POSITIONS, (_SEQUENCE_NUMBER,))
    return [_shard(subtask, value) for subtask, value in values]


def shard_facts(operator: Operator) -> list[SplitFacts]:
    """Facts of the shards in the order of the elements."""
    facts = {"reason": "a shard of another class"}
    unknown = SplitFacts(UNKNOWN, "", UNKNOWN, state="", facts={**facts})
    return [unknown if shard is None else shard.facts() for shard in consumed_shards(operator)]


def _shard(subtask: int, value: Any) -> ConsumedShard | None:
    match value:
        case {
            "f0": {"streamName": str(stream), "shardId": str(shard)} as known,
            "f1": {"sequenceNumber": str(number), "subSequenceNumber": int(part)},
        }:
            parents = (known.get(f"{name}ShardId") for name in ("parent", "adjacentParent"))
            keys = (known.get(f"{name}HashKey") for name in ("starting", "ending"))
            first, last = (key or "" for key in keys)
            return ConsumedShard(
                *(subtask, stream, shard, tuple(filter(None, parents)), (first, last)),
                _position(number, part),
            )
    return None


def _position(number: str, part: int) -> dict[str, int | str]:
    """The position; ``part`` counts the records of an aggregated record, -1 for any other."""
    if number in _SENTINELS:
        return {"type": _SENTINELS[number]}
    position: dict[str, int | str] = {"type": "AFTER_SEQUENCE_NUMBER", "sequence_number": number}
    return position if part < 0 else position | {PART: part}
