"""The walk of records that are texts and nothing else.

It gives what ``walk`` gives, but looks up no instruction, and copies most texts itself.
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
from savepoint_formats.program.kernel.machine_code import entry
from savepoint_formats.program.kernel.memory import load_byte, load_native_int, load_native_long
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
