"""Texts and bytes: each function reads one and appends it to its column.

Java's texts are UTF-16 units, each a number of one to three bytes. Most are ASCII, which is the same
in every encoding and is copied in words. Columns are UTF-8. Half a surrogate pair is refused.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    copy,
    load_byte,
    load_int,
    load_native_int,
    load_native_long,
    load_unsigned_short,
    store_byte,
    store_int,
    store_long,
)
from savepoint_formats.program.kernel.columns import capacity, set_valid, use, used, values
from savepoint_formats.program.kernel.status import FULL, REFUSED

HIGH_BITS = -0x7F7F7F7F7F7F7F80  # 0x80 in each byte of a word
_HIGH_BITS_OF_INT = 0x80808080
_MAX_UNIT_SIZE = 3


@part
def varint(position: int, end: int) -> tuple[int, int]:
    """A number of at most 31 bits, and where the next one begins."""
    number = 0
    for shift in range(0, 35, 7):
        if position >= end:
            break
        byte = load_byte(position)
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80 and number < 1 << 31:
            return number, position
    return number, REFUSED


@part
def store_code_point(target: int, code: int) -> int:
    """Appends a character in UTF-8."""
    if code < 0x80:
        store_byte(target, code)
        return target + 1
    if code < 0x800:
        store_byte(target, 0xC0 | code >> 6)
        store_byte(target + 1, 0x80 | code & 0x3F)
        return target + 2
    if code < 0x10000:
        store_byte(target, 0xE0 | code >> 12)
        store_byte(target + 1, 0x80 | code >> 6 & 0x3F)
        store_byte(target + 2, 0x80 | code & 0x3F)
        return target + 3
    store_byte(target, 0xF0 | code >> 18)
    store_byte(target + 1, 0x80 | code >> 12 & 0x3F)
    store_byte(target + 2, 0x80 | code >> 6 & 0x3F)
    store_byte(target + 3, 0x80 | code & 0x3F)
    return target + 4


@part
def copy_ascii(target: int, source: int, size: int) -> int:
    """Copies the ASCII characters at the beginning, in whole words or to the end; their number."""
    done = 0
    while size - done >= 8:
        word = load_native_long(source + done)
        if word & HIGH_BITS:
            return done
        store_long(target + done, word)
        done += 8
    if size - done >= 4:
        half = load_native_int(source + done)
        if half & _HIGH_BITS_OF_INT:
            return done
        store_int(target + done, half)
        done += 4
    while done < size:
        byte = load_byte(source + done)
        if byte >= 0x80:
            return done
        store_byte(target + done, byte)
        done += 1
    return done


@part
def append_units(column: int, row: int, position: int, end: int, count: int) -> int:
    """``count`` UTF-16 units, each a variable-length number."""
    if count > end - position:
        return REFUSED
    start, limit = used(column, row), capacity(column)
    if count > limit - start:
        return FULL
    target = values(column) + start
    done = copy_ascii(target, position, count)
    if done == count:
        use(column, row, start + count)
        return position + count
    return append_wide_units(column, row, position + done, end, start + done, count - done, False)


@part
def next_unit(position: int, end: int) -> tuple[int, int]:
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


@part
def append_wide_units(
    column: int, row: int, position: int, end: int, start: int, count: int, is_kryo: bool
) -> int:
    """Units of which not all are ASCII, from byte ``start`` of the column on."""
    target = values(column) + start
    last = values(column) + capacity(column) - _MAX_UNIT_SIZE - 1
    high = 0
    for _ in range(count):
        unit, position = next_unit(position, end) if is_kryo else varint(position, end)
        if position < 0 or unit > 0xFFFF:
            return REFUSED
        if target > last:
            return FULL
        target, high = store_unit(target, unit, high)
        if target < 0:
            return REFUSED
    if high:
        return REFUSED
    use(column, row, target - values(column))
    return position


@part
def store_unit(target: int, unit: int, high: int) -> tuple[int, int]:
    """Appends a UTF-16 unit; ``high`` is the first half of a pair, or 0.

    Returns the next address, or REFUSED, and the half that has no second one yet.
    """
    is_low = unit & 0x1FFC00 == 0xDC00
    if is_low != (high != 0):
        return REFUSED, 0
    if unit & 0x1FFC00 == 0xD800:
        return target, unit
    if is_low:
        unit = 0x10000 + ((high & 0x3FF) << 10 | unit & 0x3FF)
    return store_code_point(target, unit), 0


@part
def append_text(column: int, row: int, position: int, end: int) -> int:
    """A text of ``StringValue.writeString``, or null."""
    count, position = varint(position, end)
    if position < 0:
        return position
    set_valid(column, row, count > 0)
    if count == 0:
        use(column, row, used(column, row))
        return position
    return append_units(column, row, position, end, count - 1)


@part
def append_mutable_text(column: int, row: int, position: int, end: int) -> int:
    """A text of ``StringValue.write``."""
    count, position = varint(position, end)
    return position if position < 0 else append_units(column, row, position, end, count)


@part
def append_char(column: int, row: int, position: int, end: int) -> int:
    """One UTF-16 unit."""
    if end - position < 2:
        return REFUSED
    unit = load_unsigned_short(position)
    if unit & 0xF800 == 0xD800:
        return REFUSED
    start = used(column, row)
    if capacity(column) - start < _MAX_UNIT_SIZE:
        return FULL
    use(column, row, store_code_point(values(column) + start, unit) - values(column))
    return position + 2


@part
def append_bytes(column: int, row: int, position: int, end: int, size: int) -> int:
    """``size`` bytes as they are."""
    if not 0 <= size <= end - position:
        return REFUSED
    start = used(column, row)
    if size > capacity(column) - start:
        return FULL
    copy(values(column) + start, position, size)
    use(column, row, start + size)
    return position + size


@part
def append_utf8(column: int, row: int, position: int, end: int, size: int) -> int:
    """``size`` bytes of UTF-8."""
    if not 0 <= size <= end - position:
        return REFUSED
    start = used(column, row)
    if size > capacity(column) - start:
        return FULL
    done = copy_ascii(values(column) + start, position, size)
    if done < size:
        if not is_utf8(position + done, position + size):
            return REFUSED
        copy(values(column) + start + done, position + done, size - done)
    use(column, row, start + size)
    return position + size


@part
def is_utf8(position: int, end: int) -> bool:
    """Whether UTF-8 is well-formed: not cut, not too long, no surrogates."""
    while position < end:
        size, code = code_point(position, end)
        if size == 0 or code & 0x1FF800 == 0xD800:
            return False
        position += size
    return True


@part
def code_point(position: int, end: int) -> tuple[int, int]:
    """Size of the next character in UTF-8, or 0, and its code point."""
    first = load_byte(position)
    if first < 0x80:
        return 1, first
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if not 0xC2 <= first < 0xF5 or size > end - position:
        return 0, 0
    code = first & 0x7F >> size
    for index in range(1, size):
        byte = load_byte(position + index)
        if byte & 0xC0 != 0x80:
            return 0, 0
        code = code << 6 | byte & 0x3F
    if (size == 3 and code < 0x800) or (size == 4 and not 0x10000 <= code < 0x110000):
        return 0, 0
    return size, code


@part
def append_sized_bytes(column: int, row: int, position: int, end: int) -> int:
    """i32 size and bytes."""
    if end - position < 4:
        return REFUSED
    return append_bytes(column, row, position + 4, end, load_int(position))


@part
def append_sized_utf8(column: int, row: int, position: int, end: int) -> int:
    """i32 size and UTF-8."""
    if end - position < 4:
        return REFUSED
    return append_utf8(column, row, position + 4, end, load_int(position))


@part
def append_java_utf(column: int, row: int, position: int, end: int) -> int:
    """u16 size and modified UTF-8."""
    if end - position < 2:
        return REFUSED
    size = load_unsigned_short(position)
    position += 2
    if size > end - position:
        return REFUSED
    start = used(column, row)
    if size > capacity(column) - start:
        return FULL
    target = values(column) + start
    done = copy_ascii(target, position, size)
    if done < size:
        target = _store_modified_utf8(target + done, position + done, position + size)
        if target < 0:
            return REFUSED
        done = target - values(column) - start
    use(column, row, start + done)
    return position + size


@part
def _store_modified_utf8(target: int, position: int, end: int) -> int:
    """Modified UTF-8: NUL is C0 80, and each half of a surrogate pair has three bytes."""
    high = 0
    while position < end:
        if end - position >= 2 and load_unsigned_short(position) == 0xC080:
            size, code = 2, 0
        else:
            size, code = code_point(position, end)
        if not 1 <= size <= _MAX_UNIT_SIZE:
            return REFUSED
        position += size
        target, high = store_unit(target, code, high)
        if target < 0:
            return REFUSED
    return REFUSED if high else target
