"""Rows grouped by keys as Flink tells them apart, and windows of a key that merge, such as sessions.

Spark groups by numbers, so -0.0 is 0.0. Flink hashes and compares Java's bytes, so they are two
keys. No two windows of a session's key may overlap or touch: Flink merges them when rows arrive, and
expects restored windows to be merged.

Flink: ``TimeWindow.mergeWindows``, ``TimeWindow.intersects``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from pyspark.sql import Window
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

from savepoint_database.types import unused
from savepoint_formats.errors import OverlappingWindowsError
from savepoint_formats.values import Collections
from savepoint_spark.columns import column_of, with_hidden
from savepoint_spark.writing.keyed_rows import KeyedRows
from savepoint_spark.writing.run_encoding import KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from savepoint_spark.writing.shuffled_runs import MakeRuns, RunSource

_NUMBER = "number of the merged window"


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
            columns.append(name)
            if comparable != data_type:
                columns[-1] = unused(f"text of {name}", data.columns)
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

    def placed(self, name: str, *order: Column) -> DataFrame:
        """The rows with the column ``name``: their place in the order of their group, from 1."""
        same = Window.partitionBy(*(column_of(self.data, column)[0] for column in self.columns))
        placed = self.data.withColumn(name, F.row_number().over(same.orderBy(*order)))
        return placed.drop(*self.added)

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


def merged_windows(data: DataFrame, keys: tuple[str, ...], column: str) -> DataFrame:
    """The rows, with a column of windows merged as Flink merges the windows of each key."""
    grouping = Grouping.of(data, keys)
    window = F.col(column)
    of_same = [column_of(grouping.data, name)[0] for name in grouping.columns]
    of_key = Window.partitionBy(*of_same).orderBy(window["start"])
    before = of_key.rowsBetween(Window.unboundedPreceding, -1)
    until_here = of_key.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_apart = F.coalesce(F.max(window["end"]).over(before) < window["start"], F.lit(True))
    apart = with_hidden(grouping.data, _NUMBER, is_apart.cast("bigint"))
    numbered = apart.withColumn(_NUMBER, F.sum(_NUMBER).over(until_here))
    whole = Window.partitionBy(*of_same, _NUMBER)
    start, end = F.min(window["start"]).over(whole), F.max(window["end"]).over(whole)
    merged = F.when(window.isNotNull(), F.struct(start.alias("start"), end.alias("end")))
    return numbered.withColumn(column, merged).drop(_NUMBER, *grouping.added)


@dataclass(frozen=True)
class MergingWindowSets(KeyedRows):
    """A row per key with all its windows."""

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``; a task raises ``OverlappingWindowsError``."""
        source = super().runs(ids, max_parallelism)
        assert source.make is not None  # rows of a DataFrame are none yet
        (state,) = self.states
        return replace(source, make=partial(_checked, source.make, f"values {ids[state.name]}"))


def _checked(
    make: MakeRuns, column: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The runs of a partition, after a look at the column of pairs of windows."""

    def checked() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            expect_apart(batch.column(KEY), batch.column(column))
            yield batch

    return make(checked())


def expect_apart(keys: pa.Array, sets: pa.ListArray) -> None:
    """Raises ``OverlappingWindowsError`` if two windows of a key overlap or touch."""
    lists = Collections(sets)
    windows = lists.elements.field(0)
    starts, ends = (np.asarray(windows.field(index).fill_null(0)) for index in range(2))
    order = np.lexsort((starts, lists.rows))
    rows, starts, ends = lists.rows[order], starts[order], ends[order]
    # If any two windows of a key overlap, so do two neighbours in the order of starts.
    is_same = (rows[1:] == rows[:-1]) & (starts[1:] <= ends[:-1])
    (overlapping,) = np.nonzero(is_same)
    if not len(overlapping):
        return
    first = int(overlapping[0])
    earlier, later = (f"[{starts[index]}, {ends[index]})" for index in (first, first + 1))
    raise OverlappingWindowsError(
        f"the windows {earlier} and {later} of key {keys[int(rows[first])].as_py()!r} overlap or"
        " touch, so that Flink would have merged them: give each state merge=…, or make one row of them"
        " first"
    )
