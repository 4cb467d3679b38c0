"""The ``_metadata`` file of a savepoint or checkpoint, read and written byte for byte."""

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
