"""The Arrow type of a layout, and its name in Spark.

| layout                                    | Arrow                                             |
|-------------------------------------------|---------------------------------------------------|
| Boolean; Byte, Short, Int, Long           | bool; int8, int16, int32, int64                   |
| Float, Double                             | float, double                                     |
| Char, Text, MutableText, JavaUtf, Utf8    | utf8                                              |
| Enum                                      | utf8, the constant's name                         |
| BigInteger, BigDecimal                    | utf8: they have no bounds, and 1.0 is not 1.00    |
| DecimalData(p, s)                         | decimal128(p, s)                                  |
| JavaDate                                  | timestamp[ms, UTC]                                |
| Instant, SqlTimestamp                     | a precise time of UTC, see ``precise_times``      |
| LocalDate, LocalTime, LocalDateTime       | date32, time64[ns], a precise time                |
| SqlDate, SqlTime                          | date32, time32[ms]                                |
| TimestampData(p)                          | timestamp[ms] up to 3 digits, [us] up to 6, then  |
|                                           | a precise time                                    |
| TimerTimestamp                            | int64: an event time has the unit that its job has|
| FixedBytes, Bytes                         | binary                                            |
| Variant                                   | struct<json: utf8, metadata: binary, value: binary> |
| Marker, VoidNamespace                     | null; a Marker with a text: utf8, that text       |
| Nullable(x), Framed(x), Varying(x),       | the type of x                                     |
| OfScala(x), OfClass(x)                    |                                                   |
| Repeated, MaskedRepeated, BlockRepeated,  | list                                              |
| Packed                                    |                                                   |
| PackedTexts                               | list<utf8>                                        |
| NullCount                                 | int32, the count                                  |
| MapOf, BlockMap                           | map; list<struct<key, value>> if keys can be null |
|                                           | by a flag, since no key of an Arrow map is        |
| Struct                                    | struct                                            |
| MaskedStruct                              | struct; with a kind, the last field is $row_kind  |
| Tagged                                    | struct of the alternatives, all null but for one  |
| CaseClass                                 | struct                                            |
| Coproduct                                 | struct, see ``pojo_columns``                      |
| ScalaValue                                | utf8                                              |
| IndexedUnion                              | the same without Avro's null, which is a null     |
|                                           | struct; null and one other branch: that branch    |
| Pojo                                      | struct, see ``pojo_columns`` for subclasses;      |
|                                           | if it is open, the last field is $undecoded       |
| Ttl(x)                                    | struct<timestamp: timestamp[ms, UTC], value: x>   |
| BinaryRow                                 | struct of its fields and $row_kind                |
| BinaryArray, BinaryMap                    | list, map                                         |
| Kryo of a final class with a column       | the type in its row, see ``known_classes``        |
| Kryo of a class that the user described   | struct, see ``structs``                           |
| other Kryo                                | struct<json: utf8, bytes: binary, reason: utf8>   |
| JavaObject, Opaque                        | struct<bytes: binary, reason: utf8>               |
| Coded                                     | the codec's type, see ``coded_columns``           |

| SQL type                                  | Arrow                                             |
|-------------------------------------------|---------------------------------------------------|
| TIME                                      | time32[ms]                                        |
| TIMESTAMP(p), TIMESTAMP_LTZ(p)            | as TimestampData(p), without or with UTC          |
| INTERVAL YEAR TO MONTH                    | int32, months                                     |
| INTERVAL DAY TO SECOND                    | duration[ms]                                      |
| MULTISET                                  | map<element, int32>                               |
| ROW, STRUCTURED_TYPE, VARIANT             | struct                                            |
| BINARY, VARBINARY                         | binary                                            |
| RAW                                       | the type of what its serializer writes            |
| all others                                | as the layout of the same values                  |

``$row_kind`` is utf8: +I, -U, +U or -D. All fields are nullable, except the keys of maps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats import layout as layouts
from savepoint_formats.errors import UndecodableError
from savepoint_formats.python_state.stored_forms import KEY_FIELD
from savepoint_formats.values.coded_columns import coded_type
from savepoint_formats.values.kinds.codec import MAX_DEPTH
from savepoint_formats.values.kinds.precise_times import is_precise, precise_type
from savepoint_formats.values.kinds.times import timestamp_unit
from savepoint_formats.values.kryo.structs import (
    OBJECT_TYPE,
    UNDECODED,
    UNDECODED_TYPE,
    struct_column_type,
)
from savepoint_formats.values.pojo_fields import CLASS, has_subclasses, pojo_columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.layout import Layout, LogicalType


ROW_KIND = "$row_kind"
ROW_KINDS = ("+I", "-U", "+U", "-D")

_UTC = "UTC"
_VARIANT = pa.struct({"json": pa.utf8(), "metadata": pa.binary(), "value": pa.binary()})

_SCALARS: dict[type[Layout], pa.DataType] = {
    layouts.Boolean: pa.bool_(),
    layouts.Byte: pa.int8(),
    layouts.Short: pa.int16(),
    layouts.Int: pa.int32(),
    layouts.Long: pa.int64(),
    layouts.Float: pa.float32(),
    layouts.ScalaValue: pa.utf8(),
    layouts.Double: pa.float64(),
    layouts.Char: pa.utf8(),
    layouts.Enum: pa.utf8(),
    layouts.JavaDate: pa.timestamp("ms", _UTC),
    layouts.SqlTimestamp: precise_type(_UTC),
    layouts.Instant: precise_type(_UTC),
    layouts.LocalDate: pa.date32(),
    layouts.LocalTime: pa.time64("ns"),
    layouts.SqlDate: pa.date32(),
    layouts.SqlTime: pa.time32("ms"),
    layouts.LocalDateTime: precise_type(),
    layouts.TimerTimestamp: pa.int64(),
    layouts.FixedBytes: pa.binary(),
    layouts.Marker: pa.null(),
    layouts.VoidNamespace: pa.null(),
    layouts.Text: pa.utf8(),
    layouts.MutableText: pa.utf8(),
    layouts.JavaUtf: pa.utf8(),
    layouts.Utf8: pa.utf8(),
    layouts.Bytes: pa.binary(),
    layouts.BigInteger: pa.utf8(),
    layouts.BigDecimal: pa.utf8(),
    layouts.Variant: _VARIANT,
    layouts.PackedTexts: pa.list_(pa.utf8()),
    layouts.NullCount: pa.int32(),
    layouts.JavaObject: UNDECODED_TYPE,
    layouts.Opaque: UNDECODED_TYPE,
    layouts.Pickle: OBJECT_TYPE,
}

_SQL_SCALARS: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "CHAR": pa.utf8(),
    "VARCHAR": pa.utf8(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIME_WITHOUT_TIME_ZONE": pa.time32("ms"),
    "INTERVAL_YEAR_MONTH": pa.int32(),
    "INTERVAL_DAY_TIME": pa.duration("ms"),
    "NULL": pa.null(),
}

_SPARK_NAMES: dict[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.utf8(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    pa.null(): "VOID",
}


_OF_A_SET = {b"is_set": b"true"}
"""Metadata of the field of elements that marks a list as a set; types are equal without it."""


def is_set(kind: pa.DataType) -> bool:
    """Whether a list's elements have no order."""
    metadata = kind.value_field.metadata
    return metadata is not None and _OF_A_SET.items() <= metadata.items()


