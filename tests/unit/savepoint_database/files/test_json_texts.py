"""Arrow arrays as JSON texts: valid JSON, and the same array when it is read."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_database.files.text_files import from_json_texts, json_texts

ROW = pa.struct(
    {
        "at": pa.timestamp("ns", "UTC"),
        "price": pa.decimal128(10, 2),
        "bytes": pa.binary(),
        "a/b~c 'd' \"e\"": pa.list_(pa.utf8()),
    }
)
ARRAYS = [
    (pa.array([True, None]), [True, None]),
    (pa.array([2**63 - 1, -1, None]), [2**63 - 1, -1, None]),
    (pa.array([0.1, -0.0, 1e300, None]), [0.1, -0.0, 1e300, None]),
    (pa.array([float("inf"), -float("inf")], pa.float32()), ["Infinity", "-Infinity"]),
    (pa.array(["null", "", '"\n\0é𝄞', None]), ["null", "", '"\n\0é𝄞', None]),
    (pa.array([b"\x00\xff", b"", None]), ["00ff", "", None]),
    (pa.array([date(2026, 1, 31)]), ["2026-01-31"]),
    (pa.array([1, None], pa.timestamp("ms")), ["1970-01-01 00:00:00.001", None]),
    (pa.array([5, None], pa.duration("ms")), ["5", None]),
    (pa.nulls(2), [None, None]),
    (pa.array([[1, None], [], None]), [[1, None], [], None]),
    (pa.array([[(1, "a")], [], None], pa.map_(pa.int64(), pa.utf8())), [{"1": "a"}, {}, None]),
    (
        pa.array([[({"f0": 1}, 2)], None], pa.map_(pa.struct({"f0": pa.int32()}), pa.int8())),
        [[{"key": {"f0": 1}, "value": 2}], None],
    ),
    (
        pa.array(
            [(datetime(2026, 1, 31, tzinfo=UTC), Decimal("1.50"), b"a", ["x", None]), None], ROW
        ),
        [
            {
                "at": "2026-01-31 00:00:00.000000000Z",
                "price": "1.50",
                "bytes": "61",
                "a/b~c 'd' \"e\"": ["x", None],
            },
            None,
        ],
    ),
]


@pytest.mark.parametrize(("array", "expected"), ARRAYS, ids=lambda value: "")
def test_arrays_are_json_and_come_back(array: pa.Array, expected: list[object]) -> None:
    texts = json_texts(array)
    assert [text and json.loads(text) for text in texts.to_pylist()] == expected
    assert from_json_texts(texts, array.type).equals(array)
    assert from_json_texts(json_texts(array[1:]), array.type).equals(array[1:])


def test_not_a_number_is_a_string() -> None:
    texts = json_texts(pa.array([float("nan"), 1.5, None]))
    assert texts.to_pylist() == ['"NaN"', "1.5", None]
    nan, one, null = from_json_texts(texts, pa.float64()).to_pylist()
    assert nan != nan  # noqa: PLR0124  # which nothing else is
    assert (one, null) == (1.5, None)


def test_a_time_of_day_is_read_as_text() -> None:
    texts = json_texts(pa.array([1], pa.time64("ns")))
    assert from_json_texts(texts, pa.time64("ns")).to_pylist() == ["00:00:00.000000001"]


def test_a_field_of_an_object_is_read_by_its_name() -> None:
    name = "a/b~c 'd' \"e\""
    texts = pa.array([json.dumps({name: 5}), "{}", json.dumps({name: None})])
    assert from_json_texts(texts, pa.int64(), name).to_pylist() == [5, None, None]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1.5", pa.int64()),
        ("300", pa.int8()),
        ('"x"', pa.float64()),
        ('"0g"', pa.binary()),
        ('"abc"', pa.binary()),
        ("1", pa.list_(pa.int64())),
        ("[1", pa.list_(pa.int64())),
        ('{"a": 1}', pa.struct({"b": pa.int64()})),
    ],
)
def test_what_does_not_fit_is_refused(text: str, wanted: pa.DataType) -> None:
    with pytest.raises((pa.ArrowInvalid, duckdb.Error)):
        from_json_texts(pa.array([text]), wanted)


@given(st.lists(st.none() | st.lists(st.none() | st.binary(max_size=5)), max_size=8))
def test_any_bytes_come_back(values: list[list[bytes | None] | None]) -> None:
    array = pa.array(values, pa.list_(pa.binary()))
    assert from_json_texts(json_texts(array), array.type).equals(array)


@given(st.lists(st.floats(width=32, allow_nan=False) | st.none(), max_size=8))
def test_any_float_comes_back(values: list[float | None]) -> None:
    array = pa.array(values, pa.float32())
    assert from_json_texts(json_texts(array), array.type).equals(array)
