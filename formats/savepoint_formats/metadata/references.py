"""Which streams the state of an operator consists of, and what each is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.metadata.keyed_handles import (
    ChangelogHandle,
    FileChanges,
    IncrementalHandle,
    InMemoryChanges,
    KeyGroupsHandle,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.metadata.checkpoint import OperatorState, SubtaskState
    from savepoint_formats.metadata.keyed_handles import ChangesHandle, KeyedStateHandle
    from savepoint_formats.metadata.stream_handles import StreamHandle

COORDINATOR = -1


@dataclass(frozen=True, slots=True)
class StreamReference:
    """A stream and who refers to it.

    Attributes:
        subtask: Index of the subtask, or ``COORDINATOR``.
        role: What it is for: ``operator state``, ``keyed state``, ``000012.sst``...
        stream: The handle.
        is_keyed: Whether it holds keyed state or timers.
    """

    subtask: int
    role: str
    stream: StreamHandle
    is_keyed: bool = False


def stream_references(operator: OperatorState) -> Iterator[StreamReference]:
    """Every stream that the operator refers to, subtask by subtask."""
    if operator.coordinator_state is not None:
        yield StreamReference(COORDINATOR, "coordinator", operator.coordinator_state)
    for subtask in operator.subtasks:
        for role, stream in _operator_streams(subtask):
            yield StreamReference(subtask.index, role, stream)
        for role, handle in (
            ("keyed state", subtask.managed_keyed_state),
            ("raw keyed state", subtask.raw_keyed_state),
        ):
            for name, stream in keyed_streams(handle, role) if handle else ():
                yield StreamReference(subtask.index, name, stream, is_keyed=True)


def _operator_streams(subtask: SubtaskState) -> Iterator[tuple[str, StreamHandle]]:
    if subtask.managed_operator_state is not None:
        yield "operator state", subtask.managed_operator_state.stream
    if subtask.raw_operator_state is not None:
        yield "raw operator state", subtask.raw_operator_state.stream
    for channel in (*subtask.input_channels, *subtask.output_channels):
        yield "channel state", channel.stream


def keyed_streams(
    handle: KeyedStateHandle | ChangesHandle, role: str
) -> Iterator[tuple[str, StreamHandle]]:
    """The streams of a keyed handle, each with what it is for."""
    match handle:
        case KeyGroupsHandle():
            yield role, handle.stream
        case IncrementalHandle():
            yield f"{role} header", handle.meta
            for file in (*handle.shared, *handle.private):
                yield file.name, file.stream
        case ChangelogHandle():
            for part in (*handle.base, *handle.changes):
                yield from keyed_streams(part, role)
        case FileChanges():
            for change_set in handle.streams:
                yield "changelog", change_set.stream
        case InMemoryChanges():
            return
