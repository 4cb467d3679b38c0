"""The rows of a table that changes, as a DataFrame or in this process.

Tables for users show what Spark can hold: microseconds, and times since 1677. A value that is
written again must stay exact, or be refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import BinaryType

from savepoint_database.types import SPARK, from_spark, leaves
from savepoint_formats.errors import SchemaChangeError, within
from savepoint_formats.pass_through import encoded_visible_keys
from savepoint_formats.scan import bytes_of_splits
from savepoint_formats.tables import KEY
from savepoint_spark.columns import spark_schema
from savepoint_spark.session.tasks import rows_of_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through import ListedKeys
    from savepoint_formats.scan import Split, TableScan
    from savepoint_formats.values import Nanoseconds

ENCODED_KEY = "$encoded key"


@dataclass(frozen=True)
class TableRows:
    """The rows of a table; the columns in ``written`` must stay exact.

    With the layout of its keys, a table can have their bytes in a column ``ENCODED_KEY``, and leave
    out the rows of ``deleted`` keys. Bytes tell apart what Spark takes for equal, such as 0.0 and -0.0.
    """

    scan: TableScan
    written: frozenset[str] = frozenset()
    nanoseconds: Nanoseconds = "refuse"
    key: Layout | None = None
    has_encoded_keys: bool = False
    deleted: ListedKeys | None = None

    def to_dataframe(self, spark: SparkSession) -> DataFrame:
        """The rows; a task raises ``SchemaChangeError`` for a value that Spark would alter."""
        columns = spark_schema(self.scan.schema, self.nanoseconds)
        if self.has_encoded_keys:
            columns = columns.add(ENCODED_KEY, BinaryType())
        splits = tuple(self.scan.splits())
        return rows_of_tasks(spark, self._read, splits, columns, bytes_of_splits(splits))

    def exact_batches(self) -> Iterator[pa.RecordBatch]:
        """All rows as they are stored; raises as ``to_dataframe`` does."""
        for split in self.scan.splits():
            for batch in self.scan.read(split):
                self._shown(batch)
                yield batch

    def _read(self, split: Split) -> Iterator[pa.RecordBatch]:
        for batch in self.scan.read(split):
            if self.key is None:
                yield self._shown(batch)
                continue
            keys = encoded_visible_keys(batch.column(KEY), self.key, self.scan.kryo)
            if self.deleted is not None:
                is_kept = pa.array(~self.deleted.are_listed(keys))
                batch, keys = batch.filter(is_kept), keys.filter(is_kept)  # noqa: PLW2901
            shown = self._shown(batch)
            if self.has_encoded_keys:
                shown = shown.append_column(ENCODED_KEY, keys.cast(pa.binary()))
            yield shown

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
        " has, and would be written as another one: leave the state as it is, or change it after"
        " with_forms(nanoseconds='struct')"
    )
