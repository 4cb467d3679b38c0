"""The loops over the entries of SST blocks, compiled by numba.

A block holds entries in key order, then a table of restart points:

| bytes     | field      | meaning                                                     |
|-----------|------------|-------------------------------------------------------------|
| varint    | shared     | bytes that the key has in common with the one before        |
| varint    | unshared   | bytes of the key that follow                                |
| varint    | value size |                                                             |
| …         | key suffix |                                                             |
| …         | value      |                                                             |
| u32 LE ×n | restarts   | offsets of entries whose ``shared`` is 0                    |
| u32 LE    | n          | its top bit says that a hash index lies before it           |

A key ends with a trailer, u64 LE ``sequence << 8 | type``. Nothing here allocates, or raises: a
function returns a status, and the block that ``sst_blocks`` makes an error of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray  # noqa: TC002  # NamedTuple evaluates annotations

from savepoint_formats.program.kernel.machine_code import light_entry, part
from savepoint_formats.program.kernel.memory import (
    load_byte,
    load_native_long,
    store_byte,
    store_long,
)

UNCOMPRESSED = 0
SNAPPY = 1

OK = 0
DAMAGED = 1
UNKNOWN = 2

TRAILER_SIZE = 8
WORD_SIZE = 8
BLOCK_TRAILER_SIZE = 5

_HASH_INDEX = 1 << 31

ENTRY_WORK = 64
"""An entry is as much work as so many bytes."""


class BlockBuffer(NamedTuple):
    """Blocks, one behind the other: block i is from ``borders[i]`` to ``borders[i + 1]``."""

    data: NDArray[np.uint8]
    borders: NDArray[np.int64]


class Entries(NamedTuple):
    """Entries: the rows of ``spans`` are key starts, key ends, value starts and value ends."""

    data: NDArray[np.uint8]
    spans: NDArray[np.int64]
    trailers: NDArray[np.uint64]


@part
def wide(byte: np.unsignedinteger) -> int:
    """A number as numba's usual one; an unsigned and a signed one would make a float."""
    return np.int64(byte)  # type: ignore[return-value]


@part
def read_varint(data: NDArray[np.uint8], position: int, end: int) -> tuple[int, int]:
    """The number at ``position``, and where it ends; -1 if it has no end."""
    value = shift = 0
    while position < end and shift < 63:
        byte = wide(data[position])
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    return 0, -1


@part
def read_u32(data: NDArray[np.uint8], position: int) -> int:
    """A u32, little endian."""
    return (
        wide(data[position])
        | wide(data[position + 1]) << 8
        | wide(data[position + 2]) << 16
        | wide(data[position + 3]) << 24
    )


@part
def read_trailer(data: NDArray[np.uint8], position: int) -> np.uint64:
    """The sequence number and type of an entry."""
    return np.uint64(load_native_long(data.ctypes.data + position))


@part
def read_long_sizes(data: NDArray[np.uint8], position: int, end: int) -> tuple[int, int, int, int]:
    """What ``read_entry_sizes`` does, for numbers of more than one byte."""
    shared, position = read_varint(data, position, end)
    unshared = size = 0
    if position >= 0:
        unshared, position = read_varint(data, position, end)
    if position >= 0:
        size, position = read_varint(data, position, end)
    return shared, unshared, size, position


@part
def read_entry_sizes(data: NDArray[np.uint8], position: int, end: int) -> tuple[int, int, int, int]:
    """The three numbers in front of an entry, and where they end; -1 if they have no end."""
    if position + 3 <= end:
        shared, unshared = wide(data[position]), wide(data[position + 1])
        size = wide(data[position + 2])
        if (shared | unshared | size) < 0x80:
            return shared, unshared, size, position + 3
    return read_long_sizes(data, position, end)


