"""Rules that make one value of several."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.errors import ColumnTypeError, MergeError
from savepoint_formats.scan.merged_columns import MERGE_RULES, merge_rule

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
MEAN = pa.struct({"f0": pa.int64(), "f1": pa.int64()})


def merged(rule: str, values: list[Any], of: pa.DataType) -> list[Any]:
    found: list[Any] = merge_rule(rule, of)(pa.array(values, pa.list_(of))).to_pylist()
    return found


@pytest.mark.parametrize(
    ("rule", "of", "instances", "expected"),
    [
        ("sum", pa.int32(), [1, 2, 3], 6),
        ("sum", pa.float32(), [0.5, 0.25], 0.75),
        ("sum", pa.decimal128(5, 2), [Decimal("1.10"), Decimal("2.20")], Decimal("3.30")),
        ("sum", MEAN, [{"f0": 1, "f1": 2}, {"f0": 3, "f1": None}], {"f0": 4, "f1": 2}),
        ("min", pa.string(), ["b", "a"], "a"),
        ("max", pa.bool_(), [False, True], True),
        ("max", MEAN, [{"f0": 1, "f1": 9}, {"f0": 3, "f1": 2}], {"f0": 3, "f1": 9}),
        ("concat", pa.list_(pa.int64()), [[1], [], [2, 3]], [1, 2, 3]),
    ],
)
def test_a_rule_makes_one_value(
    rule: str, of: pa.DataType, instances: list[Any], expected: Any
) -> None:
    others = [instances[0]]
    assert merged(rule, [instances, others], of) == [expected, instances[0]]


@given(st.lists(st.lists(LONGS, min_size=1, max_size=4), min_size=1, max_size=5))
def test_sums_of_longs_are_exact_or_refused(values: list[list[int]]) -> None:
    sums = [sum(one) for one in values]
    if all(-(1 << 63) <= one < 1 << 63 for one in sums):
        assert merged("sum", values, pa.int64()) == sums
    else:
        with pytest.raises(MergeError, match="no long holds"):
            merged("sum", values, pa.int64())


@pytest.mark.parametrize(
    ("of", "values"),
    [(pa.int32(), [2**31 - 1, 1]), (pa.decimal128(3, 1), [Decimal("99.9"), Decimal("0.1")])],
)
def test_a_sum_that_its_type_does_not_hold_is_refused(of: pa.DataType, values: list[Any]) -> None:
    with pytest.raises(MergeError, match="a sum that is no"):
        merged("sum", [values], of)


@pytest.mark.parametrize(
    ("rule", "of"),
    [
        ("sum", pa.string()),
        ("sum", pa.bool_()),
        ("sum", pa.struct({"f0": pa.string()})),
        ("min", pa.list_(pa.int64())),
        ("concat", pa.int64()),
    ],
)
def test_a_rule_refuses_what_it_cannot_merge(rule: str, of: pa.DataType) -> None:
    with pytest.raises(ColumnTypeError, match=f"have no {rule}"):
        merge_rule(rule, of)


def test_an_unknown_rule_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=", ".join(MERGE_RULES)):
        merge_rule("average", pa.int64())
