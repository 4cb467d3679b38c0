"""Accumulators into which functions of users fold rows, with a call per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_database.types.python_values import given, python_values
from savepoint_functions.functions.key_spans import row_maker, row_tuples

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.types.descriptors import AggregateFunction
    from savepoint_functions.aggregating.accumulators import Groups


@dataclass(frozen=True)
class Reduced:
    """Values that a function reduces to one of their type."""

    type: pa.DataType
    function: Callable[[Any, Any], Any]

    def gathered(self, groups: Groups, values: pa.Array) -> pa.Array:
        return _column(self.type, _folded(groups, python_values(values), self.function))

    def merged(self, groups: Groups, accumulators: pa.Array) -> pa.Array:
        return self.gathered(groups, accumulators)


@dataclass(frozen=True)
class ReducedRows:
    """Whole rows that a function reduces to one; the function sees named tuples."""

    type: pa.DataType
    function: Callable[[Any, Any], Any]

    def gathered(self, groups: Groups, values: pa.Array) -> pa.Array:
        make, convert = row_maker(tuple(self.type.names)), given(self.type)

        def reduced(value: Any, other: Any) -> Any:
            # It may give a dict or a plain tuple, but is to see a named one again.
            return make(convert(self.function(value, other)).values())

        return _column(self.type, _folded(groups, list(map(make, row_tuples(values))), reduced))

    def merged(self, groups: Groups, accumulators: pa.Array) -> pa.Array:
        return self.gathered(groups, accumulators)


@dataclass(frozen=True)
class Aggregated:
    """Values that a function gathers in accumulators of a type."""

    type: pa.DataType
    function: AggregateFunction

    def gathered(self, groups: Groups, values: pa.Array) -> pa.Array:
        folded: list[Any] = [None] * groups.count
        create, add = self.function.create_accumulator, self.function.add
        for group, value in zip(groups.ids.tolist(), python_values(values), strict=True):
            if value is not None:
                held = folded[group]
                folded[group] = add(value, create() if held is None else held)
        return _column(self.type, folded)

    def merged(self, groups: Groups, accumulators: pa.Array) -> pa.Array:
        held = python_values(accumulators)
        return _column(self.type, _folded(groups, held, self.function.merge))


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