def arrow_type(layout: Layout) -> pa.DataType:
    """The Arrow type of the layout's values."""
    return _arrow_type(layout, 0)


def _arrow_type(layout: Layout, depth: int) -> pa.DataType:  # noqa: PLR0912 - a table
    depth = _deeper(depth)
    match layout:
        case (
            layouts.Nullable(inner)
            | layouts.Framed(inner)
            | layouts.Packed(inner, True)
            | layouts.Varying(inner)
            | layouts.OfScala(inner)
            | layouts.OfClass(inner)
        ):
            return _arrow_type(inner, depth)
        case layouts.Repeated(element, is_set=True):
            return pa.list_(pa.field("item", _arrow_type(element, depth), metadata=_OF_A_SET))
        case (
            layouts.Repeated(element)
            | layouts.MaskedRepeated(element)
            | layouts.BlockRepeated(element)
            | layouts.Packed(element, False)
        ):
            return pa.list_(_arrow_type(element, depth))
        case layouts.MapOf(key, value):
            if is_nullable_key(key):
                return pa.list_(_struct(("key", "value"), (key, value), depth))
            return pa.map_(_arrow_type(key, depth), _arrow_type(value, depth))
        case layouts.BlockMap(value):
            return pa.map_(pa.utf8(), _arrow_type(value, depth))
        case layouts.MaskedStruct(names, fields, True):
            return _with_kind(_struct(names, fields, depth))
        case (
            layouts.Struct(names, fields)
            | layouts.MaskedStruct(names, fields)
            | layouts.Tagged(_, names, fields)
            | layouts.CaseClass(_, names, fields)
        ):
            return _struct(names, fields, depth)
        case layouts.Coproduct():
            return pa.struct(_class_columns(layout, depth))
        case layouts.IndexedUnion():
            return _union_type(layout, depth)
        case layouts.Pojo():
            return _pojo_type(layout, depth)
        case layouts.Ttl(value):
            timestamp = ("timestamp", pa.timestamp("ms", _UTC))
            return pa.struct([timestamp, ("value", _arrow_type(value, depth))])
        case layouts.DecimalData(precision, scale):
            return _decimal_type(precision, scale)
        case layouts.TimestampData(precision):
            return _timestamp_type(precision)
        case layouts.BinaryRow(names, types):
            return _with_kind(_struct(names, types, depth))
        case layouts.BinaryArray(element):
            return pa.list_(_sql_type(element, depth))
        case layouts.BinaryMap(key, value):
            return pa.map_(_sql_type(key, depth), _sql_type(value, depth))
        case layouts.Kryo():
            column = struct_column_type(layout)
            return column.arrow_type if column else OBJECT_TYPE
        case layouts.Coded():
            return coded_type(layout)
        case layouts.Marker(_, str()):
            return pa.utf8()
        case _:
            return _SCALARS[type(layout)]


