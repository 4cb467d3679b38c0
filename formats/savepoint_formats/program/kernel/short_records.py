"""Records of one long or one text: a loop for each, in front of the walk.

Most keys and values are such records. The walk asks for each which instruction comes next; here the
processor does not need to, which halves its time. The first record that is not as expected is left
to the walk, with all behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_long,
    load_native_int,
    load_native_long,
    store_byte,
    store_int,
    store_long,
)
from savepoint_formats.program.kernel.columns import ENTRY_SIZE, capacity, ends, validity, values
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.text_columns import HIGH_BITS, append_text

if TYPE_CHECKING:
    from savepoint_formats.program.kernel.walk_job import Walk

_NO_TAIL = -1
_VARINT = 0x80


@part
def read_short_records(job: Walk) -> int:
    """Reads records of one value, and the byte of a namespace behind it; returns how many."""
    op, number, second = job.ops, load_native_int(job.ops + 4), job.ops + OP_SIZE
    column = job.columns + ENTRY_SIZE * number
    tail = _NO_TAIL
    if load_native_int(second) == Op.EXPECT:
        tail = load_native_int(second + 8)
        second += OP_SIZE
    if not job.starts or load_native_int(second) != Op.END:
        return 0
    if load_native_int(op) == Op.LONG:
        return _read_longs(job, column, tail)
    if load_native_int(op) == Op.TEXT and tail == _NO_TAIL:
        return _read_texts(job, column)
    return 0


@part
def _read_longs(job: Walk, column: int, tail: int) -> int:
    data, target = job.data, values(column) + 8 * job.row
    size = 8 if tail == _NO_TAIL else 9
    most = min(job.total - job.record, job.rows - job.row)
    for done in range(most):
        place = 8 * (job.record + done)
        start = data + load_native_long(job.starts + place)
        end = data + load_native_long(job.ends + place)
        if not (data <= start and end - start == size and end <= job.data_end):
            return done
        if tail != _NO_TAIL and load_byte(end - 1) != tail:
            return done
        store_long(target + 8 * done, load_long(start))
    return most


@part
def _read_texts(job: Walk, column: int) -> int:
    """Texts of ``StringValue.writeString``; those of some ASCII characters need no function."""
    data, target, room = job.data, values(column), capacity(column)
    used_at = ends(column) + 4 * job.row
    valid_at = validity(column) + job.row
    used = load_native_int(used_at)
    most = min(job.total - job.record, job.rows - job.row)
    for done in range(most):
        place = 8 * (job.record + done)
        start = data + load_native_long(job.starts + place)
        end = data + load_native_long(job.ends + place)
        if not data <= start < end <= job.data_end:
            return done
        size = load_byte(start) - 1
        is_short = 8 <= size < _VARINT - 1 and end - start == size + 1 and size <= room - used
        if is_short and is_ascii_copied(target + used, start + 1, size):
            used += size
            store_byte(valid_at + done, 1)
            store_int(used_at + 4 * done + 4, used)
        else:
            if append_text(column, job.row + done, start, end) != end:
                return done
            used = load_native_int(used_at + 4 * done + 4)
    return most


@part
def is_ascii_copied(target: int, source: int, size: int) -> bool:
    """Copies at least eight bytes, and says whether all are ASCII; the last word may overlap."""
    last = load_native_long(source + size - 8)
    bits = last
    for place in range(0, size - 8, 8):
        word = load_native_long(source + place)
        bits |= word
        store_long(target + place, word)
    store_long(target + size - 8, last)
    return bits & HIGH_BITS == 0
