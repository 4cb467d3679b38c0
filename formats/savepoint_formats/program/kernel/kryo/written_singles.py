# ruff: noqa: PLR1714 - plain comparisons and numbers are compiled best
"""Writes single values of Kryo: the mirror of ``kryo_single_values``.

A value that has parts is only divided into them; the instructions behind it write them.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    copy,
    load_byte,
    load_int,
    load_native_int,
    load_native_long,
    store_byte,
)
from savepoint_formats.program.kernel.columns import boolean, used, values
from savepoint_formats.program.kernel.kryo.kryo_numbers import SHORT, ZIGZAG
from savepoint_formats.program.kernel.kryo.kryo_objects import SCRATCH
from savepoint_formats.program.kernel.kryo.kryo_single_values import load_part, store_part
from savepoint_formats.program.kernel.kryo.written_kryo import (
    load_number,
    write_kryo_text,
    write_number,
    write_unsigned,
)
from savepoint_formats.program.kernel.moment_columns import (
    load_nanos,
    load_seconds,
    write_date,
    write_time,
)
from savepoint_formats.program.kernel.number_texts import write_digits
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.kernel.status import REFUSED
from savepoint_formats.program.kernel.text_columns import code_point

_NANOS_PER_SECOND = 1_000_000_000
_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_DAY = 86_400 * _NANOS_PER_SECOND
_SECONDS_PER_DAY = 86_400
_MAX_MILLI_SECONDS = (1 << 63) // 1_000 - 1
_MAX_DAYS = (1 << 31) - 1
_UUID_SIZE = 36
_MAX_SCALE = 77


@part
def write_single(
    op: int,
    graph: int,
    column: int,
    seconds: int,
    row: int,
    argument: int,
    position: int,
    is_5: int,
) -> int:
    """The mirror of ``read_single``; a value with parts is divided, and written next."""
    if op == Op.NUMBER:
        return write_number(argument, position, load_number(column, row, argument), is_5)
    if op == Op.ASCII_TEXT:
        return write_kryo_text(column, row, position, is_5)
    if op == Op.STRICT_BOOLEAN:
        store_byte(position, boolean(column, row))
        return position + 1
    if op == Op.CONSTANT_INDEX:
        index = load_native_int(values(column) + 4 * row)
        return write_unsigned(position, index + 1) if index >= 0 else REFUSED
    if op == Op.OPTIONAL:
        store_byte(position, 1)
        return write_number(argument, position + 1, load_number(column, row, argument), is_5)
    if op >= Op.MILLIS_AND_NANOS:
        return _make_times(op, graph, column, seconds, row, position, is_5)
    start = used(column, row)
    size = used(column, row + 1) - start
    start += values(column)
    if op == Op.UUID:
        is_some = size == _UUID_SIZE and _make_halves(graph, start)
        return position if is_some else REFUSED
    if op == Op.COUNTED_BYTES:
        position = write_unsigned(position, size + 1)
        copy(position, start, size)
        return position + size
    if op == Op.UNIT:
        char_size, code = code_point(start, start + size) if size else (0, 0)
        is_one = char_size > 0 and char_size == size and code < 0x10000
        return write_number(SHORT, position, code, is_5) if is_one else REFUSED
    return REFUSED


@part
def write_kryo_digits(op: int, column: int, row: int, position: int, is_5: int) -> int:
    """The mirror of ``read_digits``."""
    is_exact = op == Op.EXACT_NUMBER
    behind, scale = write_digits(column, row, position + 1, _MAX_SCALE if is_exact else 0)
    if behind < 0:
        return REFUSED
    store_byte(position, behind - position)
    return write_number(ZIGZAG, behind, scale, is_5) if is_exact else behind


@part
def _make_halves(graph: int, start: int) -> bool:
    """The two longs of a UUID; whether the 36 characters are one."""
    high = low = 0
    index = 0
    is_some = True
    while index < _UUID_SIZE:
        char = load_byte(start + index)
        if index == 8 or index == 13 or index == 18 or index == 23:
            is_some &= char == 0x2D
        else:
            digit = char - 0x30
            if char >= 0x41:
                digit = (char | 0x20) - 0x57
                is_some &= digit >= 10
            is_some &= 0 <= digit < 16 and not 0x39 < char < 0x41
            if index < 18:
                high = high << 4 | digit & 15
            else:
                low = low << 4 | digit & 15
        index += 1
    store_part(graph, 0, high)
    store_part(graph, 1, low)
    return is_some


@part
def _make_times(
    op: int, graph: int, column: int, seconds: int, row: int, position: int, is_5: int
) -> int:
    """The parts of a time: see ``kryo_single_values``."""
    if op == Op.DATE:
        _make_date(graph, load_native_int(values(column) + 4 * row))
        return position
    if op == Op.CLOCK or op == Op.DURATION:
        count = load_native_long(values(column) + 8 * row)
        if op == Op.DURATION:
            store_part(graph, 0, count // _NANOS_PER_SECOND)
            store_part(graph, 1, count % _NANOS_PER_SECOND)
        elif 0 <= count < _NANOS_PER_DAY:
            _make_clock(graph, count)
        else:
            return REFUSED
        return position
    count, nanos = load_seconds(seconds, row), load_nanos(seconds, row)
    if nanos < 0:
        return REFUSED
    if op == Op.DATE_AND_CLOCK:
        days = count // _SECONDS_PER_DAY
        if not -_MAX_DAYS <= days <= _MAX_DAYS:
            return REFUSED
        _make_date(graph, days)
        _make_clock(graph, count % _SECONDS_PER_DAY * _NANOS_PER_SECOND + nanos)
        return position
    if op == Op.MILLIS_AND_NANOS:
        if not -_MAX_MILLI_SECONDS <= count <= _MAX_MILLI_SECONDS:
            return REFUSED
        # Kryo 5 writes milliseconds of whole seconds.
        count = count * 1_000 + (0 if is_5 else nanos // _NANOS_PER_MILLI)
    store_part(graph, 0, count)
    store_part(graph, 1, nanos)
    return position


@part
def _make_date(graph: int, days: int) -> None:
    scratch = graph + SCRATCH
    write_date(scratch, days)
    store_part(graph, 0, load_int(scratch))
    store_part(graph, 1, load_byte(scratch + 4))
    store_part(graph, 2, load_byte(scratch + 5))


@part
def _make_clock(graph: int, nanos_of_day: int) -> None:
    scratch = graph + SCRATCH
    write_time(scratch, nanos_of_day)
    store_part(graph, 3, load_byte(scratch))
    store_part(graph, 4, load_byte(scratch + 1))
    store_part(graph, 5, load_byte(scratch + 2))
    store_part(graph, 6, load_int(scratch + 3))


@part
def write_cut_clock(graph: int, index: int, position: int) -> int:
    """The mirror of ``read_cut_clock``."""
    size = 3
    if load_part(graph, index + 3) == 0:
        while size > 1 and load_part(graph, index + size - 1) == 0:
            size -= 1
        store_byte(position + size - 1, ~load_part(graph, index + size - 1))
    else:
        store_byte(position + 2, load_part(graph, index + 2))
    place = 0
    while place < size - 1:
        store_byte(position + place, load_part(graph, index + place))
        place += 1
    position += size
    nanos = load_part(graph, index + 3)
    return write_unsigned(position, nanos) if nanos else position
