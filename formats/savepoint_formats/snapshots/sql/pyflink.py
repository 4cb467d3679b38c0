"""Snapshots of the serializers that exchange SQL values with Python workers.

They have nearly the same names as those of SQL. Their values are not binary rows: fields follow
each other, and numbers are big endian.

| class                 | body                                         | values              |
|-----------------------|----------------------------------------------|---------------------|
| RowDataSerializer     | i32 n, n Java objects (types), nested        | kind, nulls, fields |
| ArrayDataSerializer   | Java objects: element type, serializer       | present flag each   |
| MapDataSerializer     | Java objects: key and value type, serializers| null flag per value |
| DecimalDataSerializer | i32 precision, i32 scale                     | text                |
| TimestampSerializer   | i32 precision                                | as TimestampData    |

Flink: ``org.apache.flink.table.runtime.typeutils.serializers.python``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.layout import Layout, LogicalType, MapOf, MaskedStruct, Nullable, Repeated
from savepoint_formats.snapshots.basic import inner, simple
from savepoint_formats.snapshots.composite import numbered
from savepoint_formats.snapshots.fields import JAVA, JAVA_LIST, number
from savepoint_formats.snapshots.snapshot import NESTED, register
from savepoint_formats.snapshots.sql.logical_type import logical_type
from savepoint_formats.snapshots.sql.row_data import plain, timestamp

if TYPE_CHECKING:
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

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


def _row(snapshot: TypeSerializerSnapshot) -> Layout:
    names = numbered("f", len(snapshot.nested))
    return MaskedStruct(names, snapshot.nested_layouts(), has_kind=True)


def _array(snapshot: TypeSerializerSnapshot) -> Layout:
    element = logical_type(snapshot["element_type"].value)
    return Repeated(Nullable(_layout_of(element), is_null=False))


def _map(snapshot: TypeSerializerSnapshot) -> Layout:
    key, value = (logical_type(snapshot[name].value) for name in ("key_type", "value_type"))
    return MapOf(_layout_of(key), Nullable(_layout_of(value)))


register(
    {
        inner(f"{_PYTHON}RowDataSerializer"): plain(_row, types=JAVA_LIST, nested=NESTED),
        inner(f"{_PYTHON}ArrayDataSerializer"): plain(
            _array, element_type=JAVA, element_serializer=JAVA
        ),
        f"{_PYTHON}MapDataSerializer$BaseMapSerializerSnapshot": plain(
            _map, key_type=JAVA, value_type=JAVA, key_serializer=JAVA, value_serializer=JAVA
        ),
        f"{_PYTHON}DecimalDataSerializer$DecimalSerializerSnapshot": plain(
            lambda _snapshot: layouts.Utf8(), precision=number(1, 38), scale=number(0, 38)
        ),
        inner(f"{_PYTHON}TimestampSerializer"): plain(timestamp, precision=number(0, 9)),
        inner(f"{_PYTHON}StringSerializer"): simple(layouts.Utf8()),
        inner(f"{_PYTHON}BigDecSerializer"): simple(layouts.Utf8()),
        inner(f"{_PYTHON}DateSerializer"): simple(layouts.Int()),
        inner(f"{_PYTHON}TimeSerializer"): simple(layouts.Int()),
    }
)
