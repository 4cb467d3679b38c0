"""Dates and times in the bytes of Flink's serializers, and their numbers in Arrow.

Null is the smallest number of each field; no date or time has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.errors import UndecodableError, ValueOutOfRangeError
from savepoint_formats.values.kinds import times
from savepoint_formats.values.kinds.codec import NullError, ScalarCodec, fitting
from savepoint_formats.values.kinds.times import NANOS_PER_DAY, NANOS_PER_SECOND, timestamp_unit

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date, datetime

    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
    from savepoint_formats.values.kinds.codec import Value

_MIN_BYTE, _MIN_INT, _MIN_LONG = (-(1 << bits - 1) for bits in (8, 32, 64))
_SIGN_BIT = 1 << 63
_NANOS_PER_MILLI = 1_000_000


def _smallest(*sizes: int) -> bytes:
    """The smallest numbers of these bytes each."""
    return b"".join(b"\x80" + bytes(size - 1) for size in sizes)


_NULL_DATE = _smallest(4, 2)
_NULL_TIME = _smallest(1, 2, 4)


def _codec(
    read: Callable[[DataInputView], Value],
    write: Callable[[Value, DataOutputView], None],
    null: bytes,
) -> ScalarCodec:
    def write_or_null(value: Value, view: DataOutputView) -> None:
        if value is None:
            view.write_bytes(null)
        else:
            write(value, view)

    return ScalarCodec(read, write_or_null, True)


def _checked(number: int, bits: int, what: str, start: int, view: DataInputView) -> int:
    """The number, if Arrow can hold it in ``bits``; else an error at the byte ``start``."""
    # The smallest number stays out: numpy and pandas take it for no time at all.
    if abs(number) >= 1 << bits - 1:
        view.position = start
        raise view.error(f"{what}, outside the range of an Arrow column", ValueOutOfRangeError)
    return number


def read_timestamp_millis(view: DataInputView) -> datetime | int:
    """An i64 of milliseconds since the epoch, in UTC."""
    return times.to_timestamp(view.read_long(), "ms", is_utc=True)


def write_timestamp_millis(value: datetime | int | None, view: DataOutputView) -> None:
    """The mirror of ``read_timestamp_millis``."""
    if value is None:
        raise NullError("null, which a time of the last access cannot be")
    view.write_long(times.from_timestamp(value, "ms"))


def _read_java_date(view: DataInputView) -> datetime | int | None:
    millis = view.read_long()
    return None if millis == _MIN_LONG else times.to_timestamp(millis, "ms", is_utc=True)


def _read_sql_timestamp(view: DataInputView) -> Value:
    millis, nanos = view.read_long(), _read_nanos(view)
    if millis == _MIN_LONG:
        return None
    # The milliseconds hold the fraction too, rounded down; the nanoseconds hold all of it.
    return times.to_precise(millis // 1_000 * NANOS_PER_SECOND + nanos, is_utc=True)


def _write_sql_timestamp(value: Value, view: DataOutputView) -> None:
    count = times.from_timestamp(value, "ns")
    view.write_long(fitting(count // _NANOS_PER_MILLI, 64))
    view.write_int(count % NANOS_PER_SECOND)


def _read_instant(view: DataInputView) -> Value:
    seconds, nanos = view.read_long(), view.read_int()
    if (seconds, nanos) == (_MIN_LONG, _MIN_INT):
        return None
    _check_nanos(nanos, view)
    return times.to_precise(seconds * NANOS_PER_SECOND + nanos, is_utc=True)


def _write_instant(value: Value, view: DataOutputView) -> None:
    seconds, nanos = divmod(times.from_timestamp(value, "ns"), NANOS_PER_SECOND)
    view.write_long(fitting(seconds, 64))
    view.write_int(nanos)


def _read_nanos(view: DataInputView) -> int:
    return _check_nanos(view.read_int(), view)


def _check_nanos(nanos: int, view: DataInputView) -> int:
    if not 0 <= nanos < NANOS_PER_SECOND:
        view.position -= 4
        raise view.error(f"{nanos} nanoseconds of a second")
    return nanos


def _read_days(view: DataInputView) -> int | None:
    start = view.position
    year = view.read_int()
    if year == _MIN_INT:
        view.read_short()
        return None
    month, day = view.read_byte(), view.read_byte()
    try:
        return times.days_from_date(year, month, day)
    except ValueError as error:
        view.position = start
        raise view.error(str(error)) from error


def _write_days(days: int, view: DataOutputView) -> None:
    year, month, day = times.date_from_days(days)
    view.write_int(fitting(year, 32))
    view.write_byte(month)
    view.write_byte(day)


def _read_nanos_of_day(view: DataInputView) -> int | None:
    start = view.position
    hour = view.read_byte()
    if hour == _MIN_BYTE:
        view.read_bytes(6)
        return None
    minute, second, nanos = view.read_byte(), view.read_byte(), _read_nanos(view)
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        view.position = start
        raise view.error(f"no time {hour}:{minute}:{second}")
    return times.nanos_of_day(hour, minute, second, nanos)


def _write_nanos_of_day(nanos_of_day: int, view: DataOutputView) -> None:
    *clock, nanos = times.clock(nanos_of_day)
    view.write_bytes(bytes(clock))
    view.write_int(nanos)


def _read_local_date(view: DataInputView) -> date | int | None:
    start = view.position
    days = _read_days(view)
    if days is None:
        return None
    return times.to_date(_checked(days, 32, f"a date {days} days from 1970", start, view))


def _read_local_date_time(view: DataInputView) -> Value:
    start = view.position
    days, nanos_of_day = _read_days(view), _read_nanos_of_day(view)
    if days is None and nanos_of_day is None:
        return None
    if days is None or nanos_of_day is None:
        view.position = start
        raise view.error("half a date and time, expected both or neither")
    return times.to_precise(days * NANOS_PER_DAY + nanos_of_day)


def _write_local_date_time(value: Value, view: DataOutputView) -> None:
    days, nanos_of_day = divmod(times.from_timestamp(value, "ns"), NANOS_PER_DAY)
    _write_days(days, view)
    _write_nanos_of_day(nanos_of_day, view)


def _read_timer_timestamp(view: DataInputView) -> int:
    return (view.read_long() & (1 << 64) - 1) - _SIGN_BIT


def _write_timer_timestamp(value: int, view: DataOutputView) -> None:
    # Beyond 64 bits the mask would make another time of it.
    if not -_SIGN_BIT <= value < _SIGN_BIT:
        raise ValueError(f"{value} does not fit into 64 bits")
    view.write_bytes((value + _SIGN_BIT).to_bytes(8, "big"))


def read_timestamp_data(layout: layouts.TimestampData, view: DataInputView) -> Value:
    """A timestamp of SQL."""
    start = view.position
    millis = view.read_long()
    nanos = view.read_int() if layout.precision > 3 else 0
    end, view.position = view.position, start
    value = timestamp_of(millis, nanos, layout.precision, view)
    view.position = end
    return value


def write_timestamp_data(layout: layouts.TimestampData, value: Value, view: DataOutputView) -> None:
    """The mirror of ``read_timestamp_data``."""
    millis, nanos = millis_and_nanos(value, layout.precision)
    view.write_long(millis)
    if layout.precision > 3:
        view.write_int(nanos)


def timestamp_of(
    millis: int, nanos: int, precision: int, view: DataInputView, *, is_utc: bool = False
) -> Value:
    """The value of a timestamp of SQL; ``nanos`` counts from the last millisecond."""
    if not 0 <= nanos < _NANOS_PER_MILLI:
        raise view.error(f"{nanos} nanoseconds of a millisecond")
    unit = timestamp_unit(precision)
    total = millis * _NANOS_PER_MILLI + nanos
    if unit == "ns":
        return times.to_precise(total, is_utc=is_utc)
    count, rest = divmod(total, NANOS_PER_SECOND // times.PER_SECOND[unit])
    if rest:
        text = f"a timestamp with more digits than TIMESTAMP({precision}) has"
        raise view.error(text, ValueOutOfRangeError)
    if unit != "ms":
        _checked(count, 64, f"a timestamp of {millis} ms", view.position, view)
    return times.to_timestamp(count, unit, is_utc=is_utc)


def millis_and_nanos(value: Value, precision: int) -> tuple[int, int]:
    """The mirror of ``timestamp_of``."""
    unit = timestamp_unit(precision)
    count = times.from_timestamp(value, unit)
    return divmod(count * (NANOS_PER_SECOND // times.PER_SECOND[unit]), _NANOS_PER_MILLI)


def _read_sql_time(view: DataInputView) -> Value:
    millis = view.read_int()
    if not 0 <= millis < times.SECONDS_PER_DAY * 1000:
        view.position -= 4
        raise view.error(f"a time of {millis} ms, outside of a day", UndecodableError)
    return times.to_time(millis)


SCALARS: dict[type[layouts.Layout], ScalarCodec] = {
    layouts.JavaDate: _codec(
        _read_java_date,
        lambda value, view: view.write_long(times.from_timestamp(value, "ms")),
        _smallest(8),
    ),
    layouts.SqlTimestamp: _codec(
        _read_sql_timestamp, _write_sql_timestamp, _smallest(8) + bytes(4)
    ),
    layouts.Instant: _codec(_read_instant, _write_instant, _smallest(8, 4)),
    layouts.LocalDate: _codec(
        _read_local_date, lambda value, view: _write_days(times.from_date(value), view), _NULL_DATE
    ),
    layouts.SqlDate: ScalarCodec(
        lambda view: times.to_date(view.read_int()),
        lambda value, view: view.write_int(times.from_date(value)),
    ),
    layouts.SqlTime: ScalarCodec(
        _read_sql_time, lambda value, view: view.write_int(times.from_time(value, "ms"))
    ),
    layouts.LocalTime: _codec(
        _read_nanos_of_day,
        lambda value, view: _write_nanos_of_day(times.from_time(value, "ns"), view),
        _NULL_TIME,
    ),
    layouts.LocalDateTime: _codec(
        _read_local_date_time, _write_local_date_time, _NULL_DATE + _NULL_TIME
    ),
    layouts.TimerTimestamp: ScalarCodec(_read_timer_timestamp, _write_timer_timestamp),
}
