"""Merges the entries of tables, compiled.

The entry of the first cursor is written, unless a newer one hid it, and the cursor moves on.

A merge operand is appended to older ones, with a comma. The newest one comes first, so operands
are collected backwards from the end of the memory, and then moved behind their key. Functions
neither allocate nor raise: damage is a status, which ``sst_merge`` turns into an error.

RocksDB: ``ValueType``, ``DBIter``, ``StringAppendTESTOperator``.
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
from savepoint_formats.state_files.rocksdb.cursor_kernel import (
    BLOCK,
    BLOCKS,
    CURSOR_SIZE,
    ENDED,
    FIRST,
    KEY,
    KEY_SIZE,
    LEAST_SIZE,
    LIMIT,
    MIN_LONG,
    NEAR,
    POSITION,
    SECOND,
    VALUE_SIZE,
    VALUE_START,
    advance,
    copy_near,
    is_before,
    is_less,
    leap,
    remove_first,
    settle,
    store_words,
)
from savepoint_formats.state_files.rocksdb.sst_kernel import (
    DAMAGED,
    OK,
    TRAILER_SIZE,
    WORD_SIZE,
    read_entry_sizes,
)

UNKNOWN = 2
FULL = 3

# Types of entries: the last byte of a trailer.
DELETION = 0
VALUE = 1
MERGE = 2
SINGLE_DELETION = 7

UNKNOWN_KIND = -1

_COMMA = 0x2C


class Merge(NamedTuple):
    """Input and output of a merge; the fields up to ``row_borders`` are addresses."""

    cursors: int  # ``CURSOR_SIZE`` bytes per table
    order: int  # i64 per table, to fill
    data: int  # where keys and values go
    starts: int  # i64 per entry, and one more: start of its key
    middles: int  # i64 per entry: end of its key and start of its value
    rows: int  # beginnings of the wanted keys, in their order
    row_borders: int  # i64 per row and one more: where it begins
    tables: int
    at: int  # the position in the data where entries begin
    end: int  # where they end at most
    room: int  # the most entries
    oldest: int  # the least trailer, unsigned, of an entry that no deleted range of keys has
    shows_deletions: int  # 1 to write deleted keys, too, without a value
    row_count: int  # number of rows; -1 if all keys are wanted


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
        elif status != ENDED:
            return status, table
    return OK, active


@entry
def merge_tables(merge: Merge) -> tuple[int, int, int]:  # noqa: PLR0912, PLR0915 - a branch per kind of entry
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
    row = 0
    while active > 0:
        cursor = load_native_long(merge.order)
        key, size = load_native_long(cursor + KEY), load_native_long(cursor + KEY_SIZE)
        first, second = load_native_long(cursor + FIRST), load_native_long(cursor + SECOND)
        if merge.row_count >= 0:
            row, is_wanted = wanted_row(merge, row, key, size)
            if row == merge.row_count:
                break
            if not is_wanted:
                border = merge.row_borders + 8 * row
                start, end = load_native_long(border), load_native_long(border + 8)
                leap(cursor, row + 1, merge.rows + start, end - start)
                active = pass_over(merge.order, active, cursor)
                if active < 0:
                    return DAMAGED, (cursor - merge.cursors) // CURSOR_SIZE, at
                continue
        value_size = load_native_long(cursor + VALUE_SIZE)
        if size + value_size + 2 * NEAR > operands - at or count == merge.room:
            return FULL, count, at
        kind = entry_kind(load_native_long(key + size), merge.oldest)
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
            if kind == VALUE or (kind == DELETION and merge.shows_deletions != 0):
                copy_near(load_native_long(cursor + VALUE_START), last + size, value_size)
                store_long(merge.starts + 8 * count, at)
                store_long(merge.middles + 8 * count, at + size)
                at += size + value_size
                count += 1
                if active == 1 and kind == VALUE and merge.row_count < 0:
                    at, count, last, last_size = take_run(merge, cursor, at, count, last, size)
                    last_first = load_native_long(cursor + FIRST)
                    last_second = load_native_long(cursor + SECOND)
            elif kind == MERGE:
                operands = add_operand(merge, operands, cursor, has_newer=False)
                has_operands = True
        active = pass_over(merge.order, active, cursor)
        if active < 0:
            return DAMAGED, (cursor - merge.cursors) // CURSOR_SIZE, at
    if has_operands:
        at = end_operands(merge, at, last_size, operands, count)
        if at < 0:
            return FULL, count, 0
        count += 1
    store_long(merge.starts + 8 * count, at)
    return OK, count, at


@part
def take_run(
    merge: Merge, cursor: int, at: int, count: int, last: int, last_size: int
) -> tuple[int, int, int, int]:
    """Writes the next values of the only cursor, as long as each has a new key and is in its block.

    ``last`` is the key of the cursor, as it was written. Returns the end of entries in the data, their
    number, and the last key and its size, which the cursor has now.
    """
    position, limit = load_native_long(cursor + POSITION), load_native_long(cursor + LIMIT)
    key, least, first = load_native_long(cursor + KEY), load_native_long(cursor + LEAST_SIZE), count
    # Keys of the last block may be out of bounds.
    if load_native_long(cursor + BLOCK) == load_native_long(cursor + BLOCKS):
        return at, count, last, last_size
    while position < limit:
        shared, unshared, value_size, start = read_entry_sizes(0, position, limit)
        size, value = shared + unshared - TRAILER_SIZE, start + unshared
        if (
            start < 0
            or shared > last_size
            or not TRAILER_SIZE <= unshared <= limit - start
            or size + TRAILER_SIZE < least
            or value_size > limit - value
            or size + value_size + 2 * NEAR > merge.end - at
            or count == merge.room
        ):
            break
        kind = entry_kind(load_native_long(value - TRAILER_SIZE), merge.oldest)
        is_known = size == last_size and are_equal(last + shared, start, size - shared)
        if kind != VALUE or is_known:
            break
        target = merge.data + at
        copy_near(start, key + shared, unshared)
        copy_near(key, target, size)
        copy_near(value, target + size, value_size)
        store_long(merge.starts + 8 * count, at)
        store_long(merge.middles + 8 * count, at + size)
        last, last_size, position = target, size, value + value_size
        at += size + value_size
        count += 1
    if count > first:
        store_long(cursor + KEY_SIZE, last_size)
        store_long(cursor + POSITION, position)
        store_words(cursor, load_long(key), load_long(key + WORD_SIZE), last_size)
    return at, count, last, last_size


@part
def wanted_row(merge: Merge, row: int, key: int, size: int) -> tuple[int, bool]:
    """The first row, from this one on, that may have this key or later ones; whether it has this one."""
    while row < merge.row_count:
        border = merge.row_borders + 8 * row
        start, end = load_native_long(border), load_native_long(border + 8)
        own, own_size = merge.rows + start, end - start
        if own_size <= size and are_equal(key, own, own_size):
            return row, True
        if is_less(key, size, own, own_size):
            return row, False
        row += 1
    return row, False


@part
def pass_over(order: int, active: int, cursor: int) -> int:
    """Moves the first cursor on; returns the number of cursors with an entry, or -1 for damage."""
    status = advance(cursor)
    if status == OK:
        settle(order, active)
        return active
    if status != ENDED:
        return -1
    remove_first(order, active - 1)
    return active - 1


@part
def entry_kind(trailer: int, oldest: int) -> int:
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
    size = load_native_long(cursor + VALUE_SIZE)
    copy(merge.data + operands - size, load_native_long(cursor + VALUE_START), size)
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
