"""The living entries of several SST files, merged as their blocks are decompressed.

What ``stream_kernel`` does not know is left to ``SstEntries``: compressions other than Snappy, merge
operands, what only RocksDB reads, and damage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.entries.entry_spans import EntrySpans
from savepoint_formats.state_files.rocksdb.room import Room
from savepoint_formats.state_files.rocksdb.snappy_kernel import SLACK
from savepoint_formats.state_files.rocksdb.sst_blocks import Compression
from savepoint_formats.state_files.rocksdb.sst_kernel import BLOCK_TRAILER_SIZE, OK
from savepoint_formats.state_files.rocksdb.stream_kernel import (
    CURSOR_SIZE,
    FULL,
    Merge,
    merge_tables,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.state_files.rocksdb.sst_blocks import StoredBlocks

_LEAST_ENTRY = 3
"""An entry has as many bytes in its block at least."""


@dataclass(frozen=True, slots=True, eq=False)
class SstMerge:
    """Blocks of several files whose entries are to be merged.

    Attributes:
        stored: The blocks, neighbours in a file each.
        sizes: For each file, the uncompressed size of each block.
        kinds: For each file, the compression of each block.
        size: All uncompressed bytes.
    """

    stored: tuple[StoredBlocks, ...]
    sizes: tuple[NDArray[np.int64], ...]
    kinds: tuple[NDArray[np.uint8], ...]
    size: int

    @classmethod
    def of(cls, stored: tuple[StoredBlocks, ...]) -> Self | None:
        """The blocks; None if some of them are left to ``SstEntries``.

        Raises:
            FormatError: A block is damaged.
        """
        kinds = tuple(blocks.compressions() for blocks in stored)
        have_slack = all(
            len(blocks.data) >= blocks.ends[-1] + BLOCK_TRAILER_SIZE + SLACK for blocks in stored
        )
        are_known = all(kind.max() <= Compression.SNAPPY for kind in kinds)
        if not stored or not have_slack or not are_known:
            return None
        sizes = tuple(
            blocks.content_sizes(own)[0] for blocks, own in zip(stored, kinds, strict=True)
        )
        return cls(stored, sizes, kinds, sum(int(each.sum()) for each in sizes))

    @property
    def is_little(self) -> bool:
        """Whether no machine code is needed, which unpacks Snappy: then this is not the faster way."""
        return merge_tables.is_spared(self.size)

    def living(
        self, lower: bytes, upper: bytes, room: Room, count: int
    ) -> tuple[NDArray[np.uint8], EntrySpans] | None:
        """Data and spans of the keys from ``lower`` to before ``upper`` that have a value.

        Args:
            lower: The least key.
            upper: The least key that is too great.
            room: Where they are to lie, as far as it suffices.
            count: About how many entries there are.

        Returns:
            None if ``SstEntries`` has to read them.
        """
        count = min(count, self.size // _LEAST_ENTRY) + 1
        while True:
            starts, middles = np.empty(count + 1, np.int64), np.empty(count, np.int64)
            cursors, _held = self._cursors(lower, upper)
            order = np.empty(len(cursors), np.int64)
            merge = Merge(
                cursors=cursors.ctypes.data,
                tables=len(cursors),
                order=order.ctypes.data,
                data=room.address,
                at=room.start,
                end=room.end,
                starts=starts.ctypes.data,
                middles=middles.ctypes.data,
                room=count,
            )
            status, number, end = merge_tables(merge)
            if status == OK:
                break
            if status != FULL:
                return None
            count, room = 2 * count, Room(2 * room.rest + self.size)
        values = middles[:number]
        spans = EntrySpans(starts[:number], values, values, starts[1 : number + 1])
        return room.filled(end), spans

    def _cursors(
        self, lower: bytes, upper: bytes
    ) -> tuple[NDArray[np.int64], list[NDArray[np.uint8]]]:
        """A row per file as the kernel has them, and memory that they point to."""
        bounds = [np.frombuffer(bound, np.uint8) for bound in (lower, upper)]
        largest = np.array([sizes.max() for sizes in self.sizes]) + 2 * SLACK
        # A block and a key for each, which has no more bytes than its block.
        places = np.concatenate([[0], np.repeat(largest, 2).cumsum()])
        memory = np.empty(places[-1], np.uint8)
        places += memory.ctypes.data
        bound_fields = [field for bound in bounds for field in (bound.ctypes.data, len(bound))]
        cursors = np.zeros((len(self.stored), CURSOR_SIZE // 8), np.int64)
        files = zip(cursors, self.stored, self.sizes, self.kinds, strict=True)
        for number, (cursor, blocks, sizes, kinds) in enumerate(files):
            arrays = blocks.data, blocks.starts, blocks.ends, sizes, kinds
            memory_fields = places[2 * number : 2 * number + 2]
            fields = [*(a.ctypes.data for a in arrays), len(blocks), *memory_fields, *bound_fields]
            cursor[: len(fields)] = fields
        return cursors, [memory, *bounds]
