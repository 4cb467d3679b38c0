"""Hashes of 128 bits that distinguish keys: MurmurHash3 for 64-bit machines, with a seed of 0.

Somebody who chooses keys can make them collide.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_native_long,
    store_long,
    wrapped,
)
from savepoint_formats.program.kernel.status import DONE, REFUSED

_FIRST, _SECOND = 0x87C37B91114253D5 - (1 << 64), 0x4CF5AD432745937F
_THIRD, _FOURTH = 0xFF51AFD7ED558CCD - (1 << 64), 0xC4CEB9FE1A85EC53 - (1 << 64)


class DistinctHashesJob(NamedTuple):
    """Values to hash; all but the numbers are addresses."""

    data: int  # the bytes
    size: int  # their number
    starts: int  # i64 per value, positions in the bytes
    ends: int
    total: int  # number of values
    hashes: int  # two i64 per value, to fill


@entry
def hash_distinctly(job: DistinctHashesJob) -> tuple[int, int]:
    """Hashes values; returns the status and its value, REFUSED if that lies outside of the bytes."""
    for index in range(job.total):
        start = load_native_long(job.starts + 8 * index)
        end = load_native_long(job.ends + 8 * index)
        if not 0 <= start <= end <= job.size:
            return REFUSED, index
        low, high = _hash(job.data + start, end - start)
        store_long(job.hashes + 16 * index, low)
        store_long(job.hashes + 16 * index + 8, high)
    return DONE, job.total


@part
def _hash(position: int, size: int) -> tuple[int, int]:
    low = high = 0
    end = position + size
    while end - position >= 16:
        low ^= _product(_rotated(_product(load_native_long(position), _FIRST), 31), _SECOND)
        low = wrapped(_product(wrapped(_rotated(low, 27) + high), 5) + 0x52DCE729)
        high ^= _product(_rotated(_product(load_native_long(position + 8), _SECOND), 33), _FIRST)
        high = wrapped(_product(wrapped(_rotated(high, 31) + low), 5) + 0x38495AB5)
        position += 16
    high ^= _product(_rotated(_product(_rest(position + 8, end), _SECOND), 33), _FIRST)
    first = _rest(position, min(position + 8, end))
    low ^= _product(_rotated(_product(first, _FIRST), 31), _SECOND)
    low ^= size
    high ^= size
    low = wrapped(low + high)
    high = wrapped(high + low)
    low, high = _final(low), _final(high)
    low = wrapped(low + high)
    return low, wrapped(high + low)


@part
def _product(number: int, factor: int) -> int:
    return wrapped(number * factor)


@part
def _rest(position: int, end: int) -> int:
    """Less than nine bytes, little endian."""
    number = 0
    while end > position:
        end -= 1
        number = wrapped(number << 8 | load_byte(end))
    return number


@part
def _rotated(number: int, bits: int) -> int:
    return wrapped(number << bits) | _shifted(number, 64 - bits)


@part
def _shifted(number: int, bits: int) -> int:
    """To the right, with zeros for the sign."""
    return number >> bits & (1 << 64 - bits) - 1


@part
def _final(number: int) -> int:
    number = _product(number ^ _shifted(number, 33), _THIRD)
    number = _product(number ^ _shifted(number, 33), _FOURTH)
    return number ^ _shifted(number, 33)
