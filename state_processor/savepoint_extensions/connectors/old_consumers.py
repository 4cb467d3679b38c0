"""Consumers of Flink's old source API, whose positions are a list of ordinary values.

A row of ``CONSUMERS`` adds a consumer. Its state's name tells which one it is.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_extensions.connectors.consumed_messages import MESSAGES_STATE, message_facts
from savepoint_extensions.connectors.consumed_shards import shard_facts
from savepoint_extensions.connectors.kafka.kafka_source import (
    KafkaSplit,
    stored_number,
)
from savepoint_extensions.connectors.kafka_state import consumed
from savepoint_extensions.connectors.monitored_files import (
    SPLITS_STATE,
    time_facts,
    waiting_facts,
)
from savepoint_extensions.connectors.source_splits.split_connectors import (
    kafka_facts,
)
from savepoint_formats.errors import RefusedError
from savepoint_formats.metadata import KAFKA_POSITIONS, KINESIS_POSITIONS, NEWEST_FILE

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.connectors.connector_rows import SplitFacts

_NUMBER = struct.Struct(">q")


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer.

    Attributes:
        name: Its class.
        state: The list with its positions.
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


CONSUMERS = (
    Consumer("FlinkKafkaConsumer", KAFKA_POSITIONS, _partitions, _move_partition),
    Consumer("FlinkKinesisConsumer", KINESIS_POSITIONS, shard_facts),
    Consumer("RMQSource", MESSAGES_STATE, message_facts),
    Consumer("ContinuousFileReaderOperator", SPLITS_STATE, waiting_facts),
    Consumer("ContinuousFileMonitoringFunction", NEWEST_FILE, time_facts),
)
