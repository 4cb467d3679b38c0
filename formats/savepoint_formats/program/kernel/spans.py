"""Bytes that lie here and there, copied one behind the other."""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.machine_code import light_entry
from savepoint_formats.program.kernel.memory import (
    copy,
    load_native_long,
    store_long,
)
from savepoint_formats.program.kernel.status import DONE, FULL, REFUSED

_SPAN_WORK = 32
"""A span is as much work as so many bytes."""


class SpansJob(NamedTuple):
    """What to copy, and where to; all but the numbers are addresses.

    | field        | what                                                          |
    |--------------|---------------------------------------------------------------|
    | data, size   | the bytes, and how many they are                              |
    | starts, ends | i64 per span, positions in data                               |
    | total        | how many spans there are                                      |
    | target       | where the spans go                                            |
    | capacity     | how many bytes fit there                                      |
    | offsets      | i64 per span: where it ends in the target                     |
    """

    data: int
    size: int
    starts: int
    ends: int
    total: int
    target: int
    capacity: int
    offsets: int


@light_entry(lambda job: _SPAN_WORK * job.total)
def copy_spans(job: SpansJob) -> tuple[int, int]:
    """Copies spans; refuses one that lies outside of the bytes.

    Returns:
        The status, and the span that it is of.
    """
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
