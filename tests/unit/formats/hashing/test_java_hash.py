"""Hash codes of values against those that the classes of Flink 2.2 returned.

``test_key_hash`` compares columns with them.
"""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.java_hash import bytes_hash, java_hash

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import UnstableHashError
from savepoint_formats.layout import (
    BinaryArray,
    BinaryMap,
    BinaryRow,
    Framed,
    Int,
    Kryo,
    Layout,
    LogicalType,
    Long,
    MapOf,
    MaskedRepeated,
    MaskedStruct,
    Nullable,
    Pojo,
    Repeated,
    Struct,
    Tagged,
    Text,
)
from savepoint_formats.values.value_writer import write_value
from savepoint_formats.values.values import read_value

TEXT, INT, LONG = Text(), Int(), Long()
BIG, DECIMAL = layouts.BigInteger(), layouts.BigDecimal()
PAIR = Struct(("f0", "f1"), (TEXT, INT))
TRIPLE = Struct(("f0", "f1", "f2"), (INT, TEXT, layouts.Boolean()))
CASE_CLASS = Struct(("_1", "_2", "_3"), (TEXT, INT, LONG))
EITHER = Tagged((1, 0), ("left", "right"), (TEXT, INT))
OPTION = Nullable(TEXT, is_null=False)
SQL_TEXT, SQL_INT, SQL_LONG = map(LogicalType, ("VARCHAR", "INTEGER", "BIGINT"))
NANOS = 1_000_000_000


def framed_row(names: tuple[str, ...], types: tuple[LogicalType, ...]) -> Framed:
    return Framed(BinaryRow(names, types))


def framed_array(element: LogicalType) -> Framed:
    return Framed(BinaryArray(element))


def framed_map(key: LogicalType, value: LogicalType) -> Framed:
    return Framed(BinaryMap(key, value))


def row_of(*fields: Layout) -> MaskedStruct:
    return MaskedStruct(tuple(f"f{at}" for at in range(len(fields))), fields, has_kind=True)


def fields(*values: Any, kind: str = "+I") -> dict[str, Any]:
    return {f"f{at}": value for at, value in enumerate(values)} | {"$row_kind": kind}


FROM_FLINK: list[tuple[Layout, Any, int]] = [
    (INT, -1, -1),
    (INT, 123456789, 123456789),
    (layouts.Short(), -2, -2),
    (layouts.Byte(), -2, -2),
    (layouts.Char(), "\ud800", 55296),
    (LONG, 1 << 40, 256),
    (LONG, -123456789012, -1097262577),
    (LONG, -2, 1),
    (layouts.Boolean(), True, 1231),
    (layouts.Boolean(), False, 1237),
    (layouts.Double(), 1.5, 1073217536),
    (layouts.Double(), -0.0, -2147483648),
    (layouts.Double(), struct.unpack(">d", b"\xff\xf8\0\0\0\0\0\1")[0], 2146959360),
    (layouts.Float(), struct.unpack(">f", struct.pack(">f", 3.14))[0], 1078523331),
    (TEXT, "hello", 99162322),
    (TEXT, "😀x", 54959989),
    (TEXT, "", 0),
    (TEXT, None, 0),
    (layouts.MutableText(), "a\u4000", 19391),
    (BIG, "0", 0),
    (BIG, "-128", -128),
    (BIG, "-4294967297", -32),
    (DECIMAL, "1.0", 311),
    (DECIMAL, "0.1", 32),
    (DECIMAL, "-12.50", -38748),
    (DECIMAL, "-123.456", -3827133),
    (layouts.JavaDate(), datetime(1970, 1, 1, 0, 0, 0, 5000, UTC), 5),
    (layouts.SqlTimestamp(), -999_999, 0),
    (layouts.Instant(), -NANOS + 5, 255),
    (layouts.Instant(), 1_700_000_000 * NANOS + 123_456_789, -593638353),
    (layouts.LocalDate(), date(2024, 2, 29), 4145309),
    (layouts.LocalDate(), date(2020, 2, 29), 4137117),
    (layouts.LocalTime(), "13:14:15.000000999", -1957109072),
    (layouts.LocalTime(), "23:59:58.999999999", 1437891435),
    (layouts.LocalDateTime(), 1_582_938_123 * NANOS + 4, -735539717),
    (layouts.TimestampData(3), datetime(1970, 1, 1, 0, 0, 0, 5000), 155),
    (layouts.TimestampData(9), 5_000_007, 162),
    (layouts.DecimalData(10, 2), Decimal("1.25"), 3877),
    (layouts.DecimalData(38, 2), Decimal("-1.25"), -3873),
    (layouts.Utf8(), "héllo", 1212979866),
    (layouts.Marker(42), None, 0),
    (layouts.Marker(None), None, 53),
    (TRIPLE, {"f0": 1, "f1": "a", "f2": True}, 5199),
    (PAIR, {"f0": None, "f1": 5}, 5),
    (Struct(("f0", "f1", "f2"), (TEXT, INT, LONG)), {"f0": "k", "f1": 1, "f2": 2}, 102860),
    (CASE_CLASS, {"_1": "k", "_2": 1, "_3": 2}, -1928958424),
    (OPTION, "x", 630948699),
    (OPTION, None, 2433880),
    (EITHER, {"left": "a", "right": None}, 97),
    (EITHER, {"left": None, "right": 3}, 3),
    (Nullable(LONG, padding=8), 5, 5),
    (Nullable(LONG, padding=8), None, 0),
    (Repeated(TEXT), ["a", None, ""], 123008),
    (MaskedRepeated(TEXT), ["a", None], 3968),
    (MapOf(TEXT, Nullable(INT)), [("a", 1), ("b", 2)], 192),
    (MapOf(Nullable(TEXT), INT), [{"key": None, "value": 1}], 1),
    (row_of(INT, TEXT, TEXT), fields(1, "a", None), 64511),
    (row_of(INT, TEXT), fields(1, "a", kind="-D"), 2174),
    (row_of(TEXT, INT), fields("x", None, kind="-D"), 5735),
    (row_of(row_of(INT), LONG), fields(fields(1), 2), 3908),
    (framed_row(("f0",), (SQL_TEXT,)), fields("abc"), -101922419),
    (framed_row(("f0",), (SQL_TEXT,)), fields("key"), 1830137242),
    (framed_row(("f0",), (SQL_LONG,)), fields(42), 907821237),
    (framed_array(SQL_INT), [1, 2, 3], -190723649),
    (framed_array(SQL_TEXT), ["x", None], -395238348),
    (framed_map(SQL_TEXT, SQL_LONG), [("q", 5)], -683455017),
    (Framed(TEXT), "raw!", -1345976096),
    (Kryo("java.util.UUID"), "123e4567-e89b-12d3-a456-426614174000", 1256478162),
    (Kryo("java.lang.Long"), 1 << 40, 256),
    (Kryo("java.util.UUID"), None, 0),
]


