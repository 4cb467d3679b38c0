"""Savepoints of jobs that were stopped, whose old sources stored older positions.

Stop-with-savepoint ends a ``SourceFunction`` before it stores its state. ``FlinkKafkaConsumer``, and
``FlinkKinesisConsumer`` before FLINK-35115, then store the positions of the checkpoint before, or none,
but all other operators store the state after the records in between: these are read twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.connectors.kafka.kafka_source import LEGACY_STATE
from savepoint_formats.scan import operator_splits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_database.snapshot import Operator, Snapshot

SHARD_STATE = "Kinesis-Stream-Shard-State"
STALE = {LEGACY_STATE: "FlinkKafkaConsumer", SHARD_STATE: "FlinkKinesisConsumer"}
"""List of positions -> the source whose stop-with-savepoint stores older ones."""

RIGHT_WAY = "take a savepoint while the job runs and cancel it then, or cancel it with a retained checkpoint"


def stale_sources(operator: Operator) -> set[str]:
    """Sources in an operator that store older positions when their job is stopped."""
    names = {
        state.name for split in operator_splits(operator.record) for state in split.handle.states
    }
    return {STALE[name] for name in names & STALE.keys()}


def warnings_of(snapshot: Snapshot) -> Iterator[str]:
    """A text for each source of a stopped job whose positions may be too old."""
    properties = snapshot.metadata.properties
    if properties is None or not properties.is_of_stopped_job:
        return
    for operator in snapshot.operators():
        for source in sorted(stale_sources(operator)):
            yield (
                f"operator {operator.name}: this savepoint was taken by stopping the job, and a {source}"
                " then stores the positions of the checkpoint before, or none: records in between are"
                f" read twice; {RIGHT_WAY}"
            )
