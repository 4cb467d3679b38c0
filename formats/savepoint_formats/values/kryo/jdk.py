"""Rows of the JDK's numbers, texts and other single values, and of classes written by their fields.

| class                                | 2.24                                | 5.6                 |
|--------------------------------------|-------------------------------------|---------------------|
| Integer, Long                        | zigzag                              | same                |
| Boolean, Byte; Short, Character,     | 1 byte; fixed                       | same                |
| Float, Double                        |                                     |                     |
| String, StringBuilder, URI, Currency | text                                | same                |
| BigInteger                           | varint size + 1, two's complement   | same                |
| BigDecimal                           | BigInteger unscaled, zigzag scale   | same                |
| UUID                                 | zigzag high, zigzag low             | fixed               |
| Class                                | class, byte 1 if primitive          | the byte only for   |
|                                      |                                     | primitives, wrappers|
| Pattern                              | text                                | and varint flags    |
| Locale                               | Java serialization                  | three texts         |
| BitSet                               | varint words, fixed                 | same                |
| InetSocketAddress                    | text host, varint port              | same                |
| GregorianCalendar                    | text zone, varlong ms, bool, two varints, zigzag cutover  |
| Optional                             | its field                           | class and object    |
| OptionalInt, -Long, -Double          | fields isPresent, value             | bool, fixed value   |
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

import pyarrow as pa

from savepoint_formats.values.kinds import unbounded
from savepoint_formats.values.kryo.body import (
    ANY,
    MILLIS,
    NOTHING,
    PRIMITIVES,
    TEXT,
    VARINT,
    Body,
    Part,
    Shown,
    SingleValue,
    object_front,
    object_of,
)
from savepoint_formats.values.kryo.classes import BOXED, WRAPPERS
from savepoint_formats.values.kryo.objects import KryoObject, plain
from savepoint_formats.values.kryo.types import ClassRow, KryoType, of_kind

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

_OBJECT = "java.lang.Object"
_PATTERN = "java.util.regex.Pattern"
_CHARACTERS = 1 << 16
_PRIMITIVE_CLASSES = {**WRAPPERS, "java.lang.Void": "void"}
_WRAPPER_CLASSES = {**BOXED, "void": "java.lang.Void"}


def _same(value: Value) -> Value:
    return value


# --- numbers ----------------------------------------------------------------------------------


def _single(
    body: Body, column: KryoType, instruction: str = "NUMBER", *, is_final: bool = True
) -> ClassRow:
    return ClassRow((body, body), None, is_final, column, SingleValue(instruction))


def _wrapper(primitive: str, arrow_type: pa.DataType, kind: type, bits: int = 0) -> ClassRow:
    column = KryoType(arrow_type, of_kind(kind), _same, bits)
    instruction = "STRICT_BOOLEAN" if primitive == "boolean" else "NUMBER"
    return _single(PRIMITIVES[primitive], column, instruction)


def _character(value: Value) -> str:
    if len(value) != 1 or ord(value) >= _CHARACTERS:
        raise ValueError(f"{value!r} is no character of Java")
    return str(value)


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
    unscaled, scale = (None, 0) if number is None else unbounded.unscaled_and_scale(number)
    _write_big_integer(unscaled, writer)
    if unscaled is not None:
        writer.output.write_int(scale)


def _optional(kind: str, arrow_type: pa.DataType, kinds: tuple[Part, Part]) -> ClassRow:
    """A row of an optional primitive; only 2.24 says in a field whether there is a value."""
    class_name, primitive = f"java.util.Optional{kind}", kind.lower()
    code = {"Int": "i", "Long": "q", "Double": "d"}[kind]
    part = Part.OPTIONAL_INT if kind == "Int" else Part.OPTIONAL_LONG
    in_json = Part[f"OPTIONAL_{kind.upper()}"]
    shown = Shown(((f'{object_front(class_name)}, "value": ', in_json),), "}")
    of_2 = object_of(class_name, isPresent=PRIMITIVES["boolean"], value=PRIMITIVES[primitive])

    def write_of_2(value: Value, writer: KryoWriter) -> None:
        fields = plain(value).fields
        number = fields["value"]
        is_present = fields.get("isPresent", number is not None)
        absent = math.nan if kind == "Double" else 0
        whole = {"isPresent": is_present, "value": absent if number is None else number}
        of_2.write(KryoObject(class_name, whole), writer)

    def read(graph: KryoGraph) -> KryoObject:
        is_present = graph.view.read_bool()
        return KryoObject(
            class_name, {"value": graph.input.read_fixed(code) if is_present else None}
        )

    def write(value: Value, writer: KryoWriter) -> None:
        fields = plain(value).fields
        is_present = fields.get("isPresent", fields["value"] is not None)
        writer.view.write_bool(is_present)
        if is_present:
            writer.output.write_fixed(code, fields["value"])

    column = KryoType(
        arrow_type,
        lambda graph: graph.fields["value"] if graph.fields.get("isPresent", True) else None,
        lambda value: KryoObject(class_name, {"isPresent": True, "value": value}),
    )
    return ClassRow(
        (replace(of_2, write=write_of_2), Body(read, write, (part,), shown)),
        None,
        True,
        column,
        SingleValue("OPTIONAL", arguments=kinds),
    )


# --- texts ------------------------------------------------------------------------------------


def _text(class_name: str, pattern: str) -> ClassRow:
    """A row of a class whose objects are texts that match a pattern."""

    def content(value: Value) -> str:
        if re.fullmatch(pattern, value) is None:
            raise ValueError(f"{value!r} is no {class_name}")
        return str(value)

    return _single(TEXT, KryoType(pa.utf8(), of_kind(str), content), "ASCII_TEXT")


def _read_uuid_of_2(graph: KryoGraph) -> UUID:
    return UUID(bytes=struct.pack(">2q", graph.input.read_long(), graph.input.read_long()))


def _write_uuid_of_2(value: Value, writer: KryoWriter) -> None:
    for half in struct.unpack(">2q", plain(value).bytes):
        writer.output.write_long(half)


def _read_uuid_of_5(graph: KryoGraph) -> UUID:
    return UUID(bytes=struct.pack(">2q", *graph.input.read_fixed_array("q", 2)))


def _write_uuid_of_5(value: Value, writer: KryoWriter) -> None:
    writer.output.write_fixed_array("q", struct.unpack(">2q", plain(value).bytes))


def _uuid_of_text(value: Value) -> UUID:
    parsed = UUID(value)
    if str(parsed) != value.lower():
        raise ValueError(f"{value!r} is no UUID such as {parsed}")
    return parsed


_BUILDER = ClassRow(
    (
        Body(
            TEXT.read,
            lambda value, writer: writer.output.write_units(plain(value)),
            TEXT.parts,
            TEXT.shown,
        ),
        TEXT,
    ),
    is_final=True,
)


# --- others -----------------------------------------------------------------------------------


def _read_class(graph: KryoGraph) -> KryoObject:
    class_name = graph.read_class()
    # A wrapper may stand for its primitive; only 2.24 also says so of classes that cannot.
    is_said = class_name in (*_PRIMITIVE_CLASSES, "void") or not graph.is_5
    is_primitive = is_said and graph.view.read_bool()
    name = _PRIMITIVE_CLASSES.get(class_name or "", class_name) if is_primitive else class_name
    return KryoObject("java.lang.Class", {"name": name})


def _write_class(value: Value, writer: KryoWriter) -> None:
    name = plain(value).fields["name"]
    is_primitive = name in _PRIMITIVE_CLASSES.values()
    # Kryo 5 has no number for void, and writes its name.
    is_by_name = name == "void" and writer.is_5
    class_name = name if is_by_name else _WRAPPER_CLASSES.get(name, name)
    writer.write_class(class_name)
    if is_primitive or class_name in _PRIMITIVE_CLASSES or not writer.is_5:
        writer.view.write_bool(is_primitive)


def _read_bit_set(graph: KryoGraph) -> KryoObject:
    count = graph.input.check_count(graph.input.read_varint(), 8)
    return KryoObject("java.util.BitSet", {"words": graph.input.read_fixed_array("q", count)})


def _write_bit_set(value: Value, writer: KryoWriter) -> None:
    words = plain(value).fields["words"]
    writer.output.write_varint(len(words))
    writer.output.write_fixed_array("q", words)


def _write_locale(value: Value, writer: KryoWriter) -> None:
    fields = plain(value).fields
    if fields.get("script") or fields.get("extensions"):
        raise ValueError("a Locale with a script or extensions, which Kryo 5 does not store")
    _LOCALE.write(value, writer)


def _write_pattern_of_5(value: Value, writer: KryoWriter) -> None:
    # 2.24 forgets the flags.
    fields = {"flags": 0, **plain(value).fields}
    _PATTERN_OF_5.write(KryoObject(_PATTERN, fields), writer)


def _both(body: Body, *, is_final: bool = False) -> ClassRow:
    return ClassRow((body, body), is_final=is_final)


_SHOWN_UUID = Shown((("", Part.UUID),))
_LOCALE = object_of("java.util.Locale", language=TEXT, country=TEXT, variant=TEXT)
_PATTERN_OF_5 = object_of(_PATTERN, pattern=TEXT, flags=VARINT)

JDK_CLASSES: dict[str, ClassRow] = {
    # --- numbers
    "java.lang.Boolean": _wrapper("boolean", pa.bool_(), bool),
    "java.lang.Byte": _wrapper("byte", pa.int8(), int, 8),
    "java.lang.Short": _wrapper("short", pa.int16(), int, 16),
    "java.lang.Character": _single(
        PRIMITIVES["char"], KryoType(pa.utf8(), of_kind(str), _character), "UNIT"
    ),
    "java.lang.Integer": _wrapper("int", pa.int32(), int, 32),
    "java.lang.Long": _wrapper("long", pa.int64(), int, 64),
    "java.lang.Float": _wrapper("float", pa.float32(), float),
    "java.lang.Double": _wrapper("double", pa.float64(), float),
    "java.math.BigInteger": _single(
        Body(_read_big_integer, _write_big_integer, (Part.COUNTED,), Shown((("", Part.COUNTED),))),
        KryoType(
            pa.utf8(),
            lambda graph: unbounded.integer_text(of_kind(int)(graph)),
            unbounded.from_integer_text,
        ),
        "WHOLE_NUMBER",
        is_final=False,
    ),
    "java.math.BigDecimal": _single(
        Body(_read_big_decimal, _write_big_decimal, (Part.SCALED,), Shown((("", Part.SCALED),))),
        KryoType(
            pa.utf8(),
            lambda graph: str(of_kind(Decimal)(graph)),
            lambda value: unbounded.decimal(*unbounded.unscaled_and_scale(value)),
        ),
        "EXACT_NUMBER",
        is_final=False,
    ),
    "java.util.OptionalInt": _optional("Int", pa.int32(), (Part.ZIGZAG, Part.INT)),
    "java.util.OptionalLong": _optional("Long", pa.int64(), (Part.LONG_ZIGZAG, Part.LONG)),
    "java.util.OptionalDouble": _optional("Double", pa.float64(), (Part.LONG, Part.LONG)),
    # --- texts
    "java.lang.String": _single(TEXT, KryoType(pa.utf8(), of_kind(str), _same), "ASCII_TEXT"),
    "java.net.URI": _text("java.net.URI", r"[^\s<>\"{}|\\^`]*"),
    "java.util.Currency": _text("java.util.Currency", "[A-Z]{3}"),
    "java.lang.StringBuilder": _BUILDER,
    "java.lang.StringBuffer": _BUILDER,
    "sun.util.calendar.ZoneInfo": _both(TEXT),
    "java.util.UUID": ClassRow(
        (
            Body(_read_uuid_of_2, _write_uuid_of_2, (Part.LONG_ZIGZAG,) * 2, _SHOWN_UUID),
            Body(_read_uuid_of_5, _write_uuid_of_5, (Part.LONG,) * 2, _SHOWN_UUID),
        ),
        None,
        True,
        KryoType(pa.utf8(), lambda graph: str(of_kind(UUID)(graph)), _uuid_of_text),
        SingleValue("UUID", ((0, 1), (0, 1))),
    ),
    # --- others
    "java.util.Optional": ClassRow(
        (None, object_of("java.util.Optional", value=ANY)), {"value": _OBJECT}, True
    ),
    "java.lang.Void": _both(NOTHING, is_final=True),
    "java.lang.Class": _both(Body(_read_class, _write_class), is_final=True),
    "java.util.BitSet": _both(
        Body(
            _read_bit_set,
            _write_bit_set,
            (Part.WORDS,),
            Shown(((f'{object_front("java.util.BitSet")}, "words": ', Part.WORDS),), "}"),
        )
    ),
    "java.net.InetSocketAddress": _both(
        object_of("java.net.InetSocketAddress", host=TEXT, port=VARINT)
    ),
    "java.util.GregorianCalendar": _both(
        object_of(
            "java.util.GregorianCalendar",
            timeZone=TEXT,
            millis=MILLIS,
            lenient=PRIMITIVES["boolean"],
            firstDayOfWeek=VARINT,
            minimalDaysInFirstWeek=VARINT,
            gregorianCutover=PRIMITIVES["long"],
        )
    ),
    _PATTERN: ClassRow(
        (object_of(_PATTERN, pattern=TEXT), replace(_PATTERN_OF_5, write=_write_pattern_of_5)),
        is_final=True,
    ),
    "java.util.Locale": ClassRow(
        (None, replace(_LOCALE, write=_write_locale)), is_final=True, is_java=True
    ),
    "java.text.SimpleDateFormat": ClassRow(is_java=True),
    # --- classes whose fields both versions write
    "java.util.concurrent.atomic.AtomicInteger": ClassRow(fields={"value": "int"}),
    "java.util.concurrent.atomic.AtomicLong": ClassRow(fields={"value": "long"}),
    "java.util.AbstractMap$SimpleEntry": ClassRow(fields={"key": _OBJECT, "value": _OBJECT}),
    "java.util.Collections$ReverseComparator": ClassRow(fields={}),
    "org.apache.flink.streaming.connectors.kafka.internals.KafkaTopicPartition": ClassRow(
        fields={"cachedHash": "int", "partition": "int", "topic": "java.lang.String"}
    ),
    **{
        f"org.apache.flink.api.java.tuple.Tuple{size}": ClassRow(
            fields={f"f{index}": _OBJECT for index in range(size)}
        )
        for size in range(26)
    },
}
