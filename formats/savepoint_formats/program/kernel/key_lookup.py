"""Rows of entries: distinct keys, in the order in which they come.

States of an operator usually list the same keys in the same order, each key once. So an entry is
compared with the row after the last one, then with the last one, to which the next entry of a map
belongs. While rows are sorted, as in RocksDB, a key above all rows is new. All other keys are looked
up in a table of row numbers with open addresses. Bits of the hash beside each number save a look at
most other keys.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_long,
    load_native_int,
    load_native_long,
    load_unsigned_short,
    store_int,
    store_long,
    wrapped,
)
from savepoint_formats.program.kernel.status import DONE, FULL, REFUSED

EMPTY = -1
"""The content of a place without a row."""

_FACTOR = -0x61C8864680B583EB  # 2**64 over the golden ratio, odd
_MIN_LONG = -(1 << 63)
_ROW = (1 << 32) - 1
_IS_LAST = 1 << 7


class KeyRowsJob(NamedTuple):
    """Entries that need rows; the fields up to ``table`` are addresses."""

    data: int  # the bytes
    starts: int  # i64 per entry: its key, positions in data
    ends: int
    rows: int  # i32 per entry, to fill
    row_starts: int  # i64 per row: its key, to append to
    row_ends: int
    table: int  # i64 per place: hash << 32 and row, or EMPTY
    size: int  # number of bytes
    prefix_size: int  # bytes of the key group in front of each key: 0, 1 or 2
    distance: int  # bytes behind the starts with which keys begin
    first: int  # the first entry to do
    total: int  # the end of the entries
    row_room: int  # room for rows
    places: int  # size of the table: a power of two, or 0 without a table
    row_count: int  # number of rows so far
    tabled: int  # number of rows in the table
    are_sorted: int  # 1 if each row so far is above the row before
    is_range: int  # 1 if each entry so far has its own number as its row


@entry
def assign_rows(job: KeyRowsJob) -> tuple[int, int, int, int, int, int]:
    """Gives each entry its row.

    Returns the status, the next entry, the number of rows, how many of them are in the table,
    whether they are sorted, and whether each entry's row is its number. The status is DONE, FULL if
    there is no room for another row or the table is too small, or REFUSED if a key is not within
    the data.
    """
    row_count, tabled, are_sorted, index = job.row_count, job.tabled, job.are_sorted, job.first
    is_range = job.is_range
    last = EMPTY if index == 0 else load_native_int(job.rows + 4 * (index - 1))
    while index < job.total:
        count = _in_order(job, index, last + 1, row_count)
        is_range = is_range if count == 0 or last + 1 == index else 0
        last += count
        index += count
        if index == job.total:
            break
        start, size = _key(job, index)
        if start < 0:
            return REFUSED, index, row_count, tabled, are_sorted, is_range
        row = last
        if last == EMPTY or not _is_key_of(job, row, start, size):
            if row_count == job.row_room:
                return FULL, index, row_count, tabled, are_sorted, is_range
            if are_sorted:
                count = _append(job, index, row_count)
                if count > 0:
                    is_range = is_range if row_count == index else 0
                    row_count += count
                    last = row_count - 1
                    index += count
                    continue
            # Room for all rows so far and this one, half of the places left empty.
            if 2 * row_count >= job.places:
                return FULL, index, row_count, tabled, are_sorted, is_range
            _put_rows(job, tabled, row_count)
            row = _find_or_put(job, start, size, row_count)
            tabled = max(row_count, row + 1)
            if row == row_count:
                are_sorted = 0
                store_long(job.row_starts + 8 * row, start - job.data)
                store_long(job.row_ends + 8 * row, start - job.data + size)
                row_count += 1
        store_int(job.rows + 4 * index, row)
        is_range = is_range if row == index else 0
        last = row
        index += 1
    return DONE, job.total, row_count, tabled, are_sorted, is_range


@part
def _key(job: KeyRowsJob, index: int) -> tuple[int, int]:
    """Address and size of an entry's key; REFUSED if it is not within the data."""
    start = load_native_long(job.starts + 8 * index) + job.distance
    end = load_native_long(job.ends + 8 * index)
    if not job.prefix_size <= start <= end <= job.size:
        return REFUSED, 0
    return job.data + start, end - start


@part
def _in_order(job: KeyRowsJob, first: int, row: int, row_count: int) -> int:
    """Gives entries the rows from ``row`` on, as long as these have their keys; returns how many."""
    most = min(job.total - first, row_count - row)
    for done in range(most):
        start, size = _key(job, first + done)
        if start < 0 or not _is_key_of(job, row + done, start, size):
            return done
        store_int(job.rows + 4 * (first + done), row + done)
    return max(most, 0)


