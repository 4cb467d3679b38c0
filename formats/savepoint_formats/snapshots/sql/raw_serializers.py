"""Layouts of RAW values, from the serializer that the SQL type holds as a Java object.

``_LAYOUTS`` has a row per serializer: its fields give the layout. Serializers of ``basic`` have
none. Values of any other serializer are bytes, with a reason that names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_formats import layout as layouts
from savepoint_formats.java.stream import JavaArray, JavaObject
from savepoint_formats.layout import Framed, Layout, LogicalType, Nullable, Repeated
from savepoint_formats.snapshots.basic import BASE, RUNTIME, SERIALIZERS
from savepoint_formats.snapshots.composite import java_map, numbered

if TYPE_CHECKING:
    from collections.abc import Callable

_TABLE = "org.apache.flink.table.runtime.typeutils."
_DATA_VIEW = "org.apache.flink.table.dataview."
_PLACEHOLDER = (
    "the placeholder of a data view; its entries are in a state of their own, such as"
    " distinctAcc_0 or agg0$list"
)
_UNKNOWN = "a RAW value of SQL, whose serializer the savepoint does not describe"


class UnknownSerializerError(Exception):
    """A RAW value, or one inside it, has an unknown serializer."""


@dataclass(frozen=True, slots=True)
class _Fields:
    values: dict[str, Any]
    of_serializer: Callable[[Any], Layout]
    of_type: Callable[[Any], LogicalType]

    def layout(self, name: str) -> Layout:
        """The layout of the serializer in a field."""
        return self.of_serializer(self.values[name])

    def type(self, name: str) -> LogicalType:
        return self.of_type(self.values[name])

    def elements(self, name: str) -> list[Any]:
        array = self.values[name]
        if not isinstance(array, JavaArray) or isinstance(array.elements, bytes):
            raise TypeError
        return array.elements


def serializer_layout(
    serializer: Any, part: Callable[[Any], Layout], sql_type: Callable[[Any], LogicalType]
) -> Layout:
    """The layout of a serializer's values.

    ``part`` does the same for the serializers in its fields, ``sql_type`` reads Java objects of SQL
    types. Raises ``UnknownSerializerError``.
    """
    if not isinstance(serializer, JavaObject):
        raise UnknownSerializerError(_UNKNOWN)
    name = serializer.class_name
    if name in SERIALIZERS:
        return SERIALIZERS[name]
    if name == f"{_DATA_VIEW}NullSerializer":
        raise UnknownSerializerError(_PLACEHOLDER)
    if name not in _LAYOUTS:
        raise UnknownSerializerError(f"a RAW value of SQL, which {name} wrote")
    try:
        return _LAYOUTS[name](_Fields(serializer.fields, part, sql_type))
    except (KeyError, TypeError, AttributeError):
        raise UnknownSerializerError(f"{name}, whose fields are not those that are known") from None


def _linked_list(fields: _Fields) -> Layout:
    element = fields.layout("elementSerializer")
    has_mask = fields.values.get("hasNullMask")
    return layouts.MaskedRepeated(element) if has_mask else Repeated(element)


def _tuple(fields: _Fields) -> Layout:
    parts = tuple(map(fields.of_serializer, fields.elements("fieldSerializers")))
    return layouts.Struct(numbered("f", len(parts)), parts)


def _nullable(fields: _Fields) -> Layout:
    padding = len(fields.values["padding"].elements)
    return Nullable(fields.layout("originalSerializer"), padding=padding)


def _row(fields: _Fields) -> Layout:
    types = tuple(map(fields.of_type, fields.elements("types")))
    return Framed(layouts.BinaryRow(numbered("f", len(types)), types))


def _decimal(fields: _Fields) -> Layout:
    return layouts.DecimalData(fields.values["precision"], fields.values["scale"])


def _of_serializers(compose: Callable[..., Layout], *names: str) -> Callable[[_Fields], Layout]:
    return lambda fields: compose(*map(fields.layout, names))


def _of_types(compose: Callable[..., Layout], *names: str) -> Callable[[_Fields], Layout]:
    return lambda fields: Framed(compose(*map(fields.type, names)))


def _same(layout: Layout) -> Layout:
    return layout


_LIST = _of_serializers(Repeated, "elementSerializer")
_LAYOUTS: dict[str, Callable[[_Fields], Layout]] = {
    f"{BASE}ListSerializer": _LIST,
    "org.apache.flink.runtime.state.ArrayListSerializer": _LIST,
    f"{BASE}MapSerializer": _of_serializers(java_map, "keySerializer", "valueSerializer"),
    f"{RUNTIME}TupleSerializer": _tuple,
    f"{RUNTIME}NullableSerializer": _nullable,
    f"{_DATA_VIEW}NullAwareMapSerializer": _of_serializers(
        lambda key, value: java_map(Nullable(key), value), "keySerializer", "valueSerializer"
    ),
    f"{_DATA_VIEW}ListViewSerializer": _of_serializers(_same, "listSerializer"),
    f"{_DATA_VIEW}MapViewSerializer": _of_serializers(_same, "mapSerializer"),
    f"{_TABLE}ExternalSerializer": _of_serializers(_same, "internalSerializer"),
    f"{_TABLE}RawValueDataSerializer": _of_serializers(Framed, "serializer"),
    f"{_TABLE}LinkedListSerializer": _linked_list,
    f"{_TABLE}ArrayDataSerializer": _of_types(layouts.BinaryArray, "eleType"),
    f"{_TABLE}MapDataSerializer": _of_types(layouts.BinaryMap, "keyType", "valueType"),
    f"{_TABLE}RowDataSerializer": _row,
    f"{_TABLE}StringDataSerializer": lambda _fields: layouts.Utf8(),
    f"{_TABLE}DecimalDataSerializer": _decimal,
    f"{_TABLE}TimestampDataSerializer": lambda fields: layouts.TimestampData(
        fields.values["precision"]
    ),
}
