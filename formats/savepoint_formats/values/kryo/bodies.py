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
| java.time, Optional                  | fields, see ``classes``             | see ``times``       |
| enum                                 | varint index + 1                    | same                |
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from savepoint_formats.values.kinds import unbounded
from savepoint_formats.values.kryo.body import (
    MILLIS,
    TEXT,
    VARINT,
    Body,
    object_of,
    primitive,
)
from savepoint_formats.values.kryo.classes import WRAPPERS
from savepoint_formats.values.kryo.objects import KryoObject, plain

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoClass
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

_LONG_MASK = (1 << 64) - 1
_NANOS_PER_MILLI = 1_000_000


def read_enum(enum_class: KryoClass, graph: KryoGraph) -> str | None:
    """The name of an enum's constant."""
    number = graph.input.read_varint()
    if number == 0:
        return None
    if number > len(enum_class.constants):
        raise graph.view.error(f"constant {number - 1} of {enum_class.class_name}")
    return enum_class.constants[number - 1]


def write_enum(enum_class: KryoClass, value: Value, writer: KryoWriter) -> None:
    """Writes an enum's constant by its name."""
    number = 0 if value is None else enum_class.constants.index(value) + 1
    writer.output.write_varint(number)


def _read_big_integer(graph: KryoGraph) -> int | None:
    size = graph.input.read_count()
    return None if size is None else unbounded.from_twos_complement(graph.view.read_bytes(size))


def _write_big_integer(value: Value, writer: KryoWriter) -> None:
    number = plain(value)
    if number is None:
        writer.output.write_varint(0)
        return
    data = unbounded.twos_complement(number)
    writer.output.write_varint(len(data) + 1)
    writer.view.write_bytes(data)


def _read_big_decimal(graph: KryoGraph) -> Value:
    unscaled = _read_big_integer(graph)
    return None if unscaled is None else unbounded.decimal(unscaled, graph.input.read_int())


def _write_big_decimal(value: Value, writer: KryoWriter) -> None:
    number = plain(value)
    if number is None:
        writer.output.write_varint(0)
        return
    unscaled, scale = unbounded.unscaled_and_scale(number)
    _write_big_integer(unscaled, writer)
    writer.output.write_int(scale)


def _read_timestamp_of_5(graph: KryoGraph) -> KryoObject:
    whole_seconds, nanos = graph.input.read_varlong(), graph.input.read_signed_varint()
    millis = whole_seconds + nanos // _NANOS_PER_MILLI
    return KryoObject("java.sql.Timestamp", {"millis": millis, "nanos": nanos})


def _write_timestamp_of_5(value: Value, writer: KryoWriter) -> None:
    fields = plain(value).fields
    writer.output.write_varlong(fields["millis"] - fields["nanos"] // _NANOS_PER_MILLI)
    writer.output.write_varint(fields["nanos"])


def _read_uuid_of_2(graph: KryoGraph) -> uuid.UUID:
    return _uuid(graph.input.read_long(), graph.input.read_long())


def _read_uuid_of_5(graph: KryoGraph) -> uuid.UUID:
    high, low = graph.input.read_fixed_array("q", 2)
    return _uuid(int(high), int(low))


def _uuid(high: int, low: int) -> uuid.UUID:
    return uuid.UUID(int=(high & _LONG_MASK) << 64 | low & _LONG_MASK)


def _write_uuid_of_2(value: Value, writer: KryoWriter) -> None:
    for half in _halves(plain(value)):
        writer.output.write_long(half)


def _write_uuid_of_5(value: Value, writer: KryoWriter) -> None:
    writer.output.write_fixed_array("q", _halves(plain(value)))


def _halves(value: uuid.UUID) -> tuple[int, int]:
    """The longs of a UUID, most significant first."""
    high, low = value.int >> 64, value.int & _LONG_MASK
    return _signed(high), _signed(low)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _read_class(graph: KryoGraph) -> KryoObject:
    class_name = graph.read_class()
    # A wrapper may stand for its primitive; only 2.24 also says so of classes that cannot.
    is_primitive = (class_name in WRAPPERS or not graph.is_5) and graph.view.read_bool()
    name = WRAPPERS.get(class_name or "", class_name) if is_primitive else class_name
    return KryoObject("java.lang.Class", {"name": name})


def _write_class(value: Value, writer: KryoWriter) -> None:
    name = plain(value).fields["name"]
    class_name = _WRAPPER_OF.get(name, name)
    writer.write_class(class_name)
    if class_name in WRAPPERS or not writer.is_5:
        writer.view.write_bool(name in _WRAPPER_OF)


def _read_bit_set(graph: KryoGraph) -> KryoObject:
    count = graph.input.check_count(graph.input.read_varint(), 8)
    return KryoObject("java.util.BitSet", {"words": graph.input.read_fixed_array("q", count)})


def _write_bit_set(value: Value, writer: KryoWriter) -> None:
    words = plain(value).fields["words"]
    writer.output.write_varint(len(words))
    writer.output.write_fixed_array("q", words)


def _write_builder_of_2(value: Value, writer: KryoWriter) -> None:
    writer.output.write_units(plain(value))


def _write_locale(value: Value, writer: KryoWriter) -> None:
    fields = plain(value).fields
    if fields.get("script") or fields.get("extensions"):
        raise ValueError("a Locale with a script or extensions, which Kryo 5 forgets")
    _LOCALE.write(value, writer)


def _write_pattern_of_5(value: Value, writer: KryoWriter) -> None:
    # 2.24 forgets the flags.
    fields = {"flags": 0, **plain(value).fields}
    _PATTERN_OF_5.write(KryoObject(_PATTERN, fields), writer)


_WRAPPER_OF = {primitive_name: wrapper for wrapper, primitive_name in WRAPPERS.items()}
_PATTERN = "java.util.regex.Pattern"
_LOCALE = object_of("java.util.Locale", language=TEXT, country=TEXT, variant=TEXT)
_PATTERN_OF_5 = object_of(_PATTERN, pattern=TEXT, flags=VARINT)

BIG_INTEGER = Body(_read_big_integer, _write_big_integer)
BIG_DECIMAL = Body(_read_big_decimal, _write_big_decimal)
BIT_SET = Body(_read_bit_set, _write_bit_set)
BUILDER_OF_2 = Body(TEXT.read, _write_builder_of_2)
CALENDAR = object_of(
    "java.util.GregorianCalendar",
    timeZone=TEXT,
    millis=MILLIS,
    lenient=primitive("boolean"),
    firstDayOfWeek=VARINT,
    minimalDaysInFirstWeek=VARINT,
    gregorianCutover=primitive("long"),
)
CLASS = Body(_read_class, _write_class)
LOCALE_OF_5 = Body(_LOCALE.read, _write_locale)
PATTERN_OF_2 = object_of(_PATTERN, pattern=TEXT)
PATTERN_OF_5 = Body(_PATTERN_OF_5.read, _write_pattern_of_5)
TIMESTAMP_OF_2 = object_of("java.sql.Timestamp", millis=MILLIS, nanos=VARINT)
TIMESTAMP_OF_5 = Body(_read_timestamp_of_5, _write_timestamp_of_5)
UUID_OF_2 = Body(_read_uuid_of_2, _write_uuid_of_2)
UUID_OF_5 = Body(_read_uuid_of_5, _write_uuid_of_5)
