"""The read of a table by tasks: splits on the driver, batches with Spark's types in a task."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_database.rows.row_condition import FilteredScan
from savepoint_database.types import SPARK
from savepoint_formats.printable import printable
from savepoint_formats.scan import SPLIT_SIZE, KeyedSplit, bytes_of_splits
from savepoint_spark.columns import spark_schema
from savepoint_spark.reading.column_facts import with_facts
from savepoint_spark.session.tasks import rows_of_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from savepoint_formats.scan import Split, TableScan
    from savepoint_spark.reading.source_options import SourceOptions

logger = logging.getLogger("state_processor")


@dataclass(frozen=True)
class TableRead:
    """A scan of a table, the scan that also obeys a condition, and bytes of a split."""

    scan: TableScan
    rows: TableScan | FilteredScan
    split_size: int = SPLIT_SIZE

    @classmethod
    def of(
        cls, scan: TableScan, asked: SourceOptions, names: tuple[str, ...] | None = None
    ) -> Self:
        """A read of the columns of a scan, or of those ``names``; ``ConditionError`` for a wrong ``where``."""
        # Comes first, because the condition may use columns that are left out.
        filtered = None if asked.where is None else FilteredScan.of(scan, asked.where, names)
        if names is not None and names != tuple(scan.schema.names):
            scan = replace(scan, options=scan.options.of_columns(names))
        return cls(scan, filtered or scan, asked.split_size or SPLIT_SIZE)

    @property
    def schema(self) -> StructType:
        """The columns in Spark."""
        columns = spark_schema(self.scan.schema, self.scan.options.nanoseconds)
        return with_facts(columns, self.scan)

    def splits(self) -> list[Split]:
        """Splits that tasks read; raises errors of headers and ``_metadata``."""
        splits = self.scan.shared_splits(self.split_size)
        keyed = [split for split in splits if isinstance(split, KeyedSplit)]
        if keyed:
            read = sum(len(split.key_groups) for split in keyed if split.group_split.index == 0)
            total = self.scan.operator.max_parallelism
            name = printable(self.scan.table.name)
            logger.info("%s: read %d of %d key groups", name, read, total)
        return splits

    def batches(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of a split; runs in a task."""
        form = SPARK[self.scan.options.nanoseconds]
        return map(form.batch, self.rows.read(split))

    def to_dataframe(self, spark: SparkSession) -> DataFrame:
        """All rows, read when a job of Spark asks for them."""
        splits = self.splits()
        # A look-up reads the rows of a few keys.
        size = 0 if self.scan.options.keys is not None else bytes_of_splits(splits)
        return rows_of_tasks(spark, self.batches, splits, self.schema, size)
