"""The Arrow type of each layout, and its name in Spark."""

from __future__ import annotations

import inspect

import pyarrow as pa
import pytest

from savepoint_formats import layout as layouts
from savepoint_formats.errors import UndecodableError
from savepoint_formats.layout import (
    BinaryRow,
    Int,
    Kryo,
    Layout,
    LogicalType,
    Long,
    MapOf,
    MaskedStruct,
    Nullable,
    Pojo,
    Repeated,
    Struct,
    Tagged,
    Text,
    Ttl,
)
from savepoint_formats.values.arrow_types import arrow_type, spark_type_name

TEXT, INT, LONG = Text(), Int(), Long()
SQL_TEXT, SQL_LONG = LogicalType("VARCHAR"), LogicalType("BIGINT")
SUBCLASS = Pojo("a.B$Sub", ("id", "size"), (Nullable(INT), Nullable(TEXT)))
OTHER_SUBCLASS = Pojo("a.Other", ("id", "size"), (Nullable(INT), Nullable(LONG)))
POJO = Pojo(
    "a.B",
    ("id",),
    (Nullable(INT),),
    registered=(("a.B$Sub", SUBCLASS),),
    unregistered=(("a.Other", OTHER_SUBCLASS), ("a.Third", Kryo("a.Third"))),
)


def sql(root: str, *children: LogicalType, precision: int = 0, scale: int = 0) -> Layout:
    names = tuple(f"f{at}" for at in range(len(children))) if root == "ROW" else ()
    one = LogicalType(root, True, 0, precision, scale, names, children)
    return layouts.BinaryArray(one)


