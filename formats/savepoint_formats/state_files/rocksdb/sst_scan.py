"""Scans the SST files of a state: its living entries in chunks, in key order.

The indexes of the files give the plan. A scan is cut where a key group ends, or inside of one
that is too big for a chunk. For each chunk, the blocks that may hold its keys are read from all
files, and their entries are merged to at most one value per key.

RocksDB: ``MergingIterator``, ``DBIter``.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.entries.entry_ranges import EntryRanges, key_group_bounds
from savepoint_formats.errors import RocksDbError
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks
from savepoint_formats.state_files.rocksdb.sst_merge import Room, living_entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.state_files.rocksdb.sst import BlockIndex, RangeDeletion, Sst

    Bounds = tuple[bytes, bytes]
    """The least key, and the least that is too great."""

    Living = tuple[NDArray[np.uint8], EntryRanges]
    """Data, and where living entries lie in it."""

_SPARE = 1 << 10
"""Additional entries, and bytes, because estimates are means."""

_LEAST_AHEAD = 1 << 20
"""Least bytes of a request to a store for a table that is read in order."""


@dataclass(frozen=True, slots=True, eq=False)
class ScannedSst:
    """An SST file and its index."""

    sst: Sst
    index: BlockIndex

    def read_ahead(self, bounds: Bounds, size: int | None) -> Self:
        """Prepares reads of the blocks of these keys; see ``TableBytes.read_ahead``."""
        first, last = self.index.blocks_between(*bounds)
        if first >= last:
            return self
        start = int(self.index.offsets[first])
        end = int(self.index.offsets[last - 1] + self.index.sizes[last - 1])
        table = self.sst.table.read_ahead(start, end, size)
        return replace(self, sst=replace(self.sst, table=table))


@dataclass(frozen=True, slots=True, eq=False)
class SstScan:
    """SST files of a state; the key-group prefix has 1 or 2 bytes."""

    tables: tuple[ScannedSst, ...]
    prefix_size: int

    def read_ahead(self, bounds: Bounds, size: int | None) -> Self:
        """Prepares reads of these keys in order, with about ``size`` bytes in memory."""
        # Two blocks of each table are in memory: the one that is read, and the next.
        each = size and max(size // 2 // max(len(self.tables), 1), _LEAST_AHEAD)
        return replace(self, tables=tuple(table.read_ahead(bounds, each) for table in self.tables))

    def plan(self, key_groups: KeyGroupRange, limit: int) -> Iterator[Bounds]:
        """Divides the key groups into chunks of about ``limit`` bytes."""
        if limit == sys.maxsize:
            yield key_group_bounds(key_groups, self.prefix_size)
            return
        sizes = self.key_group_sizes(key_groups)
        for part in key_groups_of_size(key_groups, np.cumsum(sizes), limit):
            bounds = key_group_bounds(part, self.prefix_size)
            # Few key groups are that large, and only their separators are looked at.
            is_large = len(part) == 1 and sizes[part.start - key_groups.start] > limit
            yield from self._divided(*bounds, limit) if is_large else [bounds]

    def _divided(self, lower: bytes, end: bytes, limit: int) -> Iterator[Bounds]:
        blocks = sorted(self._sized_separators(lower, end))
        separators = [separator for separator, _ in blocks]
        sizes = np.cumsum([0.0, *(size for _, size in blocks)])
        while lower < end:
            first = bisect_left(separators, lower)
            # The first block beyond the limit; at least one must be taken.
            last = max(int(np.searchsorted(sizes, sizes[first] + limit, "right")) - 1, first + 1)
            # The least key above the separator: the block's own keys stay together.
            upper = min(separators[last - 1] + b"\0", end) if last < len(separators) else end
            yield lower, upper
            lower = upper

    def size(self, ranges: Sequence[tuple[bytes, bytes]]) -> float:
        """Estimates the bytes of entries in these ranges of keys."""
        total = 0.0
        for table in self.tables:
            for lower, upper in ranges:
                first, last = table.index.blocks_between(lower, upper)
                total += float(table.index.sizes[first:last].sum() * table.sst.expansion)
        return total

    def key_group_sizes(self, key_groups: KeyGroupRange) -> NDArray[np.float64]:
        """Estimates the bytes of entries of each key group."""
        lower, end = key_group_bounds(key_groups, self.prefix_size)
        sizes = np.zeros(len(key_groups))
        for table in self.tables:
            index = table.index
            first, last = index.blocks_between(lower, end)
            groups = index.separators.key_groups(first, last, self.prefix_size)
            # The separator of the last block may lie beyond the last key group.
            places = np.minimum(groups, key_groups.end) - key_groups.start
            stored = np.bincount(places, index.sizes[first:last], len(key_groups))
            sizes += stored * table.sst.expansion
        return sizes

    def _sized_separators(self, lower: bytes, upper: bytes) -> Iterator[tuple[bytes, float]]:
        """Separator of each block between the bounds, and an estimate of its bytes of entries."""
        for table in self.tables:
            index = table.index
            first, last = index.blocks_between(lower, upper)
            sizes = (index.sizes[first:last] * table.sst.expansion).tolist()
            for place, size in zip(range(first, last), sizes, strict=True):
                yield index.separators[place], size

    def read(self, bounds: Bounds, room: Room | None = None) -> Living:
        """Living entries between two bounds, in ``room`` as far as it suffices.

        Raises ``RocksDbError`` for a feature that is not read here.
        """
        parts = [
            self._living(lower, upper, oldest, room)
            for lower, upper, oldest in self._evenly_deleted(*bounds)
        ]
        return joined_parts(parts)

    def _living(self, lower: bytes, upper: bytes, oldest: int, room: Room | None) -> Living:
        """Living entries between the bounds; sequence numbers before ``oldest`` are deleted."""
        read = []
        size = count = _SPARE
        for table in self.tables:
            first, last = table.index.blocks_between(lower, upper)
            if first < last:
                sst, stored_size = table.sst, int(table.index.sizes[first:last].sum())
                read.append(Blocks.of(sst.read_blocks(table.index, slice(first, last))))
                # Operands need memory twice: they are collected, and then moved.
                size += int(stored_size * sst.expansion * (1.5 if sst.has_operands else 1))
                count += int(stored_size * sst.density)
        enough = room if room is not None and room.rest >= size else Room(size)
        return living_entries(read, (lower, upper), enough, count, oldest, self.prefix_size)

    def _evenly_deleted(self, lower: bytes, upper: bytes) -> Iterator[tuple[bytes, bytes, int]]:
        """Cuts the keys into ranges with one newest deletion each; returns its sequence number."""
        deletions = sorted(self._range_deletions(lower, upper), key=lambda deletion: deletion.start)
        bounds = {bound for deletion in deletions for bound in (deletion.start, deletion.end)}
        borders = sorted({lower, upper, *(bound for bound in bounds if lower < bound < upper)})
        begun, newest = 0, list[tuple[int, bytes]]()
        for start, end in pairwise(borders):
            while begun < len(deletions) and deletions[begun].start <= start:
                heappush(newest, (-deletions[begun].sequence, deletions[begun].end))
                begun += 1
            while newest and newest[0][1] <= start:
                heappop(newest)
            yield start, end, -newest[0][0] if newest else 0

    def _range_deletions(self, lower: bytes, upper: bytes) -> Iterator[RangeDeletion]:
        """Range deletions that touch these keys, without those of other key groups by rescaling."""
        for table in self.tables:
            for deletion in table.sst.range_deletions:
                if deletion.start < upper and deletion.end > lower:
                    if not table.sst.reach_is_known:
                        message = f"a deletion of the keys {deletion.start.hex()} to "
                        message += f"{deletion.end.hex()}, whose reach is unknown because the "
                        message += "manifest can't be read or lacks the table"
                        raise RocksDbError(message, table.sst.table.path, 0)
                    yield deletion


def key_groups_of_size(
    key_groups: KeyGroupRange, ends: NDArray[np.float64], size: int
) -> Iterator[KeyGroupRange]:
    """Ranges of about ``size`` bytes; ``ends`` has the bytes up to the end of each key group."""
    first = 0
    while first < len(key_groups):
        limit = size + (ends[first - 1] if first else 0)
        last = max(int(np.searchsorted(ends, limit, "right")), first + 1)
        yield KeyGroupRange(key_groups.start + first, key_groups.start + last - 1)
        first = last


def joined_parts(parts: Sequence[Living]) -> Living:
    """Living entries of at least one part, in one chunk."""
    if len(parts) == 1:
        return parts[0]
    borders = np.cumsum([0, *(len(data) for data, _ in parts)]).tolist()
    byte_ranges = [
        byte_ranges.moved(start) for (_, byte_ranges), start in zip(parts, borders, strict=False)
    ]
    return np.concatenate([data for data, _ in parts]), EntryRanges.joined(byte_ranges)
