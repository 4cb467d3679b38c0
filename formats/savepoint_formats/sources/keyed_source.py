"""Opens the source of a handle of keyed state; the files reveal their format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from savepoint_formats.metadata import ChangelogHandle, IncrementalHandle, KeyGroupsHandle
from savepoint_formats.sources.changed_source import ChangedHandle, ChangedSource
from savepoint_formats.sources.changelog_source import ChangelogSource
from savepoint_formats.sources.entry_source import CanonicalSource, RocksDbSource
from savepoint_formats.sources.heap_source import HeapSource
from savepoint_formats.sources.raw_keyed_source import RawKeyedSource
from savepoint_formats.state_files.canonical_entries import CanonicalEntries, is_canonical
from savepoint_formats.state_files.header import HeaderBytes, KeyedBackendHeader
from savepoint_formats.state_files.heap_entries import HeapFile
from savepoint_formats.state_files.state import keyed_states
from savepoint_formats.state_files.state_chunk import StoredSource
from savepoint_formats.tables.catalog import raw_keyed_handle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import KeyedStateHandle, SubtaskState
    from savepoint_formats.metadata.keyed_handles import BaseHandle
    from savepoint_formats.sources.entry_source import EntrySource, SourceSettings
    from savepoint_formats.sources.keyed_batch import KeyedBatch
    from savepoint_formats.tables.visible import TimerRows


class KeyedSource(StoredSource, Protocol):
    """Source of a handle of keyed state."""

    def batches(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[KeyedBatch]:
        """Entries of states of these names, batch by batch, each of whole key groups."""
        ...

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """Timers of these key groups, some at a time."""
        ...


def keyed_source(
    directory: SnapshotDirectory, handle: KeyedStateHandle, key: Layout, settings: SourceSettings
) -> KeyedSource:
    """Source of a handle; a changelog without a base doesn't have the layout of keys."""
    if isinstance(handle, ChangelogHandle):
        bases = [(_base_source(directory, base, settings), base.key_groups) for base in handle.base]
        return ChangelogSource(directory, handle, bases, key, settings)
    return _base_source(directory, handle, settings)


def _base_source(
    directory: SnapshotDirectory, handle: BaseHandle, settings: SourceSettings
) -> EntrySource | HeapSource:
    """Source of a handle whose files hold state."""
    header = KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, handle))
    states = tuple(map(settings.applied, keyed_states(header)))
    if isinstance(handle, ChangedHandle):
        return ChangedSource(directory, handle, states, settings)
    if isinstance(handle, IncrementalHandle):
        return RocksDbSource(directory, handle, states, settings)
    file = directory.file(handle.stream)
    if is_canonical(file, handle, header):
        entries = CanonicalEntries(
            file,
            handle,
            [state.name for state in states],
            settings.max_parallelism,
            is_compressed=header.is_compressed,
        )
        return CanonicalSource(entries, file.path, states, settings)
    heap = HeapFile(
        file,
        handle,
        states,
        settings.max_parallelism,
        is_compressed=header.is_compressed,
        kryo=settings.kryo,
    )
    return HeapSource(heap, states, settings)


class StoredHandle(NamedTuple):
    """A handle of keyed state; a raw one has timers, which RocksDB's may be."""

    handle: KeyedStateHandle
    is_raw: bool = False

    def source(
        self, directory: SnapshotDirectory, key: Layout, settings: SourceSettings
    ) -> StoredSource:
        """Source of its stored entries."""
        if self.is_raw:
            assert isinstance(self.handle, KeyGroupsHandle)  # Flink writes no other there
            kryo, max_parallelism = settings.kryo, settings.max_parallelism
            return RawKeyedSource(directory, self.handle, kryo, max_parallelism)
        return keyed_source(directory, self.handle, key, settings)


def keyed_handles(subtask: SubtaskState) -> tuple[StoredHandle, ...]:
    """Handles of keyed state of a subtask, the backend's first."""
    managed, raw = subtask.managed_keyed_state, raw_keyed_handle(subtask)
    own = () if managed is None else (StoredHandle(managed),)
    return own if raw is None else (*own, StoredHandle(raw, is_raw=True))
