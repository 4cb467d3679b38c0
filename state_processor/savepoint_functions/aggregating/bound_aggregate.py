"""An aggregate of the columns of a DataFrame, as it is run: what goes in, what gathers, what comes out."""

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
        values: What it is given of each row.
        accumulator: What gathers it.
        result: Makes results of the column of accumulators.
        state: The state whose values its accumulators are. Raises ``ColumnTypeError`` if their
            type may be that of several types in Flink.
        is_row: Whether results are rows, each field a column.
        grouped: The accumulator as an aggregate of Spark's own, where it has exactly the same.
    """

    name: str
    values: Column
    accumulator: Accumulator
    result: Callable[[Column], Column]
    state: Callable[[], StateDescriptor]
    is_row: bool = False
    grouped: Column | None = None


def accumulated(column: Column) -> Column:
    """What an accumulator amounts to that is its own result."""
    return column
