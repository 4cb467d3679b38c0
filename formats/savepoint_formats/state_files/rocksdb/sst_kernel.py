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

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np  # noqa: TC002  # NamedTuple evaluates annotations
from numpy.typing import NDArray  # noqa: TC002  # NamedTuple evaluates annotations

from savepoint_formats.program.kernel.key_rows import are_equal
from savepoint_formats.program.kernel.machine_code import light_entry, part
from savepoint_formats.program.kernel.memory import (
    load_byte,
    load_native_long,
    load_native_unsigned_int,
    store_byte,
    store_long,
)

UNCOMPRESSED = 0
SNAPPY = 1

# Types of entries: the last byte of a trailer.
DELETION = 0
VALUE = 1
MERGE = 2
SINGLE_DELETION = 7

OK = 0
DAMAGED = 1
UNKNOWN = 2

TRAILER_SIZE = 8
WORD_SIZE = 8
BLOCK_TRAILER_SIZE = 5

_HASH_INDEX = 1 << 31
_CONTINUATIONS = 0x808080
"""The bits that say of each of three bytes that its number goes on."""

ENTRY_WORK = 64
"""An entry is as much work as so many bytes."""


class BlockBuffer(NamedTuple):
    """Blocks, one behind the other: block i is from ``borders[i]`` to ``borders[i + 1]``.

    At least ``WORD_SIZE`` bytes of memory follow the data.
    """

    data: NDArray[np.uint8]
    borders: NDArray[np.int64]


class EntryAddresses(NamedTuple):
    """Where entries are in memory: their bytes, and an i64 per entry of all else.

    Numba counts who holds an array at every call; numbers cost nothing.
    """

    data: int
    key_starts: int
    key_ends: int
    value_starts: int
    value_ends: int
    trailers: int


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Entries.

    Attributes:
        data: Their bytes, and at least ``WORD_SIZE`` bytes behind them.
        spans: Key starts, key ends, value starts and value ends, each a row.
        trailers: The trailer of each.
    """

    data: NDArray[np.uint8]
    spans: NDArray[np.int64]
    trailers: NDArray[np.uint64]

    @property
    def addresses(self) -> EntryAddresses:
        """For the kernel, as long as these are held."""
        key_starts, key_ends, value_starts, value_ends = (row.ctypes.data for row in self.spans)
        return EntryAddresses(
            data=self.data.ctypes.data,
            key_starts=key_starts,
            key_ends=key_ends,
            value_starts=value_starts,
            value_ends=value_ends,
            trailers=self.trailers.ctypes.data,
        )


@part
def read_varint(data: int, position: int, end: int) -> tuple[int, int]:
    """The number at ``position`` of the data, and where it ends; -1 if it has no end."""
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
    """What ``read_entry_sizes`` does, for numbers of more than one byte."""
    shared, position = read_varint(data, position, end)
    unshared = size = 0
    if position >= 0:
        unshared, position = read_varint(data, position, end)
    if position >= 0:
        size, position = read_varint(data, position, end)
    return shared, unshared, size, position


@part
def read_entry_sizes(data: int, position: int, end: int) -> tuple[int, int, int, int]:
    """The three numbers in front of an entry, and where they end; -1 if they have no end."""
    if position + 4 <= end:
        sizes = load_native_unsigned_int(data + position)
        if sizes & _CONTINUATIONS == 0:
            return sizes & 0xFF, sizes >> 8 & 0xFF, sizes >> 16 & 0xFF, position + 3
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
            sizes[block], position = read_varint(data.ctypes.data, starts[block], ends[block])
            if position < 0:
                return block
            if kinds[block] != SNAPPY:
                starts[block] = position
    return -1


@part
def entries_end(data: int, start: int, end: int) -> tuple[int, int]:
    """A status, and where the restart points of the block from ``start`` to ``end`` begin."""
    if end - start < 4:
        return DAMAGED, start
    count = load_native_unsigned_int(data + end - 4)
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
    data = blocks.data.ctypes.data
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
def copy(source: int, target: int, size: int) -> None:
    """Copies some bytes, which do not overlap with where they go."""
    if size < WORD_SIZE:
        for place in range(size):
            store_byte(target + place, load_byte(source + place))
        return
    for place in range(0, size - WORD_SIZE, WORD_SIZE):
        store_long(target + place, load_native_long(source + place))
    # The last word ends with the bytes, and may have some of the one before.
    last = size - WORD_SIZE
    store_long(target + last, load_native_long(source + last))


@part
def copy_words(source: int, target: int, size: int) -> None:
    """Copies some bytes in whole words: less than a word behind them is read, and changed, too."""
    for place in range(0, size, WORD_SIZE):
        store_long(target + place, load_native_long(source + place))


@light_entry(lambda blocks, _: blocks.data.size)
def unpack(blocks: BlockBuffer, entries: EntryAddresses) -> bool:
    """Writes the entries of blocks that were measured: key, trailer and value, one by one.

    Returns:
        Whether each of them is a value, and of another key than the one before it.
    """
    source = blocks.data.ctypes.data
    is_plain = True
    entry = at = before = before_size = 0
    for block in range(len(blocks.borders) - 1):
        position = blocks.borders[block]
        _, limit = entries_end(source, position, blocks.borders[block + 1])
        while position < limit:
            shared, unshared, value_size, position = read_entry_sizes(source, position, limit)
            key, size = entries.data + at, shared + unshared - TRAILER_SIZE
            value_start = at + shared + unshared
            copy_words(entries.data + before, key, shared)
            copy_words(source + position, key + shared, unshared + value_size)
            position += unshared + value_size
            trailer = load_native_long(key + size)
            store_long(entries.key_starts + 8 * entry, at)
            store_long(entries.key_ends + 8 * entry, at + size)
            store_long(entries.value_starts + 8 * entry, value_start)
            store_long(entries.value_ends + 8 * entry, value_start + value_size)
            store_long(entries.trailers + 8 * entry, trailer)
            if trailer & 0xFF != VALUE:
                is_plain = False
            elif entry > 0 and size == before_size:
                is_plain = is_plain and not _is_same(key, entries.data + before, size, shared)
            before, before_size = at, size
            at = value_start + value_size
            entry += 1
    return is_plain


@part
def _is_same(key: int, before: int, size: int, shared: int) -> bool:
    """Whether a key is the one before it, with which it shares some bytes at least."""
    # As a rule, the first byte that is not shared differs.
    if shared < size and load_byte(key + shared) != load_byte(before + shared):
        return False
    return are_equal(key, before, size)


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
    data, target = block.ctypes.data, keys.ctypes.data
    status, limit = entries_end(data, 0, len(block))
    if status != OK:
        return status, 0, 0
    is_counting = len(keys) == 0
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
        if not has_deltas:
            _, position = read_varint(data, position, limit)
        if position < 0 or shared > key_size or unshared > limit - position:
            return DAMAGED, 0, 0
        if not is_counting:
            copy(target + at - key_size, target + at, shared)
            copy(data + position, target + at + shared, unshared)
        position += unshared
        key_size = shared + unshared
        at += key_size
        if has_deltas and shared > 0:
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
        if not is_counting:
            key_ends[count] = at
            handles[0, count] = offset
            handles[1, count] = size
        count += 1
    return OK, count, at
