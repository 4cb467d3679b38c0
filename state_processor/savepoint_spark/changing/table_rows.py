"""Rows of a table that are to be changed and written again, so that nothing of them may be lost.

The tables that users read show what Spark can hold: microseconds, times from the year 1677 on. What
is written again must be what it was, or be refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from savepoint_database.types.nested_arrays import flat_map
from savepoint_database.types.spark_values import from_spark, to_spark
from savepoint_formats.errors import SchemaChangeError, within
from savepoint_formats.values.kinds.precise_times import is_precise
from savepoint_spark.columns.spark_types import spark_schema
from savepoint_spark.session.tasks import rows_of_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_formats.scan.scan import TableScan
    from savepoint_formats.scan.splits import Split
    from savepoint_formats.values.kinds.nanoseconds import Nanoseconds


@dataclass(frozen=True)
class TableRows:
    """The rows of a table.

    Attributes:
        scan: How it is read.
        splits: The pieces of it, one per task.
        written: The columns that are written again.
        nanoseconds: What becomes of times with nanoseconds.
    """

    scan: TableScan
    splits: tuple[Split, ...]
    written: frozenset[str]
    nanoseconds: Nanoseconds = "refuse"

    @classmethod
    def of(
        cls, scan: TableScan, written: frozenset[str], nanoseconds: Nanoseconds = "refuse"
    ) -> Self:
        """The rows, in pieces."""
        return cls(scan, tuple(scan.splits()), written, nanoseconds)

    @classmethod
    def to_dataframe(
        cls,
        spark: SparkSession,
        scan: TableScan,
        written: frozenset[str],
        nanoseconds: Nanoseconds = "refuse",
    ) -> DataFrame:
        """The rows; a task that meets a value that Spark would alter raises SchemaChangeError."""
        rows = cls.of(scan, written, nanoseconds)
        columns = spark_schema(scan.schema, nanoseconds)
        return rows_of_tasks(spark, rows.shown, rows.splits, columns)

    def exact_batches(self) -> Iterator[pa.RecordBatch]:
        """All rows as they are stored; raises SchemaChangeError as a task of ``to_dataframe``."""
        for split in self.splits:
            for batch in self.scan.read(split):
                self._shown(batch)
                yield batch

    def shown(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of a split as Spark has them."""
        return map(self._shown, self.scan.read(split))

    def _shown(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.nanoseconds != "refuse":
            return to_spark(batch, self.nanoseconds)
        # What is not written again may well lose digits: it is for expressions to see.
        shown = to_spark(batch, "truncate")
        _expect_same(batch, shown, self.written)
        return shown


def _expect_same(rows: pa.RecordBatch, shown: pa.RecordBatch, written: frozenset[str]) -> None:
    for field, stored, seen in zip(rows.schema, rows.columns, shown.columns, strict=True):
        if stored.type == seen.type or field.name not in written:
            continue
        with within(f"column {field.name!r}"):
            for leaf, seen_leaf in zip(_leaves(stored), _leaves(seen), strict=True):
                _expect_same_leaf(leaf, seen_leaf)


def _expect_same_leaf(leaf: pa.Array, seen: pa.Array) -> None:
    if leaf.type == seen.type or from_spark(seen, leaf.type).equals(leaf):
        return
    raise SchemaChangeError(
        f"a value of type {leaf.type} is finer, or further away, than the microseconds that Spark"
        " has, and would be written as another one: leave the state as it is, or change it with"
        " nanoseconds='struct'"
    )


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    """The arrays that an array is made of, without what lies under nulls."""
    if is_precise(array.type):
        yield array
    elif pa.types.is_map(array.type):
        for part in flat_map(array):
            yield from _leaves(part)
    elif pa.types.is_list(array.type):
        yield from _leaves(array.flatten())
    elif pa.types.is_struct(array.type):
        for part in array.flatten():
            yield from _leaves(part)
    else:
        yield array
