"""Merges the living entries of several SST files, after their blocks were decompressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.entries.entry_ranges import EntryRanges
from savepoint_formats.errors import RocksDbError
from savepoint_formats.program.kernel.code.memory import wrapped
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks
from savepoint_formats.state_files.rocksdb.sst_kernel import OK, SLACK
from savepoint_formats.state_files.rocksdb.stream_kernel import (
    BLOCK,
    CURSOR_SIZE,
    FULL,
    UNKNOWN,
    Merge,
    merge_tables,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from savepoint_formats.state_files.rocksdb.sst_blocks import StoredBlocks

_LEAST_ENTRY = 3
"""Least bytes of an entry in its block."""


class Room:
    """Memory that the entries of several states fill, one behind the other.

    Keys of several states can be compared only if they are in one chunk. Entries that are
    unpacked into memory of their own must be copied once more for that.
    """

    def __init__(self, size: int) -> None:
        self.data = np.empty(size, np.uint8)
        self.used = 0

    @property
    def rest(self) -> int:
        """Number of bytes that are free."""
        return len(self.data) - self.used

    def position(self, data: NDArray[np.uint8]) -> int | None:
        """Place of the bytes in this memory; None if they are elsewhere."""
        position = data.ctypes.data - self.data.ctypes.data
        return position if 0 <= position <= self.used - len(data) else None


def living_entries(
    stored: Sequence[StoredBlocks],
    bounds: tuple[bytes, bytes],
    room: Room,
    count: int,
    oldest: int = 0,
) -> tuple[NDArray[np.uint8], EntryRanges]:
    """Entries between two bounds that have a value, in ``room`` as far as it suffices.

    There are about ``count``. Those with sequence numbers below ``oldest`` were deleted together
    with their range. Raises ``RocksDbError`` for an unknown type of compression or entry.
    """
    blocks = [Blocks.of(each) for each in stored]
    size = sum(len(each.data) for each in blocks)
    count = min(count, size // _LEAST_ENTRY) + 1
    while True:
        starts, middles = np.empty(count + 1, np.int64), np.empty(count, np.int64)
        cursors, _in_use = _cursors(blocks, bounds)
        order = np.empty(len(cursors), np.int64)
        merge = Merge(
            cursors=cursors.ctypes.data,
            tables=len(cursors),
            order=order.ctypes.data,
            data=room.data.ctypes.data,
            at=room.used,
            end=len(room.data),
            starts=starts.ctypes.data,
            middles=middles.ctypes.data,
            room=count,
            oldest=wrapped(oldest << 8),
        )
        status, number, end = merge_tables(merge)
        if status == OK:
            break
        if status != FULL:
            # The number of a block, from 1.
            block = int(cursors[number, BLOCK // 8]) - 1
            if status == UNKNOWN:
                message = f"an entry of type {end}, which is not read here"
                raise stored[number].error(block, message, RocksDbError)
            raise stored[number].error(block, "a damaged block")
        count, room = 2 * count, Room(2 * room.rest + size)
    values = middles[:number]
    byte_ranges = EntryRanges(starts[:number], values, values, starts[1 : number + 1])
    room.used = end
    return room.data[:end], byte_ranges


def _cursors(
    tables: Sequence[Blocks], bounds: tuple[bytes, bytes]
) -> tuple[NDArray[np.int64], list[NDArray[np.uint8]]]:
    """A cursor per file, and the memory that cursors point to."""
    bound_data = [np.frombuffer(bound, np.uint8) for bound in bounds]
    bound_fields = [field for bound in bound_data for field in (bound.ctypes.data, len(bound))]
    # A key has no more bytes than its block.
    keys = [np.empty(np.diff(each.borders).max() + SLACK, np.uint8) for each in tables]
    cursors = np.zeros((len(tables), CURSOR_SIZE // 8), np.int64)
    for cursor, blocks, key in zip(cursors, tables, keys, strict=True):
        addresses = [array.ctypes.data for array in (blocks.data, blocks.borders, key)]
        fields = [*addresses, len(blocks.stored), *bound_fields]
        cursor[: len(fields)] = fields
    return cursors, [*keys, *bound_data]
