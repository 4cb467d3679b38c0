"""Bodies of the JDK's single values in Kryo.

| class                                | 2.24                                | 5.6                 |
|--------------------------------------|-------------------------------------|---------------------|
| Integer, Long                        | zigzag                              | same                |
| Boolean, Byte; Short, Character,     | 1 byte; fixed                       | same                |
| Float, Double                        |                                     |                     |
| String, StringBuilder, URI, Currency | text                                | same                |
| BigInteger                           | varint size + 1, two's complement   | same                |
| BigDecimal                           | BigInteger unscaled, zigzag scale   | same                |
| Date, sql.Date, sql.Time             | varlong milliseconds                | same                |
| sql.Timestamp                        | varlong milliseconds, varint nanos  | ms of whole seconds |
| UUID                                 | zigzag high, zigzag low             | fixed               |
| Class                                | class, byte 1 if primitive          | the byte only for   |
|                                      |                                     | primitives, wrappers|
| Pattern                              | text                                | and varint flags    |
| Locale                               | Java serialization                  | three texts         |
| BitSet                               | varint words, fixed                 | same                |
| InetSocketAddress                    | text host, varint port              | same                |
| GregorianCalendar                    | text zone, varlong ms, bool, two varints, zigzag cutover  |
| java.time, Optional                  | fields, see ``kryo_classes``        | as below            |
| enum                                 | varint index + 1                    | same                |

The fields that ``KryoObject`` has for java.time are named as in 2.24, which writes them by name.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from savepoint_formats.values.kinds import unbounded
from savepoint_formats.values.kryo.classes import WRAPPERS
from savepoint_formats.values.kryo.objects import KryoObject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoClass
    from savepoint_formats.values.kryo.graph import KryoGraph

    Body = Callable[[KryoGraph], Value]

_LONG_MASK = (1 << 64) - 1
_OFFSET_OF_ANY_SECONDS = 127
_SECONDS_PER_QUARTER_HOUR = 900


def body_of(class_name: str, *, is_5: bool) -> Body | None:
    """The function that reads the body of a class, if it is one of this module."""
    own = _BODIES_OF_5 if is_5 else _BODIES_OF_2
    return own.get(class_name) or _BODIES.get(class_name)


def read_enum(enum_class: KryoClass, graph: KryoGraph) -> str | None:
    """The name of an enum's constant."""
    number = graph.input.read_varint()
    if number == 0:
        return None
    if number > len(enum_class.constants):
        raise graph.view.error(f"constant {number - 1} of {enum_class.class_name}")
    return enum_class.constants[number - 1]


def read_primitive(name: str, graph: KryoGraph) -> Value:
    """A value of a primitive type."""
    match name:
        case "int":
            return graph.input.read_int()
        case "long":
            return graph.input.read_long()
        case "boolean":
            return graph.view.read_bool()
        case "byte":
            return graph.view.read_byte()
        case "char":
            return chr(int(graph.input.read_fixed("H")))
        case _:
            return graph.input.read_fixed({"short": "h", "float": "f", "double": "d"}[name])


def _primitive(name: str) -> Body:
    return lambda graph: read_primitive(name, graph)


def _text(graph: KryoGraph) -> str | None:
    return graph.input.read_text()


def _nothing(graph: KryoGraph) -> None:
    del graph


def _object(class_name: str, **parts: Body) -> Body:
    """An object whose fields lie in this order."""
    return lambda graph: KryoObject(class_name, {name: part(graph) for name, part in parts.items()})


def _big_integer(graph: KryoGraph) -> int | None:
    size = graph.input.read_count()
    return None if size is None else unbounded.from_twos_complement(graph.view.read_bytes(size))


def _big_decimal(graph: KryoGraph) -> Value:
    unscaled = _big_integer(graph)
    return None if unscaled is None else unbounded.decimal(unscaled, graph.input.read_int())


def _millis(graph: KryoGraph) -> int:
    return graph.input.read_varlong()


def _varint(graph: KryoGraph) -> int:
    return graph.input.read_signed_varint()


def _byte(graph: KryoGraph) -> int:
    return graph.view.read_byte()


def _fixed(code: str) -> Body:
    return lambda graph: graph.input.read_fixed(code)


def _timestamp_of_5(graph: KryoGraph) -> KryoObject:
    whole_seconds, nanos = _millis(graph), _varint(graph)
    millis = whole_seconds + nanos // 1_000_000
    return KryoObject("java.sql.Timestamp", {"millis": millis, "nanos": nanos})


def _uuid_of_2(graph: KryoGraph) -> uuid.UUID:
    return _uuid(graph.input.read_long(), graph.input.read_long())


def _uuid_of_5(graph: KryoGraph) -> uuid.UUID:
    high, low = graph.input.read_fixed_array("q", 2)
    return _uuid(int(high), int(low))


def _uuid(high: int, low: int) -> uuid.UUID:
    return uuid.UUID(int=(high & _LONG_MASK) << 64 | low & _LONG_MASK)


def _class(graph: KryoGraph) -> KryoObject:
    class_name = graph.read_class()
    # A wrapper may stand for its primitive; only 2.24 also says so of classes that cannot.
    is_primitive = (class_name in WRAPPERS or not graph.is_5) and graph.view.read_bool()
    name = WRAPPERS.get(class_name or "", class_name) if is_primitive else class_name
    return KryoObject("java.lang.Class", {"name": name})


