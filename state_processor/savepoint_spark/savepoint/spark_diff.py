"""The differences of two savepoints, compared by tasks of Spark: some key groups each."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from savepoint_database.checks.savepoint_diff import SavepointDiff
from savepoint_database.checks.table_diff import ChangeCounts
from savepoint_database.types.spark_values import to_spark
from savepoint_spark.columns.spark_types import spark_schema
from savepoint_spark.session.task_errors import typed_errors
from savepoint_spark.session.tasks import done_by_tasks, rows_of_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.checks.table_diff import TableDiff
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.values.kinds.precise_times import Nanoseconds


@dataclass(frozen=True)
class SparkSavepointDiff(SavepointDiff):
    """The differences of two savepoints; ``tables`` and ``is_equal`` count in tasks.

    If both have the same max parallelism, a task compares some key groups. Otherwise, and for a
    table without key groups, one task compares the table, through files if it is large.

    Attributes:
        spark: The session.
    """

    spark: SparkSession = field(kw_only=True)

    def to_dataframe(
        self, table: str | None = None, *, nanoseconds: Nanoseconds = "refuse"
    ) -> DataFrame:
        """The rows that differ, as a lazy DataFrame.

        Args:
            table: The full name of the table; not needed if only one is compared.
            nanoseconds: The form of times with more digits than microseconds.

        Returns:
            Column ``change_type`` (``insert``, ``delete``, ``update_preimage``,
            ``update_postimage``), then the columns that both savepoints have.

        Raises:
            TableNotFoundError: No such table is in both savepoints.
            SavepointError: The headers of its files can't be read.

        Example:
            >>> found = savepoint.diff("s3://jobs/orders/savepoint-5e6f")
            >>> feed = found.to_dataframe("summarize.keyed_state")
            >>> feed.groupBy("change_type").count().show()
        """
        pair = _sent(self._pair(table)[0])
        return rows_of_tasks(
            self.spark,
            partial(_changes, pair, nanoseconds),
            pair.parts(),
            spark_schema(pair.schema, nanoseconds),
        )

    def samples(self, table: str | None = None, rows: int = 10) -> pa.Table:
        """Some rows that differ, with Spark's types; times with nanoseconds are text."""
        with typed_errors():
            return self.to_dataframe(table, nanoseconds="text").limit(rows).toArrow()

    def _counts(self, pair: TableDiff) -> ChangeCounts:
        counts = done_by_tasks(self.spark, partial(_counts, _sent(pair)), pair.parts())
        return ChangeCounts(*map(sum, zip(*map(astuple, counts), strict=True)))


def _sent(pair: TableDiff) -> TableDiff:
    """A table of two savepoints without open files, which can't go to tasks."""
    return replace(pair, before=replace(pair.before), after=replace(pair.after))


def _changes(
    pair: TableDiff, nanoseconds: Nanoseconds, part: KeyGroupRange | None
) -> Iterator[pa.RecordBatch]:
    for rows in pair.changes(parts=[part]):
        yield to_spark(rows, nanoseconds)


def _counts(pair: TableDiff, part: KeyGroupRange | None) -> ChangeCounts:
    counts = ChangeCounts()
    for _ in pair.changes(counts, [part]):
        pass
    return counts
