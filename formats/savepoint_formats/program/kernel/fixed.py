"""The walk of records of one size: keys and values that are numbers.

``walk`` looks up each instruction of each record. Here an instruction takes all records before the
next one is looked up: a loop that moves a number. Other records are left to ``walk``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.program.kernel.columns import ENTRY_SIZE, values
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

if TYPE_CHECKING:
    from savepoint_formats.program.kernel.walk import Walk

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
