"""The walks of records that are numbers of one size, or texts and nothing else.

``walk`` looks up each instruction of each record. Here an instruction takes all records before the
next one is looked up: a loop that moves a number, or copies a text. Both are compiled in a seventh
of its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.program.kernel.columns import (
    ENTRY_SIZE,
    capacity,
    set_valid,
    use,
    used,
    values,
)
from savepoint_formats.program.kernel.machine_code import entry, part
from savepoint_formats.program.kernel.memory import (
    load_byte,
    load_int,
    load_long,
    load_native_int,
    load_native_long,
    store_int,
    store_long,
)
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.status import DONE, FULL, REFUSED
from savepoint_formats.program.kernel.text_columns import append_text, copy_ascii

if TYPE_CHECKING:
    from savepoint_formats.program.kernel.walk import Walk


_MAX_PLAIN_SIZE = 0x7F


@entry
def walk_texts(job: Walk) -> tuple[int, int, int, int]:
    """Walks, and returns, as ``walk`` does."""
    column = job.columns + ENTRY_SIZE * load_native_int(job.ops + 4)
    record, row = job.record, job.row
    while record < job.total:
        start = load_native_long(job.starts + 8 * record) + job.data
        end = load_native_long(job.ends + 8 * record) + job.data
        if not job.data <= start <= end <= job.data_end:
            return REFUSED, record, row, start - job.data
        if row >= job.rows:
            return FULL, record, row, start - job.data
        first, size = used(column, row), end - start
        if (
            2 <= size <= _MAX_PLAIN_SIZE
            and load_byte(start) == size
            and size <= capacity(column) - first
            and copy_ascii(values(column) + first, start + 1, size - 1) == size - 1
        ):
            set_valid(column, row, True)
            use(column, row, first + size - 1)
        else:
            position = append_text(column, row, start, end)
            if position != end:
                return position if position < 0 else REFUSED, record, row, start - job.data
        record += 1
        row += 1
    return DONE, record, row, job.position


FIXED_SIZES = {Op.END: 0, Op.EXPECT: 1, Op.INT: 4, Op.LONG: 8}
"""Instructions of this walk, and the bytes that each reads."""


@entry
def walk_fixed(job: Walk, size: int) -> bool:
    """Walks all records, if each has ``size`` bytes and is what the program expects.

    If it returns false, the columns have no meaning.
    """
    if not _have_size(job, size):
        return False
    at, offset, is_expected = job.ops, job.data, True
    op = load_native_int(at)
    while is_expected and op != Op.END:
        target = values(job.columns + ENTRY_SIZE * load_native_int(at + 4))
        if op == Op.LONG:
            for record in range(job.total):
                start = offset + load_native_long(job.starts + 8 * record)
                store_long(target + 8 * record, load_long(start))
            offset += 8
        elif op == Op.INT:
            for record in range(job.total):
                start = offset + load_native_long(job.starts + 8 * record)
                store_int(target + 4 * record, load_int(start))
            offset += 4
        else:
            is_expected = op == Op.EXPECT and _have_byte(job, offset, load_native_int(at + 8))
            offset += 1
        at += OP_SIZE
        op = load_native_int(at)
    return is_expected


@part
def _have_size(job: Walk, size: int) -> bool:
    """Whether all records have ``size`` bytes and lie within the data."""
    last = job.data_end - job.data - size
    all_have = True
    for record in range(job.total):
        start = load_native_long(job.starts + 8 * record)
        end = load_native_long(job.ends + 8 * record)
        all_have &= (end - start == size) & (start >= 0) & (start <= last)
    return all_have


@part
def _have_byte(job: Walk, offset: int, expected: int) -> bool:
    """Whether all records have this byte there."""
    all_have = True
    for record in range(job.total):
        all_have &= load_byte(offset + load_native_long(job.starts + 8 * record)) == expected
    return all_have
