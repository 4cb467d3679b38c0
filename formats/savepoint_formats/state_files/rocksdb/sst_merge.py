"""Merges the living entries of several SST files while their blocks are decompressed.

``stream_kernel`` decompresses Snappy itself. Libraries decompress all other blocks first, and
Snappy too if there is so little that machine code isn't worth compiling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.entries.entry_spans import EntrySpans
from savepoint_formats.errors import READABLE, RocksDbError
from savepoint_formats.program.kernel.memory import wrapped
from savepoint_formats.state_files.rocksdb.snappy_kernel import SLACK
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks, Compression
from savepoint_formats.state_files.rocksdb.sst_kernel import BLOCK_TRAILER_SIZE, OK
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


@dataclass(frozen=True, slots=True, eq=False)
class MergedBlocks:
    """Blocks of a file as the kernel takes them: plain, or compressed by Snappy.

    There are at least ``SLACK`` bytes of memory behind ``data``. ``sizes`` are those of contents.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    sizes: NDArray[np.int64]
    kinds: NDArray[np.uint8]

    @classmethod
    def of(cls, stored: StoredBlocks, sizes: NDArray[np.int64], most: Compression) -> Self:
        """Takes the blocks, decompressed if one has a compression beyond ``most``."""
        kinds = stored.data[stored.ends]
        has_slack = len(stored.data) >= stored.ends[-1] + BLOCK_TRAILER_SIZE + SLACK
        if has_slack and kinds.max() <= most:
            return cls(stored.data, stored.starts, stored.ends, sizes, kinds)
        blocks = Blocks.of([stored])
        return cls(
            blocks.data, blocks.borders[:-1], blocks.borders[1:], sizes, np.zeros_like(kinds)
        )


def living_entries(
    stored: Sequence[StoredBlocks],
    bounds: tuple[bytes, bytes],
    room: Room,
    count: int,
    oldest: int = 0,
) -> tuple[NDArray[np.uint8], EntrySpans]:
    """Entries between two bounds that have a value, in ``room`` as far as it suffices.

    There are about ``count``. Those with sequence numbers below ``oldest`` were deleted together
    with their range. Raises ``RocksDbError`` for an unknown type of compression or entry.
    """
    sizes = [blocks.content_sizes(blocks.compressions())[0] for blocks in stored]
    size = sum(int(each.sum()) for each in sizes)
    is_little = merge_tables.is_spared(size)
    most = Compression.NONE if is_little else Compression.SNAPPY
    merged = [MergedBlocks.of(*sized, most) for sized in zip(stored, sizes, strict=True)]
    count = min(count, size // _LEAST_ENTRY) + 1
    while True:
        starts, middles = np.empty(count + 1, np.int64), np.empty(count, np.int64)
        cursors, _in_use = _cursors(merged, bounds)
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
            # Little work was counted when ``is_little`` was decided.
            work=0 if is_little else size,
        )
        status, number, end = merge_tables(merge)
        if status == OK:
            break
        if status != FULL:
            # The number of a block, from 1.
            block = int(cursors[number, BLOCK // 8]) - 1
            if status == UNKNOWN:
                message = f"an entry of type {end}, which is not read here; {READABLE}"
                raise stored[number].error(block, message, RocksDbError)
            raise stored[number].error(block, "a damaged block")
        count, room = 2 * count, Room(2 * room.rest + size)
    values = middles[:number]
    spans = EntrySpans(starts[:number], values, values, starts[1 : number + 1])
    room.used = end
    return room.data[:end], spans


def _cursors(
    merged: Sequence[MergedBlocks], bounds: tuple[bytes, bytes]
) -> tuple[NDArray[np.int64], list[NDArray[np.uint8]]]:
    """A cursor per file, and the memory that cursors point to."""
    bound_data = [np.frombuffer(bound, np.uint8) for bound in bounds]
    largest = np.array([blocks.sizes.max() for blocks in merged], np.int64) + 2 * SLACK
    # Each cursor has a block and a key, which has no more bytes than its block.
    places = np.concatenate([np.zeros(1, np.int64), np.repeat(largest, 2).cumsum()])
    memory = np.empty(places[-1], np.uint8)
    places += memory.ctypes.data
    bound_fields = [field for bound in bound_data for field in (bound.ctypes.data, len(bound))]
    cursors = np.zeros((len(merged), CURSOR_SIZE // 8), np.int64)
    for number, (cursor, blocks) in enumerate(zip(cursors, merged, strict=True)):
        memory_fields = places[2 * number : 2 * number + 2]
        arrays = blocks.data, blocks.starts, blocks.ends, blocks.sizes, blocks.kinds
        addresses = [array.ctypes.data for array in arrays]
        fields = [*addresses, len(blocks.starts), *memory_fields, *bound_fields]
        cursor[: len(fields)] = fields
    return cursors, [memory, *bound_data]
