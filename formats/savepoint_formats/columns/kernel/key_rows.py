"""Which row an entry belongs to: rows are distinct keys, in the order in which they come.

States of one operator list the same keys in the same order, as a rule: the row after the last
one is compared first, then the last one itself, to which the next entry of a map belongs. Only
what neither fits is looked up, in a table of row numbers with open addresses.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.columns.kernel.memory import (
    entry,
    load_byte,
    load_native_int,
    load_native_long,
    part,
    store_int,
    store_long,
)
from savepoint_formats.columns.kernel.revision import ASKS_REVISION, REVISION
from savepoint_formats.columns.kernel.status import DONE, FULL, REFUSED

EMPTY = -1
"""A place of the table without a row."""

_FACTOR = -0x61C8864680B583EB  # 2**64 over the golden ratio, odd


class KeyRowsJob(NamedTuple):
    """What to assign rows to; all but the numbers are addresses.

    | field                | what                                                          |
    |----------------------|---------------------------------------------------------------|
    | data, size           | the bytes, and how many they are                              |
    | starts, ends         | i64 per entry: the key, positions in data                     |
    | first, total         | the entries to do, from ``first`` up to ``total``             |
    | are_unique           | 1 if no two entries have the same key                         |
    | rows                 | i32 per entry, to fill                                        |
    | row_starts, row_ends | i64 per row: its key, to append to                            |
    | row_count            | rows so far                                                   |
    | table, places        | i32 each, row or EMPTY; a power of two; 0 if there is none yet|
    | tabled               | how many rows are in the table                                |
    """

    data: int
    size: int
    starts: int
    ends: int
    first: int
    total: int
    are_unique: int
    rows: int
    row_starts: int
    row_ends: int
    row_count: int
    table: int
    places: int
    tabled: int


@entry
def assign_rows(job: KeyRowsJob) -> tuple[int, int, int, int]:
    """Gives each entry its row.

    Returns:
        The status (FULL if the table is too small, REFUSED if a key is not within the data), the
        next entry, how many rows there are, and how many of them are in the table.
    """
    if job.total == ASKS_REVISION:
        return REVISION, 0, 0, 0
    row_count, tabled = job.row_count, job.tabled
    # Where there was no row before, entries without equals need no comparison.
    is_plain = job.are_unique != 0 and job.row_count == 0
    last = EMPTY
    for index in range(job.first, job.total):
        start = load_native_long(job.starts + 8 * index)
        size = load_native_long(job.ends + 8 * index) - start
        if not 0 <= start <= start + size <= job.size:
            return REFUSED, index, row_count, tabled
        start += job.data
        row = last + 1
        if is_plain:
            row = row_count
        elif row >= row_count or not _is_key_of(job, row, start, size):
            row = last
            if last == EMPTY or not _is_key_of(job, row, start, size):
                if 2 * row_count >= job.places:
                    return FULL, index, row_count, tabled
                tabled = _put_rows(job, tabled, row_count)
                row = _find(job, start, size, row_count)
        if row == row_count:
            store_long(job.row_starts + 8 * row, start - job.data)
            store_long(job.row_ends + 8 * row, start - job.data + size)
            row_count += 1
        store_int(job.rows + 4 * index, row)
        last = row
    return DONE, job.total, row_count, tabled


@part
def _is_key_of(job: KeyRowsJob, row: int, start: int, size: int) -> bool:
    """Whether these bytes are the row's key."""
    row_start = load_native_long(job.row_starts + 8 * row)
    row_size = load_native_long(job.row_ends + 8 * row) - row_start
    return row_size == size and are_equal(job.data + row_start, start, size)


@part
def are_equal(left: int, right: int, size: int) -> bool:
    """Whether two pieces of memory hold the same bytes."""
    done = 0
    while size - done >= 8:
        if load_native_long(left + done) != load_native_long(right + done):
            return False
        done += 8
    if size - done >= 4:
        if load_native_int(left + done) != load_native_int(right + done):
            return False
        done += 4
    while done < size:
        if load_byte(left + done) != load_byte(right + done):
            return False
        done += 1
    return True


@part
def hash_of(start: int, size: int) -> int:
    """A hash of bytes; of no meaning outside of this process."""
    number = size
    done = 0
    while size - done >= 8:
        number = _mixed(number ^ load_native_long(start + done))
        done += 8
    rest = 0
    while done < size:
        rest = rest << 8 | load_byte(start + done)
        done += 1
    return _mixed(number ^ rest)


@part
def _mixed(number: int) -> int:
    number *= _FACTOR
    return number ^ number >> 32


@part
def _put_rows(job: KeyRowsJob, tabled: int, row_count: int) -> int:
    """Puts the rows that are not in the table into it."""
    for row in range(tabled, row_count):
        start = load_native_long(job.row_starts + 8 * row)
        size = load_native_long(job.row_ends + 8 * row) - start
        place = hash_of(job.data + start, size) & job.places - 1
        while load_native_int(job.table + 4 * place) != EMPTY:
            place = place + 1 & job.places - 1
        store_int(job.table + 4 * place, row)
    return row_count


@part
def _find(job: KeyRowsJob, start: int, size: int, row_count: int) -> int:
    """The row of a key, or the next new one."""
    place = hash_of(start, size) & job.places - 1
    row = load_native_int(job.table + 4 * place)
    while row != EMPTY and not _is_key_of(job, row, start, size):
        place = place + 1 & job.places - 1
        row = load_native_int(job.table + 4 * place)
    return row_count if row == EMPTY else row
