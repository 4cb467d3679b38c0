"""The source that a handle of keyed state leads to; nobody is asked for a state backend."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.snappy import decompress
from savepoint_formats.entries.frames import section_frames
from savepoint_formats.errors import FormatError
from savepoint_formats.metadata import ChangelogHandle, IncrementalHandle, KeyedHandleType
from savepoint_formats.sources.canonical_source import CanonicalSource
from savepoint_formats.sources.changelog_source import ChangelogSource
from savepoint_formats.sources.heap_source import HeapSource
from savepoint_formats.sources.rocksdb_source import RocksDbSource
from savepoint_formats.state_files.header import HeaderBytes, KeyedBackendHeader
from savepoint_formats.state_files.sections import NOTHING_WRITTEN, sections_of
from savepoint_formats.state_files.state import keyed_states

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory, StateFile
    from savepoint_formats.metadata import KeyedStateHandle, KeyGroupsHandle
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.sources.keyed_batch import KeyedBatch
    from savepoint_formats.tables.timer_rows import TimerRows

# A heap section that passes for a canonical one by chance is next to impossible; two more so.
_SECTIONS_TO_TRY = 8


class KeyedSource(Protocol):
    """What a handle of keyed state leads to."""

    def batches(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[KeyedBatch]:
        """The entries of states of these names, batch by batch, each of whole key groups."""
        ...

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """The timers of these key groups, some at a time."""
        ...


def keyed_source(
    directory: SnapshotDirectory,
    handle: KeyedStateHandle,
    key: Layout,
    settings: SourceSettings,
) -> KeyedSource:
    """The source of a handle.

    Args:
        directory: Where the savepoint is.
        handle: The handle.
        key: The layout of the operator's keys, which a changelog without a base does not tell.
        settings: How it is read.

    Raises:
        StateFileNotFoundError: The file is gone.
        FormatError: It begins with no header of keyed state.
    """
    if isinstance(handle, ChangelogHandle):
        bases = [
            (keyed_source(directory, base, key, settings), base.key_groups) for base in handle.base
        ]
        return ChangelogSource(directory, handle, bases, key, settings)
    header = KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, handle))
    states = tuple(map(settings.applied, keyed_states(header)))
    if isinstance(handle, IncrementalHandle):
        return RocksDbSource(directory, handle, states, settings)
    file = directory.file(handle.stream)
    if is_canonical(file, handle, header):
        return CanonicalSource(file, handle, states, settings, is_compressed=header.is_compressed)
    return HeapSource(file, handle, states, settings, is_compressed=header.is_compressed)


def is_canonical(file: StateFile, handle: KeyGroupsHandle, header: KeyedBackendHeader) -> bool:
    """Whether a file has the canonical format, and not that of the heap.

    Handles of native snapshots, and all handles up to Flink 1.12, may lead to either. A heap file
    has an offset for every key group; a file is canonical if its sections parse as such.
    """
    if handle.type is KeyedHandleType.CANONICAL_SAVEPOINT:
        return True
    if NOTHING_WRITTEN in handle.groups.offsets:
        return True
    sections = sections_of(handle.groups, file, handle.key_groups)
    try:
        for section in islice(sections, _SECTIONS_TO_TRY):
            data = file.read(section.start, section.end)
            if header.is_compressed:
                data = decompress(data, file.path, section.start)
            chunk = Chunk(np.frombuffer(data, np.uint8), file.path, section.start)
            section_frames(chunk, 0, len(header.states))
    except FormatError:
        return False
    return True
