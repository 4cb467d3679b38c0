"""Decimals of SQL: unscaled numbers of up to 38 digits, which Arrow keeps in 16 bytes.

A number of 128 bits is two of 64 here, the higher one with the sign.
"""

from __future__ import annotations

import numpy as np

from savepoint_formats.columns.kernel.columns import values
from savepoint_formats.columns.kernel.memory import load_byte, load_int, load_long, part, store_long
from savepoint_formats.columns.kernel.status import REFUSED

_MIN_LONG = -(1 << 63)
_DECIMAL_SIZE = 16
MAX_LONG_DIGITS = 18
_LONG_BOUNDS = np.array([10**digits for digits in range(19)], np.int64)
# Halves of each bound; low ones less 2**63, so that signed comparison orders them.
_HIGH_BOUNDS = np.array([10**digits >> 64 for digits in range(39)], np.int64)
_LOW_BOUNDS = np.array([10**digits % (1 << 64) + _MIN_LONG for digits in range(39)], np.int64)


@part
def store_decimal(column: int, row: int, unscaled: int, precision: int) -> bool:
    """A number of 64 bits; whether it has at most so many digits."""
    bound = _LONG_BOUNDS[precision]
    if not -bound < unscaled < bound:
        return False
    target = values(column) + _DECIMAL_SIZE * row
    store_long(target, unscaled)
    store_long(target + 8, unscaled >> 63)
    return True


@part
def store_long_decimal(column: int, row: int, position: int, size: int, precision: int) -> bool:
    """Two's complement of so many bytes; whether it has at most so many digits."""
    if not 1 <= size <= _DECIMAL_SIZE:
        return False
    high = low = -(load_byte(position) >> 7)
    for index in range(size):
        high = high << 8 | (low >> 56 & 0xFF)
        low = low << 8 | load_byte(position + index)
    target = values(column) + _DECIMAL_SIZE * row
    store_long(target, low)
    store_long(target + 8, high)
    if high < 0:
        high, low = ~high + (1 if low == 0 else 0), -low
    bound = _HIGH_BOUNDS[precision]
    return bool(0 <= high < bound or (high == bound and (low ^ _MIN_LONG) < _LOW_BOUNDS[precision]))


@part
def read_decimal(column: int, row: int, position: int, end: int, precision: int) -> int:
    """i64 unscaled up to 18 digits, else i32 size and two's complement."""
    if precision <= MAX_LONG_DIGITS:
        if end - position < 8 or not store_decimal(column, row, load_long(position), precision):
            return REFUSED
        return position + 8
    if end - position < 4:
        return REFUSED
    size = load_int(position)
    position += 4
    if not 0 <= size <= end - position:
        return REFUSED
    is_stored = store_long_decimal(column, row, position, size, precision)
    return position + size if is_stored else REFUSED
