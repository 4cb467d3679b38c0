"""Entries of several SST files, merged: which of them are alive, and what their values are.

A key may have many entries: a put hides all that is older, a deletion too, and a merge operand is
appended to what is older. RocksDB: ``MergingIterator``, ``DBIter``, ``StringAppendTESTOperator``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.state_files.rocksdb import merge_kernel, sst_kernel
from savepoint_formats.state_files.rocksdb.merge_kernel import Survivors
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks, UnsupportedSstError
from savepoint_formats.state_files.rocksdb.sst_kernel import Entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.state_files.rocksdb.sst_blocks import StoredBlocks


@dataclass(frozen=True, slots=True, eq=False)
class SstEntries:
    """All entries of some blocks, the dead ones too.

    Attributes:
        blocks: Where they come from.
        entries: Their keys and values.
        runs: The first entry of each file, and the number of entries; those of a file are sorted.
    """

    blocks: Blocks
    entries: Entries
    runs: tuple[int, ...]

    @classmethod
    def of(cls, stored: tuple[StoredBlocks, ...]) -> Self:
        """The entries of some blocks, neighbours in a file each.

        Raises:
            UnsupportedSstError: A block has entries of a kind that only RocksDB reads.
            FormatError: A block is damaged.
        """
        blocks = Blocks.of(stored)
        counts, sizes = np.zeros((2, len(blocks) + 1), np.int64)
        status, block = sst_kernel.measure(blocks.buffer, counts, sizes)
        if status != sst_kernel.OK:
            raise blocks.status_error(status, block)
        entries = Entries(
            np.empty(sizes[-1], np.uint8),
            np.empty((4, counts[-1]), np.int64),
            np.empty(counts[-1], np.uint64),
        )
        sst_kernel.unpack(blocks.buffer, entries)
        first_blocks = np.cumsum([0, *map(len, stored)])
        return cls(blocks, entries, tuple(counts[first_blocks].tolist()))

    def living(self, lower: bytes, upper: bytes) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Data and spans of the keys from ``lower`` to before ``upper`` that have a value.

        Raises:
            UnsupportedSstError: There is an entry that only RocksDB understands.
        """
        entries, order = self.entries, self._order(lower, upper)
        kept, operands = np.empty((2, len(order)), np.int64)
        status, count, joined_size = merge_kernel.resolve(entries, Survivors(order, kept, operands))
        if status != sst_kernel.OK:
            kind = int(entries.trailers[count]) & 0xFF
            raise self.blocks.error(0, f"an entry of type {kind}", UnsupportedSstError)
        data = entries.data
        if joined_size:
            data = np.concatenate([data, np.empty(joined_size, np.uint8)])
        living = np.empty((4, count), np.int64)
        merge_kernel.select(
            entries._replace(data=data),
            Survivors(order, kept[:count], operands[:count]),
            len(entries.data),
            living,
        )
        return data, living

    def _order(self, lower: bytes, upper: bytes) -> NDArray[np.int64]:
        """The entries of the keys within the bounds: by key, and the newest of a key first."""
        bounds = np.frombuffer(lower, np.uint8), np.frombuffer(upper, np.uint8)
        orders = []
        for first, last in pairwise(self.runs):
            start, end = (
                merge_kernel.first_not_below(self.entries, first, last, bound) for bound in bounds
            )
            orders.append(np.arange(start, end))
        # The two smallest first: most entries are in one great run, and are moved just once.
        while len(orders) > 1:
            orders.sort(key=len, reverse=True)
            before, other = orders.pop(), orders.pop()
            merged = np.empty(len(before) + len(other), np.int64)
            merge_kernel.merge_two(self.entries, before, other, merged)
            orders.append(merged)
        return orders[0] if orders else np.empty(0, np.int64)
