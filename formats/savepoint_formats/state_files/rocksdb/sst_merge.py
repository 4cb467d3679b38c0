"""Merges the living entries of several SST files, after their blocks were decompressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.entries.entry_ranges import EntryRanges
from savepoint_formats.errors import RocksDbError
from savepoint_formats.program.byte_ranges import ranges_in
from savepoint_formats.program.kernel.code.memory import wrapped
from savepoint_formats.state_files.rocksdb.cursor_kernel import BLOCK, CURSOR_SIZE
from savepoint_formats.state_files.rocksdb.sst_kernel import OK, SLACK, TRAILER_SIZE
from savepoint_formats.state_files.rocksdb.stream_kernel import FULL, UNKNOWN, Merge, merge_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks

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
    tables: Sequence[Blocks],
    bounds: tuple[bytes, bytes],
    room: Room,
    count: int,
    oldest: int = 0,
    prefix_size: int = 0,
    *,
    shows_deletions: bool = False,
    rows: pa.LargeBinaryArray | None = None,
) -> tuple[NDArray[np.uint8], EntryRanges]:
    """Entries of tables between two bounds that have a value, in ``room`` as far as it suffices.

    There are about ``count``. Those with sequence numbers below ``oldest`` were deleted together
    with their range. With ``shows_deletions``, deleted keys come without a value. With ``rows``, which are
    sorted, only keys that begin with one of them come. Raises ``RocksDbError`` for an unknown type of compression or entry,
    and ``FormatError`` for a key of less than ``prefix_size`` bytes.
    """
    size = sum(len(table.data) for table in tables)
    count = min(count, size // _LEAST_ENTRY) + 1
    row_data, row_borders = _row_bytes(rows)
    while True:
        starts, middles = np.empty(count + 1, np.int64), np.empty(count, np.int64)
        cursors, _in_use = _cursors(tables, bounds, prefix_size)
        order = np.empty(len(cursors), np.int64)
        arrays = (cursors, order, room.data, starts, middles, row_data, row_borders)
        numbers = (len(cursors), room.used, len(room.data), count, wrapped(oldest << 8))
        addresses = [array.ctypes.data for array in arrays]
        rows_wanted = int(shows_deletions), len(row_borders) - 1
        merge = Merge._make([*addresses, *numbers, *rows_wanted])
        status, number, end = merge_tables(merge)
        if status == OK:
            break
        if status != FULL:
            # The number of a block, from 1.
            block = int(cursors[number, BLOCK // 8]) - 1
            if status == UNKNOWN:
                message = f"an entry of type {end}, which is not read here"
                raise tables[number].stored.error(block, message, RocksDbError)
            raise tables[number].stored.error(block, "a damaged block")
        count, room = 2 * count, Room(2 * room.rest + size)
    values = middles[:number]
    byte_ranges = EntryRanges(starts[:number], values, values, starts[1 : number + 1])
    room.used = end
    return room.data[:end], byte_ranges


def _row_bytes(rows: pa.LargeBinaryArray | None) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Bytes of rows, and where each begins and the last one ends; no places at all without rows."""
    if rows is None:
        return np.empty(0, np.uint8), np.empty(0, np.int64)
    data, places = ranges_in(rows)
    return data, np.append(places.starts[:1], places.ends) if len(rows) else np.zeros(1, np.int64)


def _cursors(
    tables: Sequence[Blocks], bounds: tuple[bytes, bytes], prefix_size: int
) -> tuple[NDArray[np.int64], list[NDArray[np.uint8]]]:
    """A cursor per file, and the memory that cursors point to."""
    bound_data = [np.frombuffer(bound, np.uint8) for bound in bounds]
    bound_fields = [field for bound in bound_data for field in (bound.ctypes.data, len(bound))]
    # A key has no more bytes than its block.
    keys = [np.empty(np.diff(each.borders).max() + SLACK, np.uint8) for each in tables]
    cursors = np.zeros((len(tables), CURSOR_SIZE // 8), np.int64)
    for cursor, blocks, key in zip(cursors, tables, keys, strict=True):
        addresses = [array.ctypes.data for array in (blocks.data, blocks.borders, key)]
        fields = [*addresses, len(blocks.stored), *bound_fields, prefix_size + TRAILER_SIZE]
        cursor[: len(fields)] = fields
    return cursors, [*keys, *bound_data]
