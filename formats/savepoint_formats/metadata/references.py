"""Which streams the state of an operator consists of, and what each is for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from savepoint_formats.metadata.changes_handles import FileChanges, InMemoryChanges
from savepoint_formats.metadata.keyed_handles import (
    ChangelogHandle,
    IncrementalHandle,
    KeyGroupsHandle,
    LocalFile,
)
from savepoint_formats.metadata.stream_handles import KeyGroupsStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.metadata.changes_handles import ChangesHandle
    from savepoint_formats.metadata.checkpoint import (
        CheckpointMetadata,
        OperatorState,
        SubtaskState,
    )
    from savepoint_formats.metadata.keyed_handles import BaseHandle, KeyedStateHandle
    from savepoint_formats.metadata.operator_handles import ChannelHandle, OperatorStateHandle
    from savepoint_formats.metadata.stream_handles import PlainStream, StreamHandle

    Replacement = Callable[[PlainStream], PlainStream]

COORDINATOR = -1


class FileKind(StrEnum):
    """What a handle says that a file is."""

    KEYED_STATE = "file of keyed state"
    OPERATOR_STATE = "file of operator state"
    CHANGELOG = "changelog"
    CHANNEL_STATE = "file of in-flight data"
    ROCKSDB = "file of RocksDB"
    RAW = "file of raw state"


@dataclass(frozen=True, slots=True)
class StreamReference:
    """A stream and who refers to it.

    Attributes:
        subtask: Index of the subtask, or ``COORDINATOR``.
        role: What it is for: ``operator state``, ``keyed state``, ``000012.sst``...
        kind: What its file is.
        stream: The handle.
        is_keyed: Whether it holds keyed state or timers.
    """

    subtask: int
    role: str
    kind: FileKind
    stream: StreamHandle
    is_keyed: bool = False


def stream_references(operator: OperatorState) -> Iterator[StreamReference]:
    """Every stream that the operator refers to, subtask by subtask."""
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
    """The streams that a savepoint consists of."""
    for operator in metadata.operators:
        for reference in stream_references(operator):
            stream = reference.stream
            yield stream.stream if isinstance(stream, KeyGroupsStream) else stream


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
    """The streams of a keyed handle, each with what it is for and what its file is.

    Args:
        handle: The handle.
        role: What it is for.
        kind: What a file with a section per key group is, by the place of the handle.
    """
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
    """The operator with other streams in the places of its own; its coordinator keeps its bytes.

    File merging gives a subtask without operator state a handle without bytes: it goes, and so do
    the directories that the other handles name, for the new streams lie somewhere else.
    """
    subtasks = tuple(_subtask(subtask, replacement) for subtask in operator.subtasks)
    return replace(operator, subtasks=subtasks)


def _subtask(subtask: SubtaskState, replacement: Replacement) -> SubtaskState:
    return replace(
        subtask,
        managed_operator_state=_operator_handle(subtask.managed_operator_state, replacement),
        raw_operator_state=_operator_handle(subtask.raw_operator_state, replacement),
        managed_keyed_state=_keyed_handle(subtask.managed_keyed_state, replacement),
        raw_keyed_state=_keyed_handle(subtask.raw_keyed_state, replacement),
        input_channels=_channels(subtask.input_channels, replacement),
        output_channels=_channels(subtask.output_channels, replacement),
    )


def _operator_handle(
    handle: OperatorStateHandle | None, replacement: Replacement
) -> OperatorStateHandle | None:
    if handle is None or (handle.directories is not None and handle.directories.is_empty):
        return None
    return replace(handle, stream=replacement(handle.stream), directories=None)


def _channels(
    channels: tuple[ChannelHandle, ...], replacement: Replacement
) -> tuple[ChannelHandle, ...]:
    return tuple(
        replace(channel, stream=_stream(channel.stream, replacement)) for channel in channels
    )


def _keyed_handle(
    handle: KeyedStateHandle | None, replacement: Replacement
) -> KeyedStateHandle | None:
    match handle:
        case ChangelogHandle():
            return replace(
                handle,
                base=tuple(_base_handle(part, replacement) for part in handle.base),
                changes=tuple(_changes_handle(change, replacement) for change in handle.changes),
            )
        case None:
            return None
        case _:
            return _base_handle(handle, replacement)


def _base_handle(handle: BaseHandle, replacement: Replacement) -> BaseHandle:
    if isinstance(handle, KeyGroupsHandle):
        return replace(handle, stream=replacement(handle.stream))
    return replace(
        handle,
        meta=replacement(handle.meta),
        shared=_files(handle.shared, replacement),
        private=_files(handle.private, replacement),
    )


def _files(files: tuple[LocalFile, ...], replacement: Replacement) -> tuple[LocalFile, ...]:
    return tuple(LocalFile(file.name, _stream(file.stream, replacement)) for file in files)


def _changes_handle(handle: ChangesHandle, replacement: Replacement) -> ChangesHandle:
    if isinstance(handle, InMemoryChanges):
        return handle
    streams = tuple(replace(stream, stream=replacement(stream.stream)) for stream in handle.streams)
    return replace(handle, streams=streams)


def _stream(stream: StreamHandle, replacement: Replacement) -> StreamHandle:
    if isinstance(stream, KeyGroupsStream):
        return replace(stream, stream=replacement(stream.stream))
    return replacement(stream)
