"""Writes texts and bytes: the mirrors of the functions of ``text_columns``.

Each takes a row of a column in UTF-8 and writes it as Java does; it returns the next position,
or REFUSED where the text is not plain.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    copy,
    load_native_long,
    store_big_int,
    store_big_short,
    store_byte,
)
from savepoint_formats.program.kernel.columns import ends, is_null, used, values
from savepoint_formats.program.kernel.status import REFUSED
from savepoint_formats.program.kernel.text_columns import (
    code_point,
    copy_ascii,
    is_utf8,
    store_code_point,
)

_MAX_UTF_SIZE = 0xFFFF


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
