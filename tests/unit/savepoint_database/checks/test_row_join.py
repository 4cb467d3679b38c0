"""Rows are paired by their keys, one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_database.checks.table_diff import changed_pairs, hash_columns, pairing, rows_at
from savepoint_formats.checks.entry_digests import row_hashes

Rows = list[tuple[int, int]]
some_rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=12)


def hashed(rows: Rows) -> pa.Table:
    keys, values = (
        row_hashes([pa.array([row[index] for row in rows], pa.int64())], len(rows))
        for index in range(2)
    )
    return pa.Table.from_batches([hash_columns(0, keys, values)])


def paired(before: Rows, after: Rows, *, may_repeat: bool) -> list[tuple[int | None, int | None]]:
    with pairing() as (connection, _):
        found = changed_pairs(connection, hashed(before), hashed(after), may_repeat=may_repeat)
        return [pair for two in found for pair in zip(*(it.to_pylist() for it in two), strict=True)]


@given(some_rows, some_rows)
def test_each_row_has_one_partner_of_its_key_at_most(before: Rows, after: Rows) -> None:
    pairs = paired(before, after, may_repeat=True)
    deleted = Counter(before[old][0] for old, new in pairs if new is None and old is not None)
    inserted = Counter(after[new][0] for old, new in pairs if old is None and new is not None)
    keys = [Counter(key for key, _ in rows) for rows in (before, after)]
    assert deleted == keys[0] - keys[1]
    assert inserted == keys[1] - keys[0]
    for old, new in pairs:
        if old is not None and new is not None:
            assert before[old][0] == after[new][0]
            assert before[old][1] != after[new][1]


@pytest.mark.usefixtures("slow")
@given(
    st.dictionaries(st.integers(0, 9), st.integers(0, 2)),
    st.dictionaries(st.integers(0, 9), st.integers(0, 2)),
)
def test_unique_keys_need_no_numbers(before: dict[int, int], after: dict[int, int]) -> None:
    sides = list(before.items()), list(after.items())
    assert paired(*sides, may_repeat=False) == paired(*sides, may_repeat=True)


def test_deleted_rows_come_first_and_updated_ones_last() -> None:
    before, after = [(5, 0), (1, 0), (2, 0), (3, 0)], [(7, 0), (3, 1), (2, 1), (6, 0)]
    pairs = paired(before, after, may_repeat=False)
    assert pairs == [(0, None), (1, None), (None, 0), (None, 3), (2, 2), (3, 1)]


@given(st.lists(st.integers(0, 29)), st.integers(1, 9))
def test_rows_are_taken_from_all_batches(rows: list[int], size: int) -> None:
    table = pa.Table.from_batches(pa.table({"n": np.arange(30)}).to_batches(size))
    assert rows_at(table, pa.array(rows, pa.int64())).column("n").to_pylist() == rows
