# ruff: noqa: PLR0913, PLR0917, PLR1714 - plain comparisons and numbers are compiled best
"""Single values of Kryo, read into their columns: see ``values/kryo``.

The numbers that a value is made of, its parts, have been read before.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_native_long,
    load_signed_byte,
    store_big_int,
    store_byte,
    store_int,
    store_long,
)
from savepoint_formats.program.kernel.columns import capacity, set_valid, use, used, values
from savepoint_formats.program.kernel.kryo.kryo_numbers import (
    VARINT,
    ZIGZAG,
    append_kryo_text,
    append_unit,
    kryo_varint,
    read_number,
    store_number,
)
from savepoint_formats.program.kernel.kryo.kryo_objects import PARTS, SCRATCH
from savepoint_formats.program.kernel.moment_columns import days_of, nanos_of, store_precise
from savepoint_formats.program.kernel.number_texts import append_bytes_number
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.kernel.status import FULL, REFUSED
from savepoint_formats.program.kernel.text_columns import append_bytes

_NANOS_PER_SECOND = 1_000_000_000
_NANOS_PER_MILLI = 1_000_000
_SECONDS_PER_DAY = 86_400
_MAX_DURATION_SECONDS = (1 << 63) // _NANOS_PER_SECOND - 1
_UUID_SIZE = 36
_MAX_PART = 127


@part
def read_single(
    op: int,
    graph: int,
    column: int,
    seconds: int,
    row: int,
    argument: int,
    position: int,
    end: int,
    is_5: int,
) -> int:
    """A single value; where the next one begins, or REFUSED or FULL."""
    if op == Op.NUMBER:
        number, position = read_number(argument, position, end, is_5)
        store_number(column, row, argument, number)
        return position
    if op == Op.ASCII_TEXT:
        return append_kryo_text(column, row, position, end)
    if op >= Op.UUID:
        return _from_parts(op, graph, column, seconds, row, position, is_5)
    if op == Op.UNIT:
        return append_unit(column, row, position, end, is_5)
    if op == Op.STRICT_BOOLEAN or op == Op.OPTIONAL:
        flag = load_byte(position) if position < end else _MAX_PART
        position += 1
        if flag > 1:
            return REFUSED
        if op == Op.STRICT_BOOLEAN:
            store_byte(values(column) + row, flag)
            return position
        set_valid(column, row, flag == 1)
        number = 0
        if flag or not is_5:
            number, position = read_number(argument, position, end, is_5)
        store_number(column, row, argument, number if flag else 0)
        return position
    count, position = kryo_varint(position, end)
    set_valid(column, row, count > 0)
    if op == Op.CONSTANT_INDEX:
        store_int(values(column) + 4 * row, count - 1 if count else 0)
        return position if count <= argument else REFUSED
    if position < 0 or count == 0:
        use(column, row, used(column, row))
        return position
    return append_bytes(column, row, position, end, count - 1)


@part
def read_digits(op: int, column: int, row: int, position: int, end: int) -> int:
    """A number as its digits; where the next value begins, or REFUSED or FULL."""
    count, position = kryo_varint(position, end)
    set_valid(column, row, count > 0)
    if position < 0 or count == 0:
        use(column, row, used(column, row))
        return position
    size = count - 1
    behind = position + size
    if behind > end:
        return REFUSED
    scale = 0
    if op == Op.EXACT_NUMBER:
        scale, behind = read_number(ZIGZAG, behind, end, 0)
    if behind < 0:
        return REFUSED
    return append_bytes_number(column, row, position, size, behind - position - size, scale)


@part
def load_part(graph: int, index: int) -> int:
    """Loads a number that a value is made of."""
    return load_native_long(graph + PARTS + 8 * index)


@part
def store_part(graph: int, index: int, number: int) -> None:
    """Stores a number that a value is made of."""
    store_long(graph + PARTS + 8 * index, number)


@part
def read_cut_clock(graph: int, index: int, position: int, end: int) -> int:
    """A time of day without the zeros at its end; the last number is inverted then."""
    last = index + 3
    place = index
    while place <= last:
        store_part(graph, place, 0)
        place += 1
    while index < last:
        if position >= end:
            return REFUSED
        byte = load_signed_byte(position)
        position += 1
        if byte < 0:
            store_part(graph, index, ~byte)
            return position
        store_part(graph, index, byte)
        index += 1
    nanos, position = read_number(VARINT, position, end, 1)
    store_part(graph, last, nanos)
    return position


@part
def _from_parts(
    op: int, graph: int, column: int, seconds: int, row: int, position: int, is_5: int
) -> int:
    """A value made of parts; returns the same position, or REFUSED or FULL."""
    first, second = load_part(graph, 0), load_part(graph, 1)
    if op == Op.UUID:
        return position if _append_uuid(column, row, first, second) else FULL
    if op >= Op.DATE:
        return _store_date_and_clock(op, graph, column, seconds, row, position)
    if not 0 <= second < _NANOS_PER_SECOND:
        return REFUSED
    if op == Op.DURATION:
        store_long(values(column) + 8 * row, first * _NANOS_PER_SECOND + second)
        is_near = -_MAX_DURATION_SECONDS <= first <= _MAX_DURATION_SECONDS
        return position if is_near else REFUSED
    if op == Op.MILLIS_AND_NANOS:
        # Kryo 5 writes milliseconds of whole seconds.
        first = (first + (second // _NANOS_PER_MILLI if is_5 else 0)) // 1_000
    store_precise(seconds, row, first, second)
    return position


@part
def _append_uuid(column: int, row: int, high: int, low: int) -> bool:
    """Two longs, most significant first, as 36 characters; whether there is room."""
    start = used(column, row)
    if capacity(column) - start < _UUID_SIZE:
        return False
    store_uuid(values(column) + start, high, low)
    use(column, row, start + _UUID_SIZE)
    return True


@part
def store_uuid(target: int, high: int, low: int) -> int:
    """Stores the characters of two longs; returns the address behind them."""
    index = 0
    while index < 32:
        digit = (high if index < 16 else low) >> (60 - 4 * (index & 15)) & 15
        if index == 8 or index == 12 or index == 16 or index == 20:
            store_byte(target, 0x2D)
            target += 1
        store_byte(target, digit + (0x30 if digit < 10 else 0x57))
        target += 1
        index += 1
    return target


@part
def _store_date_and_clock(
    op: int, graph: int, column: int, seconds: int, row: int, position: int
) -> int:
    """A date, a time of day, or both: parts from 0 on; of a time alone, from 3 on."""
    scratch = graph + SCRATCH
    days = nanos = 0
    is_some = True
    if op != Op.CLOCK:
        store_big_int(scratch, load_part(graph, 0))
        is_some = _store_bytes(graph, scratch + 4, 1, 2)
        is_date, days = days_of(scratch)
        is_some &= is_date
    if op != Op.DATE:
        is_some &= _store_bytes(graph, scratch, 3, 3)
        store_big_int(scratch + 3, load_part(graph, 6))
        is_time, nanos = nanos_of(scratch)
        is_some &= is_time
    if op == Op.DATE:
        store_int(values(column) + 4 * row, days)
    elif op == Op.CLOCK:
        store_long(values(column) + 8 * row, nanos)
    else:
        count = days * _SECONDS_PER_DAY + nanos // _NANOS_PER_SECOND
        store_precise(seconds, row, count, nanos % _NANOS_PER_SECOND)
    return position if is_some else REFUSED


@part
def _store_bytes(graph: int, target: int, index: int, count: int) -> bool:
    """Stores ``count`` parts as bytes; whether all are small."""
    is_small = True
    while count > 0:
        number = load_part(graph, index)
        is_small &= 0 <= number <= _MAX_PART
        store_byte(target, number)
        target += 1
        index += 1
        count -= 1
    return is_small
