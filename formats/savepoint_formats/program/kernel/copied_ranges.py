"""Copies scattered ranges of bytes one behind the other."""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.machine_code import light_entry
from savepoint_formats.program.kernel.memory import copy, load_native_long, store_long
from savepoint_formats.program.kernel.status import DONE, FULL, REFUSED

_SPAN_WORK = 32
"""Bytes whose work equals that of a range."""


class SpansJob(NamedTuple):
    """Ranges to copy; all but the numbers are addresses."""

    data: int  # the bytes
    size: int  # their number
    starts: int  # i64 per range, positions in data
    ends: int
    total: int  # number of ranges
    target: int  # where copies go
    capacity: int  # its bytes
    offsets: int  # i64 per range: where its copy ends in the target


@light_entry(lambda job: _SPAN_WORK * job.total)
def copy_spans(job: SpansJob) -> tuple[int, int]:
    """Copies ranges; returns the status and its range, REFUSED if that lies outside of the bytes."""
    position = 0
    for index in range(job.total):
        start = load_native_long(job.starts + 8 * index)
        end = load_native_long(job.ends + 8 * index)
        if not 0 <= start <= end <= job.size:
            return REFUSED, index
        if end - start > job.capacity - position:
            return FULL, index
        copy(job.target + position, job.data + start, end - start)
        position += end - start
        store_long(job.offsets + 8 * index, position)
    return DONE, job.total