def _sql_type(sql: LogicalType, depth: int) -> pa.DataType:
    depth = _deeper(depth)
    match sql.root, sql.children:
        case "DECIMAL", _:
            return _decimal_type(sql.precision, sql.scale)
        case "TIMESTAMP_WITHOUT_TIME_ZONE", _:
            return _timestamp_type(sql.precision)
        case "TIMESTAMP_WITH_LOCAL_TIME_ZONE", _:
            return _timestamp_type(sql.precision, _UTC)
        case "ROW" | "STRUCTURED_TYPE", types:
            return _struct(sql.names, types, depth)
        case "ARRAY", (element,):
            return pa.list_(_sql_type(element, depth))
        case "MAP", (key, value):
            return pa.map_(_sql_type(key, depth), _sql_type(value, depth))
        case "MULTISET", (element,):
            return pa.map_(_sql_type(element, depth), pa.int32())
        case "DISTINCT_TYPE", (source,):
            return _sql_type(source, depth)
        case _ if sql.embedded is not None:
            return _arrow_type(sql.embedded, depth)
        case root, _ if root in _SQL_SCALARS:
            return _SQL_SCALARS[root]
        case root, _:
            raise UndecodableError(f"a SQL type {root}, which no row stores", "<layout>", 0)


def visible_key_type(key_type: pa.DataType) -> pa.DataType:
    """The type of a key as readers see it: without the kind of a row, and without the row of PyFlink."""
    if not pa.types.is_struct(key_type) or key_type.get_field_index(ROW_KIND) < 0:
        return key_type
    if key_type.field(0).name == KEY_FIELD:
        return visible_key_type(key_type.field(0).type)
    return pa.struct([field for field in key_type if field.name != ROW_KIND])


def _timestamp_type(precision: int, zone: str | None = None) -> pa.DataType:
    unit = timestamp_unit(precision)
    return precise_type(zone) if unit == "ns" else pa.timestamp(unit, zone)


