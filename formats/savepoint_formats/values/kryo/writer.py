"""Writes object graphs of Kryo, in either version: the mirror of ``graph``.

A node is written where it comes first, and referred to where it comes again. Objects that this version
does not number are written at each place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.values.kinds.codec import MAX_DEPTH
from savepoint_formats.values.kryo.known_classes import (
    described_body,
    known_body,
    known_classes,
    registered_body,
)
from savepoint_formats.values.kryo.objects import KryoNode, plain
from savepoint_formats.values.kryo.output import KryoOutput

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataOutputView
    from savepoint_formats.layout import Kryo
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.body import Body
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.kryo.graph import Arguments

_NULL = 0
_BY_NAME = 1
_PRESENT = 1
_FIRST_NUMBER = 2


def write_nodes(
    layout: Kryo, node: KryoNode | None, view: DataOutputView, dialect: KryoDialect
) -> None:
    """Writes the graph of a node, for a serializer with the registrations of ``layout``.

    Raises:
        ValueError: This Kryo can't write an object of the graph.
    """
    KryoWriter(layout, view, dialect).write_class_and_object(node)


class KryoWriter:
    """Writes one graph; numbers of names and references start anew in each.

    Attributes:
        arguments: The declared type arguments of the object whose body is written next.
    """

    view: DataOutputView
    output: KryoOutput
    arguments: Arguments = ()

    def __init__(self, layout: Kryo, view: DataOutputView, dialect: KryoDialect) -> None:
        self.view = view
        self.output = KryoOutput(view, is_5=dialect.is_5)
        self.is_5 = dialect.is_5
        self.classes = known_classes(layout, dialect)
        self._names: dict[str, int] = {}
        self._objects: dict[KryoNode, int] = {}
        self._depth = 0

    def write_class(self, class_name: str | None) -> None:
        """The class of the next object; None if it is null."""
        if class_name is None:
            self.output.write_varint(_NULL)
        elif class_name in self.classes.numbers:
            self.output.write_varint(self.classes.numbers[class_name] + _FIRST_NUMBER)
        else:
            self.output.write_varint(_BY_NAME)
            number = self._names.get(class_name, len(self._names))
            self.output.write_varint(number)
            if number == len(self._names):
                self._names[class_name] = number
                self.output.write_class_name(class_name)

    def write_class_and_object(self, node: KryoNode | None, arguments: Arguments = ()) -> None:
        """An object of any class, or null; ``arguments`` belong to its declared type."""
        self.write_class(None if node is None else node.class_name)
        if node is not None:
            self.write_object(node.class_name, node, arguments)

    def write_object(self, class_name: str, value: Value, arguments: Arguments = ()) -> None:
        """An object of a known class, never null."""
        if self.classes.has_references(class_name):
            self._write_new_or_old(self._node(class_name, value), arguments)
        else:
            self._write_body(class_name, value)

    def write_object_or_null(
        self, class_name: str, value: Value, arguments: Arguments = ()
    ) -> None:
        """An object of a known class, or null."""
        if value is None:
            self.output.write_varint(_NULL)
        elif self.classes.has_references(class_name):
            self._write_new_or_old(self._node(class_name, value), arguments)
        else:
            self.output.write_varint(_PRESENT)
            self._write_body(class_name, value)

    def _node(self, class_name: str, value: Value) -> KryoNode:
        """A node also for a value that the other version has inside another object."""
        return value if isinstance(value, KryoNode) else KryoNode(class_name, value)

    def _write_new_or_old(self, node: KryoNode, arguments: Arguments = ()) -> None:
        number = self._objects.get(node)
        if number is not None:
            self.output.write_varint(number + _FIRST_NUMBER)
            return
        self._objects[node] = len(self._objects)
        self.output.write_varint(_PRESENT)
        self._write_body(node.class_name, node, arguments)

    def _write_body(self, class_name: str, value: Value, arguments: Arguments = ()) -> None:
        if self._depth >= MAX_DEPTH:
            raise ValueError(f"objects nested deeper than {MAX_DEPTH}")
        self._depth += 1
        outer, self.arguments = self.arguments, arguments
        self._body(class_name).write(plain(value), self)
        self._depth -= 1
        self.arguments = outer

    def _body(self, class_name: str) -> Body:
        described = described_body(class_name, self.classes) or registered_body(
            class_name, self.classes
        )
        if described:
            return described
        serializer = self.classes.custom.get(class_name)
        if serializer:
            raise ValueError(f"an object of {class_name}, which {serializer} writes")
        known = known_body(class_name, self.classes)
        if known is None:
            name = "5" if self.is_5 else "2.24"
            raise ValueError(f"an object of {class_name}, whose form in Kryo {name} is not known")
        return known
