"""``FlinkKafkaConsumer`` -> ``KafkaSource``: offsets become splits of readers, and known partitions.

Both are needed. Splits without the coordinator's state are read twice, because the coordinator assigns
each partition once more; partitions that it calls assigned are read by nobody without the splits.

| stored number          | offset of the split                    |
|------------------------|----------------------------------------|
| n, of the last record  | n + 1, so that an empty partition, -1, |
|                        | begins at 0 and not at its end         |
| a sentinel             | -2 earliest, -1 latest, -3 committed   |

Tried with a broker 4.1.1, connector 3.4.0-1.20 in Flink 1.20.5, and 5.0.0-2.2 in Flink 2.2.1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.connector_rows import READER_STATE
from savepoint_extensions.connectors.kafka.kafka_source import (
    AssignmentStatus,
    CoordinatorState,
    KafkaEnumerator,
    KafkaPartition,
    KafkaSplit,
)
from savepoint_extensions.connectors.kafka_state import consumed
from savepoint_extensions.connectors.renewal.renewed_operator import Renewed, with_byte_lists
from savepoint_formats.errors import RefusedError
from savepoint_formats.metadata import KAFKA_POSITIONS, InlineStream
from savepoint_formats.scan import operator_splits

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator
    from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions

_COORDINATOR_VERSION = 1
# Read by all releases of the connector from 3.1.0 on, and written by those up to 4.0.1.
_ENUMERATOR_VERSION = 2


def is_of_consumer(operator: Operator) -> bool:
    """Whether an operator has the list of a ``FlinkKafkaConsumer``, be it empty."""
    return any(
        state.name == KAFKA_POSITIONS
        for split in operator_splits(operator.record)
        for state in split.handle.states
    )


def renewed_consumer(operator: Operator, options: RenewalOptions) -> Renewed:
    """The operator of a ``KafkaSource`` that continues where the consumer stopped.

    Raises:
        RefusedError: There is no position, and the user didn't confirm that; or a partition has two.
        SavepointError: A file is gone or damaged.
    """
    positions = consumed(operator)
    if not positions and not options.allows_empty:
        raise RefusedError(
            f"operator {operator.name}: its FlinkKafkaConsumer has stored no position, so that the new"
            " source would read every partition from the beginning: take a savepoint while the job"
            " runs, or cancel it with a retained checkpoint; or confirm it by --allow-empty"
        )
    splits: dict[tuple[str, int], tuple[int, KafkaSplit]] = {}
    for subtask, split in positions:
        place = split.topic, split.partition
        _, other = splits.setdefault(place, (subtask, split))
        if other != split:
            raise RefusedError(
                f"operator {operator.name}: partition {split.topic}-{split.partition} has the offsets"
                f" {other.offset} and {split.offset}: set one of them by savepoint kafka --set-offsets"
            )
    chosen = [
        (subtask, split)
        for subtask, split in splits.values()
        if split.topic not in options.without_topics
    ]
    elements: dict[int, dict[str, list[bytes]]] = {}
    for subtask, split in chosen:
        lists = elements.setdefault(subtask, {READER_STATE: []})
        lists[READER_STATE].append(split.to_bytes())
    record = with_byte_lists(operator, {KAFKA_POSITIONS}, elements)
    known = [
        KafkaPartition(split.topic, split.partition, AssignmentStatus.ASSIGNED)
        for _, split in chosen
    ]
    # Partitions that appear later begin at their earliest record, as those of the consumer do.
    enumerator = KafkaEnumerator(_ENUMERATOR_VERSION, tuple(known), is_discovered=True)
    state = CoordinatorState(_COORDINATOR_VERSION, enumerator.to_versioned())
    stream = InlineStream("renewed-coordinator", state.to_bytes())
    return Renewed(replace(record, coordinator_state=stream))
