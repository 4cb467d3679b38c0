"""An aggregate of the columns of a DataFrame: its values, its accumulator, its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from savepoint_database.types.descriptors import StateDescriptor
    from savepoint_functions.aggregating.accumulators import Accumulator


@dataclass(frozen=True)
class BoundAggregate:
    """An aggregate of a DataFrame.

    Attributes:
        name: The column of its results.
        values: Its values in the rows.
        accumulator: Gathers them.
        result: Makes results of the column of accumulators.
        state: The state for its accumulators. Raises ``ColumnTypeError`` if their type could be several
            types in Flink.
        is_row: Whether results are rows, with a column for each field.
        grouped: The accumulator as an aggregate of Spark's own, if that is exactly the same.
    """

    name: str
    values: Column
    accumulator: Accumulator
    result: Callable[[Column], Column]
    state: Callable[[], StateDescriptor]
    is_row: bool = False
    grouped: Column | None = None


def accumulated(column: Column) -> Column:
    """The result of an accumulator that is its own result."""
    return column
