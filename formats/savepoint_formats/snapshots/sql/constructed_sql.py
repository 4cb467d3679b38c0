"""Serializer snapshots of Flink SQL's internal rows and their fields, for new state.

Flink: ``InternalSerializers``, ``RowDataSerializer.snapshotConfiguration``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.java.stream_writer import java_object_bytes
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.basic import inner
from savepoint_formats.snapshots.fields import JavaBytes
from savepoint_formats.snapshots.sql.logical_type import LogicalTypeObjects
from savepoint_formats.snapshots.sql.serializer_objects import (
    SerializerObjects,
    count_type,
    singleton,
)
from savepoint_formats.snapshots.sql.sql_classes import SQL_SERIALIZERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.java.stream import JavaObject
    from savepoint_formats.layout import LogicalType
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

_TIMESTAMP_VERSION = 1


def row_data(types: Sequence[LogicalType]) -> TypeSerializerSnapshot:
    """Flink's internal row. Raises ``ValueError`` for types that new rows can't have."""
    return constructed.snapshot_of(
        inner(f"{SQL_SERIALIZERS}RowDataSerializer"),
        {"types": tuple(map(_type, types))},
        [internal(element_type) for element_type in types],
    )


def internal(logical_type: LogicalType) -> TypeSerializerSnapshot:
    """The serializer of a type's internal values; raises the errors of ``row_data``."""
    match logical_type.root:
        case "DECIMAL":
            return _decimal(logical_type)
        case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
            return constructed.snapshot_of(
                inner(f"{SQL_SERIALIZERS}TimestampDataSerializer"),
                {"precision": logical_type.precision},
                version=_TIMESTAMP_VERSION,
            )
        case "ARRAY":
            return _array(*logical_type.children)
        case "MAP":
            return _map(logical_type.children)
        case "MULTISET":
            return _map((*logical_type.children, count_type()))
        case "ROW" | "STRUCTURED_TYPE":
            return row_data(logical_type.children)
        case "RAW":
            nothing = constructed.snapshot_of(
                inner("org.apache.flink.table.dataview.NullSerializer")
            )
            return constructed.snapshot_of(
                inner(f"{SQL_SERIALIZERS}RawValueDataSerializer"), nested=[nothing], outer_version=0
            )
        case root if name := singleton(root):
            return constructed.snapshot_of(inner(name))
        case root:
            raise ValueError(f"a field of the SQL type {root}, which new rows cannot have")


def _decimal(logical_type: LogicalType) -> TypeSerializerSnapshot:
    own = {"precision": logical_type.precision, "scale": logical_type.scale}
    class_name = f"{SQL_SERIALIZERS}DecimalDataSerializer$DecimalSerializerSnapshot"
    return constructed.snapshot_of(class_name, own)


def _array(element: LogicalType) -> TypeSerializerSnapshot:
    own = {"element_type": _type(element), "element_serializer": _serializer(element)}
    return constructed.snapshot_of(inner(f"{SQL_SERIALIZERS}ArrayDataSerializer"), own)


def _map(parts: tuple[LogicalType, ...]) -> TypeSerializerSnapshot:
    key, value = parts
    own = {
        "key_type": _type(key),
        "value_type": _type(value),
        "key_serializer": _serializer(key),
        "value_serializer": _serializer(value),
    }
    return constructed.snapshot_of(inner(f"{SQL_SERIALIZERS}MapDataSerializer"), own)


def _type(logical_type: LogicalType) -> JavaBytes:
    return _java_bytes(LogicalTypeObjects().of(logical_type))


def _serializer(logical_type: LogicalType) -> JavaBytes:
    return _java_bytes(SerializerObjects().of(logical_type))


def _java_bytes(value: JavaObject) -> JavaBytes:
    return JavaBytes(java_object_bytes(value), value)
