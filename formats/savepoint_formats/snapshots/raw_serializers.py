"""Layouts of RAW values, from the serializer that the SQL type holds as a Java object.

``_LAYOUTS`` has a row per serializer: its fields give the layout. Serializers of ``basic`` have
none. Values of any other serializer are bytes, with a reason that names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_formats import layout as layouts
from savepoint_formats.java.stream import JavaArray, JavaObject
from savepoint_formats.layout import Framed, Layout, LogicalType, MapOf, Nullable, Repeated
from savepoint_formats.snapshots.basic import BASE, RUNTIME, SERIALIZERS

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
    return layouts.Struct(tuple(f"f{index}" for index in range(len(parts))), parts)


def _nullable(fields: _Fields) -> Layout:
    padding = len(fields.values["padding"].elements)
    return Nullable(fields.layout("originalSerializer"), padding=padding)


def _row(fields: _Fields) -> Layout:
    types = tuple(map(fields.of_type, fields.elements("types")))
    return Framed(layouts.BinaryRow(tuple(f"f{index}" for index in range(len(types))), types))


def _map(fields: _Fields) -> Layout:
    return MapOf(fields.layout("keySerializer"), Nullable(fields.layout("valueSerializer")))


def _null_aware_map(fields: _Fields) -> Layout:
    key, value = fields.layout("keySerializer"), fields.layout("valueSerializer")
    return MapOf(Nullable(key), Nullable(value))


def _list(fields: _Fields) -> Layout:
    return Repeated(fields.layout("elementSerializer"))


def _binary_map(fields: _Fields) -> Layout:
    return Framed(layouts.BinaryMap(fields.type("keyType"), fields.type("valueType")))


def _decimal(fields: _Fields) -> Layout:
    return layouts.DecimalData(fields.values["precision"], fields.values["scale"])


_LAYOUTS: dict[str, Callable[[_Fields], Layout]] = {
    f"{BASE}ListSerializer": _list,
    "org.apache.flink.runtime.state.ArrayListSerializer": _list,
    f"{BASE}MapSerializer": _map,
    f"{RUNTIME}TupleSerializer": _tuple,
    f"{RUNTIME}NullableSerializer": _nullable,
    f"{_DATA_VIEW}NullAwareMapSerializer": _null_aware_map,
    f"{_DATA_VIEW}ListViewSerializer": lambda fields: fields.layout("listSerializer"),
    f"{_DATA_VIEW}MapViewSerializer": lambda fields: fields.layout("mapSerializer"),
    f"{_TABLE}ExternalSerializer": lambda fields: fields.layout("internalSerializer"),
    f"{_TABLE}RawValueDataSerializer": lambda fields: Framed(fields.layout("serializer")),
    f"{_TABLE}LinkedListSerializer": _linked_list,
    f"{_TABLE}ArrayDataSerializer": lambda fields: Framed(
        layouts.BinaryArray(fields.type("eleType"))
    ),
    f"{_TABLE}MapDataSerializer": _binary_map,
    f"{_TABLE}RowDataSerializer": _row,
    f"{_TABLE}StringDataSerializer": lambda _fields: layouts.Utf8(),
    f"{_TABLE}DecimalDataSerializer": _decimal,
    f"{_TABLE}TimestampDataSerializer": lambda fields: layouts.TimestampData(
        fields.values["precision"]
    ),
}
