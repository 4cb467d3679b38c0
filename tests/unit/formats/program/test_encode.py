"""Bulk encoding equals the general path, for any layout and any values."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import decoding
from support.nightly import examples
from support.scalar_layouts import VARIANTS

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import UnencodableError
from savepoint_formats.layout import (
    BinaryArray,
    BinaryMap,
    BinaryRow,
    Framed,
    Layout,
    LogicalType,
    MapOf,
    MaskedRepeated,
    MaskedStruct,
    Nullable,
    Pojo,
    Repeated,
    Struct,
    Tagged,
    Ttl,
)
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values import state_entries as entries
from savepoint_formats.values.kinds import times
from savepoint_formats.values.state_entries import EntryWriter, entry_type

OFTEN = settings(max_examples=examples(50), suppress_health_check=list(HealthCheck))
ANY_RECORDS = decoding.records() | decoding.entry_records()


# The last moment of the year 9999.
END = 253_402_300_800 * 10**9 - 1


pytestmark = pytest.mark.usefixtures("both_ways")


def precise(*counts: int) -> list[Any]:
    return [times.to_precise(count, is_utc=True) for count in counts]


def written(layout: Layout, values: list[Any]) -> list[bytes]:
    """The bytes of each value, by the general path."""
    found = []
    for value in values:
        view = DataOutputView()
        EntryWriter(view).write(layout, value)
        found.append(view.to_bytes())
    return found


def encoded(layout: Layout, values: list[Any]) -> list[bytes]:
    column = pa.array(values, entry_type(layout))
    array = Encoder(layout).encode(column)
    array.validate(full=True)
    assert array.type == pa.large_binary()
    found: list[bytes] = array.to_pylist()
    return found


@OFTEN
@given(ANY_RECORDS)
def test_the_bytes_are_those_of_the_general_path(case: tuple[Layout, list[Any]]) -> None:
    layout, values = case
    assert encoded(layout, values) == written(layout, values)


@OFTEN
@given(ANY_RECORDS)
def test_what_was_encoded_is_decoded_again(case: tuple[Layout, list[Any]]) -> None:
    layout, values = case
    column = pa.array(values, entry_type(layout))
    data = Encoder(layout).encode(column).to_pylist()
    positions = np.cumsum([0, *map(len, data)]).tolist()
    again = decoding.bulk(layout, b"".join(data), list(pairwise(positions)))
    assert again.equals(column)


@OFTEN
@given(ANY_RECORDS, st.data())
def test_a_part_of_a_column_becomes_the_same_bytes(
    case: tuple[Layout, list[Any]], data: st.DataObject
) -> None:
    layout, values = case
    start = data.draw(st.integers(0, len(values)))
    end = data.draw(st.integers(start, len(values)))
    column = pa.array(values, entry_type(layout))
    found = Encoder(layout).encode(column[start:end]).to_pylist()
    assert found == written(layout, values[start:end])


@OFTEN
@given(ANY_RECORDS, st.data())
def test_a_null_anywhere_is_written_or_refused_as_the_general_path_does(
    case: tuple[Layout, list[Any]], data: st.DataObject
) -> None:
    layout, values = case
    found = [with_nulls(value, data) for value in values]
    try:
        column = pa.array(found, entry_type(layout))
        column.validate(full=True)
        expected = written(layout, found)
    except pa.ArrowInvalid:
        return
    except ValueError:
        with pytest.raises(UnencodableError):
            Encoder(layout).encode(column)
        return
    assert Encoder(layout).encode(column).to_pylist() == expected


def with_nulls(value: Any, data: st.DataObject) -> Any:
    """The value, with some of its parts or all of it replaced by null."""
    if isinstance(value, tuple):  # an entry of a map: neither it nor its key are ever null
        return value[0], with_nulls(value[1], data)
    if data.draw(st.integers(0, 7)) == 0:
        return None
    match value:
        case dict():
            return {name: with_nulls(one, data) for name, one in value.items()}
        case list():
            return [with_nulls(one, data) for one in value]
        case _:
            return value


# --- one by one ---------------------------------------------------------------------------------

SQL_TYPES = (
    LogicalType("TIMESTAMP_WITHOUT_TIME_ZONE", precision=3),
    LogicalType("TIMESTAMP_WITH_LOCAL_TIME_ZONE", precision=9),
    LogicalType("MAP", children=(LogicalType("VARCHAR"), LogicalType("SMALLINT"))),
    LogicalType("ARRAY", children=(LogicalType("ARRAY", children=(LogicalType("VARCHAR"),)),)),
    LogicalType("RAW"),
    LogicalType("TIME_WITHOUT_TIME_ZONE"),
)
SQL_ROWS = [
    {
        "a": -1,
        "b": times.to_precise(-1, is_utc=True),
        "c": [("a key longer than a slot", -5), ("k", None)],
        "d": [["x", None, "longer than seven"], None, []],
        "e": {"bytes": b"\0\1", "reason": "a RAW value of SQL"},
        "f": 86_399_999,
        "$row_kind": "-U",
    },
    dict.fromkeys("abcdef") | {"$row_kind": "+I"},
]
TAGGED = Tagged((3, 7), ("a", "b"), (layouts.Text(), layouts.Long()))

PLAIN: list[tuple[Layout, list[Any]]] = [
    *decoding.PLAIN,
    (decoding.SQL_ROW, decoding.SQL_VALUES),
    (Framed(BinaryRow(tuple("abcdef"), SQL_TYPES)), SQL_ROWS),
    (BinaryArray(LogicalType("BOOLEAN")), [[True, None, False], [], [None] * 70]),
    (BinaryMap(LogicalType("INTEGER"), LogicalType("DOUBLE")), [[(1, 0.5)], []]),
    (layouts.Char(), ["a", "ä", "日", "\0"]),
    (layouts.BigInteger(), ["-9", "11", "127", "128", "-129", "999999999999999999"]),
    (layouts.BigDecimal(), ["10", "1.0", "-0.5", "0.00", "123456789012345678", None]),
    (layouts.DecimalData(18, 2), [Decimal("-0.01"), Decimal("9999999999999999.99"), Decimal(0)]),
    (layouts.DecimalData(20, 0), [-(2**63), 2**63, 2**64 - 1, -129, 128, 0, -1, 255]),
    (layouts.LocalDate(), [0, -1, 11_016, 47_540, -719_469, 2**31 - 1, 1 - 2**31, None]),
    (layouts.LocalDateTime(), [*precise(0, -1, 951_782_400 * 10**9 + 1, END), None]),
    (layouts.LocalTime(), [0, 86_400 * 10**9 - 1, None]),
    (layouts.SqlTimestamp(), [*precise(0, -1, 10**18 + 7, END), None]),
    (layouts.Instant(), [*precise(0, -1, 10**18 + 7, END), None]),
    (layouts.JavaDate(), [0, -1, None]),
    (layouts.TimestampData(9), precise(-1, 10**18 + 7, END)),
    (layouts.FixedBytes(2), [b"ab", b"\0\0"]),
    (TAGGED, [{"a": "x", "b": None}, {"a": None, "b": 5}]),
    (MaskedRepeated(layouts.Int()), [[1, None] * 9, [], [None]]),
    (Nullable(layouts.Int(), is_null=False, padding=4), [7, None]),
    (
        MaskedStruct(tuple("abcdefg"), (layouts.Byte(),) * 7, has_kind=True),
        [dict.fromkeys("abcdefg", None) | {"$row_kind": kind, "f": 1} for kind in ("+I", "-D")],
    ),
    (Ttl(layouts.Text()), [{"timestamp": datetime(2024, 1, 1, tzinfo=UTC), "value": "a"}]),
    (entries.Delimited(layouts.Text()), [["a", "b"], [], ["c"]]),
    (entries.NullableRest(layouts.Double()), [0.5, None]),
    (entries.Suffixed(layouts.Text()), ["x" * 254, "x" * 255, ""]),
    (entries.entry_key(2, layouts.Text(), layouts.Text()), []),
]


@pytest.mark.parametrize(("layout", "values"), PLAIN, ids=lambda one: type(one).__name__)
def test_the_kernel_takes_what_is_plain(
    layout: Layout, values: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = written(layout, values)
    monkeypatch.setattr("savepoint_formats.program.encode.EntryWriter", None)
    assert encoded(layout, values) == expected


RARE: list[tuple[Layout, list[Any]]] = [
    (layouts.BigInteger(), ["5", "1" + "0" * 80, "+7", "-0", "6"]),
    (decoding.SUBCLASSES, decoding.OF_SUBCLASSES),
    (
        layouts.IndexedUnion(
            ("a", "b", "null"), (layouts.Long(), layouts.Text(), decoding.NOTHING)
        ),
        [{"a": 1, "b": None}, None],
    ),
    (layouts.BigDecimal(), ["1E+7", "1.5", "0.1234567890123456789012345"]),
    (Tagged((0, 1), ("a", "b"), (layouts.Long(), layouts.Text())), [{"a": None, "b": None}]),
    (Repeated(Struct((), ())), [[{}, {}], []]),
    (
        Framed(BinaryRow(("a", "b"), (LogicalType("BIGINT"), LogicalType("VARIANT")))),
        [
            {"a": 1, "b": VARIANTS[1], "$row_kind": "+I"},
            {"a": 2, "b": None, "$row_kind": "+U"},
        ],
    ),
]


@pytest.mark.parametrize(("layout", "values"), RARE, ids=lambda one: type(one).__name__)
def test_what_is_rare_takes_the_general_path(layout: Layout, values: list[Any]) -> None:
    assert encoded(layout, values) == written(layout, values)


def test_a_row_without_a_kind_is_an_insertion() -> None:
    layout = Framed(BinaryRow(("a",), (LogicalType("INTEGER"),)))
    rows = [{"a": 1, "$row_kind": kind} for kind in (None, "+I")]
    assert len(set(encoded(layout, rows))) == 1


def test_a_nan_is_the_one_that_java_writes() -> None:
    nan = np.array([0x7FF0000000000001, 0xFFF8000000000000, 0], np.uint64).view(np.float64)
    found = Encoder(layouts.Double()).encode(pa.array(nan)).to_pylist()
    assert [one.hex() for one in found] == ["7ff8000000000000"] * 2 + ["0" * 16]


def test_a_subclass_is_written_with_its_number() -> None:
    own = (Nullable(layouts.Long()),)
    subclass = Pojo("S", ("a", "z"), (*own, Nullable(layouts.Text())))
    layout = Pojo("P", ("a",), own, registered=(("S", subclass),))
    values = [{"$class": "P", "a": 1, "z": None}, {"$class": "S", "a": None, "z": "x"}, None]
    found = encoded(layout, values)
    assert [one.hex() for one in found] == ["02000000000000000001", "080002010002" + "78", "01"]


@pytest.mark.parametrize(
    "layout", [layouts.Kryo("a.B"), layouts.JavaObject(), layouts.Opaque("a.B", "unknown")]
)
def test_objects_are_copied_as_bytes(layout: Layout) -> None:
    copied = [b"\1\2", b"", b"\3"]
    json = {"json": None} if isinstance(layout, layouts.Kryo) else {}
    values = [{**json, "bytes": one, "reason": "any"} for one in copied]
    assert encoded(layout, values) == copied
    framed = Struct(("a", "b"), (Framed(layout), layouts.Byte()))
    rows = [{"a": one, "b": 5} for one in values]
    assert encoded(framed, rows) == written(framed, rows)


def test_a_raw_value_needs_no_reason() -> None:
    raw = LogicalType("RAW")
    layout = BinaryRow(("a",), (raw,))
    values = [{"$row_kind": "+I", "a": {"bytes": b"abc", "reason": None}}]
    assert encoded(layout, values) == written(layout, values)


def test_fields_that_say_that_they_are_never_null_are_taken() -> None:
    layout = Repeated(Struct(("a",), (layouts.Long(),)))
    field = pa.field("element", pa.struct([pa.field("a", pa.int64(), nullable=False)]), False)
    found = Encoder(layout).encode(pa.array([[{"a": 1}]], pa.list_(field)))
    assert found.to_pylist() == [bytes.fromhex("00000001 0000000000000001")]


def test_a_column_that_was_made_of_parts_is_taken_as_it_is() -> None:
    layout = MapOf(layouts.Text(), Nullable(layouts.Boolean()))
    whole = [[("a", True), ("b", None)], [], [("c", False)], [("ü", True)]]
    column = pa.array(whole, entry_type(layout)).take(pa.array([3, 0, 2]))[1:]
    assert Encoder(layout).encode(column).to_pylist() == written(layout, [whole[0], whole[2]])


def test_it_is_small_and_can_be_pickled() -> None:
    layout = Struct(("a", "b"), (layouts.Long(), layouts.Text()))
    data = pickle.dumps(Encoder(layout))
    assert len(data) < 4_000
    column = pa.array([{"a": 1, "b": "x"}], entry_type(layout))
    assert pickle.loads(data).encode(column).to_pylist() == [bytes(7) + b"\1\2x"]
