"""The ``_metadata`` file of a savepoint or checkpoint, read and written byte for byte."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names
from savepoint_formats.metadata.checkpoint import (
    CheckpointMetadata,
    MasterState,
    MetadataVersion,
    OperatorState,
    SubtaskState,
)
from savepoint_formats.metadata.flink_versions import FlinkVersionRange
from savepoint_formats.metadata.keyed_handles import (
    ChangelogHandle,
    FileChanges,
    IncrementalHandle,
    InMemoryChanges,
    KeyedStateHandle,
    KeyGroupsHandle,
    LocalFile,
)
from savepoint_formats.metadata.operator_handles import (
    ChannelHandle,
    DistributionMode,
    MergedChannelStateHandle,
    OperatorStateHandle,
    OperatorStateOffsets,
)
from savepoint_formats.metadata.properties import CheckpointProperties
from savepoint_formats.metadata.records import KeyedHandleType
from savepoint_formats.metadata.stream_handles import (
    EmptySegment,
    FileStream,
    InlineStream,
    KeyGroupRangeOffsets,
    KeyGroupsStream,
    PlainStream,
    RelativeFile,
    SegmentStream,
    StreamHandle,
)

if TYPE_CHECKING:
    from savepoint_formats.metadata.flink_versions import (
        FLINK_2,
        TARGETS,
        Release,
        is_flink_2,
        is_of_flink_2,
        newest_known,
        release,
        release_text,
    )
    from savepoint_formats.metadata.old_sources import (
        KAFKA_POSITIONS,
        KINESIS_POSITIONS,
        NEWEST_FILE,
        STALE_WHEN_STOPPED,
        stale_positions,
    )
    from savepoint_formats.metadata.references import (
        COORDINATOR,
        FileKind,
        StreamReference,
        in_flight_size,
        keyed_streams,
        size_of,
        stream_references,
        streams_of,
        with_streams,
    )
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "COORDINATOR",
    "FLINK_2",
    "KAFKA_POSITIONS",
    "KINESIS_POSITIONS",
    "NEWEST_FILE",
    "STALE_WHEN_STOPPED",
    "TARGETS",
    "ChangelogHandle",
    "ChannelHandle",
    "CheckpointMetadata",
    "CheckpointProperties",
    "DistributionMode",
    "EmptySegment",
    "FileChanges",
    "FileKind",
    "FileStream",
    "FlinkVersionRange",
    "InMemoryChanges",
    "IncrementalHandle",
    "InlineStream",
    "KeyGroupRangeOffsets",
    "KeyGroupsHandle",
    "KeyGroupsStream",
    "KeyedHandleType",
    "KeyedStateHandle",
    "LocalFile",
    "MasterState",
    "MergedChannelStateHandle",
    "MetadataVersion",
    "OperatorState",
    "OperatorStateHandle",
    "OperatorStateOffsets",
    "PlainStream",
    "RelativeFile",
    "Release",
    "SegmentStream",
    "StreamHandle",
    "StreamReference",
    "SubtaskState",
    "in_flight_size",
    "is_flink_2",
    "is_of_flink_2",
    "keyed_streams",
    "newest_known",
    "release",
    "release_text",
    "size_of",
    "stale_positions",
    "stream_references",
    "streams_of",
    "with_streams",
]
