"""Bodies of ``java.time`` and ``Optional`` in Kryo 5.6; 2.24 writes these by their fields.

| class          | bytes                                                                          |
|----------------|--------------------------------------------------------------------------------|
| Duration       | fixed i64 seconds, varint nanos                                                |
| Instant        | varlong seconds, varint nanos                                                  |
| LocalDate      | varint year, i8 month, i8 day                                                  |
| LocalTime      | i8 hour, minute, second, varint nanos; the last that is not 0 of the first     |
|                | three is inverted and ends them, if there are no nanos                         |
| LocalDateTime  | date, time                                                                     |
| ZoneOffset     | i8 quarters of an hour; or 127, fixed i32 seconds                              |
| OffsetDateTime | date, time, offset; OffsetTime: time, offset                                   |
| ZonedDateTime  | date, time, text zone: not which of two offsets where clocks are set back      |
| Year, Period   | varints; YearMonth: varint, i8; MonthDay: i8, i8                               |
| Optional       | class and object; OptionalInt, OptionalLong, OptionalDouble: bool, fixed value |

The fields that ``KryoObject`` has are named as in 2.24, which writes them by name.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from savepoint_formats.values.kryo.body import (
    ANY,
    BYTE,
    MILLIS,
    TEXT,
    VARINT,
    Body,
    fixed,
    object_of,
)
from savepoint_formats.values.kryo.objects import KryoObject, plain

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

_OFFSET_OF_ANY_SECONDS = 127
_SECONDS_PER_QUARTER_HOUR = 900
_DATE_PARTS = ("year", "month", "day")
_TIME_PARTS = ("hour", "minute", "second", "nano")


def _read_local_time(graph: KryoGraph) -> KryoObject:
    parts = [0, 0, 0, 0]
    for index in range(3):
        parts[index] = graph.view.read_byte()
        if parts[index] < 0:
            parts[index] = ~parts[index]
            break
    else:
        parts[3] = graph.input.read_signed_varint()
    return KryoObject("java.time.LocalTime", dict(zip(_TIME_PARTS, parts, strict=True)))


def _write_local_time(value: Value, writer: KryoWriter) -> None:
    fields = plain(value).fields
    *parts, nanos = (fields[name] for name in _TIME_PARTS)
    if nanos:
        writer.view.write_bytes(bytes(parts))
        writer.output.write_varint(nanos)
        return
    while len(parts) > 1 and parts[-1] == 0:
        del parts[-1]
    writer.view.write_bytes(bytes(parts[:-1]))
    writer.view.write_byte(~parts[-1])


def _read_zone_offset(graph: KryoGraph) -> KryoObject:
    quarters = graph.view.read_byte()
    if quarters == _OFFSET_OF_ANY_SECONDS:
        seconds = graph.input.read_fixed("i")
    else:
        seconds = quarters * _SECONDS_PER_QUARTER_HOUR
    return KryoObject("java.time.ZoneOffset", {"totalSeconds": seconds})


def _write_zone_offset(value: Value, writer: KryoWriter) -> None:
    quarters, rest = divmod(plain(value).fields["totalSeconds"], _SECONDS_PER_QUARTER_HOUR)
    if rest:
        writer.view.write_byte(_OFFSET_OF_ANY_SECONDS)
        writer.output.write_fixed("i", plain(value).fields["totalSeconds"])
    else:
        writer.view.write_byte(quarters)


def _optional(class_name: str, code: str) -> Body:
    """An optional of a primitive: null, or its value. Of 2.24 it says in a field which it is."""

    def read(graph: KryoGraph) -> KryoObject:
        is_present = graph.view.read_bool()
        value = graph.input.read_fixed(code) if is_present else None
        return KryoObject(class_name, {"value": value})

    def write(value: Value, writer: KryoWriter) -> None:
        fields = plain(value).fields
        is_present = fields.get("isPresent", fields["value"] is not None)
        writer.view.write_bool(is_present)
        if is_present:
            writer.output.write_fixed(code, fields["value"])

    return Body(read, write)


def _write_zoned(value: Value, writer: KryoWriter) -> None:
    fields = plain(value).fields
    date_time, offset = plain(fields["dateTime"]), plain(fields.get("offset"))
    zone = _zone_text(plain(fields["zone"]))
    if offset is not None:
        _expect_usual_offset(date_time, offset.fields["totalSeconds"], zone)
    DATE_TIME.write(date_time, writer)
    writer.output.write_text(zone)


def _zone_text(zone: Value) -> str:
    if isinstance(zone, str):
        return zone
    if "id" in zone.fields:
        return str(plain(zone.fields["id"]))
    return offset_text(zone.fields["totalSeconds"])


def _expect_usual_offset(date_time: KryoObject, seconds: int, zone: str) -> None:
    """Raises ``ValueError`` if Java would give the time in the zone another offset."""
    date, time = (plain(date_time.fields[name]).fields for name in ("date", "time"))
    if offset_text(seconds) == zone:
        return
    at = {name: date[name] for name in _DATE_PARTS} | {name: time[name] for name in _TIME_PARTS[:3]}
    try:
        usual = datetime(**at, tzinfo=ZoneInfo(zone)).utcoffset()
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"a time in the zone {zone}, whose offset is not known") from error
    if usual != timedelta(seconds=seconds):
        raise ValueError(
            f"a time in the zone {zone} at the second of its two offsets, which Kryo 5 forgets"
        )


def offset_text(seconds: int) -> str:
    """An offset as ``ZoneOffset.getId`` gives it."""
    if seconds == 0:
        return "Z"
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    text = f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{abs(seconds) % 60:02}" if seconds % 60 else text


DATE = object_of("java.time.LocalDate", year=VARINT, month=BYTE, day=BYTE)
TIME = Body(_read_local_time, _write_local_time)
DATE_TIME = object_of("java.time.LocalDateTime", date=DATE, time=TIME)
OFFSET = Body(_read_zone_offset, _write_zone_offset)
_ZONED = object_of("java.time.ZonedDateTime", dateTime=DATE_TIME, zone=TEXT)

DURATION = object_of("java.time.Duration", seconds=fixed("q"), nanos=VARINT)
INSTANT = object_of("java.time.Instant", seconds=MILLIS, nanos=VARINT)
MONTH_DAY = object_of("java.time.MonthDay", month=BYTE, day=BYTE)
OFFSET_DATE_TIME = object_of("java.time.OffsetDateTime", dateTime=DATE_TIME, offset=OFFSET)
OFFSET_TIME = object_of("java.time.OffsetTime", time=TIME, offset=OFFSET)
OPTIONAL = object_of("java.util.Optional", value=ANY)
OPTIONAL_DOUBLE = _optional("java.util.OptionalDouble", "d")
OPTIONAL_INT = _optional("java.util.OptionalInt", "i")
OPTIONAL_LONG = _optional("java.util.OptionalLong", "q")
PERIOD = object_of("java.time.Period", years=VARINT, months=VARINT, days=VARINT)
REGION = object_of("java.time.ZoneRegion", id=TEXT)
YEAR = object_of("java.time.Year", year=VARINT)
YEAR_MONTH = object_of("java.time.YearMonth", year=VARINT, month=BYTE)
ZONED = Body(_ZONED.read, _write_zoned)
