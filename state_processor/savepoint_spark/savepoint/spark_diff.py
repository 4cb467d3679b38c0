"""In what two savepoints differ, compared by the tasks of Spark: some key groups each."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from savepoint_database.checks.savepoint_diff import SavepointDiff
from savepoint_database.checks.table_diff import ChangeCounts
from savepoint_database.types.spark_values import to_spark
from savepoint_spark.columns.spark_types import spark_schema
from savepoint_spark.session.task_errors import typed_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.checks.table_diff import TableDiff
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.values.kinds.nanoseconds import Nanoseconds

_COUNTS = pa.schema({field.name: pa.int64() for field in fields(ChangeCounts)})


@dataclass(frozen=True)
class SparkSavepointDiff(SavepointDiff):
    """In what a savepoint differs from another one; ``tables`` and ``is_equal`` count in tasks.

    Where both have the same max parallelism, a task compares some key groups. Else, and where a
    table has no key groups, one task compares the table, through files if it is large.

    Attributes:
        spark: The session.
    """

    spark: SparkSession = field(kw_only=True)

    @classmethod
    def of(cls, diff: SavepointDiff, spark: SparkSession) -> Self:
        """The same two savepoints, for a session."""
        return cls(diff.before, diff.after, diff.table_name, diff.with_times, spark=spark)

    def to_dataframe(
        self, table: str | None = None, *, nanoseconds: Nanoseconds = "refuse"
    ) -> DataFrame:
        """The rows that differ, as a DataFrame; nothing is compared before it is asked for rows.

        Args:
            table: The full name of the table; not needed if but one is compared.
            nanoseconds: What becomes of times with more digits than microseconds.

        Returns:
            Column ``change_type`` (``insert``, ``delete``, ``update_preimage``,
            ``update_postimage``), then those of the table that both savepoints have.

        Raises:
            TableNotFoundError: No such table is in both savepoints.
            SavepointError: The headers of its files can't be read.

        Example:
            >>> found = savepoint.diff("s3://jobs/orders/savepoint-5e6f")
            >>> feed = found.to_dataframe("summarize.keyed_state")
            >>> feed.groupBy("change_type").count().show()
        """
        task = _Task.of(self._pair(table)[0], nanoseconds)
        return task.numbers(self.spark).mapInArrow(
            task.changes, spark_schema(task.pair.schema, nanoseconds)
        )

    def samples(self, table: str | None = None, rows: int = 10) -> pa.Table:
        """Some rows that differ, with Spark's types; times with nanoseconds are text."""
        with typed_errors():
            return self.to_dataframe(table, nanoseconds="text").limit(rows).toArrow()

    def _counts(self, pair: TableDiff) -> ChangeCounts:
        task = _Task.of(pair, "refuse")
        with typed_errors():
            counted = (
                task.numbers(self.spark).mapInArrow(task.counts, spark_schema(_COUNTS)).toArrow()
            )
        return ChangeCounts(*(sum(counted.column(name).to_pylist()) for name in _COUNTS.names))


@dataclass(frozen=True)
class _Task:
    """Parts of a table that are to be compared, by their numbers."""

    pair: TableDiff
    parts: tuple[KeyGroupRange | None, ...]
    nanoseconds: Nanoseconds

    @classmethod
    def of(cls, pair: TableDiff, nanoseconds: Nanoseconds) -> _Task:
        # Anew, without what was found out on this side: open files do not travel.
        sent = replace(pair, before=replace(pair.before), after=replace(pair.after))
        return cls(sent, tuple(pair.parts()), nanoseconds)

    def numbers(self, spark: SparkSession) -> DataFrame:
        """A row per part, each in a partition of its own."""
        return spark.range(0, len(self.parts), 1, len(self.parts))

    def changes(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows that differ in the parts whose numbers are the rows."""
        for part in self._parts(batches):
            for rows in self.pair.changes(parts=[part]):
                yield to_spark(rows, self.nanoseconds)

    def counts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """How many rows there are of each kind in each of these parts."""
        for part in self._parts(batches):
            counts = ChangeCounts()
            for _ in self.pair.changes(counts, [part]):
                pass
            yield pa.RecordBatch.from_pylist([asdict(counts)], _COUNTS)

    def _parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[KeyGroupRange | None]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield self.parts[number]
