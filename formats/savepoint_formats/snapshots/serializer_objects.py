"""Serializers of SQL values as Java objects, which snapshots of arrays and maps hold.

Flink: ``InternalSerializers``.
"""

from __future__ import annotations

from savepoint_formats.java.stream import SERIALIZABLE, JavaArray, JavaClass, JavaObject
from savepoint_formats.layout import LogicalType
from savepoint_formats.snapshots.basic import BASE
from savepoint_formats.snapshots.getter_objects import GetterObjects
from savepoint_formats.snapshots.logical_type import TYPE, LogicalTypeObjects

_TABLE = "org.apache.flink.table.runtime.typeutils."
_SERIALIZER = "Lorg/apache/flink/api/common/typeutils/TypeSerializer;"
_ELEMENT_GETTER = "Lorg/apache/flink/table/data/ArrayData$ElementGetter;"
_FIELD_GETTERS = "[Lorg/apache/flink/table/data/RowData$FieldGetter;"


def _class(
    name: str, *fields: tuple[str, str], parents: tuple[JavaClass, ...] = (), uid: int = 1
) -> JavaClass:
    return JavaClass(name, SERIALIZABLE, fields, parents, uid)


_ROOT = (_class("org.apache.flink.api.common.typeutils.TypeSerializer"),)
_SINGLETON = (
    *_ROOT,
    _class(f"{BASE}TypeSerializerSingleton", parents=_ROOT, uid=8766687317209282373),
)
_PAGED = (*_ROOT, _class(f"{_TABLE}PagedTypeSerializer", parents=_ROOT))
_ABSTRACT_ROW = (*_PAGED, _class(f"{_TABLE}AbstractRowDataSerializer", parents=_PAGED))

SINGLETONS: dict[str, str] = {
    "CHAR": f"{_TABLE}StringDataSerializer",
    "VARCHAR": f"{_TABLE}StringDataSerializer",
    "BOOLEAN": f"{BASE}BooleanSerializer",
    "TINYINT": f"{BASE}ByteSerializer",
    "SMALLINT": f"{BASE}ShortSerializer",
    "INTEGER": f"{BASE}IntSerializer",
    "BIGINT": f"{BASE}LongSerializer",
    "FLOAT": f"{BASE}FloatSerializer",
    "DOUBLE": f"{BASE}DoubleSerializer",
    "DATE": f"{BASE}IntSerializer",
    "TIME_WITHOUT_TIME_ZONE": f"{BASE}IntSerializer",
    "BINARY": f"{BASE}array.BytePrimitiveArraySerializer",
    "VARBINARY": f"{BASE}array.BytePrimitiveArraySerializer",
}
"""Root of a SQL type -> its serializer, which has no fields."""
_DECIMAL = _class(
    f"{_TABLE}DecimalDataSerializer", ("I", "precision"), ("I", "scale"), parents=_ROOT
)
_TIMESTAMP = _class(f"{_TABLE}TimestampDataSerializer", ("I", "precision"), parents=_ROOT)
_ARRAY = _class(
    f"{_TABLE}ArrayDataSerializer",
    (_SERIALIZER, "eleSer"),
    (TYPE, "eleType"),
    (_ELEMENT_GETTER, "elementGetter"),
    parents=_ROOT,
)
_MAP = _class(
    f"{_TABLE}MapDataSerializer",
    (_ELEMENT_GETTER, "keyGetter"),
    (_SERIALIZER, "keySerializer"),
    (TYPE, "keyType"),
    (_ELEMENT_GETTER, "valueGetter"),
    (_SERIALIZER, "valueSerializer"),
    (TYPE, "valueType"),
    parents=_ROOT,
    uid=4073842523628732956,
)
_ROW = _class(
    f"{_TABLE}RowDataSerializer",
    ("Lorg/apache/flink/table/runtime/typeutils/BinaryRowDataSerializer;", "binarySerializer"),
    (_FIELD_GETTERS, "fieldGetters"),
    (f"[{_SERIALIZER}", "fieldSerializers"),
    (f"[{TYPE}", "types"),
    parents=_ABSTRACT_ROW,
)
_BINARY_ROW = _class(
    f"{_TABLE}BinaryRowDataSerializer",
    ("I", "fixedLengthPartSize"),
    ("I", "numFields"),
    parents=_ABSTRACT_ROW,
)
_GETTER_ARRAY = _class(_FIELD_GETTERS.replace("/", "."), uid=-7646304539732967285)
_SERIALIZER_ARRAY = _class(f"[{_SERIALIZER}".replace("/", "."), uid=4143624638847974296)
_TYPE_ARRAY = _class(f"[{TYPE}".replace("/", "."), uid=1744097763440828726)


class SerializerObjects:
    """Java objects of serializers in one stream."""

    def __init__(self) -> None:
        self._types = LogicalTypeObjects()
        self._getters = GetterObjects()
        self._singletons: dict[str, JavaObject] = {}

    def of(self, logical_type: LogicalType) -> JavaObject:
        """The serializer of a type. Raises ``ValueError`` for types that new rows can't have."""
        match logical_type.root:
            case "DECIMAL":
                return JavaObject(
                    _DECIMAL, {"precision": logical_type.precision, "scale": logical_type.scale}
                )
            case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
                return JavaObject(_TIMESTAMP, {"precision": logical_type.precision})
            case "ARRAY":
                return self._array(*logical_type.children)
            case "MAP":
                return self._map(logical_type.children)
            case "MULTISET":
                return self._map((*logical_type.children, count_type()))
            case "ROW":
                return self._row(logical_type.children)
            case _:
                return self._singleton(logical_type)

    def _singleton(self, logical_type: LogicalType) -> JavaObject:
        if logical_type.root not in SINGLETONS:
            raise ValueError(f"the SQL type {logical_type.root}, whose serializer is not known")
        name = SINGLETONS[logical_type.root]
        return self._singletons.setdefault(name, JavaObject(_class(name, parents=_SINGLETON)))

    def _array(self, element: LogicalType) -> JavaObject:
        return JavaObject(
            _ARRAY,
            {
                "eleSer": self.of(element),
                "eleType": self._types.of(element),
                "elementGetter": self._getters.element(element),
            },
        )

    def _map(self, parts: tuple[LogicalType, ...]) -> JavaObject:
        made = JavaObject(_MAP)
        for role, part in zip(("key", "value"), parts, strict=True):
            made.fields[f"{role}Getter"] = self._getters.element(part)
            made.fields[f"{role}Serializer"] = self.of(part)
            made.fields[f"{role}Type"] = self._types.of(part)
        return made

    def _row(self, fields: tuple[LogicalType, ...]) -> JavaObject:
        arity = len(fields)
        getters = [self._getters.field(index, part) for index, part in enumerate(fields)]
        return JavaObject(
            _ROW,
            {
                "binarySerializer": JavaObject(
                    _BINARY_ROW,
                    {"fixedLengthPartSize": _fixed_part_size(arity), "numFields": arity},
                ),
                "fieldGetters": JavaArray(_GETTER_ARRAY, [*getters]),
                "fieldSerializers": JavaArray(
                    _SERIALIZER_ARRAY, [self.of(field) for field in fields]
                ),
                "types": JavaArray(_TYPE_ARRAY, [self._types.of(field) for field in fields]),
            },
        )


def count_type() -> LogicalType:
    """The type of the counts in a MULTISET, which is stored as a map from element to count."""
    return LogicalType("INTEGER", is_nullable=False)


def _fixed_part_size(arity: int) -> int:
    """Bytes of a binary row's kind, null bits and slots."""
    return (arity + 8 + 63) // 64 * 8 + 8 * arity
