"""Sources of Flink's old API whose positions are too old in a savepoint that stopped their job.

Stop-with-savepoint ends a ``SourceFunction`` before it stores its state. These sources then store the
positions of the checkpoint before, or none, but all other operators store the state after the records
in between: a restored job reads them twice. The function that watches a directory stores the latest time
that there is instead of that of the newest file: a restored job reads no new file.

Flink: ``FlinkKafkaConsumerBase``; ``FlinkKinesisConsumer``, before FLINK-35115;
``ContinuousFileMonitoringFunction.cancel``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.key_groups import OperatorId
    from savepoint_formats.metadata.checkpoint import CheckpointMetadata

KAFKA_POSITIONS = "topic-partition-offset-states"
KINESIS_POSITIONS = "Kinesis-Stream-Shard-State"
NEWEST_FILE = "file-monitoring-state"
STALE_WHEN_STOPPED = {
    KAFKA_POSITIONS: "FlinkKafkaConsumer",
    KINESIS_POSITIONS: "FlinkKinesisConsumer",
    NEWEST_FILE: "ContinuousFileMonitoringFunction",
}
"""List of positions, or of a time -> its source."""


def stale_positions(metadata: CheckpointMetadata) -> Iterator[tuple[OperatorId, str]]:
    """Operator and list of all positions that may be too old; none unless the job was stopped."""
    properties = metadata.properties
    if properties is None or not properties.is_of_stopped_job:
        return
    for operator in metadata.operators:
        handles = (subtask.managed_operator_state for subtask in operator.subtasks)
        names = {state.name for handle in handles if handle is not None for state in handle.states}
        for name in sorted(names & STALE_WHEN_STOPPED.keys()):
            yield operator.operator_id, name
