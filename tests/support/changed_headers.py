"""Samples whose headers say something else of states, beside the same entries and elements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    IncrementalHandle,
    InlineStream,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
)
from savepoint_formats.state_files.header import (
    HeaderBytes,
    KeyedBackendHeader,
    OperatorBackendHeader,
    StateMetaInfo,
)
from support.changed_metadata import with_operators

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from savepoint_formats.metadata import (
        OperatorState,
        OperatorStateHandle,
        PlainStream,
        SubtaskState,
    )

    Change = Callable[[StateMetaInfo], StateMetaInfo]


def with_infos(sample: Path, out: Path, change: Change) -> Path:
    """A copy of a sample, native or canonical, with other meta infos; files become inline."""
    directory = SnapshotDirectory.of(str(sample))

    def changed_subtask(subtask: SubtaskState) -> SubtaskState:
        keyed, others = subtask.managed_keyed_state, subtask.managed_operator_state
        if isinstance(keyed, IncrementalHandle | KeyGroupsHandle):
            keyed = _keyed(directory, keyed, change)
        if others is not None and others.states:
            others = _others(directory, others, change)
        return replace(subtask, managed_keyed_state=keyed, managed_operator_state=others)

    def changed(operator: OperatorState) -> OperatorState:
        return replace(operator, subtasks=tuple(map(changed_subtask, operator.subtasks)))

    return with_operators(sample, out, changed)


def _keyed(
    directory: SnapshotDirectory, handle: IncrementalHandle | KeyGroupsHandle, change: Change
) -> IncrementalHandle | KeyGroupsHandle:
    header = KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, handle))
    new = _bytes(replace(header, states=tuple(map(change, header.states))))
    if isinstance(handle, IncrementalHandle):
        return replace(handle, meta=InlineStream("header", new))
    start = min(offset for offset in handle.groups.offsets if offset)
    shift = len(new) - start
    offsets = tuple(offset and offset + shift for offset in handle.groups.offsets)
    groups = KeyGroupRangeOffsets(handle.key_groups, offsets)
    return replace(handle, groups=groups, stream=_behind(directory, handle.stream, new, start))


def _others(
    directory: SnapshotDirectory, handle: OperatorStateHandle, change: Change
) -> OperatorStateHandle:
    data = HeaderBytes.of_operator_state(directory, handle)
    header = OperatorBackendHeader.parse(data)
    lists, broadcasts = header.list_states, header.broadcast_states
    new = _bytes(
        replace(
            header,
            list_states=tuple(map(change, lists)),
            broadcast_states=tuple(map(change, broadcasts)),
        )
    )
    start = len(data.data)
    states = tuple(
        replace(state, offsets=tuple(offset + len(new) - start for offset in state.offsets))
        for state in handle.states
    )
    return replace(handle, states=states, stream=_behind(directory, handle.stream, new, start))


def _behind(
    directory: SnapshotDirectory, stream: PlainStream, header: bytes, start: int
) -> InlineStream:
    return InlineStream("file", header + bytes(directory.file(stream).read(start)))


def _bytes(header: KeyedBackendHeader | OperatorBackendHeader) -> bytes:
    view = DataOutputView()
    header.write(view)
    return view.to_bytes()
