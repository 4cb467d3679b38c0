"""The general path against bytes that the serializers of Flink 1.20 and 2.2 wrote."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from support.each import each
from support.value_layouts import (
    COLOR,
    EITHER,
    EVENT,
    INT,
    LATER_TIMES,
    LONG,
    POJO,
    POJO_WITH_SUBCLASS,
    POJO_WITH_TAGS,
    SQL_INT,
    SQL_LONG,
    SQL_TEXT,
    TEXT,
    WINDOW,
    framed_array,
    framed_map,
    framed_row,
    nanos,
    read_all,
    row_of,
    sql_row,
    written,
)
from support.written_values import EPOCH
from support.written_values import precise as precise_since

from savepoint_formats import layout as layouts
from savepoint_formats.errors import SavepointError
from savepoint_formats.layout import (
    Framed,
    Layout,
    LogicalType,
    MapOf,
    MaskedRepeated,
    MaskedStruct,
    Nullable,
    Repeated,
    Struct,
    Tagged,
    Ttl,
)
from savepoint_formats.values.arrow_types import arrow_type

# name, layout, bytes, value; read and written alike
GOLDEN: list[tuple[str, Layout, str, Any]] = [
    ("text", TEXT, "0261", "a"),
    ("empty text", TEXT, "01", ""),
    ("null text", TEXT, "00", None),
    (
        "text of every length of unit",
        TEXT,
        "0ce901ff0f8010ff7f808001ffff03bdb00380bc03007f8001",
        "\u00e9\u07ff\u0800\u3fff\u4000\uffff\U0001f600\u0000\u007f\u0080",
    ),
    ("mutable text", layouts.MutableText(), "0261808001", "a\u4000"),
    ("UTF-8", layouts.Utf8(), "0000000668c3a96c6c6f", "héllo"),
    ("boolean", layouts.Boolean(), "01", True),
    ("byte", layouts.Byte(), "fe", -2),
    ("short", layouts.Short(), "fffe", -2),
    ("long", LONG, "fffffffffffffffe", -2),
    ("char", layouts.Char(), "00e9", "é"),
    ("float", layouts.Float(), "3fc00000", 1.5),
    ("negative zero", layouts.Double(), "8000000000000000", -0.0),
    ("big 0", layouts.BigInteger(), "00000001", "0"),
    ("big 10", layouts.BigInteger(), "00000003", "10"),
    ("big -128", layouts.BigInteger(), "0000000580", "-128"),
    ("big 128", layouts.BigInteger(), "000000060080", "128"),
    ("no big integer", layouts.BigInteger(), "00000000", None),
    ("decimal with a zero", layouts.BigDecimal(), "0000000300000001", "1.0"),
    ("negative decimal", layouts.BigDecimal(), "00000006fb1e00000002", "-12.50"),
    ("no decimal", layouts.BigDecimal(), "00000000", None),
    ("date", layouts.JavaDate(), "0000000000000005", datetime(1970, 1, 1, 0, 0, 0, 5000, UTC)),
    ("no date", layouts.JavaDate(), "8000000000000000", None),
    (
        "sql timestamp",
        layouts.SqlTimestamp(),
        "ffffffffffffffff3b8b87c1",
        precise_since(-999_999, EPOCH),
    ),
    ("no sql timestamp", layouts.SqlTimestamp(), "800000000000000000000000", None),
    ("instant", layouts.Instant(), "ffffffffffffffff00000005", precise_since(nanos(-1, 5), EPOCH)),
    (
        "instant of the last day",
        layouts.Instant(),
        "0000003afff4417f3b9ac9ff",
        {"seconds": datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), "nanos": 999_999_999},
    ),
    (
        "greatest instant of Java",
        layouts.Instant(),
        "00701cd2fa9578ff3b9ac9ff",
        {"seconds": 31_556_889_864_403_199, "nanos": 999_999_999},
    ),
    ("no instant", layouts.Instant(), "800000000000000080000000", None),
    ("local date", layouts.LocalDate(), "000007e4021d", date(2020, 2, 29)),
    ("no local date", layouts.LocalDate(), "800000008000", None),
    ("local time", layouts.LocalTime(), "173b3a3b9ac9ff", nanos(86_398, 999_999_999)),
    ("no local time", layouts.LocalTime(), "80800080000000", None),
    (
        "local date and time",
        layouts.LocalDateTime(),
        "000007e4021d01020300000004",
        precise_since(nanos(1_582_938_123, 4), EPOCH.replace(tzinfo=None)),
    ),
    (
        "local date and time of the last day",
        layouts.LocalDateTime(),
        "0000270f0c1f173b3b3b9ac9ff",
        {"seconds": datetime(9999, 12, 31, 23, 59, 59), "nanos": 999_999_999},
    ),
    (
        "greatest local date and time of Java",
        layouts.LocalDateTime(),
        "3b9ac9ff0c1f173b3b3b9ac9ff",
        {"seconds": 31_556_889_832_780_799, "nanos": 999_999_999},
    ),
    ("no local date and time", layouts.LocalDateTime(), "80000000800080800080000000", None),
    (
        "short timestamp",
        layouts.TimestampData(3),
        "0000000000000005",
        datetime(1970, 1, 1, 0, 0, 0, 5000),
    ),
    (
        "long timestamp",
        layouts.TimestampData(9),
        "000000000000000500000007",
        precise_since(5_000_007, EPOCH.replace(tzinfo=None)),
    ),
    (
        "long timestamp of the last day",
        layouts.TimestampData(9),
        "0000e677d21fdbff000f423f",
        {"seconds": datetime(9999, 12, 31, 23, 59, 59), "nanos": 999_999_999},
    ),
    ("short decimal", layouts.DecimalData(10, 2), "000000000000007d", Decimal("1.25")),
    ("long decimal", layouts.DecimalData(38, 2), "0000000183", Decimal("-1.25")),
    ("enum", COLOR, "00000001", "GREEN"),
    ("enum with numbers", layouts.Enum("E", ("A", "B"), (7, 3)), "00000003", "B"),
    ("null marker", layouts.Marker(), "00", None),
    ("nothing at all", layouts.Marker(None), "", None),
    ("void namespace", layouts.VoidNamespace(), "00", None),
    ("list", Repeated(TEXT), "0000000302610001", ["a", None, ""]),
    ("array", Repeated(Nullable(TEXT, is_null=False)), "0000000201026100", ["a", None]),
    ("set", Repeated(Nullable(TEXT)), "0000000300026100026201", ["a", "b", None]),
    ("linked list", MaskedRepeated(TEXT), "00000002400261", ["a", None]),
    ("packed texts", layouts.PackedTexts(), "0000000200000003016100", ["a", ""]),
    ("count of nulls", layouts.NullCount(), "00000002", 2),
    (
        "map",
        MapOf(TEXT, Nullable(INT)),
        "000000020261000000000102620000000002",
        [("a", 1), ("b", 2)],
    ),
    ("map with a null", MapOf(TEXT, Nullable(INT)), "00000001026101", [("a", None)]),
    (
        "map that admits null keys",
        MapOf(Nullable(TEXT), Nullable(INT)),
        "00000001010000000001",
        [{"key": None, "value": 1}],
    ),
    (
        "tuple",
        Struct(("f0", "f1", "f2"), (TEXT, INT, LONG)),
        "026b000000010000000000000002",
        {"f0": "k", "f1": 1, "f2": 2},
    ),
    ("left", EITHER, "010261", {"left": "a", "right": None}),
    ("right", EITHER, "0000000003", {"left": None, "right": 3}),
    ("padded null", Nullable(LONG, padding=8), "010000000000000000", None),
    ("padded value", Nullable(LONG, padding=8), "000000000000000005", 5),
    (
        "row to delete",
        row_of(f0=TEXT, f1=INT),
        "d00278",
        {"f0": "x", "f1": None, "$row_kind": "-D"},
    ),
    (
        "row of 17 fields",
        MaskedStruct(tuple(f"f{at}" for at in range(17)), (INT,) * 17, has_kind=True),
        "649240" + "".join(f"{at:08x}" for at in range(17) if at % 3),
        {f"f{at}": at if at % 3 else None for at in range(17)} | {"$row_kind": "+U"},
    ),
    (
        "row of Flink 1.10",
        MaskedStruct(("f0", "f1"), (TEXT, TEXT), has_kind=False),
        "400261",
        {"f0": "a", "f1": None},
    ),
    ("pojo", POJO, "020000000001010000000000", {"a": 1, "b": None, "c": "RED"}),
    ("null pojo", POJO, "01", None),
    (
        "pojo among subclasses",
        POJO_WITH_SUBCLASS,
        "020000000001010000000000",
        {"$class": "GenCore$P", "a": 1, "b": None, "c": "RED", "z": None},
    ),
    (
        "subclass",
        POJO_WITH_SUBCLASS,
        "04000b47656e436f72652453756202000000000200027301000000000000000009",
        {"$class": "GenCore$Sub", "a": 2, "b": "s", "c": None, "z": 9},
    ),
    (
        "registered subclass",
        POJO_WITH_TAGS,
        "080002000000000200027301000000000000000009",
        {"$class": "GenCore$Sub", "a": 2, "b": "s", "c": None, "z": 9},
    ),
    (
        "time to live",
        Ttl(TEXT),
        "000000000000000900",
        {"timestamp": datetime(1970, 1, 1, 0, 0, 0, 9000, UTC), "value": None},
    ),
    (
        "timer",
        Struct(("timestamp", "key", "namespace"), (layouts.TimerTimestamp(), TEXT, WINDOW)),
        "7ffffffffffffffb026b00000000000000010000000000000002",
        {"timestamp": -5, "key": "k", "namespace": {"start": 1, "end": 2}},
    ),
    (
        "structures in structures",
        Repeated(
            Struct(
                ("event", "page"),
                (Tagged((0, 1), ("none", "some"), (layouts.Marker(None), EVENT)), TEXT),
            )
        ),
        "000000020100000001000000000000000202700000",
        [
            {"event": {"none": None, "some": {"id": 1, "timestamp": 2}}, "page": "p"},
            {"event": {"none": None, "some": None}, "page": None},
        ],
    ),
    ("frame", Framed(TEXT), "000000050572617721", "raw!"),
    (
        "binary row of a long",
        framed_row(("f0",), (SQL_LONG,)),
        "0000001000000000000000002a00000000000000",
        {"f0": 42, "$row_kind": "+I"},
    ),
    (
        "binary row of a short text",
        framed_row(("f0",), (SQL_TEXT,)),
        "0000001000000000000000006b65790000000083",
        {"f0": "key", "$row_kind": "+I"},
    ),
    (
        "binary row with nulls of the variable part",
        framed_row(("f0", "f1", "f2"), LATER_TIMES),
        "000000200006000000000000050000000000000000000000000000000000000000000000",
        {"f0": 5, "f1": None, "f2": None, "$row_kind": "+I"},
    ),
    (
        "binary array",
        framed_array(SQL_INT),
        "00000018030000000000000001000000020000000300000000000000",
        [1, 2, 3],
    ),
    (
        "binary array of texts",
        framed_array(SQL_TEXT),
        "00000018020000000200000078000000000000810000000000000000",
        ["x", None],
    ),
    (
        "binary map",
        framed_map(SQL_TEXT, SQL_LONG),
        "00000024100000000100000000000000710000000000008101000000000000000500000000000000",
        [("q", 5)],
    ),
    (
        "binary array of rows",
        framed_array(sql_row(f0=SQL_INT)),
        "000000200100000000000000100000001000000000000000000000000100000000000000",
        [{"f0": 1}],
    ),
    (
        "binary row with raw bytes",
        framed_row(("f0", "f1"), (LogicalType("RAW"), SQL_INT)),
        "000000200000000000000000040000001800000001000000000000000000004d00000000",
        {
            "f0": {"bytes": bytes.fromhex("0000004d"), "reason": "a RAW value of SQL"},
            "f1": 1,
            "$row_kind": "+I",
        },
    ),
    (
        "variant",
        layouts.Variant(),
        "00000006000000031568656c6c6f010000",
        {"json": '"hello"', "metadata": b"\x01\0\0", "value": b"\x15hello"},
    ),
    ("Avro array", layouts.BlockRepeated(INT), "02000000010000000200", [1, 2]),
    ("empty Avro array", layouts.BlockRepeated(INT), "00", []),
    ("Avro map", layouts.BlockMap(INT), "0100000001610000000700", [("a", 7)]),
    (
        "optional field of Avro",
        layouts.IndexedUnion(("null", "string"), (layouts.Marker(None), layouts.Utf8())),
        "000000010000000161",
        "a",
    ),
    (
        "null of Avro",
        layouts.IndexedUnion(("null", "string"), (layouts.Marker(None), layouts.Utf8())),
        "00000000",
        None,
    ),
    (
        "union of Avro",
        layouts.IndexedUnion(
            ("null", "int", "string"), (layouts.Marker(None), INT, layouts.Utf8())
        ),
        "0000000100000007",
        {"int": 7, "string": None},
    ),
]
IDS = [name for name, _, _, _ in GOLDEN]
EVERY_GOLDEN = each(
    ("layout", "data", "value"),
    [(layout, bytes.fromhex(data), value) for _, layout, data, value in GOLDEN],
    ids=IDS,
)


@EVERY_GOLDEN
def test_reads_what_flink_wrote(layout: Layout, data: bytes, value: Any) -> None:
    assert read_all(layout, data) == value


@EVERY_GOLDEN
def test_writes_the_bytes_that_flink_writes(layout: Layout, data: bytes, value: Any) -> None:
    assert written(layout, value) == data


@EVERY_GOLDEN
def test_a_value_fits_into_its_arrow_type(layout: Layout, data: bytes, value: Any) -> None:
    column = pa.array([value, None], arrow_type(layout))
    assert column.null_count >= 1


@EVERY_GOLDEN
def test_every_cut_is_noticed(layout: Layout, data: bytes, value: Any) -> None:
    for cut in range(len(data)):
        with pytest.raises(SavepointError):
            read_all(layout, data[:cut])


@pytest.mark.parametrize(
    ("layout", "data", "value"),
    [
        (layouts.BigInteger(), "0000000501", "1"),
        (
            framed_row(("f0", "f1", "f2"), LATER_TIMES),
            "00000038 0006000000000000 0500000000000000 0000000020000000 0000000030000000"
            + " 00" * 24,
            {"f0": 5, "f1": None, "f2": None, "$row_kind": "+I"},
        ),
    ],
    ids=["a 1 that is not the constant", "nulls of generated code"],
)
def test_a_second_form_of_a_value_is_read_too(layout: Layout, data: str, value: Any) -> None:
    assert read_all(layout, bytes.fromhex(data)) == value


def test_every_nan_is_written_as_the_one_of_java() -> None:
    odd = struct.unpack(">d", bytes.fromhex("fff8000000000001"))[0]
    assert written(layouts.Double(), odd).hex() == "7ff8000000000000"
    assert written(layouts.Float(), odd).hex() == "7fc00000"
