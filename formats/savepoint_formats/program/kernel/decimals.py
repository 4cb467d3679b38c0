"""Decimals of SQL: unscaled numbers of up to 38 digits, which Arrow keeps in 16 bytes.

A number of 128 bits is two of 64 here, the higher one with the sign.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_int,
    load_long,
    load_native_long,
    store_big_int,
    store_big_long,
    store_byte,
    store_long,
    wrapped,
)
from savepoint_formats.program.kernel.columns import values
from savepoint_formats.program.kernel.status import REFUSED

_MIN_LONG = -(1 << 63)
_DECIMAL_SIZE = 16
MAX_LONG_DIGITS = 18
_LONG_BOUNDS = tuple(10**digits for digits in range(19))
# Halves of each bound. From low ones 2**63 is subtracted, so that signed comparison orders them.
_HIGH_BOUNDS = tuple(10**digits >> 64 for digits in range(39))
_LOW_BOUNDS = tuple(10**digits % (1 << 64) + _MIN_LONG for digits in range(39))


@part
def store_decimal(column: int, row: int, unscaled: int, precision: int) -> bool:
    """Stores 64 bits; whether they have at most ``precision`` digits."""
    bound = _LONG_BOUNDS[precision]
    if not -bound < unscaled < bound:
        return False
    target = values(column) + _DECIMAL_SIZE * row
    store_long(target, unscaled)
    store_long(target + 8, unscaled >> 63)
    return True


@part
def store_long_decimal(column: int, row: int, position: int, size: int, precision: int) -> bool:
    """Stores two's complement; whether it has at most ``precision`` digits."""
    if not 1 <= size <= _DECIMAL_SIZE:
        return False
    high = low = -(load_byte(position) >> 7)
    for index in range(size):
        high = high << 8 | (low >> 56 & 0xFF)
        low = low << 8 | load_byte(position + index)
    target = values(column) + _DECIMAL_SIZE * row
    store_long(target, low)
    store_long(target + 8, high)
    return has_digits(high, low, precision)


@part
def has_digits(high: int, low: int, precision: int) -> bool:
    """Whether a number has at most ``precision`` digits."""
    if high < 0:
        high, low = ~high + (1 if low == 0 else 0), wrapped(-low)
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


# --- the reverse --------------------------------------------------------------------------------


@part
def write_twos_complement(position: int, high: int, low: int) -> int:
    """Writes as few bytes as the number needs; returns their count."""
    size = 0
    for index in range(_DECIMAL_SIZE - 1, -1, -1):
        number = high if index >= 8 else low
        byte = number >> 8 * (index & 7) & 0xFF
        if size == 0 and index > 0:
            following = (high if index > 8 else low) >> 8 * (index - 1 & 7) & 0xFF
            if byte == (0xFF if following & 0x80 else 0):
                continue
        store_byte(position + size, byte)
        size += 1
    return size


@part
def long_decimal(column: int, row: int, precision: int) -> tuple[bool, int]:
    """Whether a decimal has at most ``precision`` <= 18 digits, and its number."""
    source = values(column) + _DECIMAL_SIZE * row
    low, high = load_native_long(source), load_native_long(source + 8)
    bound = _LONG_BOUNDS[precision]
    return bool(high == low >> 63 and -bound < low < bound), low


@part
def write_decimal(column: int, row: int, position: int, precision: int) -> int:
    """The mirror of ``read_decimal``."""
    if precision <= MAX_LONG_DIGITS:
        fits, number = long_decimal(column, row, precision)
        store_big_long(position, number)
        return position + 8 if fits else REFUSED
    source = values(column) + _DECIMAL_SIZE * row
    low, high = load_native_long(source), load_native_long(source + 8)
    if not has_digits(high, low, precision):
        return REFUSED
    size = write_twos_complement(position + 4, high, low)
    store_big_int(position, size)
    return position + 4 + size
