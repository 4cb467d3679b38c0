"""Calendar and clock, Arrow's integers of dates and times, and Python's values of them.

A value is what ``to_pylist`` gives, and Arrow's integer where Python has no such date or time:

| Arrow                    | value                                                             |
|--------------------------|-------------------------------------------------------------------|
| date32                   | ``date``; the integer before the year 1 and after 9999            |
| timestamp[s], [ms], [us] | ``datetime``, aware if the type has a zone; else the integer      |
| precise time             | a dict of its seconds and nanoseconds: see ``precise_times``      |
| time32[ms]               | ``time``                                                          |
| time64[ns]               | the integer                                                       |
| duration[ms]             | ``timedelta``; the integer beyond its range                       |
| duration[ns]             | the integer                                                       |

``pyarrow.array`` and the functions ``from_...`` take both forms.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from savepoint_formats.values.kinds.codec import NullError

PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
NANOS_PER_SECOND = PER_SECOND["ns"]
SECONDS_PER_DAY = 86_400
NANOS_PER_DAY = SECONDS_PER_DAY * NANOS_PER_SECOND
SECONDS, NANOS = "seconds", "nanos"

_EPOCH = datetime(1970, 1, 1)
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_MAX_ORDINAL = date.max.toordinal()
_DAYS_PER_ERA = 146_097
_YEARS_PER_ERA = 400


def days_from_date(year: int, month: int, day: int) -> int:
    """The days from 1970-01-01 to a date of any year; ``ValueError`` if there is no such date."""
    era, year_of_era = divmod(year, _YEARS_PER_ERA)
    try:
        # Python's calendar begins with the year 1; it repeats after an era.
        ordinal = date(year_of_era + _YEARS_PER_ERA, month, day).toordinal()
    except ValueError:
        raise ValueError(f"no date {year}-{month}-{day}") from None
    return ordinal - _EPOCH_ORDINAL + (era - 1) * _DAYS_PER_ERA


def date_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day; the mirror of ``days_from_date``."""
    era, day_of_era = divmod(days + _EPOCH_ORDINAL - 1, _DAYS_PER_ERA)
    day = date.fromordinal(day_of_era + 1)
    return day.year + era * _YEARS_PER_ERA, day.month, day.day


def date_text(year: int, month: int, day: int) -> str:
    """A date as ``2026-01-31``."""
    return f"{year:04}-{month:02}-{day:02}"


def nanos_of_day(hour: int, minute: int, second: int, nano: int = 0) -> int:
    """The nanoseconds from midnight to a time of day."""
    return (hour * 3_600 + minute * 60 + second) * NANOS_PER_SECOND + nano


def clock(nanos_of_day: int) -> tuple[int, int, int, int]:
    """Hour, minute, second and nanosecond; ``ValueError`` beyond a day."""
    if not 0 <= nanos_of_day < NANOS_PER_DAY:
        raise ValueError(f"{nanos_of_day} ns is no time of a day")
    seconds, nano = divmod(nanos_of_day, NANOS_PER_SECOND)
    return seconds // 3_600, seconds // 60 % 60, seconds % 60, nano


def clock_text(seconds: int) -> str:
    """A time of day as ``01:02:03``."""
    return f"{seconds // 3_600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def to_date(days: int) -> date | int:
    """The value of a date32."""
    ordinal = days + _EPOCH_ORDINAL
    return date.fromordinal(ordinal) if 1 <= ordinal <= _MAX_ORDINAL else days


def from_date(value: date | int) -> int:
    """The days of a date32."""
    return value if isinstance(value, int) else value.toordinal() - _EPOCH_ORDINAL


def to_timestamp(count: int, unit: str, *, is_utc: bool) -> datetime | int:
    """The value of a timestamp."""
    try:
        value = _EPOCH + timedelta(microseconds=count * (1_000_000 // PER_SECOND[unit]))
    except OverflowError:
        return count
    return value.replace(tzinfo=UTC) if is_utc else value


def from_timestamp(value: datetime | int | dict[str, Any], unit: str) -> int:
    """The number of units of a timestamp or a precise time.

    Raises:
        ValueError: The value has more digits than the unit, null seconds, or too many nanoseconds.
    """
    if isinstance(value, int):
        return value
    if isinstance(value, dict):
        if value[SECONDS] is None or value[NANOS] is None:
            raise NullError("null, which neither seconds nor nanoseconds of a time can be")
        if not 0 <= value[NANOS] < NANOS_PER_SECOND:
            raise ValueError(f"{value[NANOS]} nanoseconds of a second")
        seconds = from_timestamp(value[SECONDS], "s")
        return _in_unit(seconds * NANOS_PER_SECOND + value[NANOS], unit, value)
    naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    # If pandas is installed, to_pylist gives a datetime that also has nanoseconds.
    nanos = _nanos(naive - _EPOCH) + getattr(value, "nanosecond", 0)
    return _in_unit(nanos, unit, value)


def to_precise(count: int, *, is_utc: bool = False) -> dict[str, Any]:
    """The value of a precise time; ``count`` is its nanoseconds since the epoch."""
    seconds, nanos = divmod(count, NANOS_PER_SECOND)
    return {SECONDS: to_timestamp(seconds, "s", is_utc=is_utc), NANOS: nanos}


def to_time(millis: int) -> time:
    """The value of a time32[ms]."""
    hour, minute, second, nano = clock(millis * (NANOS_PER_SECOND // PER_SECOND["ms"]))
    return time(hour, minute, second, nano // 1_000)


def from_time(value: time | str | int, unit: str) -> int:
    """The number of units of a time of day, also of a text such as ``01:02:03.000000004``.

    Raises ``ValueError`` if the value has more digits than the unit, or is no time.
    """
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        return _in_unit(_nanos_of_text(value), unit, value)
    nanos = nanos_of_day(value.hour, value.minute, value.second, value.microsecond * 1_000)
    return _in_unit(nanos, unit, value)


def to_duration(millis: int) -> timedelta | int:
    """The value of a duration[ms]."""
    try:
        return timedelta(milliseconds=millis)
    except OverflowError:
        return millis


def from_duration(value: timedelta | int, unit: str) -> int:
    """The number of units of a duration."""
    return value if isinstance(value, int) else _in_unit(_nanos(value), unit, value)


def _nanos(delta: timedelta) -> int:
    seconds = delta.days * SECONDS_PER_DAY + delta.seconds
    return seconds * NANOS_PER_SECOND + delta.microseconds * 1_000


def _nanos_of_text(text: str) -> int:
    clock, _, fraction = text.partition(".")
    nanos = int(fraction.ljust(9, "0")) if fraction else 0
    if nanos >= NANOS_PER_SECOND:
        raise ValueError(f"{text!r} has more digits than nanoseconds")
    start = time.fromisoformat(clock)
    return nanos_of_day(start.hour, start.minute, start.second, nanos)


def _in_unit(nanos: int, unit: str, value: object) -> int:
    count, rest = divmod(nanos, NANOS_PER_SECOND // PER_SECOND[unit])
    if rest:
        raise ValueError(f"{value} has more digits than its type, which ends at {unit}")
    return count


def timestamp_unit(precision: int) -> str:
    """The coarsest unit of Arrow that has this many digits behind the second."""
    if precision <= 3:
        return "ms"
    return "us" if precision <= 6 else "ns"
