"""A cursor at an entry of a table, compiled; a merge has one for each of its tables.

Cursors are sorted by their keys; for equal keys the newest comes first. Functions neither allocate
nor raise: damage is a status.

RocksDB: ``DataBlockIter``, ``MergingIterator``.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    copy,
    load_byte,
    load_long,
    load_native_long,
    load_native_unsigned_int,
    store_long,
)
from savepoint_formats.program.kernel.key_lookup import are_equal
from savepoint_formats.state_files.rocksdb.sst_kernel import (
    DAMAGED,
    HASH_INDEX,
    OK,
    TRAILER_SIZE,
    WORD_SIZE,
    entries_end,
    read_entry_sizes,
)

ENDED = 4

MIN_LONG = -(1 << 63)
"""Makes signed numbers compare as unsigned ones, by exclusive or."""

# Fields of a cursor, an i64 each.
DATA, BORDERS, KEY, BLOCKS, LOWER, LOWER_SIZE, UPPER, UPPER_SIZE = (8 * field for field in range(8))
LEAST_SIZE = 8 * 8  # of a key with its trailer: a shorter one has no key group
BLOCK, POSITION, LIMIT, KEY_SIZE, VALUE_START, VALUE_SIZE = (8 * field for field in range(9, 15))
# The first 16 bytes of the key with its trailer, and of the key alone for comparisons.
LEFT, RIGHT, FIRST, SECOND = (8 * field for field in range(15, 19))
_LEAPT = 8 * 19  # the number of the row for which the cursor leapt in its block
CURSOR_SIZE = 8 * 20

NEAR = 32
"""Number of bytes behind others that are read, and written, with them."""


@part
def copy_near(source: int, target: int, size: int) -> None:
    """Copies bytes, and up to ``NEAR`` bytes behind them: faster than looking for their end."""
    store_long(target, load_native_long(source))
    store_long(target + 8, load_native_long(source + 8))
    if size > 2 * WORD_SIZE:
        store_long(target + 16, load_native_long(source + 16))
        store_long(target + 24, load_native_long(source + 24))
        if size > NEAR:
            copy(target + NEAR, source + NEAR, size - NEAR)


@part
def remove_first(order: int, others: int) -> None:
    """Removes the first of some cursors."""
    for place in range(others):
        store_long(order + 8 * place, load_native_long(order + 8 * place + 8))


@part
def settle(order: int, count: int) -> None:
    """Moves the first of some cursors to its place among the others."""
    top = moved = load_native_long(order)
    for place in range(count - 1):
        following = load_native_long(order + 8 * place + 8)
        # No branch: the next table is unpredictable. No comparison waits for the one before, because
        # the other cursors are sorted.
        change = (moved ^ following) & -int(is_before(following, top))
        store_long(order + 8 * place, moved ^ change)
        moved = following ^ change
    store_long(order + 8 * count - 8, moved)


@part
def is_before(cursor: int, other: int) -> bool:
    """Whether the entry of a cursor comes before that of another."""
    first, other_first = load_native_long(cursor + FIRST), load_native_long(other + FIRST)
    second, other_second = load_native_long(cursor + SECOND), load_native_long(other + SECOND)
    if (first == other_first) & (second == other_second):
        return is_before_behind(cursor, other)
    return bool((first < other_first) | (first == other_first) & (second < other_second))


@part
def is_before_behind(cursor: int, other: int) -> bool:
    """Whether an entry comes first if the first 16 bytes of both keys are equal."""
    key, size = load_native_long(cursor + KEY), load_native_long(cursor + KEY_SIZE)
    other_key, other_size = load_native_long(other + KEY), load_native_long(other + KEY_SIZE)
    if size != other_size or not are_equal(key, other_key, size):
        return is_less(key, size, other_key, other_size)
    trailer, other_trailer = load_native_long(key + size), load_native_long(other_key + size)
    # The sequence number is unsigned; the greatest is the newest.
    return bool(trailer ^ MIN_LONG > other_trailer ^ MIN_LONG)


@part
def advance(cursor: int) -> int:
    """Moves a cursor to its next entry within the bounds; returns a status."""
    key = load_native_long(cursor + KEY)
    position, limit = load_native_long(cursor + POSITION), load_native_long(cursor + LIMIT)
    total = load_native_long(cursor + KEY_SIZE) + TRAILER_SIZE
    left, right = load_native_long(cursor + LEFT), load_native_long(cursor + RIGHT)
    while True:
        while position >= limit:
            status = next_block(cursor)
            if status != OK:
                return status
            position, limit = (
                load_native_long(cursor + POSITION),
                load_native_long(cursor + LIMIT),
            )
            total = 0
        shared, unshared, value_size, position = read_entry_sizes(0, position, limit)
        if position < 0 or shared > total or unshared > limit - position:
            return DAMAGED
        total = shared + unshared
        value = position + unshared
        if total < load_native_long(cursor + LEAST_SIZE) or value_size > limit - value:
            return DAMAGED
        left, right = following_words(left, right, position, shared)
        copy_near(position, key + shared, unshared)
        position = value + value_size
        size = total - TRAILER_SIZE
        block = load_native_long(cursor + BLOCK)
        if block == 1 or block == load_native_long(cursor + BLOCKS):
            lower, upper = load_native_long(cursor + LOWER), load_native_long(cursor + UPPER)
            if is_less(key, size, lower, load_native_long(cursor + LOWER_SIZE)):
                continue
            if not is_less(key, size, upper, load_native_long(cursor + UPPER_SIZE)):
                return ENDED
        store_long(cursor + POSITION, position)
        store_long(cursor + KEY_SIZE, size)
        store_long(cursor + VALUE_START, value)
        store_long(cursor + VALUE_SIZE, value_size)
        store_words(cursor, left, right, size)
        return OK


@part
def store_words(cursor: int, left: int, right: int, size: int) -> None:
    """Stores the first 16 bytes of a key of this size and its trailer, and those of the key alone."""
    store_long(cursor + LEFT, left)
    store_long(cursor + RIGHT, right)
    if size < WORD_SIZE:
        left &= -256 << 8 * (WORD_SIZE - 1 - size)
        right = 0
    elif size < 2 * WORD_SIZE:
        right &= -256 << 8 * (2 * WORD_SIZE - 1 - size)
    store_long(cursor + FIRST, left ^ MIN_LONG)
    store_long(cursor + SECOND, right ^ MIN_LONG)


@part
def following_words(left: int, right: int, position: int, shared: int) -> tuple[int, int]:
    """First 16 bytes of an entry's key and trailer.

    ``left`` and ``right`` are those of the entry before, of which ``shared`` bytes stay;
    ``position`` is the address of the others.
    """
    bits = 8 * shared & 63
    mask = (1 << 63 - bits << 1) - 1
    own = load_long(position)
    head = own >> bits & mask
    rest = own << 1 << 63 - bits | load_long(position + WORD_SIZE) >> bits & mask
    # No branches: the place where two keys differ is unpredictable.
    in_left = -int(shared < WORD_SIZE)
    in_right = -int(shared < 2 * WORD_SIZE) & ~in_left
    right ^= (right ^ rest) & in_left | (right ^ head) & mask & in_right
    left ^= (left ^ head) & mask & in_left
    return left, right


@part
def is_less(key: int, size: int, other: int, other_size: int) -> bool:
    """Whether a key is less than another one."""
    for place in range(min(size, other_size)):
        byte, other_byte = load_byte(key + place), load_byte(other + place)
        if byte != other_byte:
            return bool(byte < other_byte)
    return bool(size < other_size)


@part
def next_block(cursor: int) -> int:
    """Moves a cursor to before the first entry of its next block; returns a status."""
    block = load_native_long(cursor + BLOCK)
    if block == load_native_long(cursor + BLOCKS):
        return ENDED
    store_long(cursor + BLOCK, block + 1)
    data = load_native_long(cursor + DATA)
    border = load_native_long(cursor + BORDERS) + 8 * block
    start, end = data + load_native_long(border), data + load_native_long(border + 8)
    status, limit = entries_end(0, start, end)
    store_long(cursor + POSITION, start)
    store_long(cursor + LIMIT, limit)
    store_long(cursor + _LEAPT, 0)
    return status


@part
def leap(cursor: int, number: int, row: int, row_size: int) -> None:
    """Moves a cursor to the last restart point of its block with a key less than a row.

    Rows have numbers from 1. A cursor leaps once for each, because the next restart point is behind it.
    """
    if load_native_long(cursor + _LEAPT) == number:
        return
    store_long(cursor + _LEAPT, number)
    data, limit = load_native_long(cursor + DATA), load_native_long(cursor + LIMIT)
    border = load_native_long(cursor + BORDERS) + 8 * load_native_long(cursor + BLOCK)
    start, end = data + load_native_long(border - 8), data + load_native_long(border)
    low, high = 0, load_native_unsigned_int(end - 4) & ~HASH_INDEX
    while high - low > 1:
        middle = low + high >> 1
        position = start + load_native_unsigned_int(limit + 4 * middle)
        shared, unshared, _, key = read_entry_sizes(0, position, limit)
        is_whole = key >= 0 and shared == 0 and TRAILER_SIZE <= unshared <= limit - key
        if is_whole and is_less(key, unshared - TRAILER_SIZE, row, row_size):
            low = middle
            if position > load_native_long(cursor + POSITION):
                store_long(cursor + POSITION, position)
        else:
            high = middle
