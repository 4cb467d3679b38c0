"""Bodies of classes: reading and writing of objects, and the parts that they consist of.

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
| OPTIONAL_INT, _LONG,     | a flag; 4 or 8 bytes if it is set                                 |
| _DOUBLE                  |                                                                   |
| NEW                      | the mark of an object that is new                                 |

These differ from others in JSON alone:

| part                     | bytes                                                             |
|--------------------------|-------------------------------------------------------------------|
| FLOAT, DOUBLE, UNIT      | as INT, LONG and SHORT                                            |
| UUID                     | two of LONG; in 2.24 of LONG_ZIGZAG                               |
| HEX                      | as COUNTED, where that is a number                                |
"""

from __future__ import annotations

import json
from collections.abc import Callable  # noqa: TC003
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from savepoint_formats.values.kryo.input import KryoInput
from savepoint_formats.values.kryo.objects import KryoObject, plain
from savepoint_formats.values.kryo.output import KryoOutput

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    FLOAT = 18
    DOUBLE = 19
    UNIT = 20
    UUID = 21
    OPTIONAL_DOUBLE = 22
    HEX = 23


Parts = tuple[Part, ...]
WITHOUT_PLACE = -1


@dataclass(frozen=True, slots=True)
class SingleValue:
    """How a program makes a column's value of an object's parts.

    Attributes:
        instruction: The name of the last instruction.
        places: Place of each part in the value, if the value has several; in 2.24, and in 5.6. A
            part without a place is read by the last instruction.
        arguments: Argument of the last instruction in 2.24, and in 5.6, if it is not the part: the
            kind of an optional number, the content of a text; -1 if there is no program.
    """

    instruction: str
    places: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    arguments: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """JSON of an object of parts.

    Attributes:
        parts: The text in front of each part, and the part.
        end: The text behind all.
    """

    parts: tuple[tuple[str, Part], ...]
    end: str = ""


_FIXED_PARTS = {
    "h": (Part.SHORT, Part.SHORT),
    "H": (Part.SHORT, Part.UNIT),
    "i": (Part.INT, Part.INT),
    "f": (Part.INT, Part.FLOAT),
    "q": (Part.LONG, Part.LONG),
    "d": (Part.LONG, Part.DOUBLE),
}
"""Code of ``struct`` -> the part, and the part in JSON."""


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a class.

    Attributes:
        read: Reads the next one.
        write: Writes a value that ``read`` gives, or a node of it.
        parts: The numbers and texts in it, as programs read them; None if they depend on the object.
        shown: Its JSON; None if it has other parts, or only the general path shows them.
        objects: Number of objects in it, if it is a list of that many.
    """

    read: Callable[[KryoGraph], Value]
    write: Callable[[Value, KryoWriter], None]
    parts: Parts | None = None
    shown: Shown | None = None
    objects: int | None = None


def _single(
    read: Callable[[KryoInput], Value],
    write: Callable[[KryoOutput, Any], None],
    part: Part,
    in_json: Part | None = None,
) -> Body:
    return Body(
        lambda graph: read(graph.input),
        lambda value, writer: write(writer.output, plain(value)),
        (part,),
        Shown((("", part if in_json is None else in_json),)),
    )


def fixed(code: str) -> Body:
    """A number of ``struct``'s format ``code``."""
    return _single(
        lambda data: data.read_fixed(code),
        lambda data, value: data.write_fixed(code, value),
        *_FIXED_PARTS[code],
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
    parts = tuple(part for parts in known for part in parts) if is_known else None
    return Body(read, write, parts, _shown_object(class_name, bodies))


def object_front(class_name: str) -> str:
    """The beginning of an object in JSON, up to its first field."""
    return f'{{"$class": {json.dumps(class_name, ensure_ascii=False)}'


def _shown_object(class_name: str, bodies: Mapping[str, Body]) -> Shown | None:
    parts: list[tuple[str, Part]] = []
    text = object_front(class_name)
    for name, body in bodies.items():
        if body.shown is None:
            return None
        text += f', "{name}": '
        for before, part in body.shown.parts:
            parts.append((text + before, part))
            text = ""
        text += body.shown.end
    return Shown(tuple(parts), text + "}")


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
NOTHING = Body(lambda _graph: None, lambda _value, _writer: None, (), Shown((), "null"))
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
        *_FIXED_PARTS["H"],
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
