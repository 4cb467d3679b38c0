"""Loops over the entries of SST blocks, compiled.

A block holds entries in key order, then a table of restart points:

| bytes     | field      | meaning                                                     |
|-----------|------------|-------------------------------------------------------------|
| varint    | shared     | bytes that the key has in common with the one before        |
| varint    | unshared   | bytes of the key that follow                                |
| varint    | value size |                                                             |
| …         | key suffix |                                                             |
| …         | value      |                                                             |
| u32 LE ×n | restarts   | offsets of entries whose ``shared`` is 0                    |
| u8 ×m     | buckets    | a hash index, if the top bit of the last u32 is set         |
| u16 LE    | m          |                                                             |
| u32 LE    | n          |                                                             |

A key ends with a trailer, u64 LE ``sequence << 8 | type``. Functions neither allocate nor raise:
they return a status, which ``sst_blocks`` turns into an error.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    copy,
    load_byte,
    load_native_long,
    load_native_unsigned_int,
    load_native_unsigned_short,
    store_long,
)

UNCOMPRESSED = 0
SNAPPY = 1

OK = 0
DAMAGED = 1

TRAILER_SIZE = 8
WORD_SIZE = 8
BLOCK_TRAILER_SIZE = 5

SLACK = 40
"""Number of bytes behind blocks and keys that loops may read, and write."""

HASH_INDEX = 1 << 31
_CONTINUATIONS = 0x808080
"""Bits of three bytes that are set if a number has more bytes."""


@part
def read_varint(data: int, position: int, end: int) -> tuple[int, int]:
    """Number at ``position`` of the data, and its end; -1 if it has none."""
    value = shift = 0
    while position < end and shift < 63:
        byte = load_byte(data + position)
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    return 0, -1


@part
def read_long_sizes(data: int, position: int, end: int) -> tuple[int, int, int, int]:
    """Like ``read_entry_sizes``, for numbers of more than one byte."""
    shared, position = read_varint(data, position, end)
    unshared = size = 0
    if position >= 0:
        unshared, position = read_varint(data, position, end)
    if position >= 0:
        size, position = read_varint(data, position, end)
    return shared, unshared, size, position


@part
def read_entry_sizes(data: int, position: int, end: int) -> tuple[int, int, int, int]:
    """The three numbers in front of an entry, and their end; -1 if they have none."""
    if position + 4 <= end:
        sizes = load_native_unsigned_int(data + position)
        if sizes & _CONTINUATIONS == 0:
            return sizes & 0xFF, sizes >> 8 & 0xFF, sizes >> 16 & 0xFF, position + 3
    return read_long_sizes(data, position, end)


class ContentSizes(NamedTuple):
    """Blocks whose sizes are to be read; all but the number are addresses."""

    data: int  # the bytes of the blocks
    kinds: int  # u8 per block: its compression
    starts: int  # i64 per block
    ends: int
    sizes: int
    total: int  # number of blocks


@entry
def read_content_sizes(job: ContentSizes) -> int:
    """Reads the size in front of each compressed block, and moves the block's start behind it.

    Returns the first block without a size; -1 if there is none.
    """
    for block in range(job.total):
        kind = load_byte(job.kinds + block)
        if kind != UNCOMPRESSED:
            start = load_native_long(job.starts + 8 * block)
            end = load_native_long(job.ends + 8 * block)
            size, position = read_varint(job.data, start, end)
            if position < 0:
                return block
            store_long(job.sizes + 8 * block, size)
            if kind != SNAPPY:
                store_long(job.starts + 8 * block, position)
    return -1


@part
def entries_end(data: int, start: int, end: int) -> tuple[int, int]:
    """Status, and the end of the entries of the block from ``start`` to ``end``."""
    limit = end - 4
    if limit < start:
        return DAMAGED, start
    count = load_native_unsigned_int(data + limit)
    if count & HASH_INDEX:
        limit -= 2
        if limit < start:
            return DAMAGED, start
        limit -= load_native_unsigned_short(data + limit)
    limit -= 4 * (count & ~HASH_INDEX)
    return (OK, limit) if limit >= start else (DAMAGED, start)


class IndexBlock(NamedTuple):
    """An index block to read; all but the numbers are addresses."""

    data: int
    size: int
    has_deltas: int
    room: int  # number of entries to fill in: all, or 0 to count them
    keys: int  # where the keys go
    key_ends: int  # i64 per entry: where its key ends
    offsets: int  # i64 per entry: where its block begins
    sizes: int  # i64 per entry


@entry
def read_index(block: IndexBlock) -> tuple[int, int, int]:
    """Reads an index block: a key that no key of a data block exceeds, and the block's place.

    With deltas, an entry has no value size. The handle of an entry that shares no key bytes is
    complete. Another handle is the difference of the size, and its block follows the one before.

    Returns a status, the number of entries, and the bytes of their keys.
    """
    data, target = block.data, block.keys
    status, limit = entries_end(data, 0, block.size)
    if status != OK:
        return status, 0, 0
    position = count = at = 0
    key_size = 0
    offset = size = 0
    while position < limit:
        shared, position = read_varint(data, position, limit)
        if position < 0:
            return DAMAGED, 0, 0
        unshared, position = read_varint(data, position, limit)
        if position < 0:
            return DAMAGED, 0, 0
        if not block.has_deltas:
            _, position = read_varint(data, position, limit)
        if position < 0 or shared > key_size or unshared > limit - position:
            return DAMAGED, 0, 0
        if block.room:
            copy(target + at, target + at - key_size, shared)
            copy(target + at + shared, data + position, unshared)
        position += unshared
        key_size = shared + unshared
        at += key_size
        if block.has_deltas and shared > 0:
            zigzag, position = read_varint(data, position, limit)
            offset += size + BLOCK_TRAILER_SIZE
            size += (zigzag >> 1) ^ -(zigzag & 1)
        else:
            offset, position = read_varint(data, position, limit)
            if position < 0:
                return DAMAGED, 0, 0
            size, position = read_varint(data, position, limit)
        if position < 0 or offset < 0 or size < 0:
            return DAMAGED, 0, 0
        if block.room:
            store_long(block.key_ends + 8 * count, at)
            store_long(block.offsets + 8 * count, offset)
            store_long(block.sizes + 8 * count, size)
        count += 1
    return OK, count, at
