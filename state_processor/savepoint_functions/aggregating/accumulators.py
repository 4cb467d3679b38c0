"""Accumulators of aggregates, a column at a time: one per group of rows.

| accumulator | its column                     | gathers                | merges         |
|-------------|--------------------------------|------------------------|----------------|
| ``Counted`` | BIGINT                         | rows, or values        | sum            |
| ``Summed``  | BIGINT, DOUBLE or DECIMAL      | sum                    | sum            |
| ``Extreme`` | that of the values             | least, or greatest     | the same       |
| ``Mean``    | STRUCT of sum and count        | both                   | both           |
| ``Top``     | ARRAY, greatest first          | the n greatest         | the n greatest |

``folded`` has functions of users. As in SQL, a group with only nulls has a null (``Top``: an empty
array; ``Counted``: 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.types import given, in_one_form, python_values, record_maker
from savepoint_functions.functions.rows_by_key import row_tuples

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from savepoint_database.types import AggregateFunction

_RESULT = "the aggregate"
_NULL_IF_NONE = pc.ScalarAggregateOptions(skip_nulls=True, min_count=1)


@dataclass(frozen=True, slots=True)
class Groups:
    """The number of the group of each row; groups are numbered as they first occur."""

    ids: NDArray[np.int32]
    count: int

    def aggregated(
        self, values: pa.Array, function: str, options: pc.FunctionOptions | None = None
    ) -> pa.Array:
        """The result of an aggregate function of Arrow for each group, in the order of the groups."""
        rows = pa.table({"group": pa.array(self.ids), "value": values})
        # With threads, groups come in any order.
        totals = rows.group_by("group", use_threads=False).aggregate([("value", function, options)])
        return totals.column(f"value_{function}").combine_chunks()


class Accumulator(Protocol):
    """Gathers the values of each group of rows in one value; frozen, and pickled to the tasks."""

    @property
    def type(self) -> pa.DataType:
        """The type of the column of accumulators."""

    def gathered(self, groups: Groups, values: pa.Array) -> pa.Array:
        """The accumulator of each group's values."""

    def merged(self, groups: Groups, accumulators: pa.Array) -> pa.Array:
        """One accumulator for each group that has several."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of values that are not null."""

    @property
    def type(self) -> pa.DataType:
        return pa.int64()

    def gathered(self, groups: Groups, values: pa.Array) -> pa.Array:
        return groups.aggregated(values, "count", pc.CountOptions("only_valid"))

    def merged(self, groups: Groups, accumulators: pa.Array) -> pa.Array:
        return groups.aggregated(accumulators, "sum")


