"""Accumulators gather what plain Python does, in whichever batches values come."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_functions.aggregating.accumulators import (
    Aggregated,
    Counted,
    Extreme,
    Groups,
    Mean,
    Reduced,
    Summed,
    Top,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_functions.aggregating.accumulators import Accumulator

MOST = 2**63 - 1


class Spread:
    """The least and the greatest of numbers, as an aggregate function of a user."""

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: int, accumulator: Any) -> Any:
        low, high = (value, value) if accumulator is None else accumulator
        return {"f0": min(low, value), "f1": max(high, value)}

    def get_result(self, accumulator: Any) -> int:
        return int(accumulator["f1"] - accumulator["f0"])

    def merge(self, one: Any, other: Any) -> Any:
        return {"f0": min(one["f0"], other["f0"]), "f1": max(one["f1"], other["f1"])}


def least(values: list[Any]) -> Any:
    return min(values, key=_order, default=None)


def greatest(values: list[Any]) -> Any:
    return max(values, key=_order, default=None)


def _order(value: Any) -> Any:
    """NaN is the greatest float, as in SQL, and -0.0 less than 0.0."""
    if not isinstance(value, float):
        return value
    return math.isnan(value), value, math.copysign(1, value)


def total(values: list[int]) -> int | None:
    return sum(values) if values else None


def both(values: list[int]) -> Any:
    return {"f0": sum(values), "f1": len(values)} if values else None


PAIR = pa.struct([("f0", pa.int64()), ("f1", pa.int64())])
SMALL = st.integers(-(2**40), 2**40)
FLOATS = st.floats(width=64)
CASES: dict[str, tuple[Accumulator, pa.DataType, st.SearchStrategy[Any], Callable[..., Any]]] = {
    "count": (Counted(), pa.utf8(), st.text(max_size=3), len),
    "sum": (Summed(pa.int64(), "x"), pa.int64(), SMALL, total),
    "sum of ints": (Summed(pa.int64(), "x"), pa.int32(), st.integers(-9, 9), total),
    "min": (Extreme(pa.int64(), is_greatest=False), pa.int64(), SMALL, least),
    "max of texts": (
        Extreme(pa.utf8(), is_greatest=True),
        pa.utf8(),
        st.text("aß\0", max_size=4),
        greatest,
    ),
    "min of floats": (Extreme(pa.float64(), is_greatest=False), pa.float64(), FLOATS, least),
    "max of floats": (Extreme(pa.float64(), is_greatest=True), pa.float64(), FLOATS, greatest),
    "mean": (Mean(Summed(pa.int64(), "x")), pa.int64(), SMALL, both),
    "top": (Top(pa.int64(), 3), pa.int64(), SMALL, lambda found: sorted(found, reverse=True)[:3]),
    "top of floats": (
        Top(pa.float64(), 2),
        pa.float64(),
        FLOATS,
        lambda found: sorted(found, key=_order, reverse=True)[:2],
    ),
    "reduced": (Reduced(pa.int64(), max), pa.int64(), SMALL, greatest),
    "aggregated": (
        Aggregated(PAIR, Spread()),
        pa.int64(),
        SMALL,
        lambda found: {"f0": min(found), "f1": max(found)} if found else None,
    ),
}


def groups_of(names: Sequence[int]) -> tuple[Groups, list[int]]:
    """Groups, and the name of each."""
    found = list(dict.fromkeys(names))
    return Groups(np.array([found.index(name) for name in names], np.int32), len(found)), found


def by_batches(
    accumulator: Accumulator, data_type: pa.DataType, rows: list[tuple[int, Any]], size: int
) -> dict[int, Any]:
    """Name of group -> its accumulator, where so many rows are gathered at a time."""
    names: list[int] = []
    parts = []
    for start in range(0, len(rows), size):
        batch = rows[start : start + size]
        groups, found = groups_of([name for name, _ in batch])
        values = pa.array([value for _, value in batch], data_type)
        parts.append(accumulator.gathered(groups, values))
        names += found
    groups, found = groups_of(names)
    merged = accumulator.merged(groups, pa.concat_arrays(parts))
    assert merged.type == accumulator.type
    return dict(zip(found, merged.to_pylist(), strict=True))


@pytest.mark.parametrize("name", CASES)
@given(data=st.data(), size=st.integers(1, 12))
def test_portions_of_values_merge_to_what_all_of_them_are(
    name: str, data: st.DataObject, size: int
) -> None:
    accumulator, data_type, values, expected = CASES[name]
    row = st.tuples(st.integers(0, 3), st.none() | values)
    rows = data.draw(st.lists(row, min_size=1, max_size=30))
    found = by_batches(accumulator, data_type, rows, size)
    for group, one in found.items():
        of_group = [value for number, value in rows if number == group and value is not None]
        # NaN does not equal itself, and zeros of both signs do.
        assert repr(one) == repr(expected(of_group))


class TestSumsThatAreTooLarge:
    def test_of_longs_are_an_error_that_says_what_to_do(self) -> None:
        groups, _ = groups_of([0, 0])
        with pytest.raises(
            OverflowError, match=r"a sum of column 'x' .* cast it to DECIMAL\(38, 0\)"
        ):
            Summed(pa.int64(), "column 'x'").gathered(groups, pa.array([MOST, 1]))

    def test_of_longs_wrap_where_they_are_allowed_to(self) -> None:
        groups, _ = groups_of([0, 0])
        found = Summed(pa.int64(), "x", wraps=True).gathered(groups, pa.array([MOST, 1]))
        assert found.to_pylist() == [-(2**63)]

    def test_of_longs_that_are_large_but_cancel_out_are_exact(self) -> None:
        groups, _ = groups_of([0, 1, 0, 1])
        values = pa.array([MOST, -MOST - 1, -MOST, MOST])
        assert Summed(pa.int64(), "x").gathered(groups, values).to_pylist() == [0, -1]

    def test_of_decimals_are_an_error(self) -> None:
        groups, _ = groups_of([0, 0])
        values = pa.array([Decimal("9" * 38)] * 2, pa.decimal128(38, 0))
        with pytest.raises(OverflowError, match="cast it to fewer digits"):
            Summed(pa.decimal128(38, 0), "x").gathered(groups, values)

    def test_of_decimals_that_are_large_but_cancel_out_are_exact(self) -> None:
        groups, _ = groups_of([0, 0, 0])
        most = Decimal("9" * 36 + ".99")
        values = pa.array([most, most, most.copy_negate()], pa.decimal128(38, 2))
        assert Summed(pa.decimal128(38, 2), "x").gathered(groups, values).to_pylist() == [most]
