"""Dates and times: each function reads one and stores Arrow's number for it, or the reverse.

A null is the smallest number of the first field. Dates beyond the year five million are refused,
although Arrow's type holds some more.

A time with nanoseconds is two columns, one behind the other: ``seconds``, and the nanoseconds.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_int,
    load_long,
    load_native_int,
    load_native_long,
    load_signed_byte,
    store_big_int,
    store_big_long,
    store_big_short,
    store_byte,
    store_int,
    store_long,
)
from savepoint_formats.program.kernel.columns import ENTRY_SIZE, is_null, set_valid, values
from savepoint_formats.program.kernel.status import REFUSED

_MIN_BYTE, _MIN_SHORT, _MIN_INT, _MIN_LONG = -(1 << 7), -(1 << 15), -(1 << 31), -(1 << 63)

_NANOS_PER_SECOND = 1_000_000_000
_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_DAY = 86_400 * _NANOS_PER_SECOND
_SECONDS_PER_DAY = 86_400
_MAX_MILLI_SECONDS = (1 << 63) // 1_000 - 1
_MIN_MILLIS, _MIN_MICROS = divmod(1 - (1 << 63), 1_000)
_MAX_MILLIS, _MAX_MICROS = divmod((1 << 63) - 1, 1_000)
"""The first and the last timestamp with microseconds."""
_MAX_YEAR = 5_000_000
_MAX_DAYS = 365 * _MAX_YEAR

_DAYS_PER_ERA = 146_097  # 400 years, of which one begins on 0000-03-01
_EPOCH_IN_ERAS = 719_468


@part
def store_nullable_long(column: int, row: int, number: int, is_valid: bool) -> None:
    """Stores a number, or null."""
    set_valid(column, row, is_valid)
    store_long(values(column) + 8 * row, number if is_valid else 0)


@part
def store_precise(seconds: int, row: int, count: int, nanos: int) -> None:
    """Stores a time with nanoseconds."""
    store_long(values(seconds) + 8 * row, count)
    store_int(values(seconds + ENTRY_SIZE) + 4 * row, nanos)


@part
def load_seconds(seconds: int, row: int) -> int:
    """The seconds of a time with nanoseconds."""
    return load_native_long(values(seconds) + 8 * row)


@part
def load_nanos(seconds: int, row: int) -> int:
    """The nanoseconds of that time; -1 if they are not below a second."""
    nanos = load_native_int(values(seconds + ENTRY_SIZE) + 4 * row)
    return nanos if 0 <= nanos < _NANOS_PER_SECOND else -1


@part
def read_java_date(column: int, row: int, position: int, end: int) -> int:
    """i64 milliseconds."""
    if end - position < 8:
        return REFUSED
    millis = load_long(position)
    store_nullable_long(column, row, millis, millis != _MIN_LONG)
    return position + 8


@part
def read_sql_timestamp(column: int, seconds: int, row: int, position: int, end: int) -> int:
    """i64 milliseconds, i32 nanoseconds of the second."""
    if end - position < 12:
        return REFUSED
    millis, nanos = load_long(position), load_int(position + 8)
    if not 0 <= nanos < _NANOS_PER_SECOND:
        return REFUSED
    is_null = millis == _MIN_LONG
    set_valid(column, row, not is_null)
    store_precise(seconds, row, 0 if is_null else millis // 1_000, 0 if is_null else nanos)
    return position + 12


@part
def read_instant(column: int, seconds: int, row: int, position: int, end: int) -> int:
    """i64 seconds, i32 nanoseconds."""
    if end - position < 12:
        return REFUSED
    count, nanos = load_long(position), load_int(position + 8)
    is_null = count == _MIN_LONG and nanos == _MIN_INT
    if not 0 <= nanos < _NANOS_PER_SECOND and not is_null:
        return REFUSED
    set_valid(column, row, not is_null)
    store_precise(seconds, row, 0 if is_null else count, 0 if is_null else nanos)
    return position + 12


@part
def days_of(position: int) -> tuple[bool, int]:
    """Whether the six bytes are a date that the kernel takes, and its days since 1970."""
    year, month, day = load_int(position), load_byte(position + 4), load_byte(position + 5)
    if not -_MAX_YEAR <= year <= _MAX_YEAR or not 1 <= month <= 12 or day < 1:
        return False, 0
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    size = 30 + (month + (month >> 3) & 1)
    if month == 2:
        size = 29 if is_leap else 28
    if day > size:
        return False, 0
    # Years that begin in March have their odd day, if any, at the end.
    months = (month + 9) % 12
    if months >= 10:
        year -= 1
    era, year_of_era = year // 400, year % 400
    day_of_year = (153 * months + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return True, era * _DAYS_PER_ERA + day_of_era - _EPOCH_IN_ERAS


@part
def nanos_of(position: int) -> tuple[bool, int]:
    """Whether the seven bytes are a time of day, and its nanoseconds."""
    hour, minute = load_byte(position), load_byte(position + 1)
    second, nanos = load_byte(position + 2), load_int(position + 3)
    is_time = hour < 24 and minute < 60 and second < 60 and 0 <= nanos < _NANOS_PER_SECOND
    return is_time, ((hour * 60 + minute) * 60 + second) * _NANOS_PER_SECOND + nanos


@part
def read_local_date(column: int, row: int, position: int, end: int) -> int:
    """i32 year, i8 month, i8 day."""
    if end - position < 6:
        return REFUSED
    is_null = load_int(position) == _MIN_INT
    is_date, days = days_of(position)
    if not is_date and not is_null:
        return REFUSED
    set_valid(column, row, is_date)
    store_int(values(column) + 4 * row, days)
    return position + 6


@part
def read_local_time(column: int, row: int, position: int, end: int) -> int:
    """i8 hour, i8 minute, i8 second, i32 nanoseconds."""
    if end - position < 7:
        return REFUSED
    is_null = load_signed_byte(position) == _MIN_BYTE
    is_time, nanos = nanos_of(position)
    if not is_time and not is_null:
        return REFUSED
    store_nullable_long(column, row, nanos, is_time)
    return position + 7


@part
def read_local_date_time(column: int, seconds: int, row: int, position: int, end: int) -> int:
    """A date and a time; both are null, or neither."""
    if end - position < 13:
        return REFUSED
    is_null = load_int(position) == _MIN_INT and load_signed_byte(position + 6) == _MIN_BYTE
    is_date, days = days_of(position)
    is_time, nanos = nanos_of(position + 6)
    is_valid = is_date and is_time
    if not is_valid and not is_null:
        return REFUSED
    set_valid(column, row, is_valid)
    count = days * _SECONDS_PER_DAY + nanos // _NANOS_PER_SECOND
    store_precise(seconds, row, count if is_valid else 0, nanos % _NANOS_PER_SECOND)
    return position + 13


@part
def read_timestamp(column: int, row: int, position: int, end: int, precision: int) -> int:
    """i64 milliseconds, and i32 nanoseconds of the millisecond if the precision is above 3."""
    size = 12 if precision > 3 else 8
    if end - position < size:
        return REFUSED
    nanos = load_int(position + 8) if precision > 3 else 0
    is_stored = store_timestamp(column, row, load_long(position), nanos, precision)
    return position + size if is_stored else REFUSED


@part
def store_timestamp(column: int, row: int, millis: int, nanos: int, precision: int) -> bool:
    """Stores a timestamp of SQL in the unit of its precision; whether it has no more digits.

    If the precision is above microseconds, the column is that of the seconds.
    """
    if precision <= 3:
        store_long(values(column) + 8 * row, millis)
        return True
    if not 0 <= nanos < _NANOS_PER_MILLI:
        return False
    if precision > 6:
        store_precise(column, row, millis // 1_000, millis % 1_000 * _NANOS_PER_MILLI + nanos)
        return True
    micros = nanos // 1_000
    is_before = millis < _MIN_MILLIS or (millis == _MIN_MILLIS and micros < _MIN_MICROS)
    is_after = millis > _MAX_MILLIS or (millis == _MAX_MILLIS and micros > _MAX_MICROS)
    if nanos % 1_000 or is_before or is_after:
        return False
    store_long(values(column) + 8 * row, millis * 1_000 + micros)
    return True


# --- the reverse: each function loads a row and writes it ---------------------------------------


@part
def write_java_date(column: int, row: int, position: int) -> int:
    """The mirror of ``read_java_date``."""
    is_valid = not is_null(column, row)
    store_big_long(position, load_native_long(values(column) + 8 * row) if is_valid else _MIN_LONG)
    return position + 8


@part
def write_sql_timestamp(column: int, seconds: int, row: int, position: int) -> int:
    """The mirror of ``read_sql_timestamp``."""
    millis, nanos = _MIN_LONG, 0
    if not is_null(column, row):
        count, nanos = load_seconds(seconds, row), load_nanos(seconds, row)
        if nanos < 0 or not -_MAX_MILLI_SECONDS <= count <= _MAX_MILLI_SECONDS:
            return REFUSED
        millis = count * 1_000 + nanos // _NANOS_PER_MILLI
    store_big_long(position, millis)
    store_big_int(position + 8, nanos)
    return position + 12


@part
def write_instant(column: int, seconds: int, row: int, position: int) -> int:
    """The mirror of ``read_instant``."""
    count, nanos = _MIN_LONG, _MIN_INT
    if not is_null(column, row):
        count, nanos = load_seconds(seconds, row), load_nanos(seconds, row)
        if nanos < 0:
            return REFUSED
    store_big_long(position, count)
    store_big_int(position + 8, nanos)
    return position + 12


@part
def write_date(position: int, days: int) -> None:
    """The mirror of ``days_of``."""
    days += _EPOCH_IN_ERAS
    era, day_of_era = days // _DAYS_PER_ERA, days % _DAYS_PER_ERA
    # Subtracts the leap days of the years before.
    odd_days = day_of_era // 1_460 - day_of_era // 36_524 + day_of_era // 146_096
    year_of_era = (day_of_era - odd_days) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    months = (5 * day_of_year + 2) // 153
    month = months + 3 if months < 10 else months - 9
    store_big_int(position, era * 400 + year_of_era + (1 if months >= 10 else 0))
    store_byte(position + 4, month)
    store_byte(position + 5, day_of_year - (153 * months + 2) // 5 + 1)


@part
def write_time(position: int, nanos_of_day: int) -> None:
    """The mirror of ``nanos_of``."""
    seconds = nanos_of_day // _NANOS_PER_SECOND
    store_byte(position, seconds // 3_600)
    store_byte(position + 1, seconds // 60 % 60)
    store_byte(position + 2, seconds % 60)
    store_big_int(position + 3, nanos_of_day % _NANOS_PER_SECOND)


@part
def write_no_date(position: int) -> None:
    """A null in place of a date."""
    store_big_int(position, _MIN_INT)
    store_big_short(position + 4, _MIN_SHORT)


@part
def write_no_time(position: int) -> None:
    """A null in place of a time."""
    store_byte(position, _MIN_BYTE)
    store_big_short(position + 1, _MIN_SHORT)
    store_big_int(position + 3, _MIN_INT)


@part
def write_local_date(column: int, row: int, position: int) -> int:
    """The mirror of ``read_local_date``."""
    if is_null(column, row):
        write_no_date(position)
    else:
        write_date(position, load_native_int(values(column) + 4 * row))
    return position + 6


@part
def write_local_time(column: int, row: int, position: int) -> int:
    """The mirror of ``read_local_time``."""
    if is_null(column, row):
        write_no_time(position)
        return position + 7
    nanos = load_native_long(values(column) + 8 * row)
    if not 0 <= nanos < _NANOS_PER_DAY:
        return REFUSED
    write_time(position, nanos)
    return position + 7


@part
def write_local_date_time(column: int, seconds: int, row: int, position: int) -> int:
    """The mirror of ``read_local_date_time``."""
    if is_null(column, row):
        write_no_date(position)
        write_no_time(position + 6)
    else:
        count, nanos = load_seconds(seconds, row), load_nanos(seconds, row)
        days = count // _SECONDS_PER_DAY
        if nanos < 0 or not -_MAX_DAYS <= days <= _MAX_DAYS:
            return REFUSED
        write_date(position, days)
        write_time(position + 6, count % _SECONDS_PER_DAY * _NANOS_PER_SECOND + nanos)
    return position + 13


@part
def write_timestamp(column: int, row: int, position: int, precision: int) -> int:
    """The mirror of ``read_timestamp``."""
    millis, nanos = millis_and_nanos(column, row, precision)
    if nanos < 0:
        return REFUSED
    store_big_long(position, millis)
    if precision <= 3:
        return position + 8
    store_big_int(position + 8, nanos)
    return position + 12


@part
def millis_and_nanos(column: int, row: int, precision: int) -> tuple[int, int]:
    """The mirror of ``store_timestamp``: milliseconds, and nanoseconds of the last one or -1."""
    count = load_native_long(values(column) + 8 * row)
    if precision <= 3:
        return count, 0
    if precision <= 6:
        return count // 1_000, count % 1_000 * 1_000
    nanos = load_nanos(column, row)
    if nanos < 0 or not -_MAX_MILLI_SECONDS <= count <= _MAX_MILLI_SECONDS:
        return 0, -1
    return count * 1_000 + nanos // _NANOS_PER_MILLI, nanos % _NANOS_PER_MILLI