UNDECODED_TYPES = (
    "struct<bytes: binary, reason: string>",
    "STRUCT<bytes: BINARY, reason: STRING>",
)
TYPES: list[tuple[Layout, str, str]] = [
    (layouts.Boolean(), "bool", "BOOLEAN"),
    (layouts.Byte(), "int8", "TINYINT"),
    (layouts.Short(), "int16", "SMALLINT"),
    (INT, "int32", "INT"),
    (LONG, "int64", "BIGINT"),
    (layouts.Float(), "float", "FLOAT"),
    (layouts.Double(), "double", "DOUBLE"),
    (layouts.Char(), "string", "STRING"),
    (TEXT, "string", "STRING"),
    (layouts.Enum("E", ("A",)), "string", "STRING"),
    (layouts.BigInteger(), "string", "STRING"),
    (layouts.BigDecimal(), "string", "STRING"),
    (layouts.DecimalData(10, 2), "decimal128(10, 2)", "DECIMAL(10, 2)"),
    (layouts.JavaDate(), "timestamp[ms, tz=UTC]", "TIMESTAMP"),
    (
        layouts.SqlTimestamp(),
        "struct<seconds: timestamp[s, tz=UTC] not null, nanos: int32 not null>",
        "TIMESTAMP",
    ),
    (
        layouts.Instant(),
        "struct<seconds: timestamp[s, tz=UTC] not null, nanos: int32 not null>",
        "TIMESTAMP",
    ),
    (layouts.LocalDate(), "date32[day]", "DATE"),
    (layouts.LocalTime(), "time64[ns]", "STRING"),
    (
        layouts.LocalDateTime(),
        "struct<seconds: timestamp[s] not null, nanos: int32 not null>",
        "TIMESTAMP_NTZ",
    ),
    (layouts.TimestampData(3), "timestamp[ms]", "TIMESTAMP_NTZ"),
    (layouts.TimestampData(6), "timestamp[us]", "TIMESTAMP_NTZ"),
    (
        layouts.TimestampData(9),
        "struct<seconds: timestamp[s] not null, nanos: int32 not null>",
        "TIMESTAMP_NTZ",
    ),
    (layouts.TimerTimestamp(), "int64", "BIGINT"),
    (layouts.Bytes(), "binary", "BINARY"),
    (layouts.Opaque("a.B", "unknown"), *UNDECODED_TYPES),
    (layouts.JavaObject(), *UNDECODED_TYPES),
    (layouts.Marker(), "null", "VOID"),
    (layouts.VoidNamespace(), "null", "VOID"),
    (layouts.NullCount(), "int32", "INT"),
    (layouts.SqlDate(), "date32[day]", "DATE"),
    (layouts.SqlTime(), "time32[ms]", "STRING"),
    (layouts.Packed(INT), "list<item: int32>", "ARRAY<INT>"),
    (
        layouts.Pickle(),
        "struct<json: string, bytes: binary, reason: string>",
        "STRUCT<json: STRING, bytes: BINARY, reason: STRING>",
    ),
    (layouts.CaseClass("shop.Key", ("_1",), (INT,), 4), "struct<_1: int32>", "STRUCT<_1: INT>"),
    (
        layouts.Coproduct(("shop.A$", "shop.B"), (layouts.Marker(None), INT)),
        "struct<$class: string, $value: int32>",
        "STRUCT<`$class`: STRING, `$value`: INT>",
    ),
    (layouts.Marker(None, "()"), "string", "STRING"),
    (layouts.OfScala(Repeated(INT)), "list<item: int32>", "ARRAY<INT>"),
    (layouts.OfClass(Repeated(INT), "shop.IdsSnapshot"), "list<item: int32>", "ARRAY<INT>"),
    (
        layouts.Coded(layouts.ValueCodec(float, print, pa.float64(), is_strict=True)),
        "double",
        "DOUBLE",
    ),
    (layouts.ScalaValue("Duration"), "string", "STRING"),
    (Nullable(INT), "int32", "INT"),
    (Repeated(TEXT), "list<item: string>", "ARRAY<STRING>"),
    (layouts.PackedTexts(), "list<item: string>", "ARRAY<STRING>"),
    (MapOf(TEXT, Nullable(LONG)), "map<string, int64>", "MAP<STRING, BIGINT>"),
    (
        MapOf(Nullable(TEXT), LONG),
        "list<item: struct<key: string, value: int64>>",
        "ARRAY<STRUCT<key: STRING, value: BIGINT>>",
    ),
    (layouts.BlockMap(LONG), "map<string, int64>", "MAP<STRING, BIGINT>"),
    (
        Struct(("f0", "a b"), (LONG, TEXT)),
        "struct<f0: int64, a b: string>",
        "STRUCT<f0: BIGINT, `a b`: STRING>",
    ),
    (
        MaskedStruct(("f0",), (LONG,), has_kind=True),
        "struct<f0: int64, $row_kind: string>",
        "STRUCT<f0: BIGINT, `$row_kind`: STRING>",
    ),
    (MaskedStruct(("f0",), (LONG,), has_kind=False), "struct<f0: int64>", "STRUCT<f0: BIGINT>"),
    (
        Tagged((1, 0), ("left", "right"), (TEXT, INT)),
        "struct<left: string, right: int32>",
        "STRUCT<left: STRING, right: INT>",
    ),
    (layouts.IndexedUnion(("null", "int"), (layouts.Marker(None), INT)), "int32", "INT"),
    (
        layouts.IndexedUnion(("int", "null", "string"), (INT, layouts.Marker(None), TEXT)),
        "struct<int: int32, string: string>",
        "STRUCT<int: INT, string: STRING>",
    ),
    (SUBCLASS, "struct<id: int32, size: string>", "STRUCT<id: INT, size: STRING>"),
    (
        POJO,
        (
            "struct<$class: string, id: int32, size: string, size@Other: int64,"
            " $value: struct<json: string, bytes: binary, reason: string>>"
        ),
        "STRUCT<`$class`: STRING, id: INT, size: STRING, `size@Other`: BIGINT, `$value`: STRUCT<json: STRING, bytes: BINARY, reason: STRING>>",
    ),
    (
        Ttl(TEXT),
        "struct<timestamp: timestamp[ms, tz=UTC], value: string>",
        "STRUCT<timestamp: TIMESTAMP, value: STRING>",
    ),
    (
        BinaryRow(("f0",), (SQL_LONG,)),
        "struct<f0: int64, $row_kind: string>",
        "STRUCT<f0: BIGINT, `$row_kind`: STRING>",
    ),
    (layouts.BinaryMap(SQL_TEXT, SQL_LONG), "map<string, int64>", "MAP<STRING, BIGINT>"),
    (
        layouts.Variant(),
        "struct<json: string, metadata: binary, value: binary>",
        "STRUCT<json: STRING, metadata: BINARY, value: BINARY>",
    ),
    (layouts.Varying(LONG), "int64", "BIGINT"),
    (Kryo("java.util.UUID"), "string", "STRING"),
    (Kryo("java.time.Duration"), "duration[ns]", "INTERVAL DAY TO SECOND"),
    (
        Kryo("java.util.ArrayList"),
        "struct<json: string, bytes: binary, reason: string>",
        "STRUCT<json: STRING, bytes: BINARY, reason: STRING>",
    ),
    (sql("TIME_WITHOUT_TIME_ZONE"), "list<item: time32[ms]>", "ARRAY<STRING>"),
    (sql("INTERVAL_DAY_TIME"), "list<item: duration[ms]>", "ARRAY<INTERVAL DAY TO SECOND>"),
    (sql("INTERVAL_YEAR_MONTH"), "list<item: int32>", "ARRAY<INT>"),
    (
        sql("TIMESTAMP_WITH_LOCAL_TIME_ZONE", precision=6),
        "list<item: timestamp[us, tz=UTC]>",
        "ARRAY<TIMESTAMP>",
    ),
    (
        sql("DECIMAL", precision=38, scale=10),
        "list<item: decimal128(38, 10)>",
        "ARRAY<DECIMAL(38, 10)>",
    ),
    (sql("MULTISET", SQL_TEXT), "list<item: map<string, int32>>", "ARRAY<MAP<STRING, INT>>"),
    (sql("ROW", SQL_LONG), "list<item: struct<f0: int64>>", "ARRAY<STRUCT<f0: BIGINT>>"),
    (sql("DISTINCT_TYPE", SQL_LONG), "list<item: int64>", "ARRAY<BIGINT>"),
]


