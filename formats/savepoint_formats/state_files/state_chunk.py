"""Entries of one state as canonical files store them, from a file of any format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_ranges import EntryRanges, key_group_prefix, key_groups_at
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.program.byte_ranges import Ranges, bytes_of, ranges_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.entries.entry_ranges import Part
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.state_files.state import State


@dataclass(frozen=True, slots=True, eq=False)
class StateChunk:
    """Entries of one state, and the key group of each in the savepoint that it is from."""

    state: State
    entries: StoredEntries
    key_groups: NDArray[np.uint16]


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
            entries = StoredEntries(
                bytes_of(chunk, Ranges(ranges.key_starts + prefix_size, ranges.key_ends)),
                bytes_of(chunk, Ranges(ranges.value_starts, ranges.value_ends)),
            )
            yield StateChunk(state, entries, groups.astype(np.uint16))


def part_of(state_chunks: Sequence[StateChunk], prefix_size: int) -> Part:
    """Entries of one key group in one chunk, with prefixes; each state has one state chunk at most."""
    position, data, ranges = 0, [], {}
    for state_chunk in state_chunks:
        prefix = key_group_prefix(int(state_chunk.key_groups[0]), prefix_size)
        columns = (pa.scalar(prefix, pa.large_binary()), state_chunk.entries.keys)
        nothing = pa.scalar(b"", pa.large_binary())
        keys, rows_by_key = ranges_in(pc.binary_join_element_wise(*columns, nothing))
        values, value_ranges = ranges_in(state_chunk.entries.values)
        behind = position + len(keys)
        ranges[state_chunk.state.name] = EntryRanges(
            rows_by_key.starts + position,
            rows_by_key.ends + position,
            value_ranges.starts + behind,
            value_ranges.ends + behind,
        )
        data += [keys, values]
        position = behind + len(values)
    return Chunk(np.concatenate(data)), ranges
