"""Values that can't be written are refused, with their row and their place in the column."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from support.decoding import written

from savepoint_formats import layout as layouts
from savepoint_formats.errors import ColumnTypeError, NullValueError, UnencodableError
from savepoint_formats.layout import (
    BinaryRow,
    Layout,
    LogicalType,
    Nullable,
    Repeated,
    Struct,
    Tagged,
)
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.state_entries import entry_type

pytestmark = pytest.mark.usefixtures("both_ways")

SIZED_ROW = BinaryRow(
    ("c", "b", "all"),
    (
        LogicalType("CHAR", length=5),
        LogicalType("VARBINARY", length=2),
        LogicalType("ARRAY", children=(LogicalType("VARCHAR", length=3),)),
    ),
)


@pytest.mark.parametrize(
    ("values", "place", "reason"),
    [
        ({"c": "12345678"}, "c", "8 characters, where the type has 5"),
        ({"b": b"abc"}, "b", "3 bytes, where the type has 2"),
        ({"all": ["abc", None, "abcd"]}, "all", "4 characters, where the type has 3"),
    ],
)
def test_more_than_the_type_of_sql_has_is_refused(
    values: dict[str, Any], place: str, reason: str
) -> None:
    row = {"c": "äöüßx", "b": b"ab", "all": ["日本語"], "$row_kind": "+I"}
    encoder = Encoder(SIZED_ROW)
    (data,) = encoder.encode(pa.array([row], encoder.type)).to_pylist()
    assert data == written(SIZED_ROW, [row])[0]
    with pytest.raises(UnencodableError, match=rf"row 1 of \$\.{place}.*{reason}"):
        encoder.encode(pa.array([row, row | values], encoder.type))
    with pytest.raises(ValueError, match=reason):
        written(SIZED_ROW, [row | values])


INNER = Struct(("x", "y"), (layouts.Long(), Nullable(layouts.Long())))


OUTER = Struct(("a", "b"), (layouts.Int(), Repeated(INNER)))


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (None, "$"),
        ({"a": None, "b": []}, "$.a"),
        ({"a": 1, "b": None}, "$.b"),
        ({"a": 1, "b": [None]}, "$.b[]"),
        ({"a": 1, "b": [{"x": 1, "y": None}, {"x": None, "y": 1}]}, "$.b[].x"),
    ],
)
def test_a_null_without_bytes_is_named_with_its_place(value: Any, path: str) -> None:
    plain = {"a": 1, "b": [{"x": 1, "y": None}]}
    column = pa.array([plain, plain | {"b": []}, value, plain], entry_type(OUTER))
    with pytest.raises(NullValueError) as raised:
        Encoder(OUTER).encode(column)
    assert (raised.value.column, raised.value.row) == (path, 2)
    assert str(raised.value).startswith(f"row 2 of {path}: a null")
    again = pickle.loads(pickle.dumps(raised.value))
    assert (again.column, again.row, str(again)) == (path, 2, str(raised.value))


def test_a_null_behind_a_null_is_none() -> None:
    layout = Nullable(OUTER)
    values = [None, {"a": 1, "b": []}]
    inner = pa.array([None, 1], pa.int32())
    lists = pa.array([None, []], entry_type(OUTER).field("b").type)
    column = pa.StructArray.from_arrays(
        [inner, lists], names=["a", "b"], mask=pa.array([True, False])
    )
    data = Encoder(layout).encode(column).to_pylist()
    assert b"".join(data) == written(layout, values)[0]


TAGGED = Tagged((3, 7), ("a", "b"), (layouts.Text(), layouts.Long()))
ROW_NOT_NULL = BinaryRow(("a",), (LogicalType("BIGINT", is_nullable=False),))


@pytest.mark.parametrize(
    ("layout", "value", "message"),
    [
        (ROW_NOT_NULL, {"a": None, "$row_kind": "+I"}, "row 0 of $.a: a null"),
        (layouts.BlockRepeated(layouts.Long()), [None], "row 0 of $[]: a null, for which"),
        (layouts.Enum("E", ("A", "B")), "C", "row 0 of $: E has no 'C', but A, B"),
        (layouts.Char(), "ab", "row 0 of $: 'ab' is no single UTF-16 unit"),
        (layouts.JavaUtf(), "x" * 65_536, "row 0 of $: a string of 65536 bytes"),
        (layouts.FixedBytes(2), b"abc", "row 0 of $: 3 bytes, expected 2"),
        (layouts.LocalTime(), 86_400 * 10**9, "row 0 of $: 86400000000000 ns is no time"),
        (layouts.BigInteger(), "one", "row 0 of $: 'one' is no number"),
        (Repeated(layouts.BigInteger()), ["1.5"], "row 0 of $[]: '1.5' is no whole number"),
        (TAGGED, {"a": "x", "b": 1}, "2 values for a, b, expected 1"),
        (BinaryRow((), ()), {"$row_kind": "?"}, "row 0 of $.$row_kind: "),
        (
            Struct(("a", "b"), (layouts.Byte(), layouts.Kryo("java.lang.Long"))),
            {"a": 1, "b": 5},
            "row 0 of $.b: a java.lang.Long for a Kryo whose version is not known",
        ),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, Layout) else "",
)
def test_a_value_that_is_none_of_the_serializers_is_named(
    layout: Layout, value: Any, message: str
) -> None:
    column = pa.array([value], entry_type(layout))
    with pytest.raises(UnencodableError) as raised:
        Encoder(layout).encode(column)
    assert message in str(raised.value)


def test_a_column_of_another_type_is_refused() -> None:
    with pytest.raises(ColumnTypeError, match="a column of int32, expected int64"):
        Encoder(layouts.Long()).encode(pa.array([1], pa.int32()))
    with pytest.raises(ColumnTypeError, match="expected struct<a: int64>"):
        Encoder(Struct(("a",), (layouts.Long(),))).encode(pa.array([{"b": 1}]))