@part
def _append(job: KeyRowsJob, first: int, row: int) -> int:
    """Gives entries new rows from ``row`` on, as long as their keys ascend; returns how many."""
    most = min(job.total - first, job.row_room - row)
    before, before_size = 0, 0
    if row > 0:
        before = job.data + load_native_long(job.row_starts + 8 * (row - 1))
        before_size = job.data + load_native_long(job.row_ends + 8 * (row - 1)) - before
    for done in range(most):
        start, size = _key(job, first + done)
        if start < 0 or (before != 0 and not _is_above(job, before, before_size, start, size)):
            return done
        store_int(job.rows + 4 * (first + done), row + done)
        store_long(job.row_starts + 8 * (row + done), start - job.data)
        store_long(job.row_ends + 8 * (row + done), start - job.data + size)
        before, before_size = start, size
    return most


@part
def key_group_at(start: int, prefix_size: int) -> int:
    """The key group in front of a key; the first bit says that an entry is its state's last."""
    if prefix_size == 1:
        return load_byte(start - 1) & (_IS_LAST - 1)
    return load_unsigned_short(start - 2) & ((_IS_LAST << 8) - 1) if prefix_size == 2 else 0


@part
def _is_key_of(job: KeyRowsJob, row: int, start: int, size: int) -> bool:
    """Whether these bytes are the row's key."""
    row_start = load_native_long(job.row_starts + 8 * row)
    row_size = load_native_long(job.row_ends + 8 * row) - row_start
    row_start += job.data
    if row_size != size or not are_equal(row_start, start, size):
        return False
    return key_group_at(row_start, job.prefix_size) == key_group_at(start, job.prefix_size)


@part
def are_equal(left: int, right: int, size: int) -> bool:
    """Whether the bytes at two addresses are the same."""
    if size >= 8:
        for place in range(0, size - 8, 8):
            if load_native_long(left + place) != load_native_long(right + place):
                return False
        # The last word ends with the bytes, and may overlap the word before.
        return load_native_long(left + size - 8) == load_native_long(right + size - 8)
    done = 0
    while done < size:
        if load_byte(left + done) != load_byte(right + done):
            return False
        done += 1
    return True


@part
def _is_above(job: KeyRowsJob, other: int, other_size: int, start: int, size: int) -> bool:
    """Whether a key comes behind another one, in RocksDB's order."""
    group = key_group_at(start, job.prefix_size)
    other_group = key_group_at(other, job.prefix_size)
    if group != other_group:
        return group > other_group
    least, done = min(size, other_size), 0
    while least - done >= 8:
        number, other_number = load_long(start + done), load_long(other + done)
        if number != other_number:
            return number ^ _MIN_LONG > other_number ^ _MIN_LONG
        done += 8
    for place in range(done, least):
        byte, other_byte = load_byte(start + place), load_byte(other + place)
        if byte != other_byte:
            return byte > other_byte
    return size > other_size


@part
def hash_of(start: int, size: int, seed: int) -> int:
    """A hash of bytes that has no meaning outside of this process."""
    number = size ^ seed << 32
    done = 0
    while size - done >= 8:
        number = _mixed(number ^ load_native_long(start + done))
        done += 8
    rest = 0
    for place in range(done, size):
        rest = rest << 8 | load_byte(start + place)
    return _mixed(number ^ rest)


@part
def _mixed(number: int) -> int:
    number = wrapped(number * _FACTOR)
    return number ^ number >> 32


@part
def _hash_at(job: KeyRowsJob, start: int, size: int) -> int:
    """The hash of a key and its key group."""
    group = key_group_at(start, job.prefix_size)
    if not 8 <= size <= 16:
        return hash_of(start, size, group)
    # The first and the last word are all of it, and need no call.
    number = _mixed(load_native_long(start) ^ size ^ group << 32)
    return _mixed(number ^ load_native_long(start + size - 8))


@part
def _put_rows(job: KeyRowsJob, tabled: int, row_count: int) -> None:
    """Puts the rows that are not in the table into it."""
    for row in range(tabled, row_count):
        start = load_native_long(job.row_starts + 8 * row)
        size = load_native_long(job.row_ends + 8 * row) - start
        key_hash = _hash_at(job, job.data + start, size)
        place = key_hash & job.places - 1
        while load_native_long(job.table + 8 * place) != EMPTY:
            place = place + 1 & job.places - 1
        store_long(job.table + 8 * place, key_hash >> 32 << 32 | row)


@part
def _find_or_put(job: KeyRowsJob, start: int, size: int, row_count: int) -> int:
    """The row of a key; if it has none, puts ``row_count`` into the table and returns it."""
    key_hash = _hash_at(job, start, size)
    place = key_hash & job.places - 1
    content = load_native_long(job.table + 8 * place)
    while content != EMPTY:
        row = content & _ROW
        if content >> 32 == key_hash >> 32 and _is_key_of(job, row, start, size):
            return row
        place = place + 1 & job.places - 1
        content = load_native_long(job.table + 8 * place)
    store_long(job.table + 8 * place, key_hash >> 32 << 32 | row_count)
    return row_count
