"""Merges the entries of tables, compiled.

Each table has a cursor, at one of its entries. Cursors are sorted by their keys; for equal keys the
newest comes first. The entry of the first cursor is written, unless a newer one hid it, and the
cursor moves on.

A merge operand is appended to older ones, with a comma. The newest one comes first, so operands
are collected backwards from the end of the memory, and then moved behind their key. Functions
neither allocate nor raise: damage is a status, which ``sst_merge`` turns into an error.

RocksDB: ``ValueType``, ``MergingIterator``, ``DBIter``, ``StringAppendTESTOperator``.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    copy,
    load_byte,
    load_long,
    load_native_long,
    store_byte,
    store_long,
)
from savepoint_formats.program.kernel.key_lookup import are_equal
from savepoint_formats.state_files.rocksdb.sst_kernel import (
    DAMAGED,
    OK,
    TRAILER_SIZE,
    WORD_SIZE,
    entries_end,
    read_entry_sizes,
)

UNKNOWN = 2
FULL = 3
_ENDED = 4

# Types of entries: the last byte of a trailer.
DELETION = 0
VALUE = 1
MERGE = 2
SINGLE_DELETION = 7

MIN_LONG = -(1 << 63)
"""Makes signed numbers compare as unsigned ones, by exclusive or."""

UNKNOWN_KIND = -1

_COMMA = 0x2C

# Fields of a cursor, an i64 each.
DATA, BORDERS, KEY, BLOCKS, LOWER, LOWER_SIZE, UPPER, UPPER_SIZE = (8 * field for field in range(8))
BLOCK, _POSITION, _LIMIT, _KEY_SIZE, _VALUE, _VALUE_SIZE = (8 * field for field in range(8, 14))
# The first 16 bytes of the key with its trailer, and of the key alone for comparisons.
_LEFT, _RIGHT, _FIRST, _SECOND = (8 * field for field in range(14, 18))
CURSOR_SIZE = 8 * 18

NEAR = 32
"""Number of bytes behind others that are read, and written, with them."""


class Merge(NamedTuple):
    """Input and output of a merge; all but the numbers are addresses.

    | field              | what                                                            |
    |--------------------|-----------------------------------------------------------------|
    | cursors, tables    | ``CURSOR_SIZE`` bytes per table                                 |
    | order              | i64 per table, to fill                                          |
    | data, at, end      | where keys and values go, from position ``at`` to before ``end`` |
    | starts, room       | i64 per entry, and one more: start of its key                   |
    | middles            | i64 per entry: end of its key and start of its value            |
    | oldest             | the least trailer, unsigned, of an entry that was not deleted   |
    |                    | together with a range of keys                                   |
    """

    cursors: int
    tables: int
    order: int
    data: int
    at: int
    end: int
    starts: int
    middles: int
    room: int
    oldest: int


@part
def begin(merge: Merge) -> tuple[int, int]:
    """Moves the cursors to their first entries, and sorts them.

    Returns a status, and the number of cursors with an entry, or the table of the status.
    """
    active = 0
    for table in range(merge.tables):
        cursor = merge.cursors + CURSOR_SIZE * table
        status = advance(cursor)
        if status == OK:
            place = merge.order + 8 * active
            while place > merge.order and is_before(cursor, load_native_long(place - 8)):
                store_long(place, load_native_long(place - 8))
                place -= 8
            store_long(place, cursor)
            active += 1
        elif status != _ENDED:
            return status, table
    return OK, active


@entry
def merge_tables(merge: Merge) -> tuple[int, int, int]:  # noqa: PLR0912 - a branch per kind of entry
    """Writes the living entries of tables in the order of their keys.

    Returns a status; the number of entries, or the table of the status; the end of entries in the
    data, or the unknown type of an entry.
    """
    status, active = begin(merge)
    if status != OK:
        return status, active, 0
    at, count = merge.at, 0
    last, last_size, last_first, last_second = merge.data, -1, 0, 0
    # Operands of the last key; a value or more operands may follow.
    operands, has_operands = merge.end, False
    while active > 0:
        cursor = load_native_long(merge.order)
        key, size = load_native_long(cursor + KEY), load_native_long(cursor + _KEY_SIZE)
        first, second = load_native_long(cursor + _FIRST), load_native_long(cursor + _SECOND)
        value_size = load_native_long(cursor + _VALUE_SIZE)
        if size + value_size + 2 * NEAR > operands - at or count == merge.room:
            return FULL, count, at
        kind = kind_of(load_native_long(key + size), merge.oldest)
        if kind == UNKNOWN_KIND:
            table = (cursor - merge.cursors) // CURSOR_SIZE
            return UNKNOWN, table, load_byte(key + size)
        is_new = (
            size != last_size
            or second != last_second
            or first != last_first
            or not are_equal(key, last, size)
        )
        if has_operands:
            if not is_new and kind != DELETION:
                operands = add_operand(merge, operands, cursor, has_newer=True)
            if is_new or kind != MERGE:
                at = end_operands(merge, at, last_size, operands, count)
                if at < 0:
                    return FULL, count, 0
                operands, has_operands, count = merge.end, False, count + 1
                # There may be no more room for the entry, so it is checked again.
                if is_new:
                    last_size = -1
                    continue
        elif is_new:
            last, last_size, last_first, last_second = merge.data + at, size, first, second
            copy_near(key, last, size)
            if kind == VALUE:
                copy_near(load_native_long(cursor + _VALUE), last + size, value_size)
                store_long(merge.starts + 8 * count, at)
                store_long(merge.middles + 8 * count, at + size)
                at += size + value_size
                count += 1
            elif kind == MERGE:
                operands = add_operand(merge, operands, cursor, has_newer=False)
                has_operands = True
        status = advance(cursor)
        if status == OK:
            settle(merge.order, active)
        elif status == _ENDED:
            active -= 1
            remove_first(merge.order, active)
        else:
            return status, (cursor - merge.cursors) // CURSOR_SIZE, at
    if has_operands:
        at = end_operands(merge, at, last_size, operands, count)
        if at < 0:
            return FULL, count, 0
        count += 1
    store_long(merge.starts + 8 * count, at)
    return OK, count, at


@part
def kind_of(trailer: int, oldest: int) -> int:
    """Type of an entry: a deletion if it is older than ``oldest``."""
    kind = trailer & 0xFF
    if kind > MERGE:
        kind = DELETION if kind == SINGLE_DELETION else UNKNOWN_KIND
    # The sequence number is unsigned.
    if oldest != 0 and trailer ^ MIN_LONG < oldest ^ MIN_LONG and kind != UNKNOWN_KIND:
        return DELETION
    return kind


@part
def add_operand(merge: Merge, operands: int, cursor: int, has_newer: bool) -> int:
    """Puts the value of a cursor in front of newer operands of its key; returns its start."""
    if has_newer:
        operands -= 1
        store_byte(merge.data + operands, _COMMA)
    size = load_native_long(cursor + _VALUE_SIZE)
    copy(merge.data + operands - size, load_native_long(cursor + _VALUE), size)
    return operands - size


@part
def end_operands(merge: Merge, at: int, key_size: int, operands: int, count: int) -> int:
    """Moves the operands of a key behind it; returns their end, or -1 if there is no room."""
    value, size = at + key_size, merge.end - operands
    if value + size > operands:
        return -1
    copy(merge.data + value, merge.data + operands, size)
    store_long(merge.starts + 8 * count, at)
    store_long(merge.middles + 8 * count, value)
    return value + size


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
    top = load_native_long(order)
    for place in range(count - 1):
        following = load_native_long(order + 8 * place + 8)
        # No branch: the next table is unpredictable.
        change = (top ^ following) & -int(is_before(following, top))
        store_long(order + 8 * place, top ^ change)
        top = following ^ change
    store_long(order + 8 * count - 8, top)


@part
def is_before(cursor: int, other: int) -> bool:
    """Whether the entry of a cursor comes before that of another."""
    first, other_first = load_native_long(cursor + _FIRST), load_native_long(other + _FIRST)
    second, other_second = load_native_long(cursor + _SECOND), load_native_long(other + _SECOND)
    if (first == other_first) & (second == other_second):
        return is_before_behind(cursor, other)
    return bool((first < other_first) | (first == other_first) & (second < other_second))


@part
def is_before_behind(cursor: int, other: int) -> bool:
    """Whether an entry comes first if the first 16 bytes of both keys are equal."""
    key, size = load_native_long(cursor + KEY), load_native_long(cursor + _KEY_SIZE)
    other_key, other_size = load_native_long(other + KEY), load_native_long(other + _KEY_SIZE)
    for place in range(2 * WORD_SIZE, min(size, other_size)):
        byte, other_byte = load_byte(key + place), load_byte(other_key + place)
        if byte != other_byte:
            return bool(byte < other_byte)
    if size != other_size:
        return bool(size < other_size)
    trailer, other_trailer = load_native_long(key + size), load_native_long(other_key + size)
    # The sequence number is unsigned; the greatest is the newest.
    return bool(trailer ^ MIN_LONG > other_trailer ^ MIN_LONG)


@part
def advance(cursor: int) -> int:
    """Moves a cursor to its next entry within the bounds; returns a status."""
    key = load_native_long(cursor + KEY)
    position, limit = load_native_long(cursor + _POSITION), load_native_long(cursor + _LIMIT)
    total = load_native_long(cursor + _KEY_SIZE) + TRAILER_SIZE
    left, right = load_native_long(cursor + _LEFT), load_native_long(cursor + _RIGHT)
    while True:
        while position >= limit:
            status = next_block(cursor)
            if status != OK:
                return status
            position, limit = (
                load_native_long(cursor + _POSITION),
                load_native_long(cursor + _LIMIT),
            )
            total = 0
        shared, unshared, value_size, position = read_entry_sizes(0, position, limit)
        if position < 0 or shared > total or unshared > limit - position:
            return DAMAGED
        total = shared + unshared
        value = position + unshared
        if total < TRAILER_SIZE or value_size > limit - value:
            return DAMAGED
        left, right = following_words(left, right, position, shared)
        copy_near(position, key + shared, unshared)
        position = value + value_size
        size = total - TRAILER_SIZE
        block = load_native_long(cursor + BLOCK)
        if block == 1 or block == load_native_long(cursor + BLOCKS):
            if is_below(cursor, key, size, LOWER):
                continue
            if not is_below(cursor, key, size, UPPER):
                return _ENDED
        store_long(cursor + _POSITION, position)
        store_long(cursor + _KEY_SIZE, size)
        store_long(cursor + _VALUE, value)
        store_long(cursor + _VALUE_SIZE, value_size)
        store_long(cursor + _LEFT, left)
        store_long(cursor + _RIGHT, right)
        if size < 2 * WORD_SIZE:
            # Bytes behind the key become zeros.
            if size < WORD_SIZE:
                left &= -256 << 8 * (WORD_SIZE - 1 - size)
                right = 0
            else:
                right &= -256 << 8 * (2 * WORD_SIZE - 1 - size)
        store_long(cursor + _FIRST, left ^ MIN_LONG)
        store_long(cursor + _SECOND, right ^ MIN_LONG)
        return OK


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
def is_below(cursor: int, key: int, size: int, which: int) -> bool:
    """Whether a key is less than one of the bounds."""
    bound, bound_size = load_native_long(cursor + which), load_native_long(cursor + which + 8)
    for place in range(min(size, bound_size)):
        byte, bound_byte = load_byte(key + place), load_byte(bound + place)
        if byte != bound_byte:
            return bool(byte < bound_byte)
    return bool(size < bound_size)


@part
def next_block(cursor: int) -> int:
    """Moves a cursor to before the first entry of its next block; returns a status."""
    block = load_native_long(cursor + BLOCK)
    if block == load_native_long(cursor + BLOCKS):
        return _ENDED
    store_long(cursor + BLOCK, block + 1)
    data = load_native_long(cursor + DATA)
    border = load_native_long(cursor + BORDERS) + 8 * block
    start, end = data + load_native_long(border), data + load_native_long(border + 8)
    status, limit = entries_end(0, start, end)
    store_long(cursor + _POSITION, start)
    store_long(cursor + _LIMIT, limit)
    return status
