"""Texts of Java's times with an offset or a zone, and of parts of dates, made of numbers in a graph.

The numbers are year, month, day, hour, minute, second, nanoseconds and the seconds of the offset. A
year beyond four digits is left to the general path.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import load_signed_byte, store_byte
from savepoint_formats.program.kernel.columns import capacity, use, used, values
from savepoint_formats.program.kernel.kryo.json_numbers import store_long_digits
from savepoint_formats.program.kernel.kryo.kryo_numbers import INT, append_kryo_text, read_number
from savepoint_formats.program.kernel.kryo.kryo_single_values import load_part
from savepoint_formats.program.kernel.status import FULL, REFUSED

# What is in a text.
DATE, CLOCK, OFFSET, ZONE, MONTH, DAY_OF_YEAR, PERIOD = 1, 2, 4, 8, 16, 32, 64

_ROOM = 80
_MOST_YEAR, _MOST_NANOS, _MOST_OFFSET = 9_999, 999_999_999, 18 * 3_600
_OFFSET_OF_ANY_SECONDS, _SECONDS_PER_QUARTER_HOUR = 127, 900


@part
def read_offset(position: int, end: int, is_5: int) -> tuple[int, int]:
    """The seconds of an offset, and where the next value begins."""
    if position >= end:
        return 0, REFUSED
    quarters = load_signed_byte(position)
    if quarters == _OFFSET_OF_ANY_SECONDS:
        return read_number(INT, position + 1, end, is_5)
    return quarters * _SECONDS_PER_QUARTER_HOUR, position + 1


@part
def append_moment_text(
    graph: int, column: int, row: int, content: int, position: int, end: int
) -> int:
    """A text with this content; where the next value begins, or REFUSED or FULL."""
    start = used(column, row)
    if capacity(column) - start < _ROOM:
        return FULL
    target = values(column) + start
    if content & PERIOD:
        target = _store_period(graph, target)
    else:
        if content & (DATE | MONTH | DAY_OF_YEAR):
            target = _store_date(graph, target, content)
        if content & CLOCK and target > 0:
            if content & DATE:
                store_byte(target, 0x54)
                target += 1
            target = _store_clock(graph, target)
        if content & OFFSET and target > 0:
            target = _store_offset(target, load_part(graph, 7))
    if target < 0:
        return REFUSED
    if content & ZONE:
        store_byte(target, 0x5B)
        zone = target + 1 - values(column)
        # The text of the zone goes on in the same row.
        use(column, row - 1, zone)
        position = append_kryo_text(column, row, position, end)
        use(column, row - 1, start)
        if position < 0 or used(column, row + 1) == zone:
            return position if position < 0 else REFUSED
        target = values(column) + used(column, row + 1)
        if used(column, row + 1) >= capacity(column):
            return FULL
        store_byte(target, 0x5D)
        target += 1
    use(column, row, target - values(column))
    return position


@part
def _store_two(target: int, number: int) -> int:
    """Stores two digits; returns the address behind them, or REFUSED."""
    if not 0 <= number <= 99:
        return REFUSED
    store_byte(target, 0x30 + number // 10)
    store_byte(target + 1, 0x30 + number % 10)
    return target + 2


@part
def _store_after(target: int, sign: int, number: int) -> int:
    """Stores a sign and two digits, unless the address is REFUSED."""
    if target < 0:
        return REFUSED
    store_byte(target, sign)
    return _store_two(target + 1, number)


@part
def _store_date(graph: int, target: int, content: int) -> int:
    year = load_part(graph, 0)
    if content & DAY_OF_YEAR:
        store_byte(target, 0x2D)
        target += 1
    elif not 0 <= year <= _MOST_YEAR:
        return REFUSED
    else:
        target = _store_two(_store_two(target, year // 100), year % 100)
    target = _store_after(target, 0x2D, load_part(graph, 1))
    return target if content & MONTH else _store_after(target, 0x2D, load_part(graph, 2))


@part
def _store_clock(graph: int, target: int) -> int:
    target = _store_two(target, load_part(graph, 3))
    target = _store_after(target, 0x3A, load_part(graph, 4))
    target = _store_after(target, 0x3A, load_part(graph, 5))
    nanos = load_part(graph, 6)
    if target < 0 or not 0 <= nanos <= _MOST_NANOS:
        return REFUSED
    if nanos:
        store_byte(target, 0x2E)
        for place in range(target + 9, target, -1):
            store_byte(place, 0x30 + nanos % 10)
            nanos //= 10
        target += 10
    return target


@part
def _store_offset(target: int, seconds: int) -> int:
    if not -_MOST_OFFSET <= seconds <= _MOST_OFFSET:
        return REFUSED
    if seconds == 0:
        store_byte(target, 0x5A)
        return target + 1
    sign = 0x2D if seconds < 0 else 0x2B
    seconds = abs(seconds)
    target = _store_after(target, sign, seconds // 3_600)
    target = _store_after(target, 0x3A, seconds // 60 % 60)
    return _store_after(target, 0x3A, seconds % 60) if seconds % 60 else target


@part
def _store_period(graph: int, target: int) -> int:
    """Years, months and days that are not 0."""
    store_byte(target, 0x50)
    target += 1
    begin = target
    for index in range(3):
        number = load_part(graph, index)
        if number:
            target = store_long_digits(target, number)
            store_byte(target, 0x59 if index == 0 else 0x4D if index == 1 else 0x44)
            target += 1
    if target == begin:
        store_byte(target, 0x30)
        store_byte(target + 1, 0x44)
        target += 2
    return target