@light_entry(lambda _, __, starts, ___, ____: ENTRY_WORK * len(starts))
def read_content_sizes(
    data: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> int:
    """Reads the size in front of each compressed block, and moves its start behind it.

    Returns:
        The first block that has no such size; -1 if there is none.
    """
    for block in range(len(starts)):
        if kinds[block] != UNCOMPRESSED:
            sizes[block], position = read_varint(data, starts[block], ends[block])
            if position < 0:
                return block
            if kinds[block] != SNAPPY:
                starts[block] = position
    return -1


@part
def entries_end(data: NDArray[np.uint8], start: int, end: int) -> tuple[int, int]:
    """A status, and where the restart points of the block from ``start`` to ``end`` begin."""
    if end - start < 4:
        return DAMAGED, start
    count = read_u32(data, end - 4)
    if count & _HASH_INDEX:
        return UNKNOWN, end - 4
    limit = end - 4 - 4 * count
    return (OK, limit) if limit >= start else (DAMAGED, end - 4)


@light_entry(lambda blocks, _, __: blocks.data.size)
def measure(
    blocks: BlockBuffer, first_entries: NDArray[np.int64], first_bytes: NDArray[np.int64]
) -> tuple[int, int]:
    """Checks all entries of some blocks, and counts them and their bytes.

    ``first_entries[i]`` becomes the number of entries before block i, and ``first_bytes[i]`` that
    of their bytes; both have one element more than there are blocks.

    Returns:
        A status, and the block that it is about.
    """
    data = blocks.data
    for block in range(len(blocks.borders) - 1):
        entries, size = first_entries[block], first_bytes[block]
        position = blocks.borders[block]
        status, limit = entries_end(data, position, blocks.borders[block + 1])
        if status != OK:
            return status, block
        key_size = 0
        while position < limit:
            shared, unshared, value_size, position = read_entry_sizes(data, position, limit)
            if position < 0 or shared > key_size or unshared > limit - position:
                return DAMAGED, block
            key_size = shared + unshared
            position += unshared
            if key_size < TRAILER_SIZE or value_size > limit - position:
                return DAMAGED, block
            position += value_size
            size += key_size + value_size
            entries += 1
        first_entries[block + 1] = entries
        first_bytes[block + 1] = size
    return OK, 0


@part
def copy(
    source: NDArray[np.uint8], start: int, size: int, target: NDArray[np.uint8], at: int
) -> None:
    """Copies some bytes, which do not overlap with where they go."""
    origin, goal = source.ctypes.data + start, target.ctypes.data + at
    if size < WORD_SIZE:
        for place in range(size):
            store_byte(goal + place, load_byte(origin + place))
        return
    for place in range(0, size - WORD_SIZE, WORD_SIZE):
        store_long(goal + place, load_native_long(origin + place))
    # The last word ends with the bytes, and may have some of the one before.
    last = size - WORD_SIZE
    store_long(goal + last, load_native_long(origin + last))


@light_entry(lambda _, entries: entries.data.size)
def unpack(blocks: BlockBuffer, entries: Entries) -> None:
    """Writes the entries of blocks that were measured: key, trailer and value, one by one."""
    source, data, spans = blocks.data, entries.data, entries.spans
    entry = 0
    at = 0
    for block in range(len(blocks.borders) - 1):
        position = blocks.borders[block]
        _, limit = entries_end(source, position, blocks.borders[block + 1])
        previous = at
        while position < limit:
            shared, unshared, value_size, position = read_entry_sizes(source, position, limit)
            value_start = at + shared + unshared
            copy(data, previous, shared, data, at)
            copy(source, position, unshared + value_size, data, at + shared)
            position += unshared + value_size
            spans[0, entry] = at
            spans[1, entry] = value_start - TRAILER_SIZE
            spans[2, entry] = value_start
            spans[3, entry] = value_start + value_size
            entries.trailers[entry] = read_trailer(data, value_start - TRAILER_SIZE)
            previous = at
            at = value_start + value_size
            entry += 1


@light_entry(lambda block, *_: block.size)
def read_index(
    block: NDArray[np.uint8],
    has_deltas: bool,
    keys: NDArray[np.uint8],
    key_ends: NDArray[np.int64],
    handles: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Reads an index block: a key that no key of a data block exceeds, and where that block is.

    It only counts where ``keys`` is empty. With deltas, an entry has no value size; the handle of
    one that shares no key bytes is complete, that of another is the difference of the size, and
    the block follows the one before.

    Returns:
        A status, the number of entries, and the bytes of their keys.
    """
    status, limit = entries_end(block, 0, len(block))
    if status != OK:
        return status, 0, 0
    is_counting = len(keys) == 0
    position = count = at = 0
    key_size = 0
    offset = size = 0
    while position < limit:
        shared, position = read_varint(block, position, limit)
        if position < 0:
            return DAMAGED, 0, 0
        unshared, position = read_varint(block, position, limit)
        if position < 0:
            return DAMAGED, 0, 0
        if not has_deltas:
            _, position = read_varint(block, position, limit)
        if position < 0 or shared > key_size or unshared > limit - position:
            return DAMAGED, 0, 0
        if not is_counting:
            copy(keys, at - key_size, shared, keys, at)
            copy(block, position, unshared, keys, at + shared)
        position += unshared
        key_size = shared + unshared
        at += key_size
        if has_deltas and shared > 0:
            zigzag, position = read_varint(block, position, limit)
            offset += size + BLOCK_TRAILER_SIZE
            size += (zigzag >> 1) ^ -(zigzag & 1)
        else:
            offset, position = read_varint(block, position, limit)
            if position < 0:
                return DAMAGED, 0, 0
            size, position = read_varint(block, position, limit)
        if position < 0 or offset < 0 or size < 0:
            return DAMAGED, 0, 0
        if not is_counting:
            key_ends[count] = at
            handles[0, count] = offset
            handles[1, count] = size
        count += 1
    return OK, count, at
