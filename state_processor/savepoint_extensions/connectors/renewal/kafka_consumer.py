"""``FlinkKafkaConsumer`` -> ``KafkaSource``: offsets become splits of readers, and known partitions.

| stored number          | offset of the split                    |
|------------------------|----------------------------------------|
| n, of the last record  | n + 1, so that an empty partition, -1, |
|                        | begins at 0 and not at its end         |
| a sentinel             | -2 earliest, -1 latest, -3 committed   |

Tried with a broker 4.1.1, connector 3.4.0-1.20 in Flink 1.20.5, and 5.0.0-2.2 in Flink 2.2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.connectors.kafka.kafka_source import (
    AssignmentStatus,
    KafkaEnumerator,
    KafkaPartition,
    KafkaSplit,
)
from savepoint_extensions.connectors.kafka_state import consumed
from savepoint_extensions.connectors.renewal.renewed_source import NewSplit, renewed_source
from savepoint_extensions.connectors.source_splits.split_connectors import kafka_facts
from savepoint_formats.errors import RefusedError
from savepoint_formats.metadata import KAFKA_POSITIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.connectors.kafka.versioned import Versioned
    from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions, Renewed

# Read by all releases of the connector from 3.1.0 on, and written by those up to 4.0.1.
_ENUMERATOR_VERSION = 2


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
    splits = (
        NewSplit(subtask, kafka_facts(split), split.to_versioned()) for subtask, split in positions
    )
    return renewed_source(operator, {KAFKA_POSITIONS}, splits, _enumerator, options)


def _enumerator(raws: Sequence[Versioned]) -> Versioned:
    splits = [KafkaSplit.of_versioned(raw, KAFKA_POSITIONS) for raw in raws]
    known = [
        KafkaPartition(split.topic, split.partition, AssignmentStatus.ASSIGNED) for split in splits
    ]
    # Partitions that appear later begin at their earliest record, as those of the consumer do.
    return KafkaEnumerator(_ENUMERATOR_VERSION, tuple(known), is_discovered=True).to_versioned()
