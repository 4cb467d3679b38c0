"""Rows of elements come some at a time, whatever the size of a collection or of its key."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nightly import examples

from savepoint_formats.tables.flat import rows_of_elements

KEYS = st.text(max_size=3)
LISTS = st.lists(st.tuples(KEYS, st.none() | st.lists(st.integers(0, 9), max_size=6)), max_size=6)


@settings(max_examples=examples(30))
@given(LISTS, st.integers(1, 200))
@pytest.mark.usefixtures("slow")
def test_batches_are_the_rows_of_all_lists(rows: list[tuple[str, list[int]]], size: int) -> None:
    columns = {"key": pa.array([key for key, _ in rows], pa.string())}
    lists = pa.array([items for _, items in rows], pa.list_(pa.int64()))
    batches = [pa.RecordBatch.from_pydict(flat) for flat in rows_of_elements(columns, lists, size)]
    assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == [
        (key, index, item) for key, items in rows for index, item in enumerate(items or [])
    ]


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(KEYS, st.dictionaries(KEYS, st.integers(0, 9), max_size=6)), max_size=6))
def test_batches_are_the_rows_of_all_maps(rows: list[tuple[str, dict[str, int]]]) -> None:
    columns = {"key": pa.array([key for key, _ in rows], pa.string())}
    maps = pa.array([list(items.items()) for _, items in rows], pa.map_(pa.string(), pa.int64()))
    batches = [pa.RecordBatch.from_pydict(flat) for flat in rows_of_elements(columns, maps, 20)]
    assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == [
        (key, *item) for key, items in rows for item in items.items()
    ]


@pytest.mark.parametrize("width", [1, 1000])
def test_a_long_key_makes_batches_of_fewer_rows(width: int) -> None:
    columns = {"key": pa.array(["a" * width, "b"])}
    lists = pa.array([range(20_000), range(5)], pa.list_(pa.int64()))
    batches = [
        pa.RecordBatch.from_pydict(flat) for flat in rows_of_elements(columns, lists, 1 << 20)
    ]
    assert max(batch.nbytes for batch in batches) < 1 << 21
    assert (len(batches) > 1) == (width == 1000)