@dataclass(frozen=True, slots=True)
class Summed:
    """The sum, an int64, double or decimal.

    ``what`` names the values in errors. With ``wraps``, a sum of longs overflows as Java's does.
    """

    type: pa.DataType
    what: str
    wraps: bool = False

    def gathered(self, groups: Groups, values: pa.Array) -> pa.Array:
        return self.merged(groups, values.cast(self.type))

    def merged(self, groups: Groups, accumulators: pa.Array) -> pa.Array:
        if self._is_safe(accumulators):
            return groups.aggregated(accumulators, "sum", _NULL_IF_NONE).cast(self.type)
        is_long = pa.types.is_int64(self.type)
        wide = pa.decimal128(38, 0) if is_long else pa.decimal256(76, self.type.scale)
        totals = groups.aggregated(accumulators.cast(wide), "sum", _NULL_IF_NONE)
        try:
            return totals.cast(self.type)
        except pa.ArrowInvalid as error:
            raise OverflowError(self.too_large) from error

    @property
    def too_large(self) -> str:
        is_long = pa.types.is_int64(self.type)
        advice = "cast it to DECIMAL(38, 0)" if is_long else "cast it to fewer digits"
        return f"a sum of {self.what} is too large for {self.type}: {advice}"

    def _is_safe(self, values: pa.Array) -> bool:
        """Whether no sum can be too large, or overflow is allowed."""
        if pa.types.is_floating(self.type) or self.wraps:
            return True
        limits = [limit for limit in pc.min_max(values).as_py().values() if limit is not None]
        is_long = pa.types.is_int64(self.type)
        largest = 2**63 - 1 if is_long else Decimal(10) ** (self.type.precision - self.type.scale)
        return all(abs(limit) * len(values) < largest for limit in limits)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or the greatest value; of floats NaN is the greatest, as in SQL."""

    type: pa.DataType
    is_greatest: bool

    def gathered(self, groups: Groups, values: pa.Array) -> pa.Array:
        function = "max" if self.is_greatest else "min"
        if not pa.types.is_floating(self.type):
            return groups.aggregated(values, function, _NULL_IF_NONE)
        extremes = groups.aggregated(_ordered(values), function, _NULL_IF_NONE)
        return _unordered(extremes, self.type)

    def merged(self, groups: Groups, accumulators: pa.Array) -> pa.Array:
        return self.gathered(groups, accumulators)


@dataclass(frozen=True, slots=True)
class Mean:
    """The sum and the count for an average."""

    sum: Summed

    @property
    def type(self) -> pa.DataType:
        return pa.struct([("f0", self.sum.type), ("f1", pa.int64())])

    def gathered(self, groups: Groups, values: pa.Array) -> pa.Array:
        return self._both(self.sum.gathered(groups, values), Counted().gathered(groups, values))

    def merged(self, groups: Groups, accumulators: pa.Array) -> pa.Array:
        sums, counts = accumulators.flatten()
        return self._both(self.sum.merged(groups, sums), Counted().merged(groups, counts))

    def _both(self, sums: pa.Array, counts: pa.Array) -> pa.Array:
        # No values have no accumulator, because the fields of a tuple are never null in Flink.
        fields = list(self.type)
        return pa.StructArray.from_arrays([sums, counts], fields=fields, mask=sums.is_null())


@dataclass(frozen=True, slots=True)
class Top:
    """The greatest values in descending order, at most ``limit``."""

    element: pa.DataType
    limit: int

    @property
    def type(self) -> pa.DataType:
        return pa.list_(self.element)

    def gathered(self, groups: Groups, values: pa.Array) -> pa.Array:
        return self._top(groups.ids, groups.count, values)

    def merged(self, groups: Groups, accumulators: pa.Array) -> pa.Array:
        parents = pc.list_parent_indices(accumulators).to_numpy()
        return self._top(groups.ids[parents], groups.count, accumulators.flatten())

    def _top(self, ids: NDArray[np.int32], count: int, values: pa.Array) -> pa.Array:
        is_floating = pa.types.is_floating(self.element)
        rows = pa.table(
            {"group": pa.array(ids), "value": _ordered(values) if is_floating else values}
        )
        keys = [("group", "ascending"), ("value", "descending")]
        order = pc.sort_indices(rows, sort_keys=keys).to_numpy()
        ids = ids[order]
        starts = np.searchsorted(ids, np.arange(count))
        is_top = np.arange(len(ids)) - starts[ids] < self.limit
        is_top &= values.is_valid().to_numpy(zero_copy_only=False)[order]
        bounds = np.append(0, np.cumsum(np.bincount(ids[is_top], minlength=count)))
        offsets = pa.array(bounds.astype(np.int32))
        return pa.ListArray.from_arrays(offsets, values.take(pa.array(order[is_top])), self.type)


def _ordered(values: pa.Array) -> pa.Array:
    """Whole numbers in the order of floats; all NaN are one, and the greatest."""
    bits = pa.int64() if values.type == pa.float64() else pa.int32()
    numbers = pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False).copy()
    numbers[np.isnan(numbers)] = np.nan
    return pa.array(
        _flipped(numbers.view(bits.to_pandas_dtype())),
        bits,
        mask=values.is_null().to_numpy(zero_copy_only=False),
    )


def _unordered(ordered: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The floats for numbers of ``_ordered``."""
    numbers = _flipped(pc.fill_null(ordered, 0).to_numpy(zero_copy_only=False))
    is_null = ordered.is_null().to_numpy(zero_copy_only=False)
    return pa.array(numbers.view(wanted.to_pandas_dtype()), wanted, mask=is_null)


def _flipped(bits: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


@dataclass(frozen=True)
class Reduced:
    """Values that a function reduces to one of their type; it sees whole rows as named tuples."""

    type: pa.DataType
    function: Callable[[Any, Any], Any]
    are_rows: bool = False

    def gathered(self, groups: Groups, values: pa.Array) -> pa.Array:
        reduce = in_one_form(self.function, self.type, _RESULT)
        return _column(self.type, _folded(groups, self._python(values), reduce))

    def _python(self, values: pa.Array) -> list[Any]:
        if self.are_rows:
            return list(map(record_maker(tuple(self.type.names)), row_tuples(values)))
        return python_values(values)

    def merged(self, groups: Groups, accumulators: pa.Array) -> pa.Array:
        return self.gathered(groups, accumulators)


@dataclass(frozen=True)
class Aggregated:
    """Values that a function gathers in accumulators of a type."""

    type: pa.DataType
    function: AggregateFunction

    def gathered(self, groups: Groups, values: pa.Array) -> pa.Array:
        folded: list[Any] = [None] * groups.count
        create = in_one_form(self.function.create_accumulator, self.type, _RESULT)
        add = in_one_form(self.function.add, self.type, _RESULT)
        for group, value in zip(groups.ids.tolist(), python_values(values), strict=True):
            if value is not None:
                held = folded[group]
                folded[group] = add(value, create() if held is None else held)
        return _column(self.type, folded)

    def merged(self, groups: Groups, accumulators: pa.Array) -> pa.Array:
        held = python_values(accumulators)
        merge = in_one_form(self.function.merge, self.type, _RESULT)
        return _column(self.type, _folded(groups, held, merge))


def _folded(groups: Groups, values: list[Any], function: Callable[[Any, Any], Any]) -> list[Any]:
    """Folds the values of each group with a function of two; None for a group without values."""
    folded: list[Any] = [None] * groups.count
    for group, value in zip(groups.ids.tolist(), values, strict=True):
        if value is not None:
            held = folded[group]
            folded[group] = value if held is None else function(held, value)
    return folded


def _column(data_type: pa.DataType, values: list[Any]) -> pa.Array:
    convert = given(data_type)
    return pa.array([None if value is None else convert(value) for value in values], data_type)
