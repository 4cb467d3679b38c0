"""Serializer snapshots of data views: maps of accumulators, whose entries are in a state of their own.

Their keys and values are serialized by ``ExternalSerializer``, which holds the class of Java objects
beside the SQL type.

Flink: ``DataViewUtils``, ``ExternalSerializer``, ``MapView``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.java.stream import SERIALIZABLE, JavaClass, JavaObject
from savepoint_formats.java.stream_writer import java_object_bytes
from savepoint_formats.layout import LogicalType
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.basic import inner
from savepoint_formats.snapshots.constructed_sql import internal
from savepoint_formats.snapshots.fields import JavaBytes
from savepoint_formats.snapshots.logical_type import DATA_VIEW, TYPE, LogicalTypeObjects

if TYPE_CHECKING:
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

MAP_VIEW = LogicalType("RAW", class_name=f"{DATA_VIEW}MapView")
"""Type of the place that a map has in a row of accumulators."""

_TYPES = "org.apache.flink.table.types."
_EXTERNAL_VERSION = 1
_NUMBER = JavaClass("java.lang.Number", SERIALIZABLE, (), uid=-8742448824652078965)


def _box(name: str, kind: str, uid: int, *ancestors: JavaClass) -> JavaClass:
    return JavaClass(f"java.lang.{name}", SERIALIZABLE, ((kind, "value"),), ancestors, uid)


_INTEGER = _box("Integer", "I", 1360826667806852920, _NUMBER)
_TEXT = JavaClass("org.apache.flink.table.data.StringData")
_TIMESTAMP = JavaClass("org.apache.flink.table.data.TimestampData")
_BYTES = JavaClass("[B", SERIALIZABLE, uid=-5984413125824719648)
_LONGS = JavaClass("[J", SERIALIZABLE, uid=8655923659555304851)
_CLASSES = {
    "BOOLEAN": _box("Boolean", "Z", -3665804199014368530),
    "TINYINT": _box("Byte", "B", -7183698231559129828, _NUMBER),
    "SMALLINT": _box("Short", "S", 7515723908773894738, _NUMBER),
    "INTEGER": _INTEGER,
    "BIGINT": _box("Long", "J", 4290774380558885855, _NUMBER),
    "FLOAT": _box("Float", "F", -2671257302660747028, _NUMBER),
    "DOUBLE": _box("Double", "D", -9172774392245257468, _NUMBER),
    "DATE": _INTEGER,
    "TIME_WITHOUT_TIME_ZONE": _INTEGER,
    "CHAR": _TEXT,
    "VARCHAR": _TEXT,
    "DECIMAL": JavaClass("org.apache.flink.table.data.DecimalData"),
    "TIMESTAMP_WITHOUT_TIME_ZONE": _TIMESTAMP,
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": _TIMESTAMP,
    "BINARY": _BYTES,
    "VARBINARY": _BYTES,
}
"""Root of a SQL type -> class of its internal values."""

_DATA_TYPE = JavaClass(
    f"{_TYPES}DataType",
    SERIALIZABLE,
    (("Ljava/lang/Class;", "conversionClass"), (TYPE, "logicalType")),
    uid=-4138822262654336147,
)
_ATOMIC = JavaClass(f"{_TYPES}AtomicDataType", SERIALIZABLE, (), (_DATA_TYPE,), 1911869481579848498)
_COLLECTION = JavaClass(
    f"{_TYPES}CollectionDataType",
    SERIALIZABLE,
    (("Lorg/apache/flink/table/types/DataType;", "elementDataType"),),
    (_DATA_TYPE,),
    2464825922057708215,
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
    if logical_type.root not in _CLASSES:
        raise ValueError(f"the SQL type {logical_type.root} in a data view")
    own = {"conversionClass": _CLASSES[logical_type.root], "logicalType": types.of(logical_type)}
    return JavaObject(_ATOMIC, own)
