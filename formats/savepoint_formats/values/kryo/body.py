"""How the body of a class is read and written: a pair of functions, made of smaller pairs."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003
from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.objects import KryoObject, plain

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

_FIXED_CODES = {"short": "h", "char": "H", "float": "f", "double": "d"}


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a class.

    Attributes:
        read: Reads the next one.
        write: Writes a value as ``read`` gives it, be it in a node.
    """

    read: Callable[[KryoGraph], Value]
    write: Callable[[Value, KryoWriter], None]


def read_primitive(name: str, graph: KryoGraph) -> Value:
    """A value of a primitive type."""
    match name:
        case "int":
            return graph.input.read_int()
        case "long":
            return graph.input.read_long()
        case "boolean":
            return graph.view.read_strict_bool()
        case "byte":
            return graph.view.read_byte()
        case "char":
            return chr(int(graph.input.read_fixed("H")))
        case _:
            return graph.input.read_fixed(_FIXED_CODES[name])


def write_primitive(name: str, value: Value, writer: KryoWriter) -> None:
    """Writes a value of a primitive type."""
    match name:
        case "int":
            writer.output.write_int(value)
        case "long":
            writer.output.write_long(value)
        case "boolean":
            writer.view.write_bool(value)
        case "byte":
            writer.view.write_byte(value)
        case "char":
            writer.output.write_fixed("H", ord(value))
        case _:
            writer.output.write_fixed(_FIXED_CODES[name], value)


def primitive(name: str) -> Body:
    """A primitive value, be it of its wrapper class."""
    return Body(
        lambda graph: read_primitive(name, graph),
        lambda value, writer: write_primitive(name, plain(value), writer),
    )


def fixed(code: str) -> Body:
    """A number of ``struct``'s format ``code``."""
    return Body(
        lambda graph: graph.input.read_fixed(code),
        lambda value, writer: writer.output.write_fixed(code, plain(value)),
    )


def object_of(class_name: str, **parts: Body) -> Body:
    """An object whose fields lie in this order."""

    def read(graph: KryoGraph) -> KryoObject:
        return KryoObject(class_name, {name: part.read(graph) for name, part in parts.items()})

    def write(value: Value, writer: KryoWriter) -> None:
        fields = plain(value).fields
        for name, part in parts.items():
            part.write(fields[name], writer)

    return Body(read, write)


def _nothing(graph: KryoGraph) -> None:
    del graph


TEXT = Body(
    lambda graph: graph.input.read_text(),
    lambda value, writer: writer.output.write_text(plain(value)),
)
MILLIS = Body(
    lambda graph: graph.input.read_varlong(),
    lambda value, writer: writer.output.write_varlong(plain(value)),
)
VARINT = Body(
    lambda graph: graph.input.read_signed_varint(),
    lambda value, writer: writer.output.write_varint(plain(value)),
)
BYTE = Body(
    lambda graph: graph.view.read_byte(),
    lambda value, writer: writer.view.write_byte(plain(value)),
)
NOTHING = Body(_nothing, lambda _value, _writer: None)
ANY = Body(
    lambda graph: graph.read_class_and_object(),
    lambda value, writer: writer.write_class_and_object(value),
)
