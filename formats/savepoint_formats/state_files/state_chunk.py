"""Entries of one state as canonical files store them, from a file of any format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_ranges import key_groups_at
from savepoint_formats.entries.stored_entries import StoredEntries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.entries.entry_ranges import Part
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.state_files.state import State


@dataclass(frozen=True, slots=True, eq=False)
class StateChunk:
    """Entries of one state, and the key group of each in the savepoint that it is from."""

    state: State
    entries: StoredEntries
    key_groups: NDArray[np.uint16]

    def chosen(self, wanted: NDArray[np.bool_ | np.int64]) -> StateChunk:
        """Copies of some entries."""
        return StateChunk(self.state, self.entries.chosen(wanted), self.key_groups[wanted])

    @classmethod
    def joined(cls, several: Sequence[StateChunk]) -> StateChunk:
        """All entries of at least one of these, which are of one state."""
        if len(several) == 1:
            return several[0]
        key_groups = np.concatenate([chunk.key_groups for chunk in several])
        entries = StoredEntries.joined(chunk.entries for chunk in several)
        return cls(several[0].state, entries, key_groups)


class StoredSource(Protocol):
    """Reader of entries as they are stored."""

    def state_chunks(
        self, names: frozenset[str], key_groups: KeyGroupRange
    ) -> Iterator[StateChunk]:
        """Entries of these states and key groups, some megabytes at a time."""
        ...


def state_chunks_of(part: Part, states: Sequence[State], prefix_size: int) -> Iterator[StateChunk]:
    """Entries of each of ``states`` that has any in a chunk; keys begin with their key group."""
    chunk, by_state = part
    for state in states:
        ranges = by_state.get(state.name)
        if ranges is not None and len(ranges):
            groups = key_groups_at(chunk, ranges.key_starts, prefix_size)
            entries = StoredEntries.of(chunk, ranges, prefix_size)
            yield StateChunk(state, entries, groups.astype(np.uint16))


def part_of(state_chunks: Sequence[StateChunk], prefix_size: int) -> Part:
    """Entries of one key group in one chunk, with prefixes; each state has one state chunk at most."""
    position, data, ranges = 0, [], {}
    for state_chunk in state_chunks:
        prefixed = state_chunk.entries.prefixed(state_chunk.key_groups, prefix_size)
        chunk, of_state = prefixed.in_chunk("")
        ranges[state_chunk.state.name] = of_state.moved(position)
        data.append(chunk.data)
        position += len(chunk)
    return Chunk(np.concatenate(data)), ranges
