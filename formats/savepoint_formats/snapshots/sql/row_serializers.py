"""Snapshots of the serializers of Flink SQL: rows, strings, decimals, arrays, maps.

| class                   | body                                                           |
|-------------------------|----------------------------------------------------------------|
| RowDataSerializer       | i32 n, n Java objects (logical types), nested serializers;     |
|                         | from version 4 on bool, and if it is set n utf: the fields     |
| BinaryRowDataSerializer | i32 number of fields; their types are not stored               |
| DecimalDataSerializer   | i32 precision, i32 scale                                       |
| TimestampDataSerializer | i32 precision                                                  |
| ArrayDataSerializer     | Java objects: element type, element serializer                 |
| MapDataSerializer       | Java objects: key type, value type, key and value serializers  |
| SortedMapSerializer     | Java object: comparator; nested serializers                    |
| RowDataKeySerializer    | two framed Java objects, the snapshot of the row               |

Flink 1.9 and 1.10 have older names for the same classes, such as ``BaseRowSerializer``. Version 4
comes with the release after 2.3 (FLINK-40120); before, snapshots of rows have no names of fields.

Serializers that exchange values with Python workers have nearly the same names. Their values are not
binary rows: fields follow each other, and numbers are big endian.

| class                 | body                                         | values              |
|-----------------------|----------------------------------------------|---------------------|
| RowDataSerializer     | i32 n, n Java objects (types), nested        | kind, nulls, fields |
| ArrayDataSerializer   | Java objects: element type, serializer       | present flag each   |
| MapDataSerializer     | Java objects: key and value type, serializers| null flag per value |
| DecimalDataSerializer | i32 precision, i32 scale                     | text                |
| TimestampSerializer   | i32 precision                                | as TimestampData    |

Flink: ``org.apache.flink.table.runtime.typeutils`` and its ``serializers.python``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.codecs import BYTES
from savepoint_formats.layout import (
    Framed,
    Layout,
    LogicalType,
    MapOf,
    MaskedStruct,
    Nullable,
    Opaque,
    Repeated,
)
from savepoint_formats.snapshots.basic import inner, simple
from savepoint_formats.snapshots.composite import java_map, numbered
from savepoint_formats.snapshots.fields import JAVA, JAVA_LIST, Following, number, optional_names
from savepoint_formats.snapshots.snapshot import NESTED, SNAPSHOT, SnapshotKind, register
from savepoint_formats.snapshots.sql.logical_type import logical_type, unstored_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.bytes.codecs import Codec
    from savepoint_formats.snapshots.fields import Field
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot


_TABLE = "org.apache.flink.table.runtime.typeutils."
_SEQUENCED = "org.apache.flink.table.runtime.sequencedmultisetstate.linked."

# As Flink's type factories check them: DecimalType, TimestampType.
_DECIMAL_PRECISION = number(1, 38)
_DECIMAL_SCALE = number(0, 38)
_TIMESTAMP_PRECISION = number(0, 9)
_ARITY = number(0, 0x7FFF_FFFF)


def unversioned(
    layout: Callable[[TypeSerializerSnapshot], Layout], parts: int | None = None, **fields: Codec
) -> SnapshotKind:
    """The kind of a snapshot whose body has these fields in every version."""
    body = tuple(fields.items())
    return SnapshotKind(layout, lambda _version: body, versions=range(4), parts=parts)


def _row(snapshot: TypeSerializerSnapshot) -> Layout:
    types = tuple(logical_type(java.value) for java in snapshot["types"])
    stored = snapshot["fields"] if "fields" in snapshot.names else None
    # A table can't have two columns of one name.
    names = stored if stored and len(set(stored)) == len(types) else numbered("f", len(types))
    return _of_types(snapshot, layouts.BinaryRow(names, types), *types)


def _of_types(snapshot: TypeSerializerSnapshot, layout: Layout, *types: LogicalType) -> Layout:
    """The layout, or bytes if a type is damaged or of a newer Flink."""
    root = next(filter(None, map(unstored_root, types)), None)
    if root is not None:
        layout = Opaque(snapshot.class_name, f"a SQL type {root}, which no row stores")
    return Framed(layout)


def _row_body(version: int) -> tuple[Field, ...]:
    body: tuple[Field, ...] = (("types", JAVA_LIST), ("nested", NESTED))
    return body if version < _FIRST_WITH_NAMES else (*body, ("fields", _ROW_FIELDS))


_FIRST_WITH_NAMES = 4
_ROW_FIELDS = Following(lambda before: optional_names(len(before[0])))


def _untyped_row(snapshot: TypeSerializerSnapshot) -> Layout:
    reason = f"a binary row of {snapshot['arity']} fields, whose types are not stored"
    return Framed(Opaque(snapshot.class_name, reason))


def timestamp(snapshot: TypeSerializerSnapshot) -> Layout:
    """The layout of a timestamp of this precision."""
    return layouts.TimestampData(snapshot["precision"])


def _array(snapshot: TypeSerializerSnapshot) -> Layout:
    element = logical_type(snapshot["element_type"].value)
    return _of_types(snapshot, layouts.BinaryArray(element), element)


def _map(snapshot: TypeSerializerSnapshot) -> Layout:
    key, value = (logical_type(snapshot[name].value) for name in ("key_type", "value_type"))
    return _of_types(snapshot, layouts.BinaryMap(key, value), key, value)


_KINDS: dict[SnapshotKind, tuple[str, ...]] = {
    SnapshotKind(_row, _row_body, versions=range(_FIRST_WITH_NAMES + 1)): (
        "RowDataSerializer",
        "BaseRowSerializer",
    ),
    unversioned(_untyped_row, arity=_ARITY): ("BinaryRowDataSerializer", "BinaryRowSerializer"),
    simple(layouts.Utf8()): ("StringDataSerializer", "BinaryStringSerializer"),
    unversioned(timestamp, precision=_TIMESTAMP_PRECISION): (
        "TimestampDataSerializer",
        "SqlTimestampSerializer",
    ),
    unversioned(_array, element_type=JAVA, element_serializer=JAVA): (
        "ArrayDataSerializer",
        "BaseArraySerializer",
    ),
    unversioned(_map, key_type=JAVA, value_type=JAVA, key_serializer=JAVA, value_serializer=JAVA): (
        "MapDataSerializer",
        "BaseMapSerializer",
    ),
}
_DECIMAL = unversioned(
    lambda snapshot: layouts.DecimalData(snapshot["precision"], snapshot["scale"]),
    precision=_DECIMAL_PRECISION,
    scale=_DECIMAL_SCALE,
)

for _kind, _names in _KINDS.items():
    register({inner(_TABLE + name): _kind for name in _names})
register(
    {
        f"{_TABLE}DecimalDataSerializer$DecimalSerializerSnapshot": _DECIMAL,
        inner(f"{_TABLE}DecimalSerializer"): _DECIMAL,
        f"{_TABLE}SortedMapSerializerSnapshot": unversioned(
            lambda snapshot: java_map(*snapshot.nested_layouts()),
            parts=2,
            comparator=JAVA,
            nested=NESTED,
        ),
        f"{_SEQUENCED}RowDataKeySerializerSnapshot": unversioned(
            lambda snapshot: snapshot["row"].layout(), equaliser=BYTES, hash=BYTES, row=SNAPSHOT
        ),
    }
)


# --- Python workers ---------------------------------------------------------------------------

_PYTHON = "org.apache.flink.table.runtime.typeutils.serializers.python."

_BY_ROOT: dict[str, Layout] = {
    "BOOLEAN": layouts.Boolean(),
    "TINYINT": layouts.Byte(),
    "SMALLINT": layouts.Short(),
    "INTEGER": layouts.Int(),
    "BIGINT": layouts.Long(),
    "FLOAT": layouts.Float(),
    "DOUBLE": layouts.Double(),
    "CHAR": layouts.Utf8(),
    "VARCHAR": layouts.Utf8(),
    "BINARY": layouts.Bytes(),
    "VARBINARY": layouts.Bytes(),
    "DECIMAL": layouts.Utf8(),
    "DATE": layouts.Int(),
    "TIME_WITHOUT_TIME_ZONE": layouts.Int(),
}


def _layout_of(logical_type: LogicalType) -> Layout:
    """The layout of an element of an array or map, which has no snapshot of its own."""
    children = tuple(map(_layout_of, logical_type.children))
    match logical_type.root:
        case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
            return layouts.TimestampData(logical_type.precision)
        case "ARRAY":
            return Repeated(Nullable(children[0], is_null=False))
        case "MAP":
            return MapOf(children[0], Nullable(children[1]))
        case "ROW":
            return MaskedStruct(logical_type.names, children, has_kind=True)
    unknown = layouts.Opaque(
        logical_type.root, "no serializer of Python is known for this SQL type"
    )
    return _BY_ROOT.get(logical_type.root, unknown)


def _python_row(snapshot: TypeSerializerSnapshot) -> Layout:
    names = numbered("f", len(snapshot.nested))
    return MaskedStruct(names, snapshot.nested_layouts(), has_kind=True)


def _python_array(snapshot: TypeSerializerSnapshot) -> Layout:
    element = logical_type(snapshot["element_type"].value)
    return Repeated(Nullable(_layout_of(element), is_null=False))


def _python_map(snapshot: TypeSerializerSnapshot) -> Layout:
    key, value = (logical_type(snapshot[name].value) for name in ("key_type", "value_type"))
    return MapOf(_layout_of(key), Nullable(_layout_of(value)))


register(
    {
        inner(f"{_PYTHON}RowDataSerializer"): unversioned(
            _python_row, types=JAVA_LIST, nested=NESTED
        ),
        inner(f"{_PYTHON}ArrayDataSerializer"): unversioned(
            _python_array, element_type=JAVA, element_serializer=JAVA
        ),
        f"{_PYTHON}MapDataSerializer$BaseMapSerializerSnapshot": unversioned(
            _python_map, key_type=JAVA, value_type=JAVA, key_serializer=JAVA, value_serializer=JAVA
        ),
        f"{_PYTHON}DecimalDataSerializer$DecimalSerializerSnapshot": unversioned(
            lambda _snapshot: layouts.Utf8(), precision=number(1, 38), scale=number(0, 38)
        ),
        inner(f"{_PYTHON}TimestampSerializer"): unversioned(timestamp, precision=number(0, 9)),
        inner(f"{_PYTHON}StringSerializer"): simple(layouts.Utf8()),
        inner(f"{_PYTHON}BigDecSerializer"): simple(layouts.Utf8()),
        inner(f"{_PYTHON}DateSerializer"): simple(layouts.Int()),
        inner(f"{_PYTHON}TimeSerializer"): simple(layouts.Int()),
    }
)
