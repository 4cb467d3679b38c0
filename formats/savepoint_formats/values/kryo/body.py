"""Bodies of classes: how an object is read and written, made of smaller bodies."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003
from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.objects import KryoObject, plain
from savepoint_formats.values.kryo.parts import Part, Parts

if TYPE_CHECKING:
    from savepoint_formats.layout import KryoClass
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

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


def _number(
    read: Callable[[KryoGraph], Value], write: Callable[[KryoWriter, Value], None], *parts: Part
) -> Body:
    return Body(read, lambda value, writer: write(writer, plain(value)), parts)


def fixed(code: str) -> Body:
    """A number of ``struct``'s format ``code``."""
    return _number(
        lambda graph: graph.input.read_fixed(code),
        lambda writer, value: writer.output.write_fixed(code, value),
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


TEXT = _number(
    lambda graph: graph.input.read_text(),
    lambda writer, value: writer.output.write_text(value),
    Part.TEXT,
)
MILLIS = _number(
    lambda graph: graph.input.read_varlong(),
    lambda writer, value: writer.output.write_varlong(value),
    Part.VARLONG,
)
VARINT = _number(
    lambda graph: graph.input.read_signed_varint(),
    lambda writer, value: writer.output.write_varint(value),
    Part.VARINT,
)
BYTE = _number(
    lambda graph: graph.view.read_byte(),
    lambda writer, value: writer.view.write_byte(value),
    Part.BYTE,
)
NOTHING = Body(lambda _graph: None, lambda _value, _writer: None, ())
ANY = Body(
    lambda graph: graph.read_class_and_object(),
    lambda value, writer: writer.write_class_and_object(value),
)

PRIMITIVES: dict[str, Body] = {
    "boolean": _number(
        lambda graph: graph.view.read_strict_bool(),
        lambda writer, value: writer.view.write_bool(value),
        Part.FLAG,
    ),
    "byte": BYTE,
    "char": _number(
        lambda graph: chr(int(graph.input.read_fixed("H"))),
        lambda writer, value: writer.output.write_fixed("H", ord(value)),
        Part.SHORT,
    ),
    "short": fixed("h"),
    "int": _number(
        lambda graph: graph.input.read_int(),
        lambda writer, value: writer.output.write_int(value),
        Part.ZIGZAG,
    ),
    "long": _number(
        lambda graph: graph.input.read_long(),
        lambda writer, value: writer.output.write_long(value),
        Part.LONG_ZIGZAG,
    ),
    "float": fixed("f"),
    "double": fixed("d"),
}
"""Values of primitive types, and of their wrapper classes."""
