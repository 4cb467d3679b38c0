"""Entries of several SST files, merged: which of them are alive, and what their values are.

A key may have many entries: a put hides all that is older, a deletion too, and a merge operand is
appended to what is older. RocksDB: ``MergingIterator``, ``DBIter``, ``StringAppendTESTOperator``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.state_files.rocksdb import merge_kernel, sst_kernel
from savepoint_formats.state_files.rocksdb.merge_kernel import Survivors
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks, UnsupportedSstError
from savepoint_formats.state_files.rocksdb.sst_kernel import WORD_SIZE, Entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.state_files.rocksdb.room import Room
    from savepoint_formats.state_files.rocksdb.sst_blocks import StoredBlocks


@dataclass(frozen=True, slots=True, eq=False)
class SstEntries:
    """All entries of some blocks, the dead ones too.

    Attributes:
        blocks: Where they come from.
        entries: Their keys and values.
        runs: The first entry of each file, and the number of entries; those of a file are sorted.
        is_plain: Whether all are values, and each is of another key than the one before it.
    """

    blocks: Blocks
    entries: Entries
    runs: tuple[int, ...]
    is_plain: bool

    @classmethod
    def of(cls, stored: tuple[StoredBlocks, ...], room: Room | None = None) -> Self:
        """The entries of some blocks, neighbours in a file each.

        Args:
            stored: The blocks.
            room: Where the entries are to lie, as far as it suffices.

        Raises:
            UnsupportedSstError: A block has entries of a kind that only RocksDB reads.
            FormatError: A block is damaged.
        """
        blocks = Blocks.of(stored)
        counts, sizes = np.zeros((2, len(blocks) + 1), np.int64)
        status, block = sst_kernel.measure(blocks.buffer, counts, sizes)
        if status != sst_kernel.OK:
            raise blocks.status_error(status, block)
        count, size = int(counts[-1]), int(sizes[-1]) + WORD_SIZE
        data = room.take(size) if room else np.empty(size, np.uint8)
        entries = Entries(data, np.empty((4, count), np.int64), np.empty(count, np.uint64))
        is_plain = sst_kernel.unpack(blocks.buffer, entries.addresses)
        first_blocks = np.cumsum([0, *map(len, stored)])
        return cls(blocks, entries, tuple(counts[first_blocks].tolist()), is_plain)

    def living(self, lower: bytes, upper: bytes) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Data and spans of the keys from ``lower`` to before ``upper`` that have a value.

        Raises:
            UnsupportedSstError: There is an entry that only RocksDB understands.
        """
        entries = self.entries
        order, is_plain = self._order(lower, upper)
        if is_plain:
            # Nothing is hidden, and nothing to be joined: so it is with most savepoints.
            return entries.data, _chosen(entries.spans, order)
        kept, operands = np.empty((2, len(order)), np.int64)
        survivors = Survivors(order, kept, operands)
        status, count, joined_size = merge_kernel.resolve(entries.addresses, survivors)
        if status != sst_kernel.OK:
            kind = int(entries.trailers[count]) & 0xFF
            raise self.blocks.error(0, f"an entry of type {kind}", UnsupportedSstError)
        living = _chosen(entries.spans, order[kept[:count]])
        if joined_size:
            joined_at = len(entries.data)
            data = np.concatenate([entries.data, np.empty(joined_size, np.uint8)])
            entries = replace(entries, data=data)
            survivors = Survivors(order, kept[:count], operands[:count])
            merge_kernel.join_operands(entries.addresses, survivors, joined_at, living)
        return entries.data, living

    def _order(self, lower: bytes, upper: bytes) -> tuple[NDArray[np.int64], bool]:
        """The entries of the keys within the bounds: by key, and the newest of a key first.

        Returns:
            Which they are, and whether all of them are alive as they are.
        """
        bounds = np.frombuffer(lower, np.uint8), np.frombuffer(upper, np.uint8)
        addresses, is_plain = self.entries.addresses, self.is_plain
        orders = []
        for first, last in pairwise(self.runs):
            start, end = (
                merge_kernel.first_not_below(addresses, first, last, bound) for bound in bounds
            )
            if start < end:
                orders.append(np.arange(start, end))
        # The two smallest first: most entries are in one great run, and are moved just once.
        while len(orders) > 1:
            orders.sort(key=len, reverse=True)
            before, other = orders.pop(), orders.pop()
            merged = np.empty(len(before) + len(other), np.int64)
            has_own_keys = merge_kernel.merge_two(addresses, before, other, merged)
            is_plain = is_plain and has_own_keys
            orders.append(merged)
        return (orders[0] if orders else np.empty(0, np.int64)), is_plain


def _chosen(spans: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The spans of some entries; numpy is fastest at this where it need not check."""
    return np.take(spans, order, axis=1, mode="clip")
