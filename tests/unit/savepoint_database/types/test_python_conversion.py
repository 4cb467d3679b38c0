"""Values on their way to a user's function, and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row

from savepoint_database.types.python_conversion import (
    BATCH_ROWS,
    OutputRows,
    map_entries,
    python_values,
    shaped,
)
from savepoint_spark.reading.states import MapState, hold

POINT = pa.struct([("x", pa.int64()), ("y", pa.int64())])
NESTED = pa.struct([("id", pa.int64()), ("maps", pa.list_(pa.map_(pa.utf8(), POINT)))])


def written(values: list[Any], data_type: pa.DataType) -> Any:
    """The column that a function's values become."""
    rows = OutputRows(pa.schema([("column", data_type)]), "Reader")
    batches = rows.batches((f"key {index}", (value,)) for index, value in enumerate(values))
    return pa.Table.from_batches(batches).column("column")


@pytest.mark.parametrize(
    ("stored", "data_type", "expected"),
    [
        ([("a", 1), ("b", None)], pa.map_(pa.utf8(), pa.int64()), {"a": 1, "b": None}),
        ([({"x": 1, "y": 2}, "a")], pa.map_(POINT, pa.utf8()), [((1, 2), "a")]),
        (
            {"id": 1, "maps": [[("a", {"x": 1, "y": 2})], None]},
            NESTED,
            (1, [{"a": (1, 2)}, None]),
        ),
        ({"id": 1, "maps": None}, NESTED, (1, None)),
        (None, NESTED, None),
    ],
)
def test_maps_are_dicts_at_any_depth_if_their_keys_are_plain(
    stored: Any, data_type: pa.DataType, expected: Any
) -> None:
    assert python_values(pa.array([stored], data_type)) == [expected]


@pytest.mark.parametrize("value", [{"a": 1, "b": None}, None, {}])
def test_what_a_function_takes_it_can_give(value: Any) -> None:
    data_type = pa.map_(pa.utf8(), pa.int64())
    assert python_values(written([value], data_type).combine_chunks()) == [value]


def test_entries_of_a_map_with_a_null_key_are_pairs() -> None:
    pairs = pa.list_(pa.struct([("key", pa.utf8()), ("value", pa.int64())]))
    stored = pa.array([[{"key": None, "value": 1}, {"key": "a", "value": None}], None], pairs)
    assert map_entries(stored) == [[(None, 1), ("a", None)], None]


def test_entries_of_a_map_have_nested_maps_as_dicts() -> None:
    inner = pa.map_(pa.utf8(), pa.int64())
    stored = pa.array([[("a", [("b", 1)])], None], pa.map_(pa.utf8(), inner))
    assert map_entries(stored) == [[("a", {"b": 1})], None]


def test_a_map_state_is_looked_up_by_keys_of_any_type() -> None:
    state = MapState("places")
    hold([state], [[({"x": 1, "y": 2}, "here"), (None, "nowhere")]])
    assert state.get({"x": 1, "y": 2}) == "here"
    assert state.get(None) == "nowhere"
    assert not state.contains({"x": 1, "y": 3})
    hold([state], [[({"x": 1, "y": 3}, "there")]])
    assert state.get({"x": 1, "y": 2}) is None
    assert state.contains({"x": 1, "y": 3})


@pytest.mark.parametrize("value", [{"x": 1, "y": 2}, (1, 2), Row(x=1, y=2), Row(y=2, x=1)], ids=str)
def test_a_struct_is_a_dict_a_tuple_or_a_row(value: Any) -> None:
    assert written([value], POINT).to_pylist() == [{"x": 1, "y": 2}]


def test_a_field_that_is_not_given_is_null() -> None:
    assert written([{"y": 2}], POINT).to_pylist() == [{"x": None, "y": 2}]


@pytest.mark.parametrize(
    ("value", "data_type", "error"),
    [
        ({"x": 1, "z": 2}, POINT, "Reader gave .* for key 1 .*no field 'z'; missing: 'y'"),
        ((1,), POINT, r"Reader gave \(1,\) for key 1"),
        (1, POINT, "Reader gave 1 for key 1"),
        ("ab", pa.list_(pa.utf8()), "Reader gave 'ab' for key 1 .* a str is not a list"),
        ([1.5], pa.list_(pa.int64()), r"Reader gave \[1.5\] for key 1"),
        ([("a", 1.5)], pa.map_(pa.utf8(), pa.int64()), "Reader gave .* for key 1"),
        (1, pa.utf8(), "Reader gave 1 for key 1"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_its_key(
    value: Any, data_type: pa.DataType, error: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        written([None, value], data_type)


def test_rows_beyond_a_batch_make_another() -> None:
    column = written(list(range(BATCH_ROWS + 1)), pa.int64())
    assert [len(chunk) for chunk in column.chunks] == [BATCH_ROWS, 1]
    assert column.to_pylist() == list(range(BATCH_ROWS + 1))


def test_a_struct_of_any_form_becomes_a_record() -> None:
    shape = shaped(pa.struct({"a": pa.int64(), "b": pa.string()}))
    assert shape is not None
    record = shape((1, "x"))
    assert (record.a, record.b) == (1, "x")
    assert shape(record) is record
    for other in ([1, "x"], {"b": "x", "a": 1}, Row(b="x", a=1)):
        assert shape(other) == record
        assert type(shape(other)) is type(record)
    for wrong in ((1,), (1, "x", 2), {"a": 1, "c": 2}):
        with pytest.raises(ValueError, match=r"expected|c"):
            shape(wrong)
    inside = shaped(pa.struct({"inner": pa.struct({"a": pa.int64()}), "b": pa.int64()}))
    assert inside is not None
    assert inside(((5,), None)).inner.a == 5
