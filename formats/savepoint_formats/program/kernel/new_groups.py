"""Key groups of stored keys after max parallelism has changed.

Flink: ``MathUtils.murmurHash``, ``KeyGroupRangeAssignment``.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.key_hash import finished, mixed
from savepoint_formats.program.kernel.key_rows import key_group_at
from savepoint_formats.program.kernel.machine_code import light_entry, part
from savepoint_formats.program.kernel.memory import load_native_int, load_native_long, store_short
from savepoint_formats.program.kernel.status import DONE, REFUSED

_WORD = 0xFFFFFFFF
_SIGN = 0x80000000
_INT_SIZE = 4
_KEY_WORK = 16  # bytes whose work equals that of a key


class NewGroupsJob(NamedTuple):
    """Keys that change their key groups; all but the numbers are addresses."""

    data: int  # the bytes of the keys
    size: int  # their number
    starts: int  # i64 per key: where its prefix begins
    prefix_size: int  # 1 or 2 bytes
    hashes: int  # i32 per key: its hash code in Java
    total: int  # number of keys
    before: int  # old number of key groups
    after: int  # new number of key groups
    key_groups: int  # u16 per key, to fill


@light_entry(lambda job: _KEY_WORK * job.total)
def find_new_groups(job: NewGroupsJob) -> tuple[int, int]:
    """Finds the new key group of each key.

    Returns the status and its key: REFUSED if a prefix is not within the data, or has another old
    key group than the hash code says.
    """
    for index in range(job.total):
        start = load_native_long(job.starts + 8 * index)
        if not 0 <= start <= start + job.prefix_size <= job.size:
            return REFUSED, index
        spread = _spread(load_native_int(job.hashes + _INT_SIZE * index) & _WORD)
        stored = key_group_at(job.data + start + job.prefix_size, job.prefix_size)
        if _rest(spread, job.before) != stored:
            return REFUSED, index
        store_short(job.key_groups + 2 * index, _rest(spread, job.after))
    return DONE, job.total


@part
def _spread(code: int) -> int:
    """The hash code, mixed so that similar ones scatter: 0 to 2^31 - 1."""
    word = finished(mixed(0, code) ^ _INT_SIZE)
    if word & _SIGN:
        # The smallest number has no absolute value; Java's would be itself.
        return 0 if word == _SIGN else _WORD + 1 - word
    return word


@part
def _rest(number: int, count: int) -> int:
    """The remainder. Most counts are powers of two, which need no division."""
    if count & count - 1 == 0:
        return number & count - 1
    return number % count
