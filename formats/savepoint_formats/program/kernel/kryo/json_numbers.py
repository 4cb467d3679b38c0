"""Numbers as Python's ``repr`` shows them.

A double gets the fewest digits that give it again, by the algorithm Schubfach of R. Giulietti. The
table has each power of ten, 10^-k, as two longs of 63 bits.
"""

from __future__ import annotations

from array import array

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_native_long,
    store_byte,
    store_int,
    store_long,
)
from savepoint_formats.program.kernel.status import REFUSED

_MAX_LONG, _MIN_LONG, _MAX_UINT = (1 << 63) - 1, -(1 << 63), (1 << 32) - 1
_REST_OF_MIN_LONG = 223372036854775808  # behind -9
_FRACTION_BITS, _BIAS, _SPECIAL = 52, 1075, 0x7FF
_LEAST_K, _MOST_K = -324, 292
_LEAST_POINT, _MOST_POINT = -4, 16
_LEAST_DIGITS = 100
"""The smallest doubles have fewer digits than the algorithm needs."""


def powers_of_ten() -> array[int]:
    """The table: each 10^-k, cut to 126 bits and rounded up."""
    longs = []
    for k in range(_LEAST_K, _MOST_K + 1):
        above, below = 10 ** max(-k, 0), 10 ** max(k, 0)
        shift = 126 - above.bit_length() + below.bit_length()
        power = (above << max(shift, 0)) // (below << max(-shift, 0))
        power = (power >> power.bit_length() - 126) + 1
        longs += [power >> 63, power & _MAX_LONG]
    return array("q", longs)


@part
def store_long_digits(target: int, number: int) -> int:
    """Stores an integer; returns the address behind it."""
    if number < 0:
        store_byte(target, 0x2D)
        target += 1
        if number == _MIN_LONG:
            store_byte(target, 0x39)
            target += 1
            number = _REST_OF_MIN_LONG
        else:
            number = -number
    rest = number // 10
    place = target + 1
    while rest:
        rest //= 10
        place += 1
    target = place
    while place > 0:
        place -= 1
        store_byte(place, 0x30 + number % 10)
        number //= 10
        if number == 0:
            return target
    return target


@part
def _multiply_high(first: int, second: int) -> int:
    """The upper 64 bits of a product of two positive longs."""
    high_1, low_1 = first >> 32, first & _MAX_UINT
    high_2, low_2 = second >> 32, second & _MAX_UINT
    lowest = (low_1 * low_2) >> 32 & _MAX_UINT
    middle = high_1 * low_2 + lowest
    other = low_1 * high_2 + (middle & _MAX_UINT)
    return high_1 * high_2 + (middle >> 32) + (other >> 32)


@part
def _rounded_to_odd(high: int, low: int, number: int) -> int:
    """A product with a power of ten, of which the lowest bit tells whether there is a rest."""
    # No sum may be above 63 bits: the compiler takes it for granted.
    lower = high * number >> 1 & _MAX_LONG
    room = _MAX_LONG - _multiply_high(low, number)
    upper = _multiply_high(high, number)
    if lower > room:
        upper += 1
        lower -= 1 + _MAX_LONG
    return upper | (1 if lower != room - _MAX_LONG else 0)


@part
def _shortest(fraction: int, exponent: int, powers: int) -> tuple[int, int]:
    """The digits of fraction * 2^exponent, and the power of ten of the last one."""
    is_odd = fraction & 1
    center = fraction << 2
    below = center - 2
    k = exponent * 661_971_961_083 >> 41
    if fraction == 1 << _FRACTION_BITS and exponent > 1 - _BIAS:
        below = center - 1
        k = exponent * 661_971_961_083 - 274_743_187_321 >> 41
    shift = exponent + (-k * 913_124_641_741 >> 38) + 2
    entry = powers + 16 * (k - _LEAST_K)
    high, low = load_native_long(entry), load_native_long(entry + 8)
    middle = _rounded_to_odd(high, low, center << shift)
    least = _rounded_to_odd(high, low, below << shift) + is_odd
    most = _rounded_to_odd(high, low, center + 2 << shift) - is_odd
    digits = middle >> 2
    if digits < _LEAST_DIGITS:
        return -1, k
    short = digits // 10 * 10
    is_in = least <= short << 2
    if is_in != (short + 10 << 2 <= most):
        return short if is_in else short + 10, k
    is_in = least <= digits << 2
    if is_in != (digits + 1 << 2 <= most):
        return digits if is_in else digits + 1, k
    side = middle - (2 * digits + 1 << 1)
    return digits if side < 0 or (side == 0 and not digits & 1) else digits + 1, k


@part
def store_double(target: int, bits: int, powers: int) -> int:
    """Stores a double; returns the address behind it, or REFUSED. Those without a value are texts."""
    is_negative = bits < 0
    exponent = bits >> _FRACTION_BITS & _SPECIAL
    fraction = bits & (1 << _FRACTION_BITS) - 1
    if exponent == _SPECIAL and fraction:
        store_long(target, 0x226E616E22)
        return target + 5
    if exponent == _SPECIAL:
        store_long(target, 0x22666E692D22 if is_negative else 0x22666E6922)
        return target + (6 if is_negative else 5)
    if is_negative:
        store_byte(target, 0x2D)
        target += 1
    if exponent == 0 and fraction == 0:
        store_int(target, 0x302E30)
        return target + 3
    digits, k = _shortest(
        fraction | (1 << _FRACTION_BITS) * (exponent > 0),
        (exponent if exponent else 1) - _BIAS,
        powers,
    )
    if digits < 0:
        return REFUSED
    while digits % 10 == 0:
        digits //= 10
        k += 1
    return _store_decimal(target, digits, k)


@part
def _store_decimal(target: int, digits: int, k: int) -> int:
    """Stores digits * 10^k with a point, or with an exponent."""
    size = store_long_digits(target, digits) - target
    point = size + k
    if not _LEAST_POINT < point <= _MOST_POINT:
        end = target + size
        if size > 1:
            end = _insert(target + 1, end, 1)
            store_byte(target + 1, 0x2E)
        store_byte(end, 0x65)
        point -= 1
        store_byte(end + 1, 0x2D if point < 0 else 0x2B)
        point = abs(point)
        if point < 10:
            store_byte(end + 2, 0x30)
        return store_long_digits(end + (3 if point < 10 else 2), point)
    if point <= 0:
        end = _insert(target, target + size, 2 - point)
        _store_zeros(target, 2 - point)
        store_byte(target + 1, 0x2E)
        return end
    if point < size:
        _insert(target + point, target + size, 1)
        store_byte(target + point, 0x2E)
        return target + size + 1
    _store_zeros(target + size, point - size)
    store_byte(target + point, 0x2E)
    store_byte(target + point + 1, 0x30)
    return target + point + 2


@part
def _store_zeros(target: int, count: int) -> None:
    while count > 0:
        count -= 1
        store_byte(target + count, 0x30)


@part
def _insert(start: int, end: int, size: int) -> int:
    """Moves bytes up to ``end`` further; returns where they end then."""
    place = end
    while place > start:
        place -= 1
        store_byte(place + size, load_byte(place))
    return end + size
