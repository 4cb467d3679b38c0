"""Spark jobs of aggregates by key: rows become values, partial accumulators, and combined ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    IntegralType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from savepoint_formats.errors import NullKeyError
from savepoint_functions.aggregating.local_rows import (
    END,
    START,
    Aggregation,
    combined_rows,
    local_rows,
    value_column,
    with_key_bytes,
    with_keys,
)
from savepoint_functions.functions.sorted_inputs import KEY
from savepoint_spark.bootstrapping import WINDOW
from savepoint_spark.columns import column_of, spark_schema, spark_type, with_hidden
from savepoint_spark.writing import merged_windows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from savepoint_formats.layout import Layout
    from savepoint_functions.aggregating.bound_aggregate import BoundAggregate
    from savepoint_spark.writing import Key

_EQUAL_BYTES = (StringType(), BooleanType(), BinaryType())
# Spark raises an error of its own with these words; a line like that of a task tells the class.
_NULL_KEY = (
    f"\n{NullKeyError.__module__}.{NullKeyError.__qualname__}: a key, or a column of it, is null:"
    " leave such rows out\n"
)


@dataclass(frozen=True)
class AggregatedRows:
    """Rows of a DataFrame, and their aggregates.

    ``windows`` is the column of their windows, if they have any, and the same in ms. With
    ``is_merging``, windows merge, such as session windows.
    """

    data: DataFrame
    key: Key
    aggregates: tuple[BoundAggregate, ...]
    windows: tuple[str, Column] | None = None
    is_merging: bool = False

    @property
    def is_grouped(self) -> bool:
        """Whether Spark's own ``groupBy`` makes exactly the same accumulators.

        Spark and Flink disagree on which keys are equal: for Spark -0.0 and 0.0 are, and texts with
        a collation may be.
        """
        types = [column_of(self.data, name)[1] for name in self.key.columns]
        are_equal_bytes = all(
            isinstance(data_type, IntegralType) or data_type in _EQUAL_BYTES for data_type in types
        )
        stored = spark_type(self.layout)
        as_stored = [field.dataType for field in stored] if len(types) > 1 else [stored]  # type: ignore[attr-defined]
        is_built_in = all(aggregate.grouped is not None for aggregate in self.aggregates)
        return is_built_in and are_equal_bytes and types == as_stored

    def grouped(self) -> DataFrame:
        """A row for each key, or key and window, by Spark's own ``groupBy``; see ``is_grouped``."""
        group = [self.key.column(self.data).alias(KEY)]
        if self.windows is not None:
            group += [self.windows[1][name].alias(name) for name in (START, END)]
        accumulators = [
            aggregate.grouped.cast(field.dataType).alias(field.name)
            for aggregate, field in zip(self.aggregates, self._accumulators(), strict=True)
            if aggregate.grouped is not None
        ]
        rows = self.data.groupBy(*group).agg(*accumulators)
        # groupBy takes null for a key; only one row of its result can have it.
        key = checked = F.col(KEY)
        stored = spark_type(self.layout)
        is_tuple = len(self.key.columns) > 1 and isinstance(stored, StructType)
        for column in [key[name] for name in stored.names] if is_tuple else [key]:  # type: ignore[attr-defined]
            checked = F.when(column.isNotNull(), checked).otherwise(F.raise_error(F.lit(_NULL_KEY)))
        return self._merged(rows.withColumn(KEY, checked))

    @property
    def layout(self) -> Layout:
        """The layout of the key."""
        return self.key.snapshot.layout()

    @property
    def aggregation(self) -> Aggregation:
        accumulators = tuple(aggregate.accumulator for aggregate in self.aggregates)
        return Aggregation(accumulators, self.windows is not None)

    def encoded(self) -> DataFrame:
        """The rows with the bytes of their keys and their values, in their partitions."""
        selected = self._selected()
        values = [field for field in selected.schema if field.name.startswith("value ")]
        return selected.mapInArrow(partial(with_key_bytes, self.layout), self._schema(values))

    def partial(self, table_size: int, partitions: int | None = None) -> DataFrame:
        """Accumulators of the rows of each partition; ``table_size`` is that of ``local_rows``.

        More than ``partitions`` partitions are put together, without a shuffle.
        """
        selected = self._selected()
        if partitions is not None:
            selected = selected.coalesce(partitions)
        local = partial(local_rows, self.layout, self.aggregation, table_size)
        return selected.mapInArrow(local, self._schema(self._accumulators()))

    def keyed(self, accumulators: DataFrame, key: Key) -> tuple[Self, DataFrame]:
        """Partial accumulators under another key, of fewer columns."""
        return self.rekeyed(self._with_keys(accumulators), key)

    def rekeyed(self, combined: DataFrame, key: Key) -> tuple[Self, DataFrame]:
        """Rows with accumulators under another key, of fewer columns."""
        rows, rekeyed = self.named(combined), replace(self, key=key)
        others = [*self._bounds(), *self._accumulators()]
        names = [F.col(f"`{field.name}`") for field in others]
        selected = rows.select(key.column(rows).alias(KEY), *names)
        return rekeyed, selected.mapInArrow(
            partial(with_key_bytes, rekeyed.layout), self._schema(self._accumulators())
        )

    def combined(self, rows: DataFrame, *, is_partial: bool) -> DataFrame:
        """A row for each key, or key and window, after a shuffle."""
        return self._merged(self.combined_in_place(rows.repartition(KEY), is_partial=is_partial))

    def _merged(self, combined: DataFrame) -> DataFrame:
        """Merges windows, and their accumulators, if windows merge."""
        if not self.is_merging:
            return combined
        window = F.struct(F.col(START).alias("start"), F.col(END).alias("end"))
        rows = with_hidden(self.named(combined), WINDOW, window)
        rows = merged_windows(rows, self.key.columns, WINDOW)
        bounds = [F.col(WINDOW)[name].alias(name) for name in (START, END)]
        values = [F.col(f"`{field.name}`") for field in self._accumulators()]
        selected = rows.select(self.key.column(rows).alias(KEY), *bounds, *values)
        encoded = selected.mapInArrow(
            partial(with_key_bytes, self.layout), self._schema(self._accumulators())
        )
        return self.combined_in_place(encoded.repartition(KEY), is_partial=True)

    def combined_in_place(self, rows: DataFrame, *, is_partial: bool) -> DataFrame:
        """A row for each key, or key and window, of a partition."""
        aggregation = self.aggregation
        combined = partial(combined_rows, self.layout, aggregation, is_partial)
        ordered = rows.sortWithinPartitions(*aggregation.group_columns)
        return ordered.mapInArrow(combined, self._decoded_schema())

    def named(self, combined: DataFrame) -> DataFrame:
        """Rows with accumulators, and the columns of the key under their own names."""
        key = F.col(KEY)
        columns = [key.alias(self.key.columns[0])]
        if len(self.key.columns) > 1:
            target = spark_type(self.layout)
            assert isinstance(target, StructType)  # several columns are the fields of a tuple
            columns = [
                key[field.name].alias(name)
                for field, name in zip(target, self.key.columns, strict=True)
            ]
        others = [F.col(f"`{name}`") for name in combined.columns if name != KEY]
        return combined.select(*columns, *others)

    def output(self, combined: DataFrame, *, has_results: bool) -> DataFrame:
        """Rows as a user sees them, with results or accumulators."""
        rows, taken = self.named(combined), set(self.key.columns)
        columns: list[Column] = [column_of(rows, name)[0] for name in self.key.columns]
        if self.windows is not None:
            taken.add(self.windows[0])
            columns.append(self._window())
        for number, aggregate in enumerate(self.aggregates):
            column = F.col(f"`{value_column(number)}`")
            shown = aggregate.result(column) if has_results else column
            if aggregate.is_row:
                fields = [name for name in aggregate.accumulator.type.names if name not in taken]
                columns += [shown[name].alias(name) for name in fields]
            else:
                columns.append(shown.alias(aggregate.name))
        return rows.select(*columns)

    def accumulators_in_place(self, accumulators: DataFrame) -> DataFrame:
        """Partial accumulators as a user sees them."""
        return self.output(self._with_keys(accumulators), has_results=False)

    def _window(self) -> Column:
        assert self.windows is not None  # or there is none
        name, _ = self.windows
        data_type = self.data.schema[name].dataType
        assert isinstance(data_type, StructType)  # as ``window_column`` has seen
        bounds = [F.col(START), F.col(END)]
        if isinstance(data_type[0].dataType, TimestampType):
            bounds = [F.timestamp_millis(millis) for millis in bounds]
        start, end = (
            column.alias(bound) for column, bound in zip(bounds, (START, END), strict=True)
        )
        return F.struct(start, end).alias(name)

    def _selected(self) -> DataFrame:
        columns = [self.key.column(self.data).alias(KEY)]
        if self.windows is not None:
            columns += [self.windows[1][name].alias(name) for name in (START, END)]
        columns += [
            aggregate.values.alias(value_column(number))
            for number, aggregate in enumerate(self.aggregates)
        ]
        return self.data.select(*columns)

    def _with_keys(self, accumulators: DataFrame) -> DataFrame:
        return accumulators.mapInArrow(partial(with_keys, self.layout), self._decoded_schema())

    def _schema(self, values: list[StructField]) -> StructType:
        return StructType([StructField(KEY, BinaryType()), *self._bounds(), *values])

    def _decoded_schema(self) -> StructType:
        key = StructField(KEY, spark_type(self.layout))
        return StructType([key, *self._bounds(), *self._accumulators()])

    def _bounds(self) -> list[StructField]:
        names = (START, END) if self.windows is not None else ()
        return [StructField(name, LongType()) for name in names]

    def _accumulators(self) -> list[StructField]:
        types = [aggregate.accumulator.type for aggregate in self.aggregates]
        fields = [(value_column(number), data_type) for number, data_type in enumerate(types)]
        return list(spark_schema(pa.schema(fields)))
