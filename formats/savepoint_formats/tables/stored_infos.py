"""What the files of an operator say of its states: headers, changelogs, timers among raw state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.metadata.keyed_handles import ChangelogHandle
from savepoint_formats.state_files.changelog import read_registrations
from savepoint_formats.state_files.header import (
    HeaderBytes,
    KeyedBackendHeader,
    OperatorBackendHeader,
)
from savepoint_formats.state_files.raw_timers import raw_timer_infos
from savepoint_formats.tables.catalog import base_handles, raw_keyed_handle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata.checkpoint import SubtaskState
    from savepoint_formats.state_files.header import StateMetaInfo
    from savepoint_formats.values.kryo.dialect import KryoDialect


def keyed_headers(
    directory: SnapshotDirectory, subtask: SubtaskState
) -> Iterator[KeyedBackendHeader]:
    """The header of each file of a subtask's keyed state.

    Raises:
        FormatError: One is damaged.
        StateFileNotFoundError: A file is gone.
    """
    for base in base_handles(subtask.managed_keyed_state):
        yield KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, base))


def registered_infos(
    directory: SnapshotDirectory, subtask: SubtaskState
) -> Iterator[StateMetaInfo]:
    """The states that a subtask's changelog registers."""
    handle = subtask.managed_keyed_state
    if isinstance(handle, ChangelogHandle):
        for registration in read_registrations(directory, handle):
            yield registration.info


def raw_timers(
    directory: SnapshotDirectory, subtask: SubtaskState, kryo: KryoDialect | None
) -> Iterator[StateMetaInfo]:
    """The queues that timers among a subtask's raw keyed state become."""
    handle = raw_keyed_handle(subtask)
    if handle is not None:
        yield from raw_timer_infos(directory, handle, kryo)


def operator_infos(directory: SnapshotDirectory, subtask: SubtaskState) -> Iterator[StateMetaInfo]:
    """The list, union and broadcast states of a subtask."""
    handle = subtask.managed_operator_state
    if handle is not None and handle.states:
        header = HeaderBytes.of_operator_state(directory, handle)
        parsed = OperatorBackendHeader.parse(header)
        yield from (*parsed.list_states, *parsed.broadcast_states)
