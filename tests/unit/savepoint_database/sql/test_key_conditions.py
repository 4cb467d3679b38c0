"""What conditions tell of keys: never fewer than fulfil them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_database.sql.key_conditions import Condition

_key = pc.field("key")
_other = pc.field("total")


def among(values: list[int]) -> pc.Expression:
    return _key.isin(pa.array(values, pa.int64()))


@pytest.mark.parametrize(
    ("expression", "columns", "keys"),
    [
        (_key == 5, {"key"}, {5}),
        (pc.scalar(5) == _key, {"key"}, {5}),
        (_key == "x", {"key"}, {"x"}),
        (among([5, 7]), {"key"}, {5, 7}),
        (pc.if_else(_key.is_valid(), among([5]), pa.scalar(None, pa.bool_())), {"key"}, {5}),
        ((_key == 5) & (_other > 1), {"key", "total"}, {5}),
        ((_other > 1) & among([5, 6]) & among([6, 7]), {"key", "total"}, {6}),
        ((_key == 5) & (_key == 6), {"key"}, set()),
        ((_key == 5) | (_key == 6), {"key"}, {5, 6}),
        ((_key == 5) | (_other > 1), {"key", "total"}, None),
        (~(_key == 5), {"key"}, None),
        (_key > 5, {"key"}, None),
        (_key == 5.0, {"key"}, None),
        (_key.cast(pa.int64()) == 5, {"key"}, None),
        (_key == _other, {"key", "total"}, None),
        (pc.field("key", "f0") == 5, {"key"}, None),
        (pc.field("s", "key") == 5, {"s"}, None),
        (pc.field("s", "key").isin(pa.array([1])), {"s"}, None),
    ],
    # The order of a set is not that of the next process.
    ids=lambda one: str(one) if isinstance(one, pc.Expression) else "",
)
def test_columns_and_keys(
    expression: pc.Expression, columns: set[str], keys: set[Any] | None
) -> None:
    found = Condition.of(expression, "key")
    assert set(found.columns) == columns
    assert (None if found.keys is None else set(found.keys)) == keys


def conditions() -> st.SearchStrategy[pc.Expression]:
    small = st.integers(0, 4)
    leaves = st.one_of(
        small.map(lambda value: _key == value),
        small.map(lambda value: _key > value),
        small.map(lambda value: _other == value),
        st.lists(small, max_size=3).map(among),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda two: two[0] & two[1]),
            st.tuples(inner, inner).map(lambda two: two[0] | two[1]),
            inner.map(lambda one: ~one),
        ),
        max_leaves=6,
    )


@given(conditions())
def test_no_row_of_another_key_fulfils_the_condition(expression: pc.Expression) -> None:
    keys = Condition.of(expression, "key").keys
    rows = pa.table({"key": [key for key in range(6) for _ in range(6)], "total": [*range(6)] * 6})
    passed = set(rows.filter(expression)["key"].to_pylist())
    assert keys is None or passed <= set(keys)
