"""Single values of Kryo, each of which is read into its column: see ``values/kryo``."""

from __future__ import annotations

from savepoint_formats.program.kernel.columns import set_valid, use, used, values
from savepoint_formats.program.kernel.kryo_numbers import (
    append_kryo_text,
    append_unit,
    kryo_varint,
    kryo_varlong,
    load_fixed_long,
    read_fixed,
    read_zigzag,
    signed_varint,
    unzigzag,
)
from savepoint_formats.program.kernel.kryo_objects import SCRATCH
from savepoint_formats.program.kernel.machine_code import part
from savepoint_formats.program.kernel.memory import (
    load_byte,
    load_short,
    load_signed_byte,
    store_big_int,
    store_byte,
    store_int,
    store_long,
)
from savepoint_formats.program.kernel.columns import capacity
from savepoint_formats.program.kernel.moments import days_of, nanos_of, store_precise
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.kernel.status import FULL, REFUSED
from savepoint_formats.program.kernel.texts import append_bytes, append_number

_NANOS_PER_SECOND = 1_000_000_000
_NANOS_PER_MILLI = 1_000_000
_SECONDS_PER_DAY = 86_400
_MAX_DURATION_SECONDS = (1 << 63) // _NANOS_PER_SECOND - 1
_UUID_SIZE = 36
_MAX_NUMBER_SIZE = 8


