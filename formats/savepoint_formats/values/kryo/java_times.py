"""Rows of Java's dates and times; ``zoned_times`` has those with an offset or a zone.

2.24 writes the classes of ``java.time`` by their fields, in the order of their names. 5.6 has
serializers for them:

| class          | bytes in 5.6                                            | Arrow                  |
|----------------|---------------------------------------------------------|------------------------|
| Duration       | fixed i64 seconds, varint nanos                         | duration[ns]           |
| Instant        | varlong seconds, varint nanos                           | precise time of UTC    |
| LocalDate      | varint year, i8 month, i8 day                           | date32                 |
| LocalTime      | i8 hour, minute, second, varint nanos; without nanos    | time64[ns]             |
|                | the last of the three that is not 0 is inverted, and    |                        |
|                | ends the value                                          |                        |
| LocalDateTime  | date, time                                              | precise time           |
| Year           | varint                                                  | int32                  |
| YearMonth      | varint, i8                                              | utf8, as ``toString``  |
| MonthDay       | i8, i8                                                  | utf8, as ``toString``  |
| Period         | three varints                                           | utf8, as ``toString``  |

| class of both versions | bytes                                                                   |
|------------------------|-------------------------------------------------------------------------|
| Date, sql.Date, Time   | varlong milliseconds                                                    |
| sql.Timestamp          | varlong milliseconds, varint nanos; in 5.6 milliseconds of whole seconds|

The fields of a ``KryoObject`` have the names of 2.24 in both versions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.values.kinds import times
from savepoint_formats.values.kinds.precise_times import precise_type
from savepoint_formats.values.kinds.times import NANOS_PER_DAY, NANOS_PER_SECOND, PER_SECOND
from savepoint_formats.values.kryo.body import (
    BYTE,
    MILLIS,
    VARINT,
    Body,
    Part,
    Shown,
    SingleValue,
    fixed,
    object_front,
    object_of,
)
from savepoint_formats.values.kryo.objects import KryoObject, plain
from savepoint_formats.values.kryo.types import ClassRow, KryoType

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

PACKAGE = "java.time."
_SQL_TIMESTAMP = "java.sql.Timestamp"
_NANOS_PER_MILLI = NANOS_PER_SECOND // PER_SECOND["ms"]
_LEAP_YEAR = 2000
_INT_BITS = 31
CLOCK_FIELDS = ("hour", "minute", "second", "nano")

DATE = r"(?P<year>-?\d{3,9})-(?P<month>\d\d)-(?P<day>\d\d)"
CLOCK = r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d)(?:\.(?P<nano>\d{9}))?"
_PERIOD = r"P(?:(?P<years>-?\d+)Y)?(?:(?P<months>-?\d+)M)?(?:(?P<days>-?\d+)D)?"


def time_object(name: str, **fields: Value) -> KryoObject:
    """An object of ``java.time``."""
    return KryoObject(f"{PACKAGE}{name}", fields)


def time_body(name: str, **bodies: Body) -> Body:
    """The body of a class of ``java.time``."""
    return object_of(f"{PACKAGE}{name}", **bodies)


def groups_of(pattern: str, text: str, class_name: str) -> dict[str, str | None]:
    """The groups of a pattern that a text must match."""
    match = re.fullmatch(pattern, text)
    if match is None:
        raise ValueError(f"{text!r} is no {class_name}")
    return match.groupdict()


def numbers_of(groups: dict[str, str | None], *names: str) -> dict[str, int]:
    """Some groups as numbers; 0 for those without a text."""
    return {name: int(groups[name] or 0) for name in names}


# --- dates and clocks -------------------------------------------------------------------------


def _days(graph: KryoObject) -> int:
    return times.days_from_date(**graph.fields)


def _local_date(days: int) -> KryoObject:
    year, month, day = times.date_from_days(days)
    return time_object("LocalDate", year=year, month=month, day=day)


def _nanos_of_day(graph: KryoObject) -> int:
    return times.nanos_of_day(**graph.fields)


def _local_time(nanos_of_day: int) -> KryoObject:
    clock = times.clock(nanos_of_day)
    return time_object("LocalTime", **dict(zip(CLOCK_FIELDS, clock, strict=True)))


def _read_local_time(graph: KryoGraph) -> KryoObject:
    clock = [0, 0, 0, 0]
    for index in range(3):
        clock[index] = graph.view.read_byte()
        if clock[index] < 0:
            clock[index] = ~clock[index]
            break
    else:
        clock[3] = graph.input.read_signed_varint()
    return time_object("LocalTime", **dict(zip(CLOCK_FIELDS, clock, strict=True)))


def _write_local_time(value: Value, writer: KryoWriter) -> None:
    fields = plain(value).fields
    *clock, nanos = (fields[name] for name in CLOCK_FIELDS)
    if nanos:
        writer.view.write_bytes(bytes(clock))
        writer.output.write_varint(nanos)
        return
    while len(clock) > 1 and clock[-1] == 0:
        del clock[-1]
    writer.view.write_bytes(bytes(clock[:-1]))
    writer.view.write_byte(~clock[-1])


def _date_time(graph: KryoObject) -> Value:
    days, nanos_of_day = _days(graph.fields["date"]), _nanos_of_day(graph.fields["time"])
    return times.to_precise(days * NANOS_PER_DAY + nanos_of_day)


def _local_date_time(value: Value) -> KryoObject:
    days, nanos = divmod(times.from_timestamp(value, "ns"), NANOS_PER_DAY)
    return time_object("LocalDateTime", date=_local_date(days), time=_local_time(nanos))


def _seconds_and_nanos(name: str, count: int) -> KryoObject:
    seconds, nanos = divmod(count, NANOS_PER_SECOND)
    return time_object(name, seconds=seconds, nanos=nanos)


def _nanos(graph: KryoObject) -> int:
    return int(graph.fields["seconds"] * NANOS_PER_SECOND + graph.fields["nanos"])


# --- texts ------------------------------------------------------------------------------------


def _date_fields(name: str, pattern: str, form: str) -> KryoType:
    """The column of a class that has some of the fields of a date."""

    def content(value: Value) -> KryoObject:
        groups = groups_of(pattern, value, name)
        fields = numbers_of(groups, *groups)
        times.days_from_date(**{"year": _LEAP_YEAR, "day": 1} | fields)
        return time_object(name, **fields)

    return KryoType(pa.utf8(), lambda graph: form.format_map(graph.fields), content)


def _period_text(graph: KryoObject) -> str:
    units = (("years", "Y"), ("months", "M"), ("days", "D"))
    text = "".join(f"{graph.fields[name]}{sign}" for name, sign in units if graph.fields[name])
    return f"P{text or '0D'}"


def _period(value: Value) -> KryoObject:
    if value == "P":
        raise ValueError("'P' is no Period")
    fields = numbers_of(groups_of(_PERIOD, value, "Period"), "years", "months", "days")
    if any(number.bit_length() > _INT_BITS for number in fields.values()):
        raise ValueError(f"{value!r} is beyond a Period")
    return time_object("Period", **fields)


# --- rows -------------------------------------------------------------------------------------

_LOCAL_DATE = time_body("LocalDate", year=VARINT, month=BYTE, day=BYTE)
LOCAL_TIME = Body(
    _read_local_time,
    _write_local_time,
    (Part.CLOCK,),
    Shown(((f"{object_front(f'{PACKAGE}LocalTime')}, ", Part.CLOCK),), "}"),
)
LOCAL_DATE_TIME = time_body("LocalDateTime", date=_LOCAL_DATE, time=LOCAL_TIME)
_DATE_PARTS_OF_2 = (Part.SHORT, Part.SHORT, Part.ZIGZAG)
CLOCK_PARTS_OF_2 = (Part.BYTE, Part.BYTE, Part.ZIGZAG, Part.BYTE)
DATE_TIME_PARTS_OF_2 = (Part.NEW, *_DATE_PARTS_OF_2, Part.NEW, *CLOCK_PARTS_OF_2)
CLOCK_PLACES, DATE_TIME_PLACES = (3, 4, 6, 5), (0, 2, 1, 0, 0, 3, 4, 6, 5)
_SECONDS_PLACES = ((1, 0), (0, 1))


def time_row(
    body: Body,
    fields: dict[str, str],
    column: KryoType | None,
    value: SingleValue | None = None,
    parts_of_2: tuple[Part, ...] | None = None,
) -> ClassRow:
    """The row of a class whose fields 2.24 writes."""
    return ClassRow((None, body), fields, True, column, value, parts_of_2=parts_of_2)


# Content of texts; the kernel has the same numbers.
MONTH, DAY_OF_YEAR, PERIOD = 16, 32, 64


def text_of(content: int, of_2: tuple[int, ...], of_5: tuple[int, ...]) -> SingleValue:
    """A text of a program, and the places of its parts; 2.24 has no program without one."""
    arguments = (content if of_2 else -1, content)
    return SingleValue("MOMENT_TEXT", (of_2, of_5), arguments)


_ROWS: dict[str, ClassRow] = {
    "Instant": time_row(
        time_body("Instant", seconds=MILLIS, nanos=VARINT),
        {"nanos": "int", "seconds": "long"},
        KryoType(
            precise_type("UTC"),
            lambda graph: times.to_precise(_nanos(graph), is_utc=True),
            lambda value: _seconds_and_nanos("Instant", times.from_timestamp(value, "ns")),
        ),
        SingleValue("SECONDS_AND_NANOS", _SECONDS_PLACES),
    ),
    "Duration": time_row(
        time_body("Duration", seconds=fixed("q"), nanos=VARINT),
        {"nanos": "int", "seconds": "long"},
        KryoType(
            pa.duration("ns"),
            _nanos,
            lambda value: _seconds_and_nanos("Duration", times.from_duration(value, "ns")),
            64,
        ),
        SingleValue("DURATION", _SECONDS_PLACES),
    ),
    "LocalDate": time_row(
        _LOCAL_DATE,
        {"day": "short", "month": "short", "year": "int"},
        KryoType(pa.date32(), _days, lambda value: _local_date(times.from_date(value)), 32),
        SingleValue("DATE", ((2, 1, 0), (0, 1, 2))),
    ),
    "LocalTime": time_row(
        LOCAL_TIME,
        {"hour": "byte", "minute": "byte", "nano": "int", "second": "byte"},
        KryoType(
            pa.time64("ns"), _nanos_of_day, lambda value: _local_time(times.from_time(value, "ns"))
        ),
        SingleValue("CLOCK", (CLOCK_PLACES, (3,))),
    ),
    "LocalDateTime": time_row(
        LOCAL_DATE_TIME,
        {"date": f"{PACKAGE}LocalDate", "time": f"{PACKAGE}LocalTime"},
        KryoType(precise_type(), _date_time, _local_date_time),
        SingleValue("DATE_AND_CLOCK", (DATE_TIME_PLACES, (0, 1, 2, 3))),
        DATE_TIME_PARTS_OF_2,
    ),
    "Year": time_row(
        time_body("Year", year=VARINT),
        {"year": "int"},
        KryoType(
            pa.int32(),
            lambda graph: graph.fields["year"],
            lambda value: time_object("Year", year=value),
        ),
        SingleValue("NUMBER"),
    ),
    "YearMonth": time_row(
        time_body("YearMonth", year=VARINT, month=BYTE),
        {"month": "int", "year": "int"},
        _date_fields("YearMonth", r"(?P<year>-?\d{3,9})-(?P<month>\d\d)", "{year:04}-{month:02}"),
        text_of(MONTH, (1, 0), (0, 1)),
    ),
    "MonthDay": time_row(
        time_body("MonthDay", month=BYTE, day=BYTE),
        {"day": "int", "month": "int"},
        _date_fields("MonthDay", r"--(?P<month>\d\d)-(?P<day>\d\d)", "--{month:02}-{day:02}"),
        text_of(DAY_OF_YEAR, (2, 1), (1, 2)),
    ),
    "Period": time_row(
        time_body("Period", years=VARINT, months=VARINT, days=VARINT),
        {"days": "int", "months": "int", "years": "int"},
        KryoType(pa.utf8(), _period_text, _period),
        text_of(PERIOD, (2, 1, 0), (0, 1, 2)),
    ),
}


def _date_row(name: str, column: KryoType | None = None) -> ClassRow:
    body = object_of(name, millis=MILLIS)
    value = None if column is None else SingleValue("NUMBER")
    return ClassRow((body, body), column=column, value=value)


def _read_timestamp_of_5(graph: KryoGraph) -> KryoObject:
    whole_seconds, nanos = graph.input.read_varlong(), graph.input.read_signed_varint()
    millis = whole_seconds + nanos // _NANOS_PER_MILLI
    return KryoObject(_SQL_TIMESTAMP, {"millis": millis, "nanos": nanos})


def _write_timestamp_of_5(value: Value, writer: KryoWriter) -> None:
    fields = plain(value).fields
    writer.output.write_varlong(fields["millis"] - fields["nanos"] // _NANOS_PER_MILLI)
    writer.output.write_varint(fields["nanos"])


def _sql_timestamp(graph: KryoObject) -> Value:
    count = graph.fields["millis"] // 1000 * NANOS_PER_SECOND + graph.fields["nanos"]
    return times.to_precise(count, is_utc=True)


def _sql_timestamp_of(value: Value) -> KryoObject:
    """The milliseconds have the first digits of the nanoseconds, too."""
    seconds, nanos = divmod(times.from_timestamp(value, "ns"), NANOS_PER_SECOND)
    millis = seconds * PER_SECOND["ms"] + nanos // _NANOS_PER_MILLI
    return KryoObject(_SQL_TIMESTAMP, {"millis": millis, "nanos": nanos})


_TIMESTAMP_OF_2 = object_of(_SQL_TIMESTAMP, millis=MILLIS, nanos=VARINT)

TIMES: dict[str, ClassRow] = {
    "java.util.Date": _date_row(
        "java.util.Date",
        KryoType(
            pa.timestamp("ms", "UTC"),
            lambda graph: times.to_timestamp(graph.fields["millis"], "ms", is_utc=True),
            lambda value: KryoObject(
                "java.util.Date", {"millis": times.from_timestamp(value, "ms")}
            ),
        ),
    ),
    "java.sql.Date": _date_row("java.sql.Date"),
    "java.sql.Time": _date_row("java.sql.Time"),
    _SQL_TIMESTAMP: ClassRow(
        (_TIMESTAMP_OF_2, Body(_read_timestamp_of_5, _write_timestamp_of_5, _TIMESTAMP_OF_2.parts)),
        column=KryoType(precise_type("UTC"), _sql_timestamp, _sql_timestamp_of),
        value=SingleValue("MILLIS_AND_NANOS", ((0, 1), (0, 1))),
    ),
    **{f"{PACKAGE}{name}": row for name, row in _ROWS.items()},
}
