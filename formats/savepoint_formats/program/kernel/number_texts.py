"""Numbers without bounds: read as texts of digits, and written from them."""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_int,
    store_big_int,
    store_byte,
)
from savepoint_formats.program.kernel.columns import capacity, is_null, set_valid, use, used, values
from savepoint_formats.program.kernel.decimals import write_twos_complement
from savepoint_formats.program.kernel.status import FULL, REFUSED

_MAX_DECIMAL_SIZE = 28
_BIG_CONSTANTS = (0, 0, 1, 10)
_MOST_BYTES = 33
"""The most bytes of a number that the kernel divides into digits: 256 bits and a sign."""

_LONG_NUMBER_ROOM = 88
"""Room for the digits of such a number, with sign, point and zeros in front."""

_DIGITS_AT_ONCE = 15
_DIVISOR = 10**_DIGITS_AT_ONCE
_MOST_DIGITS = 77
"""The most digits of a number that the kernel writes; 256 bits can have one more."""

_NUMBER_ROOM = 40
_POWER = 10**15
_MINUS, _POINT, _ZERO = 0x2D, 0x2E, 0x30


@part
def append_big_integer(column: int, row: int, position: int, end: int) -> int:
    """All digits of a ``BigInteger``; i32 of the count of bytes + 4, below 4 a null or a constant."""
    if end - position < 4:
        return REFUSED
    code = load_int(position)
    if 0 <= code < 4:
        return append_number(column, row, position + 4, code, _BIG_CONSTANTS[code], 0)
    is_some = end - position >= code
    return append_bytes_number(column, row, position + 4, code - 4, 0, 0) if is_some else REFUSED


@part
def append_big_decimal(column: int, row: int, position: int, end: int) -> int:
    """A ``BigDecimal`` as its ``toString`` gives it, if that has no exponent."""
    if end - position < 4:
        return REFUSED
    code = load_int(position)
    if code == 0:
        return append_number(column, row, position + 4, 0, 0, 0)
    behind = position + max(code, 4)
    if code < 0 or end - behind < 4:
        return REFUSED
    if code < 4:
        return append_number(column, row, behind + 4, code, _BIG_CONSTANTS[code], load_int(behind))
    return append_bytes_number(column, row, position + 4, code - 4, 4, load_int(behind))


@part
def append_bytes_number(
    column: int, row: int, position: int, size: int, behind: int, scale: int
) -> int:
    """A number in two's complement; ``behind`` is the size of the scale, which was read before."""
    if not 1 <= size <= _MOST_BYTES:
        return REFUSED
    number = load_byte(position) - ((load_byte(position) & 0x80) << 1)
    if size > 8:
        done = _append_long_number(column, row, position, size, scale)
        return position + size + behind if done > 0 else done
    for index in range(1, size):
        number = number << 8 | load_byte(position + index)
    if number == -number and number:  # the smallest i64 has no positive
        return REFUSED
    return append_number(column, row, position + size + behind, 1, number, scale)


