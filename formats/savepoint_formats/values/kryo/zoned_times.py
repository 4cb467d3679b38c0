"""Rows of the classes of ``java.time`` that have an offset or a zone.

2.24 writes them by their fields, 5.6 so:

| class          | bytes in 5.6                                          | Arrow                    |
|----------------|-------------------------------------------------------|--------------------------|
| ZoneOffset     | i8 quarters of an hour; or 127, fixed i32 seconds     | utf8, as ``toString``    |
| ZoneRegion     | text                                                  | JSON                     |
| OffsetDateTime | date, time, offset                                    | utf8, as ``toString``    |
| OffsetTime     | time, offset                                          | utf8, as ``toString``    |
| ZonedDateTime  | date, time, text zone; not which of two offsets where | utf8: ``2020-01-30T11:16 |
|                | clocks are set back                                   | :00[Europe/Berlin]``     |
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from savepoint_formats.values.kinds import times
from savepoint_formats.values.kryo.body import TEXT, WITHOUT_PLACE, Body, Part, Shown, object_front
from savepoint_formats.values.kryo.java_times import (
    CLOCK,
    CLOCK_FIELDS,
    CLOCK_PARTS_OF_2,
    CLOCK_PLACES,
    DATE,
    DATE_TIME_PARTS_OF_2,
    DATE_TIME_PLACES,
    LOCAL_DATE_TIME,
    LOCAL_TIME,
    PACKAGE,
    groups_of,
    numbers_of,
    text_of,
    time_body,
    time_object,
    time_row,
)
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject, plain
from savepoint_formats.values.kryo.types import KryoType

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.types import ClassRow
    from savepoint_formats.values.kryo.writer import KryoWriter

# Content of texts; the kernel has the same numbers.
_DATE, _CLOCK, _OFFSET_IN_TEXT, _ZONE = 1, 2, 4, 8
_OFFSET_OF_ANY_SECONDS = 127
_SECONDS_PER_QUARTER_HOUR = 900
_MOST_SECONDS_OF_OFFSET = 18 * 3_600

_OFFSET = r"(?P<offset>Z|[+-]\d\d:\d\d(?::\d\d)?)"
_OFFSET_TEXT = re.compile(r"Z|([+-])(\d\d):([0-5]\d)(?::([0-5]\d))?")


def _clock_text(graph: KryoObject) -> str:
    text = "{hour:02}:{minute:02}:{second:02}".format_map(graph.fields)
    nano = graph.fields["nano"]
    return f"{text}.{nano:09}" if nano else text


def _date_time_text(graph: KryoObject) -> str:
    date = times.date_text(**graph.fields["date"].fields)
    return f"{date}T{_clock_text(graph.fields['time'])}"


def _clock_of_text(groups: dict[str, str | None]) -> KryoObject:
    return time_object("LocalTime", **numbers_of(groups, *CLOCK_FIELDS))


def _date_time_of_text(groups: dict[str, str | None]) -> KryoObject:
    fields = numbers_of(groups, "year", "month", "day")
    times.days_from_date(**fields)
    return time_object(
        "LocalDateTime", date=time_object("LocalDate", **fields), time=_clock_of_text(groups)
    )


def _read_zone_offset(graph: KryoGraph) -> KryoObject:
    quarters = graph.view.read_byte()
    if quarters == _OFFSET_OF_ANY_SECONDS:
        seconds = graph.input.read_fixed("i")
    else:
        seconds = quarters * _SECONDS_PER_QUARTER_HOUR
    return time_object("ZoneOffset", totalSeconds=seconds)


def _write_zone_offset(value: Value, writer: KryoWriter) -> None:
    quarters, rest = divmod(plain(value).fields["totalSeconds"], _SECONDS_PER_QUARTER_HOUR)
    if rest:
        writer.view.write_byte(_OFFSET_OF_ANY_SECONDS)
        writer.output.write_fixed("i", plain(value).fields["totalSeconds"])
    else:
        writer.view.write_byte(quarters)


def _offset_text(graph: KryoObject) -> str:
    seconds = graph.fields["totalSeconds"]
    if seconds == 0:
        return "Z"
    text = f"{'-' if seconds < 0 else '+'}{times.clock_text(abs(seconds))}"
    return text if seconds % 60 else text.removesuffix(":00")


def _zone_offset(value: Value) -> KryoObject:
    match = _OFFSET_TEXT.fullmatch(value)
    if match is None:
        raise ValueError(f"{value!r} is no offset such as +01:00")
    sign, hours, minutes, seconds = match.groups()
    total = int(hours or 0) * 3_600 + int(minutes or 0) * 60 + int(seconds or 0)
    if total > _MOST_SECONDS_OF_OFFSET:
        raise ValueError(f"{value!r} is beyond an offset of 18 hours")
    return time_object("ZoneOffset", totalSeconds=-total if sign == "-" else total)


def _offset_time_text(graph: KryoObject) -> str:
    return _clock_text(graph.fields["time"]) + _offset_text(graph.fields["offset"])


def _offset_time(value: Value) -> KryoObject:
    groups = groups_of(CLOCK + _OFFSET, value, "OffsetTime")
    return time_object(
        "OffsetTime", time=_clock_of_text(groups), offset=_zone_offset(groups["offset"])
    )


def _offset_date_time_text(graph: KryoObject) -> str:
    return _date_time_text(graph.fields["dateTime"]) + _offset_text(graph.fields["offset"])


def _offset_date_time(value: Value) -> KryoObject:
    groups = groups_of(f"{DATE}T{CLOCK}{_OFFSET}", value, "OffsetDateTime")
    offset = _zone_offset(groups["offset"])
    return time_object("OffsetDateTime", dateTime=_date_time_of_text(groups), offset=offset)


def _zone_text(zone: Value) -> str:
    if isinstance(zone, str):
        return zone
    return str(plain(zone.fields["id"])) if "id" in zone.fields else _offset_text(zone)


def _zoned_text(graph: KryoObject) -> str:
    offset, zone = graph.fields.get("offset"), _zone_text(graph.fields["zone"])
    text = _date_time_text(graph.fields["dateTime"])
    return f"{text}{_offset_text(offset) if offset else ''}[{zone}]"


def _zoned_date_time(value: Value) -> KryoObject:
    """Has the offset if the text does: Kryo 2 writes one."""
    pattern = rf"{DATE}T{CLOCK}{_OFFSET}?\[(?P<zone>[^\]]+)\]"
    groups = groups_of(pattern, value, "ZonedDateTime")
    zone = groups["zone"] or ""
    is_offset = _OFFSET_TEXT.fullmatch(zone) is not None
    content = _zone_offset(zone) if is_offset else time_object("ZoneRegion", id=zone)
    fields: dict[str, Value] = {
        "dateTime": _date_time_of_text(groups),
        "zone": KryoNode(content.class_name, content),
    }
    if offset := groups["offset"] or (zone if is_offset else None):
        fields["offset"] = _zone_offset(offset)
    return time_object("ZonedDateTime", **fields)


def _write_zoned(value: Value, writer: KryoWriter) -> None:
    fields = plain(value).fields
    date_time, offset = plain(fields["dateTime"]), plain(fields.get("offset"))
    zone = _zone_text(plain(fields["zone"]))
    if offset is not None:
        _expect_usual_offset(date_time, offset, zone)
    LOCAL_DATE_TIME.write(date_time, writer)
    writer.output.write_text(zone)


def _expect_usual_offset(date_time: KryoObject, offset: KryoObject, zone: str) -> None:
    """Raises ``ValueError`` if Java would give the time in the zone another offset."""
    if _offset_text(offset) == zone:
        return
    fields = {**plain(date_time.fields["date"]).fields, **plain(date_time.fields["time"]).fields}
    del fields["nano"]
    try:
        usual = datetime(**fields, tzinfo=ZoneInfo(zone)).utcoffset()
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"a time in the zone {zone}, whose offset is not known") from error
    if usual != timedelta(seconds=offset.fields["totalSeconds"]):
        raise ValueError(
            f"a time in the zone {zone} at the second of its two offsets, which Kryo 5 does not store"
        )


_ZONE_OFFSET = Body(
    _read_zone_offset,
    _write_zone_offset,
    (Part.OFFSET,),
    Shown(((f'{object_front(f"{PACKAGE}ZoneOffset")}, "totalSeconds": ', Part.OFFSET),), "}"),
)
_ZONED = time_body("ZonedDateTime", dateTime=LOCAL_DATE_TIME, zone=TEXT)

ZONED_TIMES: dict[str, ClassRow] = {
    f"{PACKAGE}ZoneOffset": time_row(
        _ZONE_OFFSET,
        {"totalSeconds": "int"},
        KryoType(pa.utf8(), _offset_text, _zone_offset),
        text_of(_OFFSET_IN_TEXT, (7,), (7,)),
    ),
    f"{PACKAGE}ZoneRegion": time_row(
        time_body("ZoneRegion", id=TEXT), {"id": "java.lang.String"}, None
    ),
    f"{PACKAGE}OffsetDateTime": time_row(
        time_body("OffsetDateTime", dateTime=LOCAL_DATE_TIME, offset=_ZONE_OFFSET),
        {"dateTime": f"{PACKAGE}LocalDateTime", "offset": f"{PACKAGE}ZoneOffset"},
        KryoType(pa.utf8(), _offset_date_time_text, _offset_date_time),
        text_of(_DATE | _CLOCK | _OFFSET_IN_TEXT, (0, *DATE_TIME_PLACES, 0, 7), (0, 1, 2, 3, 7)),
        (Part.NEW, *DATE_TIME_PARTS_OF_2, Part.NEW, Part.ZIGZAG),
    ),
    f"{PACKAGE}OffsetTime": time_row(
        time_body("OffsetTime", time=LOCAL_TIME, offset=_ZONE_OFFSET),
        {"offset": f"{PACKAGE}ZoneOffset", "time": f"{PACKAGE}LocalTime"},
        KryoType(pa.utf8(), _offset_time_text, _offset_time),
        text_of(_CLOCK | _OFFSET_IN_TEXT, (0, 7, 0, *CLOCK_PLACES), (3, 7)),
        (Part.NEW, Part.ZIGZAG, Part.NEW, *CLOCK_PARTS_OF_2),
    ),
    f"{PACKAGE}ZonedDateTime": time_row(
        replace(_ZONED, write=_write_zoned),
        {
            "dateTime": f"{PACKAGE}LocalDateTime",
            "offset": f"{PACKAGE}ZoneOffset",
            "zone": f"{PACKAGE}ZoneId",
        },
        KryoType(pa.utf8(), _zoned_text, _zoned_date_time),
        text_of(_DATE | _CLOCK | _ZONE, (), (0, 1, 2, 3, WITHOUT_PLACE)),
    ),
}
