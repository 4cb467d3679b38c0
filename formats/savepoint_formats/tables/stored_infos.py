"""Descriptions of states in headers, in changelogs and among raw timers."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """Headers of the files of a subtask's keyed state."""
    for base in base_handles(subtask.managed_keyed_state):
        yield KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, base))


def raw_timers(
    directory: SnapshotDirectory, subtask: SubtaskState, kryo: KryoDialect | None
) -> Iterator[StateMetaInfo]:
    """Queues of the timers among a subtask's raw keyed state."""
    handle = raw_keyed_handle(subtask)
    if handle is not None:
        yield from raw_timer_infos(directory, handle, kryo)


def operator_infos(directory: SnapshotDirectory, subtask: SubtaskState) -> Iterator[StateMetaInfo]:
    """List, union and broadcast states of a subtask."""
    handle = subtask.managed_operator_state
    if handle is not None and handle.states:
        header = HeaderBytes.of_operator_state(directory, handle)
        parsed = OperatorBackendHeader.parse(header)
        yield from (*parsed.list_states, *parsed.broadcast_states)