@part
def _append_long_number(column: int, row: int, position: int, size: int, scale: int) -> int:
    """A number of more than 64 bits; 1, or REFUSED or FULL.

    Its absolute value is divided in the room behind the digits, which grow towards the front.
    """
    start = used(column, row)
    if capacity(column) - start < _LONG_NUMBER_ROOM + _MOST_BYTES:
        return FULL
    text = values(column) + start
    first = text + _LONG_NUMBER_ROOM
    is_negative = load_byte(position) >> 7
    carry = is_negative
    for index in range(size - 1, -1, -1):
        carry += load_byte(position + index) ^ (0xFF if is_negative else 0)
        store_byte(first + index, carry & 0xFF)
        carry >>= 8
    place, left, digits = first, 0, 0
    while left < size:
        rest = 0
        for index in range(left, size):
            rest = rest << 8 | load_byte(first + index)
            store_byte(first + index, rest // _DIVISOR)
            rest %= _DIVISOR
        while left < size and load_byte(first + left) == 0:
            left += 1
        count = 0
        while rest or (left < size and count < _DIGITS_AT_ONCE):
            place -= 1
            store_byte(place, 0x30 + rest % 10)
            rest //= 10
            count += 1
        digits += count
    if digits == 0:
        place -= 1
        store_byte(place, 0x30)
        digits = 1
    if scale < 0 or digits - scale < -5:
        return REFUSED
    if is_negative:
        store_byte(text, 0x2D)
        text += 1
    while digits <= scale:
        place -= 1
        store_byte(place, 0x30)
        digits += 1
    for index in range(digits):
        if index == digits - scale:
            store_byte(text, 0x2E)
            text += 1
        store_byte(text, load_byte(place + index))
        text += 1
    use(column, row, text - values(column))
    set_valid(column, row, True)
    return 1


@part
def append_number(column: int, row: int, position: int, code: int, number: int, scale: int) -> int:
    """A number with ``scale`` digits behind the point; null if the code is 0."""
    start = used(column, row)
    set_valid(column, row, code != 0)
    if code == 0:
        use(column, row, start)
        return position
    if capacity(column) - start < _MAX_DECIMAL_SIZE:
        return FULL
    target = store_decimal_text(values(column) + start, number, scale)
    if target < 0:
        return REFUSED
    use(column, row, target - values(column))
    return position


@part
def store_decimal_text(target: int, number: int, scale: int) -> int:
    """Stores a number with ``scale`` digits behind the point; where it ends, or REFUSED."""
    digits = 1
    rest = abs(number)
    while rest >= 10:
        rest //= 10
        digits += 1
    if scale < 0 or digits - scale < -5:
        return REFUSED
    if number < 0:
        store_byte(target, 0x2D)
        target += 1
    size = max(digits, scale + 1)  # with a zero before the point
    _store_digits(target, abs(number), size, scale)
    return target + size + (1 if scale else 0)


@part
def _store_digits(target: int, number: int, size: int, scale: int) -> None:
    place = target + size + (1 if scale else 0)
    for index in range(size):
        if index == scale and scale:
            place -= 1
            store_byte(place, 0x2E)
        place -= 1
        store_byte(place, 0x30 + number % 10)
        number //= 10


# --- the reverse -----------------------------------------------------------------------------------


@part
def write_digits(column: int, row: int, position: int, max_scale: int) -> tuple[int, int]:
    """Writes a text of digits in two's complement; where it ends, or REFUSED, and the scale."""
    start = values(column) + used(column, row)
    end = values(column) + used(column, row + 1)
    is_negative = start < end and load_byte(start) == _MINUS
    if is_negative:
        start += 1
    number = digits = scale = 0
    power = 1
    first = position + _NUMBER_ROOM
    has_digits = has_point = is_long = False
    for place in range(start, end):
        byte = load_byte(place)
        if byte == _POINT and not has_point and max_scale > 0:
            has_point = True
        elif _ZERO <= byte < _ZERO + 10 and digits < _MOST_DIGITS:
            has_digits = True
            scale += 1 if has_point else 0
            if digits == 0 and byte == _ZERO:
                continue
            if power == _POWER:
                first = _multiplied(first, position + _NUMBER_ROOM, number, power)
                number, power = 0, 1
                is_long = True
            number = 10 * number + byte - _ZERO
            power *= 10
            digits += 1
        else:
            return REFUSED, 0
    if not has_digits:
        return REFUSED, 0
    if not is_long:
        number = -number if is_negative else number
        return position + write_twos_complement(position, number >> 63, number), scale
    first = _multiplied(first, position + _NUMBER_ROOM, number, power)
    return _moved(position, first, position + _NUMBER_ROOM - first, is_negative), scale


@part
def _multiplied(first: int, behind: int, number: int, power: int) -> int:
    """The bytes up to ``behind`` times a power, and a number more; where they begin."""
    for place in range(behind - 1, first - 1, -1):
        number += load_byte(place) * power
        store_byte(place, number & 0xFF)
        number >>= 8
    while number:
        first -= 1
        store_byte(first, number & 0xFF)
        number >>= 8
    return first


@part
def _moved(target: int, first: int, size: int, is_negative: bool) -> int:
    """The number from ``first`` on in as few bytes as it needs, with its sign; where it ends."""
    carry = 1 if is_negative else 0
    for place in range(first + size - 1, first - 1, -1):
        carry += load_byte(place) ^ (0xFF if is_negative else 0)
        store_byte(place, carry & 0xFF)
        carry >>= 8
    if load_byte(first) >> 7 != (1 if is_negative else 0):
        first -= 1
        size += 1
        store_byte(first, 0xFF if is_negative else 0)
    for index in range(size):
        store_byte(target + index, load_byte(first + index))
    return target + size


@part
def write_big_integer(column: int, row: int, position: int) -> int:
    """The mirror of ``append_big_integer``."""
    return _write_big(column, row, position, 0)


@part
def write_big_decimal(column: int, row: int, position: int) -> int:
    """The mirror of ``append_big_decimal``."""
    return _write_big(column, row, position, _MOST_DIGITS)


@part
def _write_big(column: int, row: int, position: int, max_scale: int) -> int:
    if is_null(column, row):
        store_big_int(position, 0)
        return position + 4
    end, scale = write_digits(column, row, position + 4, max_scale)
    if end < 0:
        return REFUSED
    size = end - position - 4
    byte = load_byte(position + 4)
    code = 1 if byte == 0 else 2 if byte == 1 else 3 if byte == 10 else 0
    if size > 1 or code == 0:
        code = size + 4
    else:
        end = position + 4
    store_big_int(position, code)
    if max_scale:
        store_big_int(end, scale)
        end += 4
    return end
