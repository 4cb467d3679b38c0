"""Bodies of classes: how an object is read and written, and of which parts it consists.

| part                     | bytes                                                             |
|--------------------------|-------------------------------------------------------------------|
| BYTE, SHORT, INT, LONG   | fixed numbers                                                     |
| VARINT, VARLONG          | an i32, an i64 as their unsigned bits                             |
| ZIGZAG, LONG_ZIGZAG      | the same, with the sign in the lowest bit                         |
| TEXT                     | a text, or null                                                   |
| FLAG                     | a byte of 0 or 1                                                  |
| COUNTED                  | varint of a count + 1, 0 is null; bytes                           |
| SCALED                   | as COUNTED; a zigzag behind it unless it is null                  |
| WORDS                    | varint of a count; longs                                          |
| CLOCK                    | a time of day without its last zeros                              |
| OFFSET                   | quarters of an hour, or 127 and seconds                           |
| OPTIONAL_INT, _LONG      | a flag; 4 or 8 bytes if it is set                                 |
| NEW                      | the mark of an object that is new                                 |
"""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from savepoint_formats.values.kryo.input import KryoInput
from savepoint_formats.values.kryo.objects import KryoObject, plain
from savepoint_formats.values.kryo.output import KryoOutput

if TYPE_CHECKING:
    from savepoint_formats.layout import KryoClass, KryoField
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter


class Part(IntEnum):
    """Kinds of parts; the kernel has the same numbers."""

    BYTE = 0
    SHORT = 1
    INT = 2
    LONG = 3
    VARINT = 4
    ZIGZAG = 5
    VARLONG = 6
    LONG_ZIGZAG = 7
    TEXT = 8
    FLAG = 9
    COUNTED = 10
    CLOCK = 11
    NEW = 12
    WORDS = 13
    OFFSET = 14
    OPTIONAL_INT = 15
    OPTIONAL_LONG = 16
    SCALED = 17


Parts = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class SingleValue:
    """How a program makes a column's value of an object's parts.

    Attributes:
        instruction: The name of the last instruction.
        places: Place of each part in the value, if the value has several; in 2.24, and in 5.6.
        kinds: Kind of an optional number; in 2.24, and in 5.6.
    """

    instruction: str
    places: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    kinds: tuple[Part, Part] | None = None


_FIXED_PARTS = {
    "h": Part.SHORT,
    "H": Part.SHORT,
    "i": Part.INT,
    "f": Part.INT,
    "q": Part.LONG,
    "d": Part.LONG,
}


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a class.

    Attributes:
        read: Reads the next one.
        write: Writes a value that ``read`` gives, or a node of it.
        parts: The numbers and texts in it, as programs read them; None if they depend on the object.
    """

    read: Callable[[KryoGraph], Value]
    write: Callable[[Value, KryoWriter], None]
    parts: Parts | None = None


def _single(
    read: Callable[[KryoInput], Value], write: Callable[[KryoOutput, Any], None], part: Part
) -> Body:
    return Body(
        lambda graph: read(graph.input),
        lambda value, writer: write(writer.output, plain(value)),
        (part,),
    )


def fixed(code: str) -> Body:
    """A number of ``struct``'s format ``code``."""
    return _single(
        lambda data: data.read_fixed(code),
        lambda data, value: data.write_fixed(code, value),
        _FIXED_PARTS[code],
    )


def object_of(class_name: str, **bodies: Body) -> Body:
    """An object whose fields lie in this order."""

    def read(graph: KryoGraph) -> KryoObject:
        return KryoObject(class_name, {name: body.read(graph) for name, body in bodies.items()})

    def write(value: Value, writer: KryoWriter) -> None:
        fields = plain(value).fields
        for name, body in bodies.items():
            body.write(fields[name], writer)

    known = [body.parts for body in bodies.values() if body.parts is not None]
    is_known = len(known) == len(bodies)
    return Body(read, write, tuple(part for parts in known for part in parts) if is_known else None)


def enum_body(enum_class: KryoClass) -> Body:
    """A constant of an enum, by its name: varint of its index + 1, 0 for null."""
    constants = enum_class.constants

    def read(graph: KryoGraph) -> str | None:
        number = graph.input.read_varint()
        if number == 0:
            return None
        if number > len(constants):
            raise graph.view.error(f"constant {number - 1} of {enum_class.class_name}")
        return constants[number - 1]

    def write(value: Value, writer: KryoWriter) -> None:
        writer.output.write_varint(0 if value is None else constants.index(value) + 1)

    return Body(read, write)


TEXT = _single(KryoInput.read_text, KryoOutput.write_text, Part.TEXT)
MILLIS = _single(KryoInput.read_varlong, KryoOutput.write_varlong, Part.VARLONG)
VARINT = _single(KryoInput.read_signed_varint, KryoOutput.write_varint, Part.VARINT)
BYTE = _single(
    lambda data: data.view.read_byte(), lambda data, value: data.view.write_byte(value), Part.BYTE
)
NOTHING = Body(lambda _graph: None, lambda _value, _writer: None, ())
ANY = Body(
    lambda graph: graph.read_class_and_object(),
    lambda value, writer: writer.write_class_and_object(value),
)

PRIMITIVES: dict[str, Body] = {
    "boolean": _single(
        lambda data: data.view.read_strict_bool(),
        lambda data, value: data.view.write_bool(value),
        Part.FLAG,
    ),
    "byte": BYTE,
    "char": _single(
        lambda data: chr(int(data.read_fixed("H"))),
        lambda data, value: data.write_fixed("H", ord(value)),
        Part.SHORT,
    ),
    "short": fixed("h"),
    "int": _single(KryoInput.read_int, KryoOutput.write_int, Part.ZIGZAG),
    "long": _single(KryoInput.read_long, KryoOutput.write_long, Part.LONG_ZIGZAG),
    "float": fixed("f"),
    "double": fixed("d"),
}
"""Values of primitive types, and of their wrapper classes."""


def fields_body(kryo_class: KryoClass) -> Body:
    """The body of a class whose fields Kryo writes."""
    fields = sorted(kryo_class.fields, key=lambda field: field.name)

    def read(graph: KryoGraph) -> KryoObject:
        values = {field.name: read_field(field, graph) for field in fields}
        return KryoObject(kryo_class.class_name, values)

    def write(value: Value, writer: KryoWriter) -> None:
        values = plain(value).fields
        for field in fields:
            if field.name not in values:
                raise ValueError(f"a {kryo_class.class_name} without its {field.name}")
            _write_field(field, values[field.name], writer)

    return Body(read, write)


def read_field(field: KryoField, graph: KryoGraph) -> Value:
    """The value of a field."""
    if field.type in PRIMITIVES:
        return PRIMITIVES[field.type].read(graph)
    if graph.classes.is_final(field.type):
        return graph.read_object_or_null(field.type)
    return graph.read_class_and_object(field.arguments)


def _write_field(field: KryoField, value: Value, writer: KryoWriter) -> None:
    if field.type in PRIMITIVES:
        PRIMITIVES[field.type].write(value, writer)
    elif writer.classes.is_final(field.type):
        writer.write_object_or_null(field.type, value)
    else:
        writer.write_class_and_object(value, field.arguments)
