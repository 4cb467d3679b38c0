"""Streams that the state of an operator consists of, and the role of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from savepoint_formats.metadata.checkpoint import SubtaskState
from savepoint_formats.metadata.keyed_handles import (
    ChangelogHandle,
    ChangeSetStream,
    FileChanges,
    IncrementalHandle,
    InMemoryChanges,
    KeyGroupsHandle,
    LocalFile,
)
from savepoint_formats.metadata.operator_handles import (
    ChannelStateHandle,
    MergedChannelStateHandle,
    OperatorStateHandle,
)
from savepoint_formats.metadata.stream_handles import (
    EmptySegment,
    InlineStream,
    KeyGroupsStream,
    PlainStream,
    SegmentStream,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.metadata.checkpoint import CheckpointMetadata, OperatorState
    from savepoint_formats.metadata.keyed_handles import ChangesHandle, KeyedStateHandle
    from savepoint_formats.metadata.stream_handles import StreamHandle

    Replacement = Callable[[PlainStream], PlainStream]

COORDINATOR = -1


class FileKind(StrEnum):
    """The kind of a file, as its handle says."""

    KEYED_STATE = "file of keyed state"
    OPERATOR_STATE = "file of operator state"
    CHANGELOG = "changelog"
    CHANNEL_STATE = "file of in-flight data"
    ROCKSDB = "file of RocksDB"
    RAW = "file of raw state"


@dataclass(frozen=True, slots=True)
class StreamReference:
    """A stream and the subtask (or ``COORDINATOR``) that refers to it.

    ``role`` is ``operator state``, ``000012.sst``...; ``is_keyed`` is true for timers as well.
    """

    subtask: int
    role: str
    kind: FileKind
    stream: StreamHandle
    is_keyed: bool = False


def stream_references(operator: OperatorState) -> Iterator[StreamReference]:
    """Streams of an operator, subtask by subtask."""
    if operator.coordinator_state is not None:
        yield StreamReference(COORDINATOR, "coordinator", FileKind.RAW, operator.coordinator_state)
    for subtask in operator.subtasks:
        for role, kind, stream in _operator_streams(subtask):
            yield StreamReference(subtask.index, role, kind, stream)
        for role, kind, handle in (
            ("keyed state", FileKind.KEYED_STATE, subtask.managed_keyed_state),
            ("raw keyed state", FileKind.RAW, subtask.raw_keyed_state),
        ):
            for name, of, stream in keyed_streams(handle, role, kind) if handle else ():
                yield StreamReference(subtask.index, name, of, stream, is_keyed=True)


def streams_of(metadata: CheckpointMetadata) -> Iterator[PlainStream]:
    """All streams of a savepoint."""
    for operator in metadata.operators:
        for reference in stream_references(operator):
            stream = reference.stream
            yield stream.stream if isinstance(stream, KeyGroupsStream) else stream


def size_of(streams: Iterable[StreamHandle], *, with_inline: bool = True) -> int:
    """Bytes of files, of which each counts once, and of state that is inline in ``_metadata``.

    Many handles may refer to one file: those of an unaligned checkpoint's channels, the change sets of
    a changelog, and the segments of merged files.
    """
    total, ranges = 0, dict[str, list[tuple[int, int]]]()
    for handle in streams:
        stream = handle.stream if isinstance(handle, KeyGroupsStream) else handle
        if isinstance(stream, InlineStream | EmptySegment):
            total += stream.size if with_inline else 0
            continue
        start = stream.start if isinstance(stream, SegmentStream) else 0
        ranges.setdefault(stream.path, []).append((start, start + max(stream.size, 0)))
    for of_file in ranges.values():
        reached = 0
        for start, end in sorted(of_file):
            total += max(end - max(start, reached), 0)
            reached = max(reached, end)
    return total


def in_flight_size(metadata: CheckpointMetadata) -> int | None:
    """Bytes of records in flight; None if the snapshot is aligned."""
    streams = [
        reference.stream
        for operator in metadata.operators
        for reference in stream_references(operator)
        if reference.kind is FileKind.CHANNEL_STATE
    ]
    return size_of(streams) if streams else None


def _operator_streams(subtask: SubtaskState) -> Iterator[tuple[str, FileKind, StreamHandle]]:
    if subtask.managed_operator_state is not None:
        stream = subtask.managed_operator_state.stream
        yield "operator state", FileKind.OPERATOR_STATE, stream
    if subtask.raw_operator_state is not None:
        yield "raw operator state", FileKind.RAW, subtask.raw_operator_state.stream
    for channel in (*subtask.input_channels, *subtask.output_channels):
        yield "channel state", FileKind.CHANNEL_STATE, channel.stream


def keyed_streams(
    handle: KeyedStateHandle | ChangesHandle, role: str, kind: FileKind = FileKind.KEYED_STATE
) -> Iterator[tuple[str, FileKind, StreamHandle]]:
    """The role, file kind and handle of each stream; ``kind`` is for files with key groups."""
    match handle:
        case KeyGroupsHandle():
            yield role, kind, handle.stream
        case IncrementalHandle():
            yield f"{role} header", FileKind.KEYED_STATE, handle.meta
            for file in (*handle.shared, *handle.private):
                yield file.name, FileKind.ROCKSDB, file.stream
        case ChangelogHandle():
            for part in (*handle.base, *handle.changes):
                yield from keyed_streams(part, role, kind)
        case FileChanges():
            for change_set in handle.streams:
                yield "changelog", FileKind.CHANGELOG, change_set.stream
        case InMemoryChanges():
            return


def with_streams(operator: OperatorState, replacement: Replacement) -> OperatorState:
    """The operator with its streams replaced, except the coordinator's.

    File merging writes a handle without bytes for a subtask without operator state; it is dropped.
    Directories that other handles name are dropped too because new streams are elsewhere.
    """
    return replace(operator, subtasks=_replaced(operator.subtasks, replacement))


def _replaced(value: Any, replacement: Replacement) -> Any:
    match value:
        case OperatorStateHandle(directories=directories):
            if directories is not None and directories.is_empty:
                return None
            return replace(value, stream=replacement(value.stream), directories=None)
        case tuple() if value and isinstance(value[0], _HOLDERS):
            return tuple(_replaced(element, replacement) for element in value)
        case _ if isinstance(value, PlainStream):
            return replacement(value)
        case _ if isinstance(value, _HOLDERS):
            fields = {field: getattr(value, field) for field in value.__match_args__}
            changed = {field: _replaced(fields[field], replacement) for field in fields}
            return replace(value, **changed)
    return value


_HOLDERS = (
    SubtaskState,
    KeyGroupsHandle,
    IncrementalHandle,
    LocalFile,
    KeyGroupsStream,
    ChangelogHandle,
    FileChanges,
    ChangeSetStream,
    ChannelStateHandle,
    MergedChannelStateHandle,
)