@pytest.mark.parametrize(("layout", "arrow", "spark"), TYPES, ids=[one[2] for one in TYPES])
def test_a_layout_has_one_arrow_type_and_one_of_spark(
    layout: Layout, arrow: str, spark: str
) -> None:
    assert str(arrow_type(layout)) == arrow
    assert spark_type_name(arrow_type(layout)) == spark


def test_every_node_has_an_arrow_type() -> None:
    examples: dict[str, Layout] = {type(one).__name__: one for one, _, _ in TYPES}
    nodes = {
        name
        for name, one in vars(layouts).items()
        if inspect.isclass(one) and issubclass(one, Layout) and one is not Layout
    }
    shown_elsewhere = {
        "MutableText",
        "JavaUtf",
        "Utf8",
        "FixedBytes",
        "MaskedRepeated",
        "Framed",
        "BlockRepeated",
        "LogicalType",
    }
    assert nodes - set(examples) <= shown_elsewhere


def test_keys_of_maps_are_never_null() -> None:
    assert not arrow_type(MapOf(TEXT, LONG)).key_field.nullable
    assert arrow_type(MapOf(TEXT, LONG)).item_field.nullable


@pytest.mark.parametrize(
    "key",
    [
        layouts.Marker(None),
        layouts.Marker(7),
        layouts.VoidNamespace(),
        layouts.Nullable(TEXT),
        layouts.Varying(layouts.Marker(None)),
        layouts.Framed(layouts.Nullable(TEXT)),
        layouts.Framed(layouts.Marker(None)),
    ],
)
def test_maps_whose_keys_can_be_null_are_lists_of_entries(key: Layout) -> None:
    entry = arrow_type(MapOf(key, LONG)).value_type
    assert [field.name for field in entry] == ["key", "value"]
    assert entry.field("key").nullable
    pa.array([[{"key": None, "value": 1}]], arrow_type(MapOf(key, LONG)))


@pytest.mark.parametrize(
    "layout",
    [layouts.DecimalData(39, 0), layouts.DecimalData(2, 3), sql("SYMBOL"), sql("DECIMAL")],
)
def test_a_type_that_no_savepoint_has_is_refused(layout: Layout) -> None:
    with pytest.raises(UndecodableError):
        arrow_type(layout)


def test_a_type_of_spark_is_quoted_where_it_must_be() -> None:
    assert spark_type_name(pa.struct({"a`b": pa.int8()})) == "STRUCT<`a``b`: TINYINT>"