def is_nullable_key(key: Layout) -> bool:
    """Whether a map with such keys is a list of entries, because a flag makes keys null.

    Keys such as ``Text``, whose own encoding has a null, still make a map. A null among them is too
    rare to change the type of every such map; it is an error.
    """
    match key:
        case (
            layouts.Framed(inner)
            | layouts.Varying(inner)
            | layouts.OfScala(inner)
            | layouts.OfClass(inner)
        ):
            return is_nullable_key(inner)
        case layouts.Nullable() | layouts.Marker(text=None) | layouts.VoidNamespace():
            return True
        case _:
            return False


def value_branches(union: layouts.IndexedUnion) -> tuple[int, ...]:
    """The indexes of the branches that are not null."""
    branches = enumerate(union.branches)
    return tuple(index for index, branch in branches if not isinstance(branch, layouts.Marker))


def _union_type(union: layouts.IndexedUnion, depth: int) -> pa.DataType:
    indexes = value_branches(union)
    if len(indexes) == 1:
        return _arrow_type(union.branches[indexes[0]], depth)
    branches = {union.names[index]: union.branches[index] for index in indexes}
    return _struct(branches, branches.values(), depth)


def _decimal_type(precision: int, scale: int) -> pa.DataType:
    if not 1 <= precision <= 38 or not 0 <= scale <= precision:
        raise UndecodableError(f"a type DECIMAL({precision}, {scale})", "<layout>", 0)
    return pa.decimal128(precision, scale)


def _struct(
    names: Iterable[str], fields: Iterable[Layout | LogicalType], depth: int
) -> pa.DataType:
    types = [
        _arrow_type(field, depth) if isinstance(field, layouts.Layout) else _sql_type(field, depth)
        for field in fields
    ]
    return pa.struct(list(zip(names, types, strict=True)))


def _with_kind(struct: pa.DataType) -> pa.DataType:
    return pa.struct([*struct, pa.field(ROW_KIND, pa.utf8())])


def _pojo_type(layout: layouts.Pojo, depth: int) -> pa.DataType:
    if has_subclasses(layout):
        fields = _class_columns(layout, depth)
    else:
        fields = list(_struct(layout.names, layout.fields, depth))
    return pa.struct([*fields, pa.field(UNDECODED, UNDECODED_TYPE)] if layout.is_open else fields)


def _class_columns(layout: layouts.Pojo | layouts.Coproduct, depth: int) -> list[pa.Field]:
    columns = pojo_columns(layout).layouts
    return [pa.field(CLASS, pa.utf8()), *_struct(columns, columns.values(), depth)]


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise UndecodableError(f"a type nested deeper than {MAX_DEPTH} levels", "<layout>", 0)
    return depth + 1


def spark_type_name(data_type: pa.DataType) -> str:
    """The type in Spark's DDL, e.g. ``STRUCT<f0: BIGINT>``.

    A time of day is a STRING, ``01:02:03.000000004``: Spark has no such type before 4.1, and later
    ones end at microseconds.
    """
    if is_precise(data_type):
        return spark_type_name(data_type.field(0).type)
    if pa.types.is_decimal(data_type):
        return f"DECIMAL({data_type.precision}, {data_type.scale})"
    if pa.types.is_timestamp(data_type):
        return "TIMESTAMP" if data_type.tz else "TIMESTAMP_NTZ"
    if pa.types.is_time(data_type):
        return "STRING"
    if pa.types.is_duration(data_type):
        return "INTERVAL DAY TO SECOND"
    if pa.types.is_list(data_type):
        return f"ARRAY<{spark_type_name(data_type.value_type)}>"
    if pa.types.is_map(data_type):
        key, value = spark_type_name(data_type.key_type), spark_type_name(data_type.item_type)
        return f"MAP<{key}, {value}>"
    if pa.types.is_struct(data_type):
        fields = (f"{_quoted(field.name)}: {spark_type_name(field.type)}" for field in data_type)
        return f"STRUCT<{', '.join(fields)}>"
    return _SPARK_NAMES[data_type]


def _quoted(name: str) -> str:
    if name.isidentifier() and name.isascii():
        return name
    return "`" + name.replace("`", "``") + "`"
