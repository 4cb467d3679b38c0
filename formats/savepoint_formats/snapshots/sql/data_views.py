"""Serializer snapshots of data views: maps of accumulators, whose entries are in a state of their own.

Their keys and values are serialized by ``ExternalSerializer``, which holds the class of Java objects
beside the SQL type.

Flink: ``DataViewUtils``, ``ExternalSerializer``, ``MapView``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.java.stream import JavaClass, JavaObject
from savepoint_formats.java.stream_writer import java_object_bytes
from savepoint_formats.layout import LogicalType
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.basic import inner
from savepoint_formats.snapshots.fields import JavaBytes
from savepoint_formats.snapshots.sql.constructed_sql import internal
from savepoint_formats.snapshots.sql.logical_type import DATA_VIEW, LogicalTypeObjects
from savepoint_formats.snapshots.sql.sql_classes import SQL_CLASSES, TYPE, java_array, java_class

if TYPE_CHECKING:
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

MAP_VIEW = LogicalType("RAW", class_name=f"{DATA_VIEW}MapView")
"""Type of the place that a map has in a row of accumulators."""

_TYPES = "org.apache.flink.table.types."
_EXTERNAL_VERSION = 1
_LONGS = java_array("J", 8655923659555304851)
_DATA_TYPE = java_class(
    f"{_TYPES}DataType",
    ("Ljava/lang/Class;", "conversionClass"),
    (TYPE, "logicalType"),
    uid=-4138822262654336147,
)
_ATOMIC = java_class(f"{_TYPES}AtomicDataType", extends=_DATA_TYPE, uid=1911869481579848498)
_COLLECTION = java_class(
    f"{_TYPES}CollectionDataType",
    ("Lorg/apache/flink/table/types/DataType;", "elementDataType"),
    extends=_DATA_TYPE,
    uid=2464825922057708215,
)
LONG_ARRAY = LogicalType("ARRAY", children=(LogicalType("BIGINT", is_nullable=False),))
"""Type of counts, one for each condition of a ``DISTINCT`` aggregate; ``long[]`` in Java."""


def external(logical_type: LogicalType) -> TypeSerializerSnapshot:
    """The serializer of a key or value of a view. Raises ``ValueError`` for other types."""
    data_type = _data_type(logical_type)
    own = {
        "data_type": JavaBytes(java_object_bytes(data_type), data_type),
        "is_internal_input": False,
    }
    class_name = inner("org.apache.flink.table.runtime.typeutils.ExternalSerializer")
    nested = [internal(logical_type)]
    return constructed.snapshot_of(class_name, own, nested, outer_version=_EXTERNAL_VERSION)


def map_view(key: LogicalType, value: LogicalType) -> TypeSerializerSnapshot:
    """The serializer of a view's entries; errors as of ``external``."""
    return constructed.map_of(external(key), external(value))


def _data_type(logical_type: LogicalType) -> JavaObject:
    types = LogicalTypeObjects()
    if logical_type == LONG_ARRAY:
        (element,) = logical_type.children
        long = {"conversionClass": JavaClass("long"), "logicalType": types.of(element)}
        array = {"conversionClass": _LONGS, "logicalType": types.of(logical_type)}
        return JavaObject(_COLLECTION, {**array, "elementDataType": JavaObject(_ATOMIC, long)})
    sql = SQL_CLASSES.get(logical_type.root)
    if sql is None or sql.values is None:
        raise ValueError(f"the SQL type {logical_type.root} in a data view")
    own = {"conversionClass": sql.values, "logicalType": types.of(logical_type)}
    return JavaObject(_ATOMIC, own)