@part
def read_single(  # noqa: PLR0911, PLR0912 - the table of instructions
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
    if op == Op.ZIGZAG:
        return read_zigzag(values(column) + argument * row, position, end, argument)
    if op == Op.ASCII_TEXT:
        return append_kryo_text(column, row, position, end)
    if op == Op.FIXED:
        return read_fixed(values(column) + argument * row, position, end, argument, is_5)
    if op == Op.CONSTANT_INDEX:
        number, position = kryo_varint(position, end)
        set_valid(column, row, number > 0)
        store_int(values(column) + 4 * row, number - 1 if number else 0)
        return position if number <= argument else REFUSED
    if op == Op.STRICT_BOOLEAN:
        if position >= end or load_byte(position) > 1:
            return REFUSED
        store_byte(values(column) + row, load_byte(position))
        return position + 1
    if op == Op.VARINT:
        number, position = signed_varint(position, end)
        store_int(values(column) + 4 * row, number)
        return position
    if op == Op.UNIT:
        return append_unit(column, row, position, end, is_5)
    if op == Op.COUNTED_BYTES:
        return _read_counted_bytes(column, row, position, end)
    if op == Op.UUID:
        return _read_uuid(column, row, position, end, is_5)
    if op == Op.WHOLE_NUMBER or op == Op.EXACT_NUMBER:
        return _read_number(column, row, position, end, op == Op.EXACT_NUMBER)
    if op == Op.MILLIS:
        number, position = kryo_varlong(position, end)
        store_long(values(column) + 8 * row, number)
        return position
    if op == Op.OPTIONAL:
        return _read_optional(column, row, position, end, argument, is_5)
    if op == Op.DATE or op == Op.CLOCK or op == Op.DATE_AND_CLOCK:
        return _read_date_and_clock(op, graph, column, seconds, row, position, end, is_5)
    return _read_moment(op, column, seconds, row, position, end, is_5)


@part
def _read_counted_bytes(column: int, row: int, position: int, end: int) -> int:
    count, position = kryo_varint(position, end)
    set_valid(column, row, count > 0)
    if position < 0 or count == 0:
        use(column, row, used(column, row))
        return position
    return append_bytes(column, row, position, end, count - 1)


@part
def _read_uuid(column: int, row: int, position: int, end: int, is_5: int) -> int:
    """Two longs, most significant first, as 36 characters."""
    if is_5:
        if end - position < 16:
            return REFUSED
        high, low = load_fixed_long(position, is_5), load_fixed_long(position + 8, is_5)
        position += 16
    else:
        high, position = kryo_varlong(position, end)
        if position < 0:
            return REFUSED
        low, position = kryo_varlong(position, end)
        if position < 0:
            return REFUSED
        high, low = unzigzag(high), unzigzag(low)
    start = used(column, row)
    if capacity(column) - start < _UUID_SIZE:
        return FULL
    target = values(column) + start
    for index in range(32):
        digit = (high if index < 16 else low) >> (60 - 4 * (index & 15)) & 15
        if index == 8 or index == 12 or index == 16 or index == 20:
            store_byte(target, 0x2D)
            target += 1
        store_byte(target, digit + (0x30 if digit < 10 else 0x57))
        target += 1
    use(column, row, start + _UUID_SIZE)
    return position


@part
def _read_number(column: int, row: int, position: int, end: int, has_scale: bool) -> int:
    """A number of at most eight bytes, as its digits."""
    count, position = kryo_varint(position, end)
    if position < 0 or count == 0:
        return position if position < 0 else append_number(column, row, position, 0, 0, 0)
    size = count - 1
    if not 1 <= size <= _MAX_NUMBER_SIZE or size > end - position:
        return REFUSED
    number = load_signed_byte(position)
    for index in range(1, size):
        number = number << 8 | load_byte(position + index)
    position += size
    if number == -number and number:  # the smallest i64 has no positive
        return REFUSED
    scale = 0
    if has_scale:
        scale, position = kryo_varint(position, end)
        scale = unzigzag(scale)
    return position if position < 0 else append_number(column, row, position, 1, number, scale)


@part
def _read_optional(column: int, row: int, position: int, end: int, kind: int, is_5: int) -> int:
    """A flag and a number: 4 bytes, 8, or -8 of a double. Of 2.24, the number is there always."""
    if position >= end or load_byte(position) > 1:
        return REFUSED
    is_present = load_byte(position) == 1
    position += 1
    size = abs(kind)
    target = values(column) + size * row
    store_long(target, 0) if size == 8 else store_int(target, 0)
    set_valid(column, row, is_present)
    if not is_5 and kind > 0:
        return read_zigzag(target, position, end, size)
    if is_present or not is_5:
        return read_fixed(target, position, end, size, is_5)
    return position


@part
def _read_moment(
    op: int, column: int, seconds: int, row: int, position: int, end: int, is_5: int
) -> int:
    """Seconds or milliseconds, and nanoseconds."""
    if op == Op.MILLIS_AND_NANOS or (is_5 and op == Op.SECONDS_AND_NANOS):
        count, position = kryo_varlong(position, end)
        nanos, position = _signed_varint_behind(position, end)
        if op == Op.MILLIS_AND_NANOS:
            if is_5:  # the milliseconds of whole seconds
                count += nanos // _NANOS_PER_MILLI
            count //= 1_000
    elif is_5:
        if end - position < 8:
            return REFUSED
        count = load_fixed_long(position, is_5)
        nanos, position = _signed_varint_behind(position + 8, end)
    else:
        nanos, position = kryo_varint(position, end)
        nanos = unzigzag(nanos)
        if position >= 0:
            count, position = kryo_varlong(position, end)
        else:
            count = 0
        count = unzigzag(count)
    if position < 0 or not 0 <= nanos < _NANOS_PER_SECOND:
        return REFUSED
    if op != Op.DURATION:
        store_precise(seconds, row, count, nanos)
        return position
    if not -_MAX_DURATION_SECONDS <= count <= _MAX_DURATION_SECONDS:
        return REFUSED
    store_long(values(column) + 8 * row, count * _NANOS_PER_SECOND + nanos)
    return position


@part
def _signed_varint_behind(position: int, end: int) -> tuple[int, int]:
    if position < 0:
        return 0, REFUSED
    return signed_varint(position, end)


@part
def _read_date_and_clock(
    op: int, graph: int, column: int, seconds: int, row: int, position: int, end: int, is_5: int
) -> int:
    scratch = graph + SCRATCH
    is_both = op == Op.DATE_AND_CLOCK
    if op != Op.CLOCK:
        position = _skip_new(position, end, is_both and not is_5)
        position = _read_date(scratch, position, end, is_5)
        is_date, days = days_of(scratch)
        if position < 0 or not is_date:
            return REFUSED
        if not is_both:
            store_int(values(column) + 4 * row, days)
            return position
    else:
        days = 0
    position = _skip_new(position, end, is_both and not is_5)
    position = _read_clock(scratch, position, end, is_5)
    is_time, nanos = nanos_of(scratch)
    if position < 0 or not is_time:
        return REFUSED
    if is_both:
        count = days * _SECONDS_PER_DAY + nanos // _NANOS_PER_SECOND
        store_precise(seconds, row, count, nanos % _NANOS_PER_SECOND)
    else:
        store_long(values(column) + 8 * row, nanos)
    return position


@part
def _skip_new(position: int, end: int, is_object: bool) -> int:
    """The mark of an object that is new."""
    if not is_object:
        return position
    return position + 1 if 0 <= position < end and load_byte(position) == 1 else REFUSED


@part
def _read_date(scratch: int, position: int, end: int, is_5: int) -> int:
    """A date, made i32 year, i8 month, i8 day."""
    if position < 0:
        return REFUSED
    if is_5:
        year, position = signed_varint(position, end)
        if position < 0 or end - position < 2:
            return REFUSED
        month, day = load_byte(position), load_byte(position + 1)
        position += 2
    else:
        if end - position < 4:
            return REFUSED
        day, month = load_short(position), load_short(position + 2)
        if not 0 <= day < 128 or not 0 <= month < 128:
            return REFUSED
        year, position = kryo_varint(position + 4, end)
        year = unzigzag(year)
    store_big_int(scratch, year)
    store_byte(scratch + 4, month)
    store_byte(scratch + 5, day)
    return position


@part
def _read_clock(scratch: int, position: int, end: int, is_5: int) -> int:
    """A time of day, made i8 hour, i8 minute, i8 second, i32 nanoseconds."""
    if position < 0:
        return REFUSED
    nanos = 0
    store_long(scratch, 0)
    if not is_5:
        if end - position < 2:
            return REFUSED
        store_byte(scratch, load_byte(position))
        store_byte(scratch + 1, load_byte(position + 1))
        nanos, position = kryo_varint(position + 2, end)
        nanos = unzigzag(nanos)
        if position < 0 or position >= end:
            return REFUSED
        store_byte(scratch + 2, load_byte(position))
        position += 1
    else:
        is_cut = False
        for index in range(3):
            if not is_cut:
                if position >= end:
                    return REFUSED
                byte = load_signed_byte(position)
                position += 1
                is_cut = byte < 0
                store_byte(scratch + index, ~byte if is_cut else byte)
        if not is_cut:
            nanos, position = signed_varint(position, end)
    store_big_int(scratch + 3, nanos)
    return position
