"""Entries as bytes, compared by their hashes: which rows of a table may differ.

Entries are compared in canonical form, whatever file they are from. The sum of the hashes of all entries needs no
order; where sums differ, hashes that only one side has show which entries do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.checks.entry_digests import chained, mixed
from savepoint_formats.entries import distinct_hashes, placed_hashes
from savepoint_formats.program.byte_ranges import Ranges
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_formats.sources.state_rows import EntryDecoder
from savepoint_formats.state_files import StateKind, key_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.checks.entry_digests import Hashes
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.state_files import State, StateChunk


@dataclass(frozen=True, eq=False)
class DigestedChunk:
    """Entries of a state, with hashes of their keys and of the entries; a map has a decoder."""

    stored: StateChunk
    keys: NDArray[np.uint64]
    hashes: Hashes
    decoder: EntryDecoder | None

    @property
    def has_empty_list(self) -> bool:
        """Whether a list has no elements; a time to live may leave one."""
        if self.stored.state.kind is not StateKind.LIST or not len(self.hashes):
            return False
        return bool((self.stored.entries.value_places[1].sizes == 0).any())

    @cached_property
    def rows(self) -> pa.UInt64Array:
        """Hash of key and namespace of each entry: all entries of a map are in one row.

        64 bits of some million keys hardly ever clash; if they do, more rows are compared.
        """
        if self.decoder is None:
            return pa.array(self.keys)
        chunk, ranges = self.stored.entries.in_chunk("an entry")
        rows = Ranges(*self.decoder.identities(chunk, ranges))
        return pa.array(placed_hashes((chunk.data, rows))[:, 0].copy())


class DigestedEntries:
    """All entries of some key groups."""

    def __init__(self, chunks: Iterable[DigestedChunk]) -> None:
        self.chunks = list(chunks)

    def __len__(self) -> int:
        return sum(len(chunk.hashes) for chunk in self.chunks)

    def total(self, left_out: Sequence[pa.BooleanArray] | None = None) -> tuple[int, int, int]:
        """Number of entries, and the sum of their hashes, without those that are left out."""
        count, total = 0, np.zeros(2, np.uint64)
        for place, chunk in enumerate(self.chunks):
            count += len(chunk.hashes)
            total += [chunk.hashes[:, half].sum() for half in range(2)]
            if left_out is not None:
                hashes = chunk.hashes[np.asarray(left_out[place])]
                count -= len(hashes)
                total -= hashes.sum(axis=0)
        return count, int(total[0]), int(total[1])

    def row_count(self) -> int | None:
        """The number of rows that the entries make in a table; None if there may be fewer.

        An empty list is an entry, and the same as none, so that a row may have no value.
        """
        if any(chunk.has_empty_list for chunk in self.chunks):
            return None
        sums: dict[str, tuple[int, int]] = {}
        for chunk in self.chunks:
            count, total = sums.get(chunk.stored.state.name, (0, 0))
            more = int(chunk.keys.sum())
            sums[chunk.stored.state.name] = count + len(chunk.keys), (total + more) % (1 << 64)
        if len(set(sums.values())) == 1 and not any(chunk.decoder for chunk in self.chunks):
            return next(iter(sums.values()))[0]  # all states have the same keys
        rows = _sorted(chunk.rows.to_numpy() for chunk in self.chunks)
        return int((rows[1:] != rows[:-1]).sum()) + min(len(rows), 1)


def entries_that_differ(
    before: DigestedEntries, after: DigestedEntries
) -> tuple[list[StateChunk], list[StateChunk]] | None:
    """Entries of all rows of which an entry differs; None if entries can't be told apart."""
    sides = before, after
    lonely = pa.array(_in_one_side(before.chunks, after.chunks))
    rows = [
        chunk.rows.filter(pc.is_in(pa.array(chunk.hashes[:, 0].copy()), lonely))
        for side in sides
        for chunk in side.chunks
    ]
    wanted = pc.unique(pa.chunked_array(rows, pa.uint64()))
    chosen = [[pc.is_in(chunk.rows, wanted) for chunk in side.chunks] for side in sides]
    if before.total(chosen[0]) != after.total(chosen[1]):
        return None
    first, second = (
        [
            chunk.stored.chosen(np.asarray(places))
            for chunk, places in zip(side.chunks, of_side, strict=True)
            if places.true_count
        ]
        for side, of_side in zip(sides, chosen, strict=True)
    )
    return first, second


def _in_one_side(
    before: Sequence[DigestedChunk], after: Sequence[DigestedChunk]
) -> NDArray[np.uint64]:
    """Halves of the hashes of entries that only one side has."""
    pairs = list(zip(before, after, strict=False))
    if len(before) == len(after) and all(np.array_equal(a.keys, b.keys) for a, b in pairs):
        others = [(a.hashes[:, 0], b.hashes[:, 0]) for a, b in pairs]
        return np.concatenate([side[a != b] for a, b in others for side in (a, b)])
    hashes = _sorted(chunk.hashes[:, 0] for chunk in (*before, *after))
    # The hash of an entry of both sides comes twice.
    is_other = np.concatenate([[True], hashes[1:] != hashes[:-1], [True]])
    return np.asarray(hashes[is_other[1:] & is_other[:-1]])


def _sorted(numbers: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    return np.sort(np.concatenate([np.empty(0, np.uint64), *numbers]))


class EntryDigests:
    """Digests entries of some keyed states of an operator."""

    def __init__(
        self,
        directory: SnapshotDirectory,
        operator: OperatorState,
        states: tuple[State, ...],
        settings: SourceSettings,
    ) -> None:
        self._directory = directory
        self._operator = operator
        self._states = states
        self._settings = settings
        self._decoders = {
            state.name: EntryDecoder(state, 0, settings.kryo)
            for state in states
            if state.kind is StateKind.MAP
        }

    def of(self, key_groups: KeyGroupRange) -> DigestedEntries:
        """All entries of some key groups."""
        return DigestedEntries(map(self._digested, self._pieces(key_groups)))

    def _digested(self, stored: StateChunk) -> DigestedChunk:
        keys, name = placed_hashes(stored.entries.key_places), stored.state.name
        pairs = chained(keys, placed_hashes(stored.entries.value_places))
        pairs += distinct_hashes(
            pa.array([name.encode("utf-8", "surrogatepass")], pa.large_binary())
        )
        return DigestedChunk(stored, keys[:, 0].copy(), mixed(pairs), self._decoders.get(name))

    def _pieces(self, key_groups: KeyGroupRange) -> Iterator[StateChunk]:
        names = frozenset(state.name for state in self._states)
        key = key_layout(self._states[0])
        for subtask in self._operator.subtasks:
            for stored in keyed_handles(subtask):
                if own := stored.handle.key_groups.intersection(key_groups):
                    source = stored.source(self._directory, key, self._settings)
                    yield from source.state_chunks(names, own)
