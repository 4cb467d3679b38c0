"""The classes of the JDK that Kryo writes and that have an Arrow type of their own.

They are final, so that a value declared as one of them is nothing else, and can always be read.

| class                                          | Arrow                                       |
|------------------------------------------------|---------------------------------------------|
| Boolean, Byte, Short, Integer, Long            | bool, int8, int16, int32, int64             |
| Float, Double                                  | float, double                               |
| Character, String, UUID, URI, URL, Currency    | utf8                                        |
| Instant, LocalDateTime                         | a precise time of UTC, and of none          |
| LocalDate, LocalTime                           | date32, time64[ns]                          |
| Duration                                       | duration[ns]                                |
| Year                                           | int32                                       |
| YearMonth, MonthDay, Period, ZoneOffset,       | utf8, as their ``toString`` writes them     |
| OffsetTime, OffsetDateTime                     |                                             |
| ZonedDateTime                                  | utf8, ``2020-01-30T11:16:00[Europe/Berlin]``|
| OptionalInt, OptionalLong, OptionalDouble      | int32, int64, double                        |
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

import pyarrow as pa

from savepoint_formats.errors import FormatError, UndecodableError, ValueOutOfRangeError
from savepoint_formats.values.kinds import times, unbounded
from savepoint_formats.values.kinds.precise_times import precise_type
from savepoint_formats.values.kinds.times import NANOS_PER_DAY, NANOS_PER_SECOND
from savepoint_formats.values.kryo import contents
from savepoint_formats.values.kryo.classes import WRAPPERS
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject
from savepoint_formats.values.kryo.times import offset_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.values.kinds.codec import Value


_MOST_SHOWN = 100
_PRIMITIVES = frozenset(WRAPPERS.values())
NEVER_NULL_CLASSES = frozenset(
    f"java.util.Optional{kind}" for kind in ("", "Int", "Long", "Double")
)

WRITTEN_CLASSES = {
    "java.lang.Iterable": "java.util.ArrayList",
    "java.util.Collection": "java.util.ArrayList",
    "java.util.List": "java.util.ArrayList",
    "java.util.Set": "java.util.HashSet",
    "java.util.Queue": "java.util.LinkedList",
    "java.util.Deque": "java.util.LinkedList",
    "java.util.Map": "java.util.HashMap",
    "java.util.concurrent.ConcurrentMap": "java.util.concurrent.ConcurrentHashMap",
}
"""Interface -> the class whose objects are written where it is declared."""


@dataclass(frozen=True, slots=True)
class KryoType:
    """The Arrow type of a class, and the value of its objects.

    Attributes:
        arrow_type: The type.
        convert: The value of an object as ``read_kryo`` gives it.
        content: The mirror: what an object of this value has in it, as ``write_nodes`` takes it.
        bits: Of the integer that Arrow keeps, if the value has to be checked against it.
        is_open: Whether objects of any class are at home in it.
    """

    arrow_type: pa.DataType
    convert: Callable[[Value], Value]
    content: Callable[[Value], Value]
    bits: int = 0
    is_open: bool = False

    def value(self, class_name: str, graph: Value, start: int, view: DataInputView) -> Value:
        """The value of an object, or null.

        Raises:
            UndecodableError: It is none of the class, or too large for the type.
        """
        try:
            return self.converted(class_name, graph)
        except UnfitError as error:
            view.position = start
            raise view.error(str(error), error.kind) from error

    def converted(self, class_name: str, graph: Value) -> Value:
        """The value of an object, or null.

        Raises:
            UnfitError: It is none of the class, or too large for the type.
        """
        if graph is None:
            return None
        try:
            is_object = isinstance(graph, KryoObject)
            if is_object and not self.is_open and graph.class_name != class_name:
                raise TypeError(graph.class_name)
            value = self.convert(graph)
            if self.bits and not -1 << self.bits - 1 <= value < 1 << self.bits - 1:
                raise UnfitError(f"{_shown(graph)}, beyond its column", ValueOutOfRangeError)
            if isinstance(value, str):
                value.encode()  # half a surrogate pair is legal in Java, but not in UTF-8
            return times.to_date(value) if self.arrow_type == pa.date32() else value
        except UnfitError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UnfitError(f"{_shown(graph)} where a {class_name} is expected") from error

    def node(self, class_name: str, value: Value) -> Value:
        """The mirror of ``converted``: a node, or a value of a primitive type.

        Raises:
            ValueError: The class has no object of this value.
        """
        if class_name in _PRIMITIVES:
            if value is None:
                raise ValueError(f"null where a {class_name} is expected")
            return self.content(value)
        if value is None and class_name not in NEVER_NULL_CLASSES:
            return None
        if value is None:
            raise ValueError(f"null, which may be an empty {class_name}, or none at all")
        return KryoNode(WRITTEN_CLASSES.get(class_name, class_name), self.content(value))


class UnfitError(ValueError):
    """An object is none of its column.

    Attributes:
        kind: What it is to who knows where its bytes lie.
    """

    def __init__(self, message: str, kind: type[FormatError] = UndecodableError) -> None:
        super().__init__(message)
        self.kind = kind


def _shown(graph: Value) -> str:
    text = f"a {graph.class_name}" if isinstance(graph, KryoObject) else repr(graph)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _of(kind: type) -> Callable[[Value], Value]:
    def check(value: Value) -> Value:
        if type(value) is not kind:
            raise TypeError(value)
        return value

    return check


def _days(graph: KryoObject) -> int:
    return times.days_from_date(graph.fields["year"], graph.fields["month"], graph.fields["day"])


def _nanos_of_day(graph: KryoObject) -> int:
    fields = graph.fields
    seconds = fields["hour"] * 3_600 + fields["minute"] * 60 + fields["second"]
    return int(seconds * NANOS_PER_SECOND + fields["nano"])


def _nanos(graph: KryoObject) -> int:
    return int(graph.fields["seconds"] * NANOS_PER_SECOND + graph.fields["nanos"])


def _instant(graph: KryoObject) -> Value:
    return times.to_precise(_nanos(graph), is_utc=True)


def _date_time(graph: KryoObject) -> Value:
    days, nanos_of_day = _days(graph.fields["date"]), _nanos_of_day(graph.fields["time"])
    return times.to_precise(days * NANOS_PER_DAY + nanos_of_day)


def _field(name: str) -> Callable[[KryoObject], Value]:
    return lambda graph: graph.fields[name]


def _date_text(graph: KryoObject) -> str:
    return "{year:04}-{month:02}-{day:02}".format_map(graph.fields)


def _time_text(graph: KryoObject) -> str:
    text = "{hour:02}:{minute:02}:{second:02}".format_map(graph.fields)
    nano = graph.fields["nano"]
    return f"{text}.{nano:09}" if nano else text


def _date_time_text(graph: KryoObject) -> str:
    return f"{_date_text(graph.fields['date'])}T{_time_text(graph.fields['time'])}"


def _offset_text(graph: KryoObject) -> str:
    return offset_text(graph.fields["totalSeconds"])


def _offset_time_text(graph: KryoObject) -> str:
    return _time_text(graph.fields["time"]) + _offset_text(graph.fields["offset"])


def _offset_date_time_text(graph: KryoObject) -> str:
    return _date_time_text(graph.fields["dateTime"]) + _offset_text(graph.fields["offset"])


def _zoned_text(graph: KryoObject) -> str:
    zone = graph.fields["zone"]
    if not isinstance(zone, str):
        zone = zone.fields["id"] if "id" in zone.fields else _offset_text(zone)
    offset = graph.fields.get("offset")
    text = _date_time_text(graph.fields["dateTime"])
    return f"{text}{_offset_text(offset) if offset else ''}[{zone}]"


def _period_text(graph: KryoObject) -> str:
    parts = (("years", "Y"), ("months", "M"), ("days", "D"))
    text = "".join(f"{graph.fields[name]}{sign}" for name, sign in parts if graph.fields[name])
    return f"P{text or '0D'}"


def _optional(graph: KryoObject) -> Value:
    return graph.fields["value"] if graph.fields.get("isPresent", True) else None


def _millis(graph: KryoObject) -> Value:
    return times.to_timestamp(graph.fields["millis"], "ms", is_utc=True)


def _sql_timestamp(graph: KryoObject) -> Value:
    count = graph.fields["millis"] // 1000 * NANOS_PER_SECOND + graph.fields["nanos"]
    return times.to_precise(count, is_utc=True)


def _plain(data_type: pa.DataType, kind: type, bits: int = 0) -> KryoType:
    return KryoType(data_type, _of(kind), contents.same, bits)


def text_like(class_name: str) -> KryoType:
    """The column of a class whose objects are texts of some form."""
    return KryoType(pa.utf8(), _of(str), contents.text_like(class_name))


def _text(convert: Callable[[KryoObject], str], content: Callable[[Value], Value]) -> KryoType:
    return KryoType(pa.utf8(), convert, content)


BOOLEAN = _plain(pa.bool_(), bool)
BYTE = _plain(pa.int8(), int, 8)
SHORT = _plain(pa.int16(), int, 16)
INTEGER = _plain(pa.int32(), int, 32)
LONG = _plain(pa.int64(), int, 64)
FLOAT = _plain(pa.float32(), float)
DOUBLE = _plain(pa.float64(), float)
CHARACTER = KryoType(pa.utf8(), _of(str), contents.character)
STRING = _plain(pa.utf8(), str)
UUID_TEXT = KryoType(pa.utf8(), lambda graph: str(_of(UUID)(graph)), contents.uuid)
BIG_INTEGER = KryoType(
    pa.utf8(), lambda graph: unbounded.integer_text(_of(int)(graph)), contents.big_integer
)
BIG_DECIMAL = KryoType(pa.utf8(), lambda graph: str(_of(Decimal)(graph)), contents.big_decimal)
DATE = KryoType(pa.timestamp("ms", "UTC"), _millis, contents.date("java.util.Date"))
SQL_TIMESTAMP = KryoType(precise_type("UTC"), _sql_timestamp, contents.sql_timestamp)
INSTANT = KryoType(precise_type("UTC"), _instant, contents.instant)
LOCAL_DATE_TIME = KryoType(precise_type(), _date_time, contents.local_date_time)
LOCAL_DATE = KryoType(pa.date32(), _days, contents.local_date, 32)
LOCAL_TIME = KryoType(pa.time64("ns"), _nanos_of_day, contents.local_time)
DURATION = KryoType(pa.duration("ns"), _nanos, contents.duration, 64)
YEAR = KryoType(pa.int32(), _field("year"), contents.year)
YEAR_MONTH = _text(
    lambda graph: "{year:04}-{month:02}".format_map(graph.fields), contents.year_month
)
MONTH_DAY = _text(
    lambda graph: "--{month:02}-{day:02}".format_map(graph.fields), contents.month_day
)
PERIOD = _text(_period_text, contents.period)
ZONE_OFFSET = _text(_offset_text, contents.zone_offset)
OFFSET_TIME = _text(_offset_time_text, contents.offset_time)
OFFSET_DATE_TIME = _text(_offset_date_time_text, contents.offset_date_time)
ZONED_DATE_TIME = _text(_zoned_text, contents.zoned_date_time)
OPTIONALS = {
    kind: KryoType(data_type, _optional, contents.optional(f"java.util.Optional{kind}"))
    for kind, data_type in (("Int", pa.int32()), ("Long", pa.int64()), ("Double", pa.float64()))
}
