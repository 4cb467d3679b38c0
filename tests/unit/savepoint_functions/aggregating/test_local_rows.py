"""Rows aggregated in partitions, by tables that overflow, combine to what all of them are."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nightly import examples

from savepoint_formats.errors import NullKeyError
from savepoint_functions.aggregating.accumulators import Counted, Summed, Top
from savepoint_functions.aggregating.local_rows import (
    Aggregation,
    combined_rows,
    local_rows,
    with_key_bytes,
)
from state_processor import Types

LONG = Types.LONG().layout
ACCUMULATORS = (Counted(), Summed(pa.int64(), "x"), Top(pa.int64(), 2))

Row = tuple[int, int, int | None]


def batch_of(rows: list[Row], *, has_windows: bool) -> pa.RecordBatch:
    keys, starts, values = (list(column) for column in zip(*rows, strict=True))
    columns = {"key": pa.array(keys, pa.int64())}
    if has_windows:
        columns["start"] = pa.array(starts, pa.int64())
        columns["end"] = pa.array([start + 10 for start in starts], pa.int64())
    for number in range(len(ACCUMULATORS)):
        columns[f"value {number}"] = pa.array(values, pa.int64())
    return pa.RecordBatch.from_pydict(columns)


def expected(rows: list[Row], *, has_windows: bool) -> dict[Any, Any]:
    of_groups: dict[Any, list[int]] = {}
    for key, start, value in rows:
        group = (key, start) if has_windows else key
        of_groups.setdefault(group, []).extend([] if value is None else [value])
    return {
        group: (len(values), sum(values) if values else None, sorted(values, reverse=True)[:2])
        for group, values in of_groups.items()
    }


def combined(
    batches: list[pa.RecordBatch], aggregation: Aggregation, *, is_partial: bool
) -> dict[Any, Any]:
    """Result for encoded rows, after Spark would have sorted them."""
    columns = [(name, "ascending") for name in aggregation.group_columns]
    whole = pa.Table.from_batches(batches).sort_by(columns)
    found: dict[Any, Any] = {}
    chunks = whole.to_batches(max_chunksize=3)
    for batch in combined_rows(LONG, aggregation, is_partial, chunks):
        for row in batch.to_pylist():
            group = (row["key"], row["start"]) if aggregation.has_windows else row["key"]
            assert group not in found
            found[group] = tuple(row[f"value {number}"] for number in range(len(ACCUMULATORS)))
    return found


ROWS = st.tuples(st.integers(0, 5), st.integers(0, 2), st.none() | st.integers(-99, 99))


@settings(max_examples=examples(20))
@given(
    partitions=st.lists(
        st.lists(st.lists(ROWS, min_size=1, max_size=8), min_size=1), min_size=1, max_size=3
    ),
    table_size=st.sampled_from([0, 200, 1 << 20]),
    has_windows=st.booleans(),
)
@pytest.mark.usefixtures("slow")
def test_aggregation_before_the_shuffle_changes_no_result(
    partitions: list[list[list[Row]]], table_size: int, has_windows: bool
) -> None:
    aggregation = Aggregation(ACCUMULATORS, has_windows)
    local = partial(local_rows, LONG, aggregation, table_size)
    rows = [row for batches in partitions for batch in batches for row in batch]
    accumulators = [
        found
        for batches in partitions
        for found in local(batch_of(batch, has_windows=has_windows) for batch in batches)
    ]
    wanted = expected(rows, has_windows=has_windows)
    assert combined(accumulators, aggregation, is_partial=True) == wanted
    encoded = list(with_key_bytes(LONG, [batch_of(rows, has_windows=has_windows)]))
    assert combined(encoded, aggregation, is_partial=False) == wanted


def test_a_key_is_one_row_of_its_partition_where_the_table_has_room() -> None:
    local = partial(local_rows, LONG, Aggregation(ACCUMULATORS, has_windows=False), 1 << 20)
    rows: list[Row] = [(number % 7, 0, number) for number in range(100)]
    batches = [batch_of(rows, has_windows=False)] * 20
    assert sum(found.num_rows for found in local(batches)) == 7


def test_a_table_that_is_full_is_given_away() -> None:
    local = partial(local_rows, LONG, Aggregation(ACCUMULATORS, has_windows=False), 10_000)
    batches = [
        batch_of([(number, 0, 1) for number in range(start, start + 1000)], has_windows=False)
        for start in range(0, 20_000, 1000)
    ]
    held, found = 0, local(iter(batches))
    for batch in found:
        held = max(held, batch.nbytes)
    assert 0 < held < 60_000


def test_a_null_key_is_an_error() -> None:
    batch = pa.RecordBatch.from_pydict({"key": pa.array([1, None], pa.int64())})
    with pytest.raises(NullKeyError, match="1 keys of 2 are null"):
        list(with_key_bytes(LONG, [batch]))
