"""The rows of a table that changes, as a DataFrame or in this process.

Tables for users show what Spark can hold: microseconds, and times since 1677. A value that is
written again must stay exact, or be refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_database.types.spark_values import SPARK, from_spark, leaves
from savepoint_formats.errors import SchemaChangeError, within
from savepoint_formats.scan.splits import bytes_of_splits
from savepoint_spark.columns import spark_schema
from savepoint_spark.session.tasks import rows_of_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from savepoint_formats.scan.scan import TableScan
    from savepoint_formats.scan.splits import Split
    from savepoint_formats.values.kinds.precise_times import Nanoseconds


@dataclass(frozen=True)
class TableRows:
    """The rows of a table; the columns in ``written`` must stay exact."""

    scan: TableScan
    written: frozenset[str] = frozenset()
    nanoseconds: Nanoseconds = "refuse"

    def to_dataframe(self, spark: SparkSession) -> DataFrame:
        """The rows; a task raises ``SchemaChangeError`` for a value that Spark would alter."""
        columns = spark_schema(self.scan.schema, self.nanoseconds)
        splits = tuple(self.scan.splits())
        return rows_of_tasks(spark, self._read, splits, columns, bytes_of_splits(splits))

    def exact_batches(self) -> Iterator[pa.RecordBatch]:
        """All rows as they are stored; raises as ``to_dataframe`` does."""
        for split in self.scan.splits():
            for batch in self.scan.read(split):
                self._shown(batch)
                yield batch

    def _read(self, split: Split) -> Iterator[pa.RecordBatch]:
        return map(self._shown, self.scan.read(split))

    def _shown(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.nanoseconds != "refuse":
            return SPARK[self.nanoseconds].batch(batch)
        # Columns that only expressions read may lose digits.
        shown = SPARK["truncate"].batch(batch)
        _expect_same(batch, shown, self.written)
        return shown


def _expect_same(rows: pa.RecordBatch, shown: pa.RecordBatch, written: frozenset[str]) -> None:
    for field, stored, seen in zip(rows.schema, rows.columns, shown.columns, strict=True):
        if stored.type == seen.type or field.name not in written:
            continue
        with within(f"column {field.name!r}"):
            for leaf, seen_leaf in zip(leaves(stored), leaves(seen), strict=True):
                _expect_same_leaf(leaf, seen_leaf)


def _expect_same_leaf(leaf: pa.Array, seen: pa.Array) -> None:
    if leaf.type == seen.type or from_spark(seen, leaf.type).equals(leaf):
        return
    raise SchemaChangeError(
        f"a value of type {leaf.type} is finer or further away than the microseconds that Spark"
        " has, and would be written as another one: leave the state as it is, or change it with"
        " nanoseconds='struct'"
    )
