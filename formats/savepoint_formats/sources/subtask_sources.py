"""The keyed state of a subtask: that of its backend, and the timers that Flink kept beside it.

RocksDB's timers may be on the heap; they are then raw keyed state, with a handle of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.metadata import KeyGroupsHandle
from savepoint_formats.sources.keyed_source import keyed_source
from savepoint_formats.sources.raw_keyed_source import RawKeyedSource
from savepoint_formats.tables.catalog import raw_keyed_handle

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import KeyedStateHandle, SubtaskState
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.state_files.state_piece import StoredSource


def keyed_handles(subtask: SubtaskState) -> tuple[KeyedStateHandle, ...]:
    """The handles of keyed state that a subtask has, that of its backend first."""
    both = subtask.managed_keyed_state, raw_keyed_handle(subtask)
    return tuple(handle for handle in both if handle is not None)


def stored_source(
    directory: SnapshotDirectory,
    subtask: SubtaskState,
    handle: KeyedStateHandle,
    key: Layout,
    settings: SourceSettings,
) -> StoredSource:
    """The source of one of ``keyed_handles``, as ``keyed_source`` has it.

    Raises:
        StateFileNotFoundError: The file is gone.
        FormatError: It begins with no header of keyed state.
    """
    if handle is subtask.raw_keyed_state and isinstance(handle, KeyGroupsHandle):
        return RawKeyedSource(directory, handle, settings.kryo, settings.max_parallelism)
    return keyed_source(directory, handle, key, settings)
