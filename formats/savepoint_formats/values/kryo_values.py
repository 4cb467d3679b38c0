"""Objects that Kryo wrote, written with Flink's serializers for their classes.

| serializer         | objects                                                                       |
|--------------------|-------------------------------------------------------------------------------|
| Kryo               | any                                                                           |
| list, set, map     | collections, whose elements fit their own serializer                          |
| array              | arrays                                                                        |
| POJO               | objects of the class, or of a described subclass, with all fields             |
| enum               | its constants                                                                 |
| of a single value  | objects of its class, and primitives                                          |

An object that comes several times is written at each place. An object inside itself is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.errors import UnencodableError
from savepoint_formats.values.kinds import times
from savepoint_formats.values.kinds.codec import MAX_DEPTH
from savepoint_formats.values.kryo.known_classes import DECLARED_TYPES
from savepoint_formats.values.kryo.objects import Detailed, KryoNode, without_nodes
from savepoint_formats.values.kryo.types import UnfitError
from savepoint_formats.values.kryo.writer import write_nodes
from savepoint_formats.values.pojo_values import IS_NULL, IS_SUBCLASS, NO_SUBCLASS
from savepoint_formats.values.state_entries import EntryWriter
from savepoint_formats.values.value_writer import has_null

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.bytes.data_view import DataOutputView
    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoDialect

_DATES = ("java.util.Date", "java.sql.Date", "java.sql.Time")

CLASSES_OF_LAYOUTS: dict[type[Layout], tuple[str, ...]] = {
    layouts.Boolean: ("java.lang.Boolean",),
    layouts.Byte: ("java.lang.Byte",),
    layouts.Short: ("java.lang.Short",),
    layouts.Int: ("java.lang.Integer",),
    layouts.Long: ("java.lang.Long",),
    layouts.Float: ("java.lang.Float",),
    layouts.Double: ("java.lang.Double",),
    layouts.Char: ("java.lang.Character",),
    layouts.Text: ("java.lang.String",),
    layouts.BigInteger: ("java.math.BigInteger",),
    layouts.BigDecimal: ("java.math.BigDecimal",),
    layouts.JavaDate: _DATES,
    layouts.SqlTimestamp: ("java.sql.Timestamp",),
    layouts.Instant: ("java.time.Instant",),
    layouts.LocalDate: ("java.time.LocalDate",),
    layouts.LocalTime: ("java.time.LocalTime",),
    layouts.LocalDateTime: ("java.time.LocalDateTime",),
    layouts.Bytes: ("[B",),
    layouts.ScalaValue: ("java.util.UUID",),
}
"""Layout of single values -> the classes of their objects."""


class ObjectWriter:
    """Writes objects; ``dialect`` is the Kryo that will read objects that stay with Kryo."""

    def __init__(self, target: DataOutputView, dialect: KryoDialect) -> None:
        self._target, self._dialect = target, dialect
        self._depth = 0

    def write(self, node: Value, layout: Layout) -> None:
        """A node, a primitive value, or null; ``UnencodableError`` if the serializer has no bytes."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UnencodableError(f"objects nested deeper than {MAX_DEPTH}, or in themselves")
        match layout:
            case layouts.Kryo():
                self._kryo(node, layout)
            case layouts.Nullable(inner):
                self._target.write_bool((node is None) == layout.is_null)
                if node is None:
                    self._target.write_bytes(bytes(layout.padding))
                else:
                    self.write(node, inner)
            case layouts.Repeated(element):
                values = node_elements(node)
                self._target.write_int(len(values))
                for value in values:
                    self.write(value, element)
            case layouts.MapOf(key, value):
                pairs = node_elements(node)
                self._target.write_int(len(pairs))
                for pair in pairs:
                    self.write(pair[0], key)
                    self.write(pair[1], value)
            case layouts.Pojo():
                self._pojo(node, layout)
            case _:
                self._single(node, layout)
        self._depth -= 1

    def _kryo(self, node: KryoNode | None, layout: layouts.Kryo) -> None:
        try:
            write_nodes(layout, node, self._target, self._dialect)
        except ValueError as error:
            raise UnencodableError(str(error)) from error

    def _pojo(self, node: KryoNode | None, layout: layouts.Pojo) -> None:
        if node is None:
            self._target.write_byte(IS_NULL)
            return
        if node.class_name != layout.class_name:
            self._subclass(node, layout.class_name, layout.unregistered)
            return
        self._target.write_byte(NO_SUBCLASS)
        values = node.content.fields
        for name, field in zip(layout.names, layout.fields, strict=True):
            self.write(values[name], field)

    def _subclass(
        self, node: KryoNode, class_name: str, subclasses: Sequence[tuple[str, Layout]]
    ) -> None:
        of_class = dict(subclasses).get(node.class_name)
        if of_class is None:
            raise UnencodableError(
                f"{node.class_name} where {class_name} is expected; if it extends it, describe it"
                ' as one that does, by superclass, or "extends" in a file'
            )
        self._target.write_byte(IS_SUBCLASS)
        self._target.write_utf(node.class_name)
        self.write(node, of_class)

    def _single(self, node: Value, layout: Layout) -> None:
        classes = CLASSES_OF_LAYOUTS.get(type(layout), ())
        if isinstance(layout, layouts.Enum):
            # A constant with a body is of a class of its own.
            is_fit = isinstance(node, KryoNode) and node.content in layout.constants
            is_fit = is_fit and layout.class_name in (
                node.class_name,
                node.class_name.rpartition("$")[0],
            )
        else:
            is_fit = node.class_name in classes if isinstance(node, KryoNode) else node is not None
        is_fit = is_fit or (node is None and has_null(layout))
        if not is_fit:
            expected = classes[0] if classes else getattr(layout, "class_name", "another class")
            raise UnencodableError(f"{_named(node)} where {expected} is expected")
        try:
            EntryWriter(self._target).write(layout, _value(node))
        except (UnfitError, ValueError) as error:
            raise UnencodableError(str(error)) from error


def node_elements(node: KryoNode | None) -> list[Value]:
    """The elements of a collection or array, or the pairs of a map; else ``UnencodableError``."""
    content = None if node is None else node.content
    values = content.values if isinstance(content, Detailed) else content
    if not isinstance(values, list):
        raise UnencodableError(f"{_named(node)} where a collection is expected")
    return values


def _named(node: Value) -> str:
    if isinstance(node, KryoNode):
        return node.class_name
    return "null" if node is None else repr(node)


def _value(node: Value) -> Value:
    """The value of an object, as ``to_pylist`` gives it."""
    if not isinstance(node, KryoNode):
        return node
    plain = without_nodes(node)
    if node.class_name in _DATES:
        return times.to_timestamp(plain.fields["millis"], "ms", is_utc=True)
    declared = DECLARED_TYPES.get(node.class_name)
    return declared.converted(node.class_name, plain) if declared else plain