def _bit_set(graph: KryoGraph) -> KryoObject:
    count = graph.input.check_count(graph.input.read_varint(), 8)
    return KryoObject("java.util.BitSet", {"words": graph.input.read_fixed_array("q", count)})


# --- java.time in 5.6 -------------------------------------------------------------------------


def _local_time(graph: KryoGraph) -> KryoObject:
    """Hour, minute, second, nanos; the last that is not 0 is inverted, and ends them."""
    parts = [0, 0, 0, 0]
    for index in range(3):
        parts[index] = graph.view.read_byte()
        if parts[index] < 0:
            parts[index] = ~parts[index]
            break
    else:
        parts[3] = _varint(graph)
    names = ("hour", "minute", "second", "nano")
    return KryoObject("java.time.LocalTime", dict(zip(names, parts, strict=True)))


def _zone_offset(graph: KryoGraph) -> KryoObject:
    quarters = graph.view.read_byte()
    if quarters == _OFFSET_OF_ANY_SECONDS:
        seconds = graph.input.read_fixed("i")
    else:
        seconds = quarters * _SECONDS_PER_QUARTER_HOUR
    return KryoObject("java.time.ZoneOffset", {"totalSeconds": seconds})


def _optional(code: str) -> Body:
    def read(graph: KryoGraph) -> Value:
        is_present = graph.view.read_bool()
        return graph.input.read_fixed(code) if is_present else None

    return read


def _any(graph: KryoGraph) -> Value:
    return graph.read_class_and_object()


_local_date = _object("java.time.LocalDate", year=_varint, month=_byte, day=_byte)
_local_date_time = _object("java.time.LocalDateTime", date=_local_date, time=_local_time)

_TEXTS = (
    "java.lang.String",
    "java.lang.StringBuilder",
    "java.lang.StringBuffer",
    "java.util.Currency",
    "java.net.URI",
    "java.net.URL",
    "sun.util.calendar.ZoneInfo",
)
_DATES = ("java.util.Date", "java.sql.Date", "java.sql.Time")

_BODIES: Mapping[str, Body] = {
    **{wrapper: _primitive(name) for wrapper, name in WRAPPERS.items()},
    **dict.fromkeys(_TEXTS, _text),
    **{name: _object(name, millis=_millis) for name in _DATES},
    "java.lang.Void": _nothing,
    "java.lang.Class": _class,
    "java.math.BigInteger": _big_integer,
    "java.math.BigDecimal": _big_decimal,
    "java.util.BitSet": _bit_set,
    "java.net.InetSocketAddress": _object("java.net.InetSocketAddress", host=_text, port=_varint),
    "java.util.GregorianCalendar": _object(
        "java.util.GregorianCalendar",
        timeZone=_text,
        millis=_millis,
        lenient=_primitive("boolean"),
        firstDayOfWeek=_varint,
        minimalDaysInFirstWeek=_varint,
        gregorianCutover=_primitive("long"),
    ),
}

_BODIES_OF_2: Mapping[str, Body] = {
    "java.sql.Timestamp": _object("java.sql.Timestamp", millis=_millis, nanos=_varint),
    "java.util.UUID": _uuid_of_2,
    "java.util.regex.Pattern": _object("java.util.regex.Pattern", pattern=_text),
    "scala.runtime.BoxedUnit": _nothing,
    "scala.Symbol": _text,
    "scala.util.matching.Regex": _text,
}

_BODIES_OF_5: Mapping[str, Body] = {
    "java.sql.Timestamp": _timestamp_of_5,
    "java.util.UUID": _uuid_of_5,
    "java.util.regex.Pattern": _object("java.util.regex.Pattern", pattern=_text, flags=_varint),
    "java.util.Locale": _object("java.util.Locale", language=_text, country=_text, variant=_text),
    "java.util.Optional": _object("java.util.Optional", value=_any),
    "java.util.OptionalInt": _object("java.util.OptionalInt", value=_optional("i")),
    "java.util.OptionalLong": _object("java.util.OptionalLong", value=_optional("q")),
    "java.util.OptionalDouble": _object("java.util.OptionalDouble", value=_optional("d")),
    "java.time.Duration": _object("java.time.Duration", seconds=_fixed("q"), nanos=_varint),
    "java.time.Instant": _object("java.time.Instant", seconds=_millis, nanos=_varint),
    "java.time.LocalDate": _local_date,
    "java.time.LocalTime": _local_time,
    "java.time.LocalDateTime": _local_date_time,
    "java.time.ZoneOffset": _zone_offset,
    "java.time.ZoneRegion": _object("java.time.ZoneRegion", id=_text),
    "java.time.OffsetDateTime": _object(
        "java.time.OffsetDateTime", dateTime=_local_date_time, offset=_zone_offset
    ),
    "java.time.OffsetTime": _object("java.time.OffsetTime", time=_local_time, offset=_zone_offset),
    "java.time.ZonedDateTime": _object(
        "java.time.ZonedDateTime", dateTime=_local_date_time, zone=_text
    ),
    "java.time.Year": _object("java.time.Year", year=_varint),
    "java.time.YearMonth": _object("java.time.YearMonth", year=_varint, month=_byte),
    "java.time.MonthDay": _object("java.time.MonthDay", month=_byte, day=_byte),
    "java.time.Period": _object("java.time.Period", years=_varint, months=_varint, days=_varint),
}
