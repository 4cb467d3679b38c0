"""Keys in the plan of a query: never fewer than fulfil its conditions."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_database.sql.scan_dataset import scanned_keys

ROWS = pa.table(
    {
        "key": pa.array([key for key in range(-1, 6) for _ in range(6)], pa.int64()),
        "total": pa.array([*range(6)] * 7, pa.int64()),
        "name": pa.array([f"it's {key}" for key in range(-1, 6) for _ in range(6)]),
        "is_new": pa.array([key > 2 for key in range(-1, 6) for _ in range(6)]),
        "s": pa.array([{"key": key} for key in range(-1, 6) for _ in range(6)]),
    }
)


class _Rows(ds.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """Rows to which DuckDB passes its conditions; notes the columns that it asks for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    @property
    def schema(self) -> pa.Schema:
        return ROWS.schema

    def scanner(
        self,
        columns: list[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002  # DuckDB's name
    ) -> Any:
        self.asked.append(tuple(columns or ROWS.schema.names))
        return ds.dataset(ROWS).scanner(columns=columns, filter=filter)


def planned(query: str, key: str = "key") -> tuple[list[set[Any] | None], list[Any]]:
    """The keys that each scan of a query reads, and the first column of its result."""
    with duckdb.connect() as connection:
        rows = _Rows()
        connection.register("t", rows)
        ((_, plan),) = connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()
        keys = scanned_keys(plan, key)
        result = connection.execute(query).fetchall()
    assert set(rows.asked) <= set(keys)
    wanted = [keys[columns] for columns in rows.asked]
    return [None if it is None else set(it) for it in wanted], [row[0] for row in result]


@pytest.mark.parametrize(
    ("condition", "key", "keys"),
    [
        ("key = 5", "key", {5}),
        ("-1 = key", "key", {-1}),
        ("key IN (5, 7)", "key", {5, 7}),
        ("key = 5 AND total > 1", "key", {5}),
        ("total > 1 AND key IN (4, 5) AND key IN (5, 6)", "key", {5}),
        ("key = 4 OR key = 5", "key", {4, 5}),
        ("key = 4 OR key = 5 AND total = 1", "key", {4, 5}),
        ("key = 5 OR total > 1", "key", None),
        ("key <> 5", "key", None),
        ("key > 4", "key", None),
        ("key + 1 = 5", "key", {4}),
        ("abs(key) = 5", "key", None),
        ("key = total", "key", None),
        ("s.key = 5", "key", None),
        ("name = 'it''s 3'", "name", {"it's 3"}),
        ("name IN ('it''s 3', 'x')", "name", {"it's 3", "x"}),
        ("name LIKE '%3'", "name", None),
        ("total = 5", "key", None),
    ],
)
def test_keys_of_a_condition(condition: str, key: str, keys: set[Any] | None) -> None:
    assert planned(f"SELECT total, name FROM t WHERE {condition}", key)[0] == [keys]


def test_keys_reach_a_scan_through_other_queries() -> None:
    query = "WITH a AS (SELECT key, total FROM t) SELECT a.total FROM a JOIN t USING (key) WHERE key = 3"
    assert planned(query)[0] == [{3}, {3}]


def test_scans_of_the_same_columns_share_their_keys() -> None:
    assert planned("(FROM t WHERE key = 1) UNION ALL (FROM t WHERE key = 2)")[0] == [{1, 2}] * 2
    assert planned("(FROM t WHERE key = 1) UNION ALL (FROM t)")[0] == [None] * 2


def conditions() -> st.SearchStrategy[str]:
    small = st.integers(-1, 4)
    leaves = st.one_of(
        small.map("key = {}".format),
        small.map("key > {}".format),
        small.map("total = {}".format),
        st.lists(small, min_size=1, max_size=3).map(
            lambda values: f"key IN ({', '.join(map(str, values))})"
        ),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda two: f"({two[0]} AND {two[1]})"),
            st.tuples(inner, inner).map(lambda two: f"({two[0]} OR {two[1]})"),
            inner.map("(NOT {})".format),
        ),
        max_leaves=6,
    )


@given(conditions())
def test_no_row_of_another_key_fulfils_the_condition(condition: str) -> None:
    scans, found = planned(f"SELECT key, total FROM t WHERE {condition}")
    for keys in scans:
        assert keys is None or set(found) <= keys
