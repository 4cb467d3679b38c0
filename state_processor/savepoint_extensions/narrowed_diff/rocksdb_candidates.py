"""Candidates of two RocksDBs: the keys of tables that only one of them has.

Tables never change. A key of which all entries lie in tables of both snapshots has the same value in both, since
RocksDB merges the same entries. All other keys, deleted ones too, are in tables of one side. They are
looked up in all tables of both sides, in the blocks that may have them by the tables' indexes, and merged as
RocksDB merges them.

A range deletion in a table of one side hides keys that no table of one side has. Then there is no shortcut.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_extensions.narrowed_diff.same_files import SnapshotFile
from savepoint_formats.bytes import Chunk
from savepoint_formats.entries import EntryRanges, key_group_bounds
from savepoint_formats.key_groups import KeyGroupRange, prefix_size
from savepoint_formats.program.byte_ranges import Ranges, bytes_of, ranges_in
from savepoint_formats.sources.state_rows import EntryDecoders
from savepoint_formats.state_files import (
    Blocks,
    Room,
    SstFiles,
    StateChunk,
    StateKind,
    joined_parts,
    living_entries,
    state_chunks_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.locations import SnapshotDirectory
    from savepoint_formats.metadata import IncrementalHandle, LocalFile
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.state_files import BlockIndex, Sst, State

    Bounds = tuple[bytes, bytes]
    Living = tuple[NDArray[np.uint8], EntryRanges]

_WIDTH = 64
"""Bytes of keys that are compared to find blocks; more blocks are read where keys differ later."""

_WORD = 8

_AT_ONCE = 8 << 20
"""Bytes of blocks that are looked up at once; their memory is used again."""

_LARGE_SHARE = 2
"""Tables of one side are at most half of all bytes; otherwise all entries are compared."""


@dataclass(frozen=True)
class RocksDb:
    """The tables of a handle."""

    directory: SnapshotDirectory
    handle: IncrementalHandle

    @cached_property
    def files(self) -> SstFiles:
        return SstFiles(self.directory, self.handle, None)

    @cached_property
    def _indexes(self) -> dict[Sst, BlockIndex]:
        return {}

    def index(self, table: Sst) -> BlockIndex:
        if table not in self._indexes:
            self._indexes[table] = table.read_index()
        return self._indexes[table]

    def living(self, tables: Sequence[Sst], bounds: Bounds, lookup: Lookup | None) -> Living:
        """Entries of tables of one state in key groups; with deleted keys without a look-up.

        Some other keys may begin like a row of the look-up; their entries may be missing.
        """
        read = [
            (table, blocks)
            for table in tables
            if (blocks := self._read(table, bounds, lookup)) is not None
        ]
        room, count = _needed(read, lookup)
        return living_entries(
            [blocks for _, blocks in read],
            bounds,
            room,
            count,
            prefix_size=len(bounds[0]),
            shows_deletions=lookup is None,
            rows=None if lookup is None else lookup.rows.keys,
        )

    def _read(self, table: Sst, bounds: Bounds, lookup: Lookup | None) -> Blocks | None:
        index = self.index(table)
        if lookup is not None:
            return lookup.blocks(table, index, bounds)
        return _blocks(table, index, slice(*index.blocks_between(*bounds)))


def _needed(read: Sequence[tuple[Sst, Blocks]], lookup: Lookup | None) -> tuple[Room, int]:
    """Estimates the memory for the living entries of blocks, and their number."""
    size, count = 1 << 10, 1 << 10
    for table, blocks in read:
        own = int((blocks.stored.ends - blocks.stored.starts).sum())
        size += int(own * table.expansion * (1.5 if table.has_operands else 1))
        count += int(own * table.density)
    if lookup is not None and not lookup.has_more:
        # Few entries of these blocks are wanted; new memory costs more than what fills it.
        wanted = min(2 * len(lookup.rows.keys) + 1, count)
        size, count = (1 << 10) + size * wanted // count, wanted
    return Room(size), count


@dataclass(frozen=True, slots=True)
class Lookup:
    """Looks up rows of a state; remembers the blocks of tables, which both sides may have.

    ``wanted`` has the numbers of a table's blocks that may have some of the rows. ``has_more`` says that
    a row may have several entries.
    """

    rows: Rows
    wanted: Mapping[Sst, NDArray[np.int64]]
    has_more: bool
    _blocks: dict[Sst, Blocks | None] = field(default_factory=dict)

    def blocks(self, table: Sst, index: BlockIndex, bounds: Bounds) -> Blocks | None:
        """Blocks of a table between the bounds that may have some of the rows."""
        if table not in self._blocks:
            wanted = self.wanted[table]
            first, last = np.searchsorted(wanted, index.blocks_between(*bounds)).tolist()
            self._blocks[table] = _blocks(table, index, wanted[first:last])
        return self._blocks[table]


@dataclass(frozen=True, eq=False)
class Rows:
    """Beginnings of keys, each of all entries of a row: key group, key and namespace; sorted."""

    keys: pa.LargeBinaryArray

    def between(self, lower: bytes, upper: bytes) -> Rows:
        """Rows from ``lower`` to before ``upper``, of at most 8 bytes."""
        bounds = np.array([lower, upper], f"S{_WORD}")
        first, last = np.searchsorted(self._least.astype(f"S{_WORD}"), bounds)
        return Rows(self.keys.slice(first, last - first))

    @cached_property
    def _least(self) -> NDArray[np.bytes_]:
        data, places = ranges_in(self.keys)
        return _heads(data, places.starts, places.ends)

    @cached_property
    def _greatest(self) -> NDArray[np.bytes_]:
        """Not less than any longer key that begins with a row, as far as keys are compared."""
        data, places = ranges_in(self.keys)
        return _heads(data, places.starts, places.ends, fill=0xFF, width=_WIDTH)

    def wanted_blocks(
        self, index: BlockIndex, bounds: Bounds, *, has_more: bool
    ) -> NDArray[np.int64]:
        """Numbers of the blocks between the bounds that may have entries of the rows.

        ``has_more`` says that keys are longer than rows.
        """
        first, last = index.blocks_between(*bounds)
        separators = index.separators
        ends = _heads(separators.data, separators.starts[first:last], separators.ends[first:last])
        # A row begins in the first block whose end is not before it, and goes on to the first
        # block whose end is behind it.
        begins = np.searchsorted(ends, self._least, "left")
        stops = np.searchsorted(ends, self._greatest if has_more else self._least, "right")
        is_there = begins < last - first
        marks = np.bincount(begins[is_there], minlength=last - first + 1)
        stops = np.minimum(stops[is_there] + 1, last - first)
        marks -= np.bincount(stops, minlength=last - first + 1)
        return first + np.flatnonzero(np.cumsum(marks[:-1]) > 0)


def _heads(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    *,
    fill: int = 0,
    width: int | None = None,
) -> NDArray[np.bytes_]:
    """The first bytes of keys. Their order is that of keys; different keys may have equal ones."""
    if width is None:
        width = min(_WIDTH, max(int((ends - starts).max(initial=0)), 1))
    heads = np.full((len(starts), width), fill, np.uint8)
    for place in range(width):
        is_there = starts + place < ends
        heads[is_there, place] = data[starts[is_there] + place]
    return heads.view(f"S{width}").ravel()


def _blocks(table: Sst, index: BlockIndex, chosen: slice | NDArray[np.int64]) -> Blocks | None:
    """These blocks of a table; None without any."""
    has_any = len(index.sizes[chosen]) > 0
    return Blocks.of(table.read_blocks(index, chosen)) if has_any else None


def key_group_pieces(key_groups: KeyGroupRange, count: int) -> Iterator[KeyGroupRange]:
    """Divides key groups into this many ranges, or one of each key group."""
    count = min(count, len(key_groups))
    borders = [key_groups.start + len(key_groups) * number // count for number in range(count + 1)]
    for start, end in pairwise(borders):
        yield KeyGroupRange(start, end - 1)


class RocksDbPair:
    """Two RocksDBs with the same states."""

    def __init__(
        self,
        before: RocksDb,
        after: RocksDb,
        states: Sequence[State],
        settings: SourceSettings,
    ) -> None:
        self._sides = before, after
        self._states = tuple(states)
        self._names = frozenset(state.name for state in states)
        self._decoders = EntryDecoders(states, settings)
        self._prefix_size = prefix_size(settings.max_parallelism)
        self._same: dict[tuple[LocalFile, LocalFile], bool] = {}

    def candidates(
        self, key_groups: KeyGroupRange
    ) -> tuple[list[StateChunk], list[StateChunk]] | None:
        """Entries of rows that may differ, before and after; None if there is no shortcut."""
        bounds = key_group_bounds(key_groups, self._prefix_size)
        wanted = [side.files.wanted(self._names, bounds) for side in self._sides]
        shared = self._shared(*wanted)
        seen = {*shared.values()}, shared.keys()
        alone = [
            [file for file in files if file not in others]
            for files, others in zip(wanted, seen, strict=True)
        ]
        if not any(alone):
            return [], []
        size, total = (
            sum(file.stream.size for side in each for file in side) for each in (alone, wanted)
        )
        if size * _LARGE_SHARE > total:
            return None
        opened = [side.files.opened(files) for side, files in zip(self._sides, alone, strict=True)]
        if any(table.range_deletions for tables in opened for table in tables):
            return None
        rows = [
            part
            for side, tables in zip(self._sides, opened, strict=True)
            for part in self._rows(side, tables, bounds)
        ]
        distinct = pc.unique(pa.chunked_array(rows, pa.large_binary()))
        keys = Rows(distinct.take(pc.array_sort_indices(distinct)))
        if not len(keys.keys):
            return [], []
        common = self._sides[0].files.opened(list(shared.values()))
        if any(table.range_deletions for table in common):
            return None
        tables = [(*common, *own) for own in opened]
        before, after = list["StateChunk"](), list["StateChunk"]()
        for state in self._states:
            first, second = self._looked_up(state, tables, key_groups, keys)
            before += first
            after += second
        return before, after

    def _shared(
        self, before: Mapping[LocalFile, object], after: Mapping[LocalFile, object]
    ) -> dict[LocalFile, LocalFile]:
        """Tables that both sides have: those of the later one, and what they are in the earlier one."""
        places: dict[object, LocalFile] = {}
        names: dict[str, LocalFile] = {}
        for file in after:
            places[self._file(1, file).place] = file
            names[file.name] = file
        shared: dict[LocalFile, LocalFile] = {}
        for file, listed in before.items():
            other = places.get(self._file(0, file).place) or names.get(file.name)
            if other is not None and listed == after[other] and self._is_same(file, other):
                shared[other] = file
        return shared

    def _is_same(self, file: LocalFile, other: LocalFile) -> bool:
        if (file, other) not in self._same:
            self._same[file, other] = self._file(0, file).has_same_bytes(self._file(1, other))
        return self._same[file, other]

    def _file(self, side: int, file: LocalFile) -> SnapshotFile:
        return SnapshotFile(self._sides[side].directory, file.stream)

    def _rows(
        self, side: RocksDb, tables: Collection[Sst], bounds: Bounds
    ) -> Iterator[pa.LargeBinaryArray]:
        """Key group, key and namespace of the entries of tables, also of deleted ones."""
        for state in self._states:
            own = [table for table in tables if table.column_family == state.name]
            if own:
                data, ranges = side.living(own, bounds, None)
                yield self._identities(state, Chunk(data, side.directory.uri), ranges)

    def _identities(self, state: State, chunk: Chunk, ranges: EntryRanges) -> pa.LargeBinaryArray:
        starts, ends = self._decoders.identities(state.name, chunk, ranges)
        return bytes_of(chunk, Ranges(starts - self._prefix_size, ends))

    def _looked_up(
        self,
        state: State,
        tables: Sequence[Sequence[Sst]],
        key_groups: KeyGroupRange,
        rows: Rows,
    ) -> tuple[Iterator[StateChunk], Iterator[StateChunk]]:
        """Entries of the rows in tables of both sides."""
        own = [[each for each in of_side if each.column_family == state.name] for of_side in tables]
        bounds = key_group_bounds(key_groups, self._prefix_size)
        wanted, size = dict["Sst", "NDArray[np.int64]"](), 0
        has_more = state.kind is StateKind.MAP
        for side, of_side in zip(self._sides, own, strict=True):
            for table in {*of_side} - wanted.keys():
                index = side.index(table)
                wanted[table] = rows.wanted_blocks(index, bounds, has_more=has_more)
                size += int(index.sizes[wanted[table]].sum())
        parts = list["Living"](), list["Living"]()
        for piece in key_group_pieces(key_groups, 1 + size // _AT_ONCE):
            bounds = key_group_bounds(piece, self._prefix_size)
            lookup = Lookup(rows.between(*bounds), wanted, has_more)
            for side, of_side, living in zip(self._sides, own, parts, strict=True):
                data, ranges = side.living(of_side, bounds, lookup)
                living.append((data.copy(), ranges))
        first, second = (
            self._chosen(state, Chunk(data, side.directory.uri), ranges, rows)
            for side, (data, ranges) in zip(self._sides, map(joined_parts, parts), strict=True)
        )
        return first, second

    def _chosen(
        self, state: State, chunk: Chunk, ranges: EntryRanges, rows: Rows
    ) -> Iterator[StateChunk]:
        """Entries of the rows, without those of other keys that begin like one."""
        is_wanted = pc.is_in(self._identities(state, chunk, ranges), rows.keys)
        chosen = ranges.chosen(np.asarray(is_wanted))
        return state_chunks_of((chunk, {state.name: chosen}), [state], self._prefix_size)
