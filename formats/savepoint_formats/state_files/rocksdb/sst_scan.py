"""A scan of a state's SST files: its living entries in chunks, in key order.

A scan is planned from the indexes of the files. It is cut where a key group ends, or inside of
one that is too big for a chunk. For each piece, the blocks that may hold its keys are read from
all files, their entries merged by key, the newest first, and resolved to at most one value a key.

RocksDB: ``MergingIterator``, ``DBIter``.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.entries.entry_chunk import EntryChunk, key_group_of, key_group_prefix
from savepoint_formats.entries.entry_spans import EntrySpans
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.state_files.rocksdb.room import Room
from savepoint_formats.state_files.rocksdb.sst_blocks import UnsupportedSstError
from savepoint_formats.state_files.rocksdb.sst_entries import SstEntries
from savepoint_formats.state_files.rocksdb.sst_merge import SstMerge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.state_files.rocksdb.sst import BlockIndex, Sst
    from savepoint_formats.state_files.rocksdb.sst_blocks import StoredBlocks

_SPARE = 1 << 10
"""Entries of a piece, and bytes, that may be more than a mean says."""

_LEAST_AHEAD = 1 << 20
"""The least bytes that a store is asked for of a table that is read in order."""


@dataclass(frozen=True, slots=True)
class ScanPiece:
    """The keys of a chunk: from ``lower`` to before ``upper``.

    Attributes:
        lower: The least key that may be in it.
        upper: The least key that is too great.
        key_groups: The key groups that it has keys of.
        is_continued: Whether the last of these has keys beyond ``upper``.
    """

    lower: bytes
    upper: bytes
    key_groups: KeyGroupRange
    is_continued: bool

    @classmethod
    def between(cls, lower: bytes, upper: bytes, prefix_size: int) -> Self:
        """The piece between two bounds; one that is a bare prefix ends a key group."""
        is_continued = len(upper) > prefix_size
        end = key_group_of(upper, prefix_size) - (not is_continued)
        key_groups = KeyGroupRange(key_group_of(lower, prefix_size), end)
        return cls(lower, upper, key_groups, is_continued)


@dataclass(frozen=True, slots=True, eq=False)
class ScannedSst:
    """An SST file of a state.

    Attributes:
        sst: The file.
        index: Where its blocks are.
        expansion: The bytes of keys and values for each byte of its blocks.
        density: The entries for each byte of its blocks.
        has_operands: Whether entries are merge operands.
    """

    sst: Sst
    index: BlockIndex
    expansion: float
    density: float
    has_operands: bool

    @classmethod
    def of(cls, sst: Sst) -> Self:
        """Reads the index of a file."""
        return cls(sst, sst.read_index(), sst.expansion, sst.density, sst.has_operands)

    def read_soon(self, lower: bytes, upper: bytes) -> Self:
        """The same, and a store is asked for the blocks of these keys already."""
        return replace(self, sst=self.sst.read_soon(self.index, lower, upper))

    def read_ahead(self, lower: bytes, upper: bytes, size: int) -> Self:
        """The same for who reads the blocks of these keys in order, ``size`` bytes at once of a store."""
        return replace(self, sst=self.sst.read_ahead(self.index, lower, upper, size))

    def blocks_of(self, piece: ScanPiece) -> slice:
        """The blocks that may hold keys of a piece."""
        return slice(*self.index.blocks_between(piece.lower, piece.upper))


@dataclass(frozen=True, slots=True, eq=False)
class SstScan:
    """The SST files of a state.

    Attributes:
        tables: The files.
        prefix_size: The bytes of the key-group prefix, 1 or 2.
    """

    tables: tuple[ScannedSst, ...]
    prefix_size: int

    def read_ahead(self, lower: bytes, upper: bytes, size: int) -> Self:
        """The same for who reads all of these keys in order; of a store about ``size`` bytes at once."""
        # Of each table, the bytes that are read and the next ones are in memory.
        each = max(size // 2 // max(len(self.tables), 1), _LEAST_AHEAD)
        tables = tuple(table.read_ahead(lower, upper, each) for table in self.tables)
        return replace(self, tables=tables)

    def plan(self, key_groups: KeyGroupRange, limit: int) -> Iterator[ScanPiece]:
        """Pieces of about ``limit`` bytes that cover the key groups.

        Raises:
            UnsupportedSstError: Keys in these key groups were deleted as a range.
        """
        lower = key_group_prefix(key_groups.start, self.prefix_size)
        end = key_group_prefix(key_groups.end + 1, self.prefix_size)
        self._check_range_deletions(lower, end)
        if limit == sys.maxsize or self.key_group_sizes(key_groups).sum() <= limit:
            yield ScanPiece(lower, end, key_groups, is_continued=False)
            return
        blocks = sorted(self._sized_separators(lower, end))
        separators = [separator for separator, _ in blocks]
        sizes = np.cumsum([0.0, *(size for _, size in blocks)])
        while lower < end:
            first = bisect_left(separators, lower)
            # The first block that is too much; at least one has to be taken.
            last = int(np.searchsorted(sizes, sizes[first] + limit, "right")) - 1
            upper = self._cut(separators, lower, max(last, first + 1), end)
            yield ScanPiece.between(lower, upper, self.prefix_size)
            lower = upper

    def size(self, ranges: Sequence[tuple[bytes, bytes]]) -> float:
        """About how many bytes of entries there are between the least and the greatest key of each."""
        total = 0.0
        for table in self.tables:
            for lower, upper in ranges:
                first, last = table.index.blocks_between(lower, upper)
                total += float(table.index.sizes[first:last].sum() * table.expansion)
        return total

    def key_group_sizes(self, key_groups: KeyGroupRange) -> NDArray[np.float64]:
        """About how many bytes of entries each of the key groups has."""
        lower = key_group_prefix(key_groups.start, self.prefix_size)
        end = key_group_prefix(key_groups.end + 1, self.prefix_size)
        sizes = np.zeros(len(key_groups))
        for table in self.tables:
            index = table.index
            first, last = index.blocks_between(lower, end)
            groups = index.separators.key_groups(first, last, self.prefix_size)
            # The separator of the last block may lie beyond the last key group.
            places = np.minimum(groups, key_groups.end) - key_groups.start
            stored = np.bincount(places, index.sizes[first:last], len(key_groups))
            sizes += stored * table.expansion
        return sizes

    def _cut(self, separators: list[bytes], lower: bytes, last: int, end: bytes) -> bytes:
        """The bound of a piece that has no room for the block ``last``."""
        if last >= len(separators):
            return end
        group = key_group_of(separators[last], self.prefix_size)
        border = key_group_prefix(group, self.prefix_size)
        # The least key above the separator: the block's own keys stay together.
        return min(border if border > lower else separators[last - 1] + b"\0", end)

    def _check_range_deletions(self, lower: bytes, upper: bytes) -> None:
        """Those of foreign key groups, which Flink makes when it rescales, delete nothing here.

        For others it matters where RocksDB truncates them, which only the MANIFEST says.
        """
        for table in self.tables:
            for start, end in table.sst.range_deletions:
                if start < upper and end > lower:
                    message = f"a deletion of the keys {start.hex()} to {end.hex()}"
                    raise UnsupportedSstError(message, table.sst.table.path, 0)

    def _sized_separators(self, lower: bytes, upper: bytes) -> Iterator[tuple[bytes, float]]:
        """The separator of each block in the range, and about how many bytes of entries it has."""
        for table in self.tables:
            index = table.index
            first, last = index.blocks_between(lower, upper)
            sizes = (index.sizes[first:last] * table.expansion).tolist()
            for place, size in zip(range(first, last), sizes, strict=True):
                yield index.separators[place], size

    def read(self, piece: ScanPiece, room: Room | None = None) -> EntryChunk:
        """The living entries of a piece.

        Args:
            piece: The piece.
            room: Where the entries are to lie, as far as it suffices.

        Raises:
            UnsupportedSstError: Only RocksDB itself reads them.
            FormatError: A file is damaged.
        """
        chosen = [(table, table.blocks_of(piece)) for table in self.tables]
        chosen = [(table, blocks) for table, blocks in chosen if blocks.start < blocks.stop]
        stored = tuple(
            table.sst.read_blocks(table.index, blocks.start, blocks.stop)
            for table, blocks in chosen
        )
        size = count = _SPARE
        for table, blocks in chosen:
            stored_size = int(table.index.sizes[blocks].sum())
            size += int(stored_size * table.expansion)
            count += int(stored_size * table.density)
        # Operands are joined by the general way, so the loop need not come upon them.
        has_operands = any(table.has_operands for table, _ in chosen)
        data, spans = _living(piece, stored, room, None if has_operands else (size, count))
        return EntryChunk(
            data,
            key_starts=spans.key_starts,
            key_ends=spans.key_ends,
            value_starts=spans.value_starts,
            value_ends=spans.value_ends,
            key_groups=piece.key_groups,
            prefix_size=self.prefix_size,
            is_continued=piece.is_continued,
        )


def _living(
    piece: ScanPiece,
    stored: tuple[StoredBlocks, ...],
    room: Room | None,
    expected: tuple[int, int] | None,
) -> tuple[NDArray[np.uint8], EntrySpans]:
    """Data and spans of the living entries of a piece.

    Args:
        piece: The piece.
        stored: Its blocks.
        room: Where they are to lie, as far as it suffices.
        expected: About how many bytes they have, and how many they are; None if only the general
            way knows them.
    """
    merge = SstMerge.of(stored) if expected is not None else None
    if expected is not None and merge is not None and not merge.is_little:
        size, count = expected
        enough = room if room is not None and room.rest >= size else Room(size)
        merged = merge.living(piece.lower, piece.upper, enough, count)
        if merged is not None:
            return merged
    data, spans = SstEntries.of(stored, room).living(piece.lower, piece.upper)
    return data, EntrySpans(*spans)
