"""Keyed state that is in no file: stored entries that are changed as they are read.

A handle of such state stands in the record of an operator between two changes, and never in a
savepoint. It looks like that of a canonical file: its header has the new serializers. Its key
groups are those of the stored entries. An entry may have another one, since changes move keys, but
all entries of a key come from the same stored key group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.metadata import (
    InlineStream,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
)
from savepoint_formats.sources.entry_source import JOINED_SIZE, EntrySource, one_chunk
from savepoint_formats.state_files.rocksdb.sst_merge import Room

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from savepoint_formats.entries.entry_ranges import Part
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.state_files.header import KeyedBackendHeader
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_chunk import StateChunk

_NAME = "changed state"


class ChangedEntries(Protocol):
    """Stored entries and their changes; small, and can be pickled."""

    def state_chunks(
        self, directory: SnapshotDirectory, names: frozenset[str], key_groups: KeyGroupRange
    ) -> Iterator[StateChunk]:
        """Changed entries of states of these new names, from these stored key groups."""

    def key_group_sizes(self) -> NDArray[np.int64]:
        """Bytes of each stored key group."""


@dataclass(frozen=True, slots=True)
class ChangedHandle(KeyGroupsHandle):
    """Changed entries in the place of a file."""

    entries: ChangedEntries | None = None

    @classmethod
    def of(
        cls, header: KeyedBackendHeader, key_groups: KeyGroupRange, entries: ChangedEntries
    ) -> Self:
        view = DataOutputView()
        header.write(view)
        nothing = KeyGroupRangeOffsets(key_groups, (0,) * len(key_groups))
        stream = InlineStream(_NAME, view.to_bytes())
        return cls(KeyedHandleType.CANONICAL_SAVEPOINT, nothing, stream, None, entries)


class ChangedSource(EntrySource):
    """Source of changed entries, which are canonical."""

    def __init__(
        self,
        directory: SnapshotDirectory,
        handle: ChangedHandle,
        states: Sequence[State],
        settings: SourceSettings,
    ) -> None:
        super().__init__(states, settings, _NAME)
        assert handle.entries is not None  # as ``of`` makes handles
        self._directory, self._entries = directory, handle.entries
        self._sizes, self._start = handle.entries.key_group_sizes(), handle.key_groups.start

    def parts(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        size = min(JOINED_SIZE, self.settings.chunk_size or JOINED_SIZE)
        for few, bytes_of_few in self._ranges(key_groups, size):
            if self.is_large(bytes_of_few):

                def blocks(few: KeyGroupRange = few) -> Iterator[Part]:
                    return self.blocks(names, few)

                yield from self.large_chunks(bytes_of_few, blocks)
            else:
                yield one_chunk(list(self.blocks(names, few)), Room(0), _NAME)

    def blocks(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        for state_chunk in self.state_chunks(names, key_groups):
            if len(state_chunk.entries):
                yield self._part(state_chunk)

    def state_chunks(
        self, names: frozenset[str], key_groups: KeyGroupRange
    ) -> Iterator[StateChunk]:
        return self._entries.state_chunks(self._directory, names, key_groups)

    def _ranges(self, key_groups: KeyGroupRange, size: int) -> Iterator[tuple[KeyGroupRange, int]]:
        """Key groups of about ``size`` bytes together; a larger one comes alone."""
        first, total = key_groups.start, 0
        for group in key_groups:
            more = int(self._sizes[group - self._start])
            if total and total + more > size:
                yield type(key_groups)(first, group - 1), total
                first, total = group, 0
            total += more
        yield type(key_groups)(first, key_groups.end), total

    def _part(self, state_chunk: StateChunk) -> Part:
        """The entries in a chunk, each key behind its key group."""
        size = self.decoders.prefix_size
        chunk, places = state_chunk.entries.prefixed(state_chunk.key_groups, size).in_chunk(_NAME)
        return chunk, {state_chunk.state.name: places}
