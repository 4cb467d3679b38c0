"""Writes texts and bytes: the mirrors of the functions of ``texts``.

Each takes a row of a column in UTF-8 and writes it as Java does; it returns the next position,
or REFUSED where the text is not plain.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    copy,
    load_byte,
    load_native_long,
    store_big_int,
    store_big_short,
    store_byte,
)
from savepoint_formats.program.kernel.columns import ends, is_null, used, values
from savepoint_formats.program.kernel.decimals import write_twos_complement
from savepoint_formats.program.kernel.status import REFUSED
from savepoint_formats.program.kernel.text_columns import (
    code_point,
    copy_ascii,
    is_utf8,
    store_code_point,
)

_MAX_UTF_SIZE = 0xFFFF
_MOST_DIGITS = 77
"""The most digits of a number that the kernel writes; 256 bits can have one more."""

_MOST_BYTES = 40
_POWER = 10**15
_MINUS, _POINT, _ZERO = 0x2D, 0x2E, 0x30


@part
def write_varint(position: int, number: int) -> int:
    """The mirror of ``varint``."""
    while number >= 0x80:
        store_byte(position, number & 0x7F | 0x80)
        position += 1
        number >>= 7
    store_byte(position, number)
    return position + 1


@part
def varint_size(number: int) -> int:
    """Bytes of a variable-length number."""
    size = 1
    while number >= 0x80:
        number >>= 7
        size += 1
    return size


@part
def write_text(column: int, row: int, position: int) -> int:
    """The mirror of ``append_text``."""
    if is_null(column, row):
        store_byte(position, 0)
        return position + 1
    return write_units(column, row, position, 1)


@part
def write_units(column: int, row: int, position: int, more: int) -> int:
    """Writes the number of UTF-16 units plus ``more``, then each unit."""
    start = used(column, row)
    size = used(column, row + 1) - start
    start += values(column)
    target = position + varint_size(size + more)
    if copy_ascii(target, start, size) == size:
        write_varint(position, size + more)
        return target + size
    return _write_wide_units(position, start, start + size, more)


@part
def unit_count(position: int, end: int) -> int:
    """Number of UTF-16 units of a text, or REFUSED."""
    count = 0
    while position < end:
        size, code = code_point(position, end)
        if size == 0:
            return REFUSED
        position += size
        count += 2 if code >= 0x10000 else 1
    return count


@part
def _write_wide_units(position: int, start: int, end: int, more: int) -> int:
    count = unit_count(start, end)
    if count < 0:
        return REFUSED
    position = write_varint(position, count + more)
    while start < end:
        size, code = code_point(start, end)
        start += size
        if code >= 0x10000:
            position = write_varint(position, 0xD800 | code - 0x10000 >> 10)
            code = 0xDC00 | code & 0x3FF
        position = write_varint(position, code)
    return position


@part
def write_char(column: int, row: int, position: int) -> int:
    """The mirror of ``append_char``."""
    start = values(column) + used(column, row)
    end = values(column) + used(column, row + 1)
    size, code = code_point(start, end) if start < end else (0, 0)
    if size == 0 or start + size != end or code > 0xFFFF:
        return REFUSED
    store_big_short(position, code)
    return position + 2


@part
def write_bytes(column: int, row: int, position: int) -> int:
    """The mirror of ``append_sized_bytes``."""
    start = used(column, row)
    size = used(column, row + 1) - start
    store_big_int(position, size)
    copy(position + 4, values(column) + start, size)
    return position + 4 + size


@part
def write_rest(column: int, row: int, position: int) -> int:
    """Bytes from the general path."""
    begin = load_native_long(ends(column) + 8 * row)
    size = load_native_long(ends(column) + 8 * row + 8) - begin
    copy(position, values(column) + begin, size)
    return position + size


@part
def write_utf8(column: int, row: int, position: int) -> int:
    """The mirror of ``append_sized_utf8``."""
    start = values(column) + used(column, row)
    end = values(column) + used(column, row + 1)
    done = copy_ascii(position + 4, start, end - start)
    if not is_utf8(start + done, end):
        return REFUSED
    return write_bytes(column, row, position)


@part
def write_fixed_bytes(column: int, row: int, position: int, wanted: int) -> int:
    """Exactly ``wanted`` bytes as they are."""
    start = used(column, row)
    size = used(column, row + 1) - start
    if size != wanted:
        return REFUSED
    copy(position, values(column) + start, size)
    return position + size


@part
def write_java_utf(column: int, row: int, position: int) -> int:
    """The mirror of ``append_java_utf``."""
    start = values(column) + used(column, row)
    end = values(column) + used(column, row + 1)
    target = position + 2
    while start < end and target - position - 2 <= _MAX_UTF_SIZE:
        size, code = code_point(start, end)
        if size == 0:
            return REFUSED
        start += size
        if code >= 0x10000:
            target = _store_unit(target, 0xD800 | code - 0x10000 >> 10)
            code = 0xDC00 | code & 0x3FF
        target = _store_unit(target, code)
    if target - position - 2 > _MAX_UTF_SIZE:
        return REFUSED
    store_big_short(position, target - position - 2)
    return target


@part
def _store_unit(target: int, unit: int) -> int:
    """A UTF-16 unit in modified UTF-8."""
    if unit:
        return store_code_point(target, unit)
    store_byte(target, 0xC0)
    store_byte(target + 1, 0x80)
    return target + 2


# --- numbers without bounds, as texts -----------------------------------------------------------


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
    first = position + _MOST_BYTES
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
                first = _multiplied(first, position + _MOST_BYTES, number, power)
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
    first = _multiplied(first, position + _MOST_BYTES, number, power)
    return _moved(position, first, position + _MOST_BYTES - first, is_negative), scale


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
