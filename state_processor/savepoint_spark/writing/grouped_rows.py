"""Rows grouped by keys as Flink tells them apart.

Spark groups by numbers, so -0.0 is 0.0. Flink hashes and compares Java's bytes, so they are two
keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from savepoint_spark.columns import column_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Grouping:
    """Rows to be grouped by ``names``; ``columns`` has texts in the place of fractions."""

    data: DataFrame
    names: tuple[str, ...]
    columns: tuple[str, ...]

    @classmethod
    def of(cls, data: DataFrame, names: tuple[str, ...]) -> Self:
        """Rows to be grouped by these columns; ``ColumnNotFoundError`` for a missing one."""
        columns = []
        for name in names:
            column, data_type = column_of(data, name)
            comparable = _comparable(data_type)
            columns.append(name if comparable == data_type else f"text of {name}")
            if comparable != data_type:
                # Java's texts differ for different fractions, and for the two zeros.
                data = data.withColumn(columns[-1], column.cast(comparable))
        return cls(data, names, tuple(columns))

    @property
    def added(self) -> tuple[str, ...]:
        """The columns that were added to the rows."""
        return tuple(column for column in self.columns if column not in self.names)

    def aggregated(self, *aggregates: Column) -> DataFrame:
        """A row per group with its columns and aggregates."""
        groups = [column_of(self.data, name)[0] for name in self.columns]
        kept = [
            F.first(column_of(self.data, name)[0]).alias(name)
            for name, column in zip(self.names, self.columns, strict=True)
            if name != column
        ]
        return self.data.groupBy(*groups).agg(*kept, *aggregates).drop(*self.added)

    def distinct(self) -> DataFrame:
        """One row of each group."""
        return self.data.dropDuplicates(list(self.columns)).drop(*self.added)


def _comparable(data_type: DataType) -> DataType:
    """A type that Spark compares as Flink does, with texts for fractions."""
    match data_type:
        case FloatType() | DoubleType():
            return StringType()
        case ArrayType():
            return ArrayType(_comparable(data_type.elementType), data_type.containsNull)
        case MapType():
            key, value = _comparable(data_type.keyType), _comparable(data_type.valueType)
            return MapType(key, value, data_type.valueContainsNull)
        case StructType():
            return StructType(
                [
                    StructField(field.name, _comparable(field.dataType), field.nullable)
                    for field in data_type
                ]
            )
        case _:
            return data_type
