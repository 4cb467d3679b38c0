"""An aggregate of the columns of a DataFrame, and sums of columns in Spark's own aggregation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, IntegralType

from savepoint_database.types import Types
from savepoint_formats.errors import ColumnTypeError
from savepoint_functions.aggregating.accumulators import Summed
from savepoint_spark.columns import arrow_type_of, column_of, natural_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

    from savepoint_database.types import StateDescriptor, TypeInformation
    from savepoint_functions.aggregating.accumulators import Accumulator


@dataclass(frozen=True)
class BoundAggregate:
    """An aggregate of a DataFrame.

    Attributes:
        name: The column of its results.
        values: Its values in the rows.
        accumulator: Gathers them.
        result: Makes results of the column of accumulators.
        state: The state for its accumulators. Raises ``ColumnTypeError`` if their type could be
            several types in Flink.
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


def grouped_sum(values: Column, summed: Summed) -> Column:
    """The sum as an aggregate of Spark's own; it fails where ``Summed`` does."""
    if pa.types.is_floating(summed.type):
        return F.sum(values.cast(DoubleType()))
    if summed.wraps:
        return F.sum(values)
    too_large = F.raise_error(F.lit(summed.too_large))
    return F.coalesce(F.try_sum(values), F.when(F.count(values) > 0, too_large))


def summed_column(name: str, data: DataFrame) -> tuple[Column, DataType, Summed]:
    """A column of numbers, its type, and its accumulator."""
    column, data_type = column_of(data, name)
    what = f"column {name!r}"
    match data_type:
        case IntegralType():
            wraps = data.sparkSession.conf.get("spark.sql.ansi.enabled") == "false"
            return column, data_type, Summed(pa.int64(), what, wraps)
        case FloatType() | DoubleType():
            return column, data_type, Summed(pa.float64(), what)
        case DecimalType():
            return column, data_type, Summed(arrow_type_of(wider(data_type, 10, 0)), what)
        case _:
            raise ColumnTypeError(
                f"{what} is {data_type.simpleString()}, expected numbers: cast it first"
            )


def wider(decimal: DecimalType, digits: int, scale: int) -> DecimalType:
    """A decimal with more digits, some of them after the point."""
    return DecimalType(min(38, decimal.precision + digits), min(38, decimal.scale + scale))


def sum_type(name: str, summed: Summed) -> TypeInformation:
    """The type of a sum in Flink. Raises ``ColumnTypeError`` for decimals, which have several."""
    if pa.types.is_decimal(summed.type):
        return natural_type(name, DecimalType(summed.type.precision, summed.type.scale))
    return Types.LONG() if pa.types.is_int64(summed.type) else Types.DOUBLE()
