"""Kryo's numbers and texts, of both versions: ``values/kryo/input.py`` has how they lie.

A number that is longer than Kryo writes it is refused, and so is a text that is none of Unicode.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.columns import capacity, set_valid, use, used, values
from savepoint_formats.program.kernel.machine_code import part
from savepoint_formats.program.kernel.memory import (
    load_byte,
    load_native_int,
    load_native_long,
    load_native_unsigned_short,
    load_unsigned_short,
    load_int,
    load_long,
    store_byte,
    store_int,
    store_long,
    store_short,
)
from savepoint_formats.program.kernel.status import FULL, REFUSED
from savepoint_formats.program.kernel.texts import copy_ascii, joined, store_code_point

_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # 0x80 in each byte of a word
_MAX_LONG = (1 << 63) - 1
_MAX_UINT = (1 << 32) - 1
_MAX_UNIT_SIZE = 3


@part
def kryo_varint(position: int, end: int) -> tuple[int, int]:
    """An unsigned number of 32 bits, and where the next one begins."""
    if position < end and load_byte(position) < 0x80:
        return load_byte(position), position + 1
    number = 0
    for shift in range(0, 35, 7):
        if position >= end:
            break
        byte = load_byte(position)
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position if number <= _MAX_UINT else REFUSED
    return number, REFUSED


@part
def kryo_varlong(position: int, end: int) -> tuple[int, int]:
    """The bits of an i64, and where the next one begins."""
    number = 0
    for shift in range(0, 56, 7):
        if position >= end:
            return number, REFUSED
        byte = load_byte(position)
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
    if position >= end:
        return number, REFUSED
    return number | load_byte(position) << 56, position + 1


@part
def unzigzag(number: int) -> int:
    """The number whose sign is in the lowest bit."""
    return number >> 1 & _MAX_LONG ^ -(number & 1)


@part
def signed_varint(position: int, end: int) -> tuple[int, int]:
    """An i32 as its unsigned bits, and where the next one begins."""
    number, position = kryo_varint(position, end)
    return number - ((number >> 31) << 32), position


@part
def load_fixed_short(position: int, is_5: int) -> int:
    """Two bytes, unsigned."""
    return load_native_unsigned_short(position) if is_5 else load_unsigned_short(position)


@part
def load_fixed_int(position: int, is_5: int) -> int:
    """Four bytes."""
    return load_native_int(position) if is_5 else load_int(position)


@part
def load_fixed_long(position: int, is_5: int) -> int:
    """Eight bytes."""
    return load_native_long(position) if is_5 else load_long(position)


@part
def read_fixed(target: int, position: int, end: int, size: int, is_5: int) -> int:
    """A number of so many bytes."""
    if end - position < size:
        return REFUSED
    if size == 8:
        store_long(target, load_fixed_long(position, is_5))
    elif size == 4:
        store_int(target, load_fixed_int(position, is_5))
    elif size == 1:
        store_byte(target, load_byte(position))
    else:
        store_short(target, load_fixed_short(position, is_5))
    return position + size


@part
def read_zigzag(target: int, position: int, end: int, size: int) -> int:
    """A number of which the sign is the lowest bit."""
    if size == 8:
        number, position = kryo_varlong(position, end)
        store_long(target, unzigzag(number))
    else:
        number, position = kryo_varint(position, end)
        store_int(target, unzigzag(number))
    return position


@part
def append_unit(column: int, row: int, position: int, end: int, is_5: int) -> int:
    """One UTF-16 unit."""
    if end - position < 2:
        return REFUSED
    unit = load_fixed_short(position, is_5)
    if unit & 0xF800 == 0xD800:
        return REFUSED
    start = used(column, row)
    if capacity(column) - start < _MAX_UNIT_SIZE:
        return FULL
    use(column, row, store_code_point(values(column) + start, unit) - values(column))
    return position + 2


@part
def append_kryo_text(column: int, row: int, position: int, end: int) -> int:
    """A text, or null: its characters, the last one marked; or a count and its units."""
    if position >= end:
        return REFUSED
    first = load_byte(position)
    if first < 0x80:
        return _append_marked(column, row, position, end)
    position += 1
    count = first & 0x3F
    if first & 0x40:
        more, position = kryo_varint(position, end)
        count |= more << 6
    start = used(column, row)
    set_valid(column, row, count > 0)
    if position < 0 or count == 0:
        use(column, row, start)
        return position
    count -= 1
    if count > end - position:
        return REFUSED
    if count > capacity(column) - start:
        return FULL
    done = copy_ascii(values(column) + start, position, count)
    if done < count:
        return _append_wide(column, row, position + done, end, start + done, count - done)
    use(column, row, start + count)
    return position + count


@part
def _append_marked(column: int, row: int, position: int, end: int) -> int:
    start = used(column, row)
    target = values(column) + start
    most = min(end - position, capacity(column) - start)
    done = 0
    while most - done >= 8:
        word = load_native_long(position + done)
        if word & _HIGH_BITS:
            break
        store_long(target + done, word)
        done += 8
    while done < most:
        byte = load_byte(position + done)
        store_byte(target + done, byte & 0x7F)
        done += 1
        if byte >= 0x80:
            set_valid(column, row, True)
            use(column, row, start + done)
            return position + done
    return REFUSED if done == end - position else FULL


@part
def _append_wide(column: int, row: int, position: int, end: int, start: int, count: int) -> int:
    target = values(column) + start
    last = values(column) + capacity(column) - _MAX_UNIT_SIZE - 1
    high = 0
    for _ in range(count):
        unit, position = _unit(position, end)
        if position < 0:
            return REFUSED
        if target > last:
            return FULL
        is_low = unit & 0xFC00 == 0xDC00
        if is_low != (high != 0):
            return REFUSED
        if unit & 0xFC00 == 0xD800:
            high = unit
        elif is_low:
            target = store_code_point(target, joined(high, unit))
            high = 0
        else:
            target = store_code_point(target, unit)
    if high:
        return REFUSED
    use(column, row, target - values(column))
    return position


@part
def _unit(position: int, end: int) -> tuple[int, int]:
    """A unit of one to three bytes, and where the next one begins."""
    first = load_byte(position) if position < end else 0xFF
    if first < 0x80:
        return first, position + 1
    if first >> 5 == 0b110 and end - position >= 2:
        return (first & 0x1F) << 6 | load_byte(position + 1) & 0x3F, position + 2
    if first >> 4 == 0b1110 and end - position >= 3:
        middle = (load_byte(position + 1) & 0x3F) << 6
        return (first & 0x0F) << 12 | middle | load_byte(position + 2) & 0x3F, position + 3
    return 0, REFUSED
