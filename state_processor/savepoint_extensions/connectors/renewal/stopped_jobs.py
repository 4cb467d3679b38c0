"""Savepoints of jobs that were stopped, whose old sources stored older positions.

Stop-with-savepoint ends a ``SourceFunction`` before it stores its state. ``FlinkKafkaConsumer``, and
``FlinkKinesisConsumer`` before FLINK-35115, then store the positions of the checkpoint before, or none,
but all other operators store the state after the records in between: these are read twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.connectors.kafka.kafka_source import LEGACY_STATE
from savepoint_formats.scan.splits import operator_splits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.metadata import CheckpointMetadata

SHARD_STATE = "Kinesis-Stream-Shard-State"
STALE = {LEGACY_STATE: "FlinkKafkaConsumer", SHARD_STATE: "FlinkKinesisConsumer"}
"""List of positions -> the source whose stop-with-savepoint stores older ones."""

_STOPPED = ("suspend", "terminate")

RIGHT_WAY = "take a savepoint while the job runs and cancel it then, or cancel it with a retained checkpoint"


def is_stopped(metadata: CheckpointMetadata) -> bool:
    """Whether the job was stopped when it took the savepoint; Flink stores that since 1.16."""
    properties = metadata.properties
    return properties is not None and properties.kind.lower().startswith(_STOPPED)


def stale_sources(operator: Operator) -> set[str]:
    """Sources in an operator that store older positions when their job is stopped."""
    names = {
        state.name for split in operator_splits(operator.record) for state in split.handle.states
    }
    return {STALE[name] for name in names & STALE.keys()}


def warnings_of(snapshot: Snapshot) -> Iterator[str]:
    """A text for each source of a stopped job whose positions may be too old."""
    if not is_stopped(snapshot.metadata):
        return
    for operator in snapshot.operators():
        for source in sorted(stale_sources(operator)):
            yield (
                f"operator {operator.name}: this savepoint was taken by stopping the job, and a {source}"
                " then stores the positions of the checkpoint before, or none: records in between are"
                f" read twice; {RIGHT_WAY}"
            )
