"""How the values of a RAW type lie, told by its serializer, which the type holds as a Java object.

Only serializers of plain parts are known. For each other one the bytes have a reason that names it.

| serializer                                                 | fields that tell the layout       |
|------------------------------------------------------------|-----------------------------------|
| those of ``basic``                                         | none                              |
| ListSerializer, ArrayListSerializer                        | elementSerializer                 |
| LinkedListSerializer                                       | elementSerializer, hasNullMask    |
| MapSerializer, NullAwareMapSerializer                      | keySerializer, valueSerializer    |
| ListViewSerializer, MapViewSerializer                      | listSerializer, mapSerializer     |
| TupleSerializer                                            | fieldSerializers                  |
| NullableSerializer                                         | originalSerializer, padding       |
| RawValueDataSerializer                                     | serializer                        |
| ExternalSerializer                                         | internalSerializer                |
| DecimalDataSerializer, TimestampDataSerializer             | precision, scale                  |
| ArrayDataSerializer, MapDataSerializer, RowDataSerializer  | the SQL types of elements, fields |
"""

from __future__ import annotations

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
    """A part of a RAW value has a serializer that nobody here knows."""


def serializer_layout(
    serializer: Any, part: Callable[[Any], Layout], sql_type: Callable[[Any], LogicalType]
) -> Layout:
    """How values of a serializer lie; raises ``UnknownSerializerError`` if nobody knows.

    Args:
        serializer: The Java object of the serializer.
        part: As this function, of the serializers that the object has.
        sql_type: Gives a SQL type by its Java object.
    """
    if not isinstance(serializer, JavaObject):
        raise UnknownSerializerError(_UNKNOWN)
    name, facts = serializer.class_name, serializer.fields
    if name in SERIALIZERS:
        return SERIALIZERS[name]
    if name == f"{_DATA_VIEW}NullSerializer":
        raise UnknownSerializerError(_PLACEHOLDER)
    try:
        if name in _OF_PARTS:
            names, compose = _OF_PARTS[name]
            return compose(*(part(facts[field]) for field in names))
        if name in _OF_TYPES:
            names, compose_sql = _OF_TYPES[name]
            return Framed(compose_sql(*(sql_type(facts[field]) for field in names)))
        if name in _OF_FACTS:
            return _OF_FACTS[name](facts, part, sql_type)
    except (KeyError, TypeError, AttributeError):
        raise UnknownSerializerError(f"{name}, whose fields are not those that are known") from None
    raise UnknownSerializerError(f"a RAW value of SQL, which {name} wrote")


def _linked_list(
    facts: dict[str, Any], part: Callable[[Any], Layout], _sql: Callable[[Any], LogicalType]
) -> Layout:
    element = part(facts["elementSerializer"])
    return layouts.MaskedRepeated(element) if facts.get("hasNullMask") else Repeated(element)


def _tuple(
    facts: dict[str, Any], part: Callable[[Any], Layout], _sql: Callable[[Any], LogicalType]
) -> Layout:
    fields = tuple(map(part, _elements(facts["fieldSerializers"])))
    return layouts.Struct(tuple(f"f{index}" for index in range(len(fields))), fields)


def _nullable(
    facts: dict[str, Any], part: Callable[[Any], Layout], _sql: Callable[[Any], LogicalType]
) -> Layout:
    return Nullable(part(facts["originalSerializer"]), padding=len(facts["padding"].elements))


def _row(
    facts: dict[str, Any], _part: Callable[[Any], Layout], sql: Callable[[Any], LogicalType]
) -> Layout:
    types = tuple(map(sql, _elements(facts["types"])))
    return Framed(layouts.BinaryRow(tuple(f"f{index}" for index in range(len(types))), types))


def _elements(value: Any) -> list[Any]:
    if not isinstance(value, JavaArray) or isinstance(value.elements, bytes):
        raise TypeError
    return value.elements


_OF_PARTS: dict[str, tuple[tuple[str, ...], Callable[..., Layout]]] = {
    f"{BASE}ListSerializer": (("elementSerializer",), Repeated),
    "org.apache.flink.runtime.state.ArrayListSerializer": (("elementSerializer",), Repeated),
    f"{BASE}MapSerializer": (
        ("keySerializer", "valueSerializer"),
        lambda key, value: MapOf(key, Nullable(value)),
    ),
    f"{_DATA_VIEW}NullAwareMapSerializer": (
        ("keySerializer", "valueSerializer"),
        lambda key, value: MapOf(Nullable(key), Nullable(value)),
    ),
    f"{_DATA_VIEW}ListViewSerializer": (("listSerializer",), lambda part: part),
    f"{_DATA_VIEW}MapViewSerializer": (("mapSerializer",), lambda part: part),
    f"{_TABLE}RawValueDataSerializer": (("serializer",), Framed),
    f"{_TABLE}ExternalSerializer": (("internalSerializer",), lambda part: part),
}
_OF_TYPES: dict[str, tuple[tuple[str, ...], Callable[..., Layout]]] = {
    f"{_TABLE}ArrayDataSerializer": (("eleType",), layouts.BinaryArray),
    f"{_TABLE}MapDataSerializer": (("keyType", "valueType"), layouts.BinaryMap),
}
_OF_FACTS: dict[str, Callable[..., Layout]] = {
    f"{_TABLE}LinkedListSerializer": _linked_list,
    f"{_TABLE}RowDataSerializer": _row,
    f"{_TABLE}StringDataSerializer": lambda *_: layouts.Utf8(),
    f"{_TABLE}DecimalDataSerializer": lambda facts, *_: layouts.DecimalData(
        facts["precision"], facts["scale"]
    ),
    f"{_TABLE}TimestampDataSerializer": lambda facts, *_: layouts.TimestampData(facts["precision"]),
    f"{RUNTIME}TupleSerializer": _tuple,
    f"{RUNTIME}NullableSerializer": _nullable,
}
