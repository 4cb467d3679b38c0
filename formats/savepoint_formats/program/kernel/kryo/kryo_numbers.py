# ruff: noqa: PLR1714, SIM109 - plain comparisons are what is compiled best
"""Numbers and texts of both versions of Kryo: ``values/kryo/input.py`` has their bytes.

Numbers that are longer than Kryo writes them are refused, and texts that aren't Unicode.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_int,
    load_long,
    load_native_int,
    load_native_long,
    load_native_short,
    load_short,
    load_signed_byte,
    store_byte,
    store_int,
    store_long,
    store_short,
)
from savepoint_formats.program.kernel.columns import capacity, set_valid, use, used, values
from savepoint_formats.program.kernel.status import FULL, REFUSED
from savepoint_formats.program.kernel.text_columns import (
    append_wide_units,
    copy_ascii,
    next_unit,
    store_code_point,
)

_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # 0x80 in each byte of a word
_MAX_LONG = (1 << 63) - 1
_MAX_UINT = (1 << 32) - 1
_MAX_UNIT_SIZE = 3
_VARINT, _VARLONG = 5, 9
_LAST_SHIFT = 56

# The kinds of numbers: of 1, 2, 4 and 8 bytes, and as varints.
BYTE, SHORT, INT, LONG, VARINT, ZIGZAG, VARLONG, LONG_ZIGZAG = range(8)
# Other parts of bodies: see ``values/kryo/body.py``.
TEXT, FLAG, COUNTED, CLOCK, NEW, WORDS, OFFSET, OPTIONAL_INT, OPTIONAL_LONG, SCALED = range(8, 18)
FLOAT, DOUBLE, UNIT, UUID, OPTIONAL_DOUBLE, HEX = range(18, 24)


@part
def unsigned(position: int, end: int, most: int) -> tuple[int, int]:
    """An unsigned number of at most ``most`` bytes, and where the next one begins.

    The ninth byte has eight bits of the number, the others seven.
    """
    number = shift = 0
    while position < end and shift < 7 * most:
        byte = load_byte(position)
        position += 1
        if byte < 0x80 or shift == _LAST_SHIFT:
            number |= byte << shift
            return number, position if most > _VARINT or number <= _MAX_UINT else REFUSED
        number |= (byte & 0x7F) << shift
        shift += 7
    return number, REFUSED


@part
def kryo_varint(position: int, end: int) -> tuple[int, int]:
    """An unsigned number of 32 bits, and where the next one begins."""
    return unsigned(position, end, _VARINT)


@part
def flagged(position: int, end: int) -> tuple[bool, int, int]:
    """A flag, a number, and where the next one begins."""
    if position >= end:
        return False, 0, REFUSED
    first = load_byte(position)
    position += 1
    number = first & 0x3F
    if first & 0x40:
        more, position = kryo_varint(position, end)
        number |= more << 6
    return first >= 0x80, number, position


@part
def unzigzag(number: int) -> int:
    """The number whose sign is in the lowest bit."""
    return number >> 1 & _MAX_LONG ^ -(number & 1)


@part
def read_number(kind: int, position: int, end: int, is_5: int) -> tuple[int, int]:
    """A number of a kind, and where the next one begins."""
    if kind >= VARINT:
        most = _VARINT if kind < VARLONG else _VARLONG
        number, position = unsigned(position, end, most)
        if kind == ZIGZAG or kind == LONG_ZIGZAG:
            number = unzigzag(number)
        elif kind == VARINT:
            number -= number >> 31 << 32
        return number, position
    size = 1 << kind
    if end - position < size:
        return 0, REFUSED
    if kind == LONG:
        number = load_native_long(position) if is_5 else load_long(position)
    elif kind == INT:
        number = load_native_int(position) if is_5 else load_int(position)
    elif kind == SHORT:
        number = load_native_short(position) if is_5 else load_short(position)
    else:
        number = load_signed_byte(position)
    return number, position + size


@part
def store_number(column: int, row: int, kind: int, number: int) -> None:
    """Stores a number of a kind in a column of its size."""
    target = values(column)
    if kind == LONG or kind >= VARLONG:
        store_long(target + 8 * row, number)
    elif kind == SHORT:
        store_short(target + 2 * row, number)
    elif kind == BYTE:
        store_byte(target + row, number)
    else:
        store_int(target + 4 * row, number)


@part
def append_unit(column: int, row: int, position: int, end: int, is_5: int) -> int:
    """One UTF-16 unit."""
    unit, position = read_number(SHORT, position, end, is_5)
    if position < 0 or unit & 0xF800 == 0xD800:
        return REFUSED
    start = used(column, row)
    if capacity(column) - start < _MAX_UNIT_SIZE:
        return FULL
    use(column, row, store_code_point(values(column) + start, unit & 0xFFFF) - values(column))
    return position


@part
def append_kryo_text(column: int, row: int, position: int, end: int) -> int:
    """A text or null: characters with a mark at the last one, or a count and units."""
    if position >= end:
        return REFUSED
    if load_byte(position) < 0x80:
        return _append_marked(column, row, position, end)
    _, count, position = flagged(position, end)
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
        return append_wide_units(
            column, row, position + done, end, start + done, count - done, True
        )
    use(column, row, start + count)
    return position + count


@part
def _append_marked(column: int, row: int, position: int, end: int) -> int:
    start = used(column, row)
    target = values(column) + start
    most = capacity(column) - start
    most = min(most, end - position)
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
def skip_text(position: int, end: int) -> int:
    """Passes over a text or null; returns where the next value is, or REFUSED."""
    if position >= end:
        return REFUSED
    if load_byte(position) < 0x80:
        while position < end:
            position += 1
            if load_byte(position - 1) >= 0x80:
                return position
        return REFUSED
    _, count, position = flagged(position, end)
    if position < 0 or count > end - position + 1:
        return REFUSED
    while count > 1:
        count -= 1
        _, position = next_unit(position, end)
        if position < 0:
            return REFUSED
    return position
