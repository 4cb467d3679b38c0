"""What objects of the JDK have in them, by the values of their columns: the mirror of ``types``.

A value is what ``to_pylist`` gives, or Arrow's integer of a date or time. What the class can't hold is
a ``ValueError``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from uuid import UUID

from savepoint_formats.values.kinds import times, unbounded
from savepoint_formats.values.kinds.times import NANOS_PER_DAY, NANOS_PER_SECOND, PER_SECOND
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from savepoint_formats.values.kinds.codec import Value

_NANOS_PER_MILLI = NANOS_PER_SECOND // PER_SECOND["ms"]
_MOST_SECONDS_OF_OFFSET = 18 * 3_600

_DATE = r"(?P<year>-?\d{3,9})-(?P<month>\d\d)-(?P<day>\d\d)"
_TIME = r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d)(?:\.(?P<nano>\d{9}))?"
_OFFSET = r"(?P<offset>Z|[+-]\d\d:\d\d(?::\d\d)?)"
_ZONE = r"\[(?P<zone>[^\]]+)\]"
_YEAR_MONTH = re.compile(r"(?P<year>-?\d{3,9})-(?P<month>\d\d)")
_MONTH_DAY = re.compile(r"--(?P<month>\d\d)-(?P<day>\d\d)")
_PERIOD = re.compile(r"P(?:(?P<years>-?\d+)Y)?(?:(?P<months>-?\d+)M)?(?:(?P<days>-?\d+)D)?")
_OFFSET_TIME = re.compile(_TIME + _OFFSET)
_OFFSET_DATE_TIME = re.compile(f"{_DATE}T{_TIME}{_OFFSET}")
_ZONED_DATE_TIME = re.compile(f"{_DATE}T{_TIME}{_OFFSET}?{_ZONE}")
_OFFSET_TEXT = re.compile(r"Z|([+-])(\d\d):([0-5]\d)(?::([0-5]\d))?")
_CURRENCY = re.compile("[A-Z]{3}")
_URL = re.compile(r"[A-Za-z][\w+.-]*:\S*")
_URI = re.compile(r"[^\s<>\"{}|\\^`]*")
_CHARACTERS = 1 << 16
_LEAP_YEAR = 2000
_INT_BITS = 31


def _parts(pattern: re.Pattern[str], text: str, what: str) -> dict[str, str | None]:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no {what}")
    return match.groupdict()


def _numbers(parts: dict[str, str | None], *names: str) -> dict[str, int]:
    return {name: int(parts[name] or 0) for name in names}


def same(value: Value) -> Value:
    """A value that is itself the content."""
    return value


def character(value: Value) -> str:
    """A ``Character``: one UTF-16 unit."""
    if len(value) != 1 or ord(value) >= _CHARACTERS:
        raise ValueError(f"{value!r} is no character of Java")
    return str(value)


def uuid(value: Value) -> UUID:
    """A ``UUID``."""
    parsed = UUID(value)
    if str(parsed) != value.lower():
        raise ValueError(f"{value!r} is no UUID such as {parsed}")
    return parsed


def big_integer(value: Value) -> int:
    """A ``BigInteger``."""
    return unbounded.from_integer_text(value)


def big_decimal(value: Value) -> Decimal:
    """A ``BigDecimal``."""
    return unbounded.decimal(*unbounded.unscaled_and_scale(value))


def text_like(class_name: str) -> Callable[[Value], str]:
    """A text that the class takes."""
    pattern = {"java.util.Currency": _CURRENCY, "java.net.URL": _URL, "java.net.URI": _URI}

    def content(value: Value) -> str:
        _parts(pattern[class_name], value, class_name)
        return str(value)

    return content


def _object(name: str, **fields: Value) -> KryoObject:
    return KryoObject(f"java.time.{name}", fields)


def _date(days: int) -> KryoObject:
    year, month, day = times.date_from_days(days)
    return _object("LocalDate", year=year, month=month, day=day)


def _time(nanos_of_day: int) -> KryoObject:
    seconds, nano = divmod(nanos_of_day, NANOS_PER_SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return _object("LocalTime", hour=hour, minute=minute, second=second, nano=nano)


def local_date(value: Value) -> KryoObject:
    """A ``LocalDate``."""
    return _date(times.from_date(value))


def local_time(value: Value) -> KryoObject:
    """A ``LocalTime``."""
    nanos = times.from_time(value, "ns")
    if not 0 <= nanos < NANOS_PER_DAY:
        raise ValueError(f"{nanos} nanoseconds are none of a day")
    return _time(nanos)


def local_date_time(value: Value) -> KryoObject:
    """A ``LocalDateTime``."""
    days, nanos = divmod(times.from_timestamp(value, "ns"), NANOS_PER_DAY)
    return _object("LocalDateTime", date=_date(days), time=_time(nanos))


def _seconds_and_nanos(name: str, count: int) -> KryoObject:
    seconds, nanos = divmod(count, NANOS_PER_SECOND)
    return _object(name, seconds=seconds, nanos=nanos)


def instant(value: Value) -> KryoObject:
    """An ``Instant``."""
    return _seconds_and_nanos("Instant", times.from_timestamp(value, "ns"))


def duration(value: Value) -> KryoObject:
    """A ``Duration``."""
    return _seconds_and_nanos("Duration", times.from_duration(value, "ns"))


def year(value: Value) -> KryoObject:
    """A ``Year``."""
    return _object("Year", year=value)


def year_month(value: Value) -> KryoObject:
    """A ``YearMonth``."""
    fields = _numbers(_parts(_YEAR_MONTH, value, "YearMonth"), "year", "month")
    times.days_from_date(fields["year"], fields["month"], 1)
    return _object("YearMonth", **fields)


def month_day(value: Value) -> KryoObject:
    """A ``MonthDay``."""
    fields = _numbers(_parts(_MONTH_DAY, value, "MonthDay"), "month", "day")
    times.days_from_date(_LEAP_YEAR, fields["month"], fields["day"])
    return _object("MonthDay", **fields)


def period(value: Value) -> KryoObject:
    """A ``Period``."""
    if value == "P":
        raise ValueError("'P' is no Period")
    fields = _numbers(_parts(_PERIOD, value, "Period"), "years", "months", "days")
    if any(number.bit_length() > _INT_BITS for number in fields.values()):
        raise ValueError(f"{value!r} is beyond a Period")
    return _object("Period", **fields)


def zone_offset(value: Value) -> KryoObject:
    """A ``ZoneOffset``."""
    match = _OFFSET_TEXT.fullmatch(value)
    if match is None:
        raise ValueError(f"{value!r} is no offset such as +01:00")
    sign, hours, minutes, seconds = match.groups()
    total = int(hours or 0) * 3_600 + int(minutes or 0) * 60 + int(seconds or 0)
    if total > _MOST_SECONDS_OF_OFFSET:
        raise ValueError(f"{value!r} is beyond an offset of 18 hours")
    return _object("ZoneOffset", totalSeconds=-total if sign == "-" else total)


def _clock(parts: dict[str, str | None]) -> KryoObject:
    return _object("LocalTime", **_numbers(parts, "hour", "minute", "second", "nano"))


def _date_time(parts: dict[str, str | None]) -> KryoObject:
    fields = _numbers(parts, "year", "month", "day")
    times.days_from_date(*fields.values())
    return _object("LocalDateTime", date=_object("LocalDate", **fields), time=_clock(parts))


def offset_time(value: Value) -> KryoObject:
    """An ``OffsetTime``."""
    parts = _parts(_OFFSET_TIME, value, "OffsetTime")
    return _object("OffsetTime", time=_clock(parts), offset=zone_offset(parts["offset"]))


def offset_date_time(value: Value) -> KryoObject:
    """An ``OffsetDateTime``."""
    parts = _parts(_OFFSET_DATE_TIME, value, "OffsetDateTime")
    return _object(
        "OffsetDateTime", dateTime=_date_time(parts), offset=zone_offset(parts["offset"])
    )


def zoned_date_time(value: Value) -> KryoObject:
    """A ``ZonedDateTime``, with its offset if the text has it: Kryo 2 writes one."""
    parts = _parts(_ZONED_DATE_TIME, value, "ZonedDateTime")
    zone = parts["zone"] or ""
    is_offset = _OFFSET_TEXT.fullmatch(zone) is not None
    name = "ZoneOffset" if is_offset else "ZoneRegion"
    content = zone_offset(zone) if is_offset else _object(name, id=zone)
    fields = {
        "dateTime": _date_time(parts),
        "zone": KryoNode(f"java.time.{name}", content),
    }
    if offset := parts["offset"] or (zone if is_offset else None):
        fields["offset"] = zone_offset(offset)
    return _object("ZonedDateTime", **fields)


def optional(class_name: str) -> Callable[[Value], KryoObject]:
    """An optional of a primitive that has a value."""
    return lambda value: KryoObject(class_name, {"isPresent": True, "value": value})


def date(class_name: str) -> Callable[[Value], KryoObject]:
    """A ``Date`` of milliseconds."""
    return lambda value: KryoObject(class_name, {"millis": times.from_timestamp(value, "ms")})


def sql_timestamp(value: Value) -> KryoObject:
    """A ``Timestamp`` of SQL, whose milliseconds are those of its nanoseconds, too."""
    seconds, nanos = divmod(times.from_timestamp(value, "ns"), NANOS_PER_SECOND)
    millis = seconds * PER_SECOND["ms"] + nanos // _NANOS_PER_MILLI
    return KryoObject("java.sql.Timestamp", {"millis": millis, "nanos": nanos})