@pytest.mark.parametrize(
    ("layout", "value", "expected"),
    FROM_FLINK,
    ids=[f"{one[0]!r:.40} {one[1]!s:.30}" for one in FROM_FLINK],
)
def test_a_hash_code_is_that_of_java(layout: Layout, value: Any, expected: int) -> None:
    assert java_hash(layout, value) == expected


def test_an_array_inside_a_row_hashes_by_its_content() -> None:
    # Keys of Python jobs: a row of one byte[]; List.hashCode of its bytes, and 31 for the array.
    assert java_hash(row_of(layouts.Bytes()), fields(b"\x01\xff")) == 31 + 31 + (31 + 1) * 31 - 1


@pytest.mark.parametrize(
    ("data", "expected"),
    [("00000000000000006162630000000083", -101922419), ("68c3a96c6c6f", 1212979866)],
)
def test_bytes_hash_as_they_are(data: str, expected: int) -> None:
    assert bytes_hash(bytes.fromhex(data)) == expected


NOT_COMPUTABLE: list[tuple[Layout, Any, str]] = [
    (layouts.Enum("Color", ("RED",)), "RED", "Color is an enum"),
    (layouts.Bytes(), b"", "an array"),
    (layouts.FixedBytes(2), b"ab", "an array"),
    (Pojo("com.acme.Order", (), ()), {}, r"com\.acme\.Order"),
    (Kryo("com.acme.Order"), b"", r"com\.acme\.Order"),
    (layouts.Opaque("com.acme.Order", "unknown"), b"", r"com\.acme\.Order"),
    (layouts.JavaObject(), b"", "JavaObject"),
    (Struct(("start", "end"), (LONG, LONG)), {}, "start, end"),
    (Struct(("_1",), (layouts.Double(),)), {"_1": 1.0}, "case class with a float"),
    (Repeated(Nullable(TEXT)), ["a"], "a list, a set or an array"),
    (Repeated(INT, is_array=True), [1], "an array: its hash codes differ in each JVM"),
    (Struct(("f0", "f1"), (INT, Repeated(INT, is_array=True))), {"f0": 1, "f1": [1]}, "an array"),
    (row_of(Repeated(INT)), fields([1]), "a list or an array inside a row"),
    (row_of(Repeated(Nullable(INT))), fields([1]), "a list or a set inside a row"),
    (
        framed_row(("f0",), (LogicalType("DECIMAL", precision=38),)),
        fields(None),
        "a null DECIMAL",
    ),
    (
        framed_row(("f0",), (LogicalType("TIMESTAMP_WITHOUT_TIME_ZONE", precision=9),)),
        fields(None),
        "a null TIMESTAMP",
    ),
]


@pytest.mark.parametrize(("layout", "value", "reason"), NOT_COMPUTABLE)
def test_a_hash_code_that_nobody_can_know_is_refused(
    layout: Layout, value: Any, reason: str
) -> None:
    with pytest.raises(UnstableHashError, match=reason):
        java_hash(layout, value)


def test_a_tuple_with_an_enum_is_refused_too() -> None:
    layout = Struct(("f0", "f1"), (INT, layouts.Enum("Color", ("RED",))))
    with pytest.raises(UnstableHashError):
        java_hash(layout, {"f0": 1, "f1": "RED"})


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_hashes_by_its_utf_16_units(text: str) -> None:
    units = struct.unpack(f">{len(text.encode('utf-16-be')) // 2}H", text.encode("utf-16-be"))
    expected = 0
    for unit in units:
        expected = (expected * 31 + unit) % (1 << 32)
    assert java_hash(TEXT, text) % (1 << 32) == expected


@given(st.integers(-(1 << 200), 1 << 200))
def test_numbers_hash_alike_in_every_form(number: int) -> None:
    view = DataOutputView()
    write_value(BIG, number, view)
    text = read_value(BIG, DataInputView(view.to_bytes()))
    assert java_hash(BIG, text) == java_hash(BIG, number)
    assert -(1 << 31) <= java_hash(BIG, number) < 1 << 31
    # A decimal without fraction is 31 times its number.
    assert (java_hash(DECIMAL, number) - 31 * java_hash(BIG, number)) % (1 << 32) == 0
