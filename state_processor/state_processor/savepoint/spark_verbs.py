"""Audits of a savepoint by tasks of Spark, some key groups each: counts, checks, differences."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from savepoint_database.checks.contents import PART_SIZE, looked_at
from savepoint_database.checks.savepoint_diff import SavepointDiff
from savepoint_database.checks.table_diff import ChangeCounts
from savepoint_database.checks.verification import Verification
from savepoint_database.rows.row_condition import FilteredScan, matching_rows
from savepoint_database.snapshot import with_old_keywords
from savepoint_database.types import SPARK
from savepoint_formats.key_groups import CHUNK_SIZE
from savepoint_formats.scan import SPLIT_SIZE, bytes_of_splits, rows_in
from savepoint_spark.columns import spark_schema
from savepoint_spark.reading import SourceOptions
from savepoint_spark.session import (
    collected,
    done_by_tasks,
    is_remote,
    rows_of_tasks,
    typed_errors,
)
from state_processor.savepoint.audit_verbs import AuditVerbs
from state_processor.savepoint.size_verbs import SizeVerbs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, timedelta
    from typing import Self

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.checks.contents import Part
    from savepoint_database.checks.table_diff import TableDiff
    from savepoint_database.checks.verification import Depth
    from savepoint_database.snapshot import Snapshot
    from savepoint_extensions.change_feed.feed_frames import SparkChangeFeed
    from savepoint_extensions.change_feed.feed_tables import NewTypes
    from savepoint_extensions.sizes.keyed_statistics import KeyedCounts
    from savepoint_extensions.sizes.operator_statistics import WeighedOperator
    from savepoint_extensions.sizes.statistics import SavepointStatistics
    from savepoint_formats.checks.entry_faults import CheckedEntries
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations import PathText
    from savepoint_formats.scan import MergeInstances, UndescribedSubclasses
    from savepoint_formats.state_files import State
    from savepoint_formats.values import Nanoseconds


class HasSize(Protocol):
    """A part of some work."""

    @property
    def size(self) -> int:
        """The approximate number of bytes to read."""


PartOfSize = TypeVar("PartOfSize", bound=HasSize)

_MOST_BYTES = 1 << 30
"""A task that counts more is too much to do again when it fails."""


def _task_size(size: int, cores: int) -> int:
    """Bytes for each of so many cores, with some room, because key groups are not divided.

    Spark takes as long to hand a task over as the task to count the rows of 64 MB.
    """
    return min(size * 9 // (8 * cores), _MOST_BYTES)


@dataclass(frozen=True)
class SparkSavepointDiff(SavepointDiff):
    """The differences of two savepoints; ``tables`` and ``is_equal`` count in tasks.

    If both have the same max parallelism, a task compares some key groups. Otherwise, and for a
    table without key groups, one task compares the table, through files if it is large.

    Attributes:
        spark: The session.
    """

    spark: SparkSession = field(kw_only=True)

    def with_forms(
        self,
        *,
        nanoseconds: Nanoseconds | None = None,
        undescribed_subclasses: UndescribedSubclasses | None = None,
    ) -> Self:
        """Differences with other forms of values, see ``Savepoint.with_forms``."""
        before = self.before.with_forms(
            nanoseconds=nanoseconds, undescribed_subclasses=undescribed_subclasses
        )
        return replace(self, before=before)

    @with_old_keywords
    def to_dataframe(self, table: str | None = None) -> DataFrame:
        """The rows that differ, as a lazy DataFrame, in the forms of the first savepoint.

        Args:
            table: The full name of the table; not needed if only one is compared.

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
        pair, nanoseconds = _sent(self._pair(table)[0]), self.before.forms.nanoseconds
        return rows_of_tasks(
            self.spark,
            partial(_changes, pair, nanoseconds),
            pair.parts(),
            spark_schema(pair.schema, nanoseconds),
        )

    def _first(self, table: str | None, rows: int) -> pa.Table:
        """Some rows that differ, with Spark's types; times with nanoseconds are text."""
        with typed_errors():
            return collected(self.with_forms(nanoseconds="text").to_dataframe(table).limit(rows))

    def _counts(self, pair: TableDiff) -> ChangeCounts:
        counts = done_by_tasks(self.spark, partial(_counts, _sent(pair)), pair.parts())
        return ChangeCounts.joined(counts)


def _sent(pair: TableDiff) -> TableDiff:
    """A table of two savepoints without open files, which can't go to tasks."""
    return replace(pair, before=replace(pair.before), after=replace(pair.after))


def _changes(
    pair: TableDiff, nanoseconds: Nanoseconds, part: KeyGroupRange | None
) -> Iterator[pa.RecordBatch]:
    for rows in pair.changes(parts=[part]):
        yield SPARK[nanoseconds].batch(rows)


def _counts(pair: TableDiff, part: KeyGroupRange | None) -> ChangeCounts:
    counts = ChangeCounts()
    for _ in pair.changes(counts, [part]):
        pass
    return counts


class SparkAuditVerbs(AuditVerbs, SizeVerbs):
    """Audits that a session divides among tasks; the others of ``AuditVerbs`` run in the driver."""

    spark: SparkSession

    @with_old_keywords
    def count_rows(  # noqa: PLR0913  # the options of a read
        self,
        table: str,
        *,
        columns: Iterable[str] | None = None,
        keys: Iterable[Any] | None = None,
        key_groups: KeyGroupRange | int | str | None = None,
        where: str | None = None,
        flat: str | None = None,
        merge: Mapping[str, str | MergeInstances] | None = None,
        with_key_group: bool = False,
        with_subtask: bool = False,
        with_scope: bool = False,
        with_times: bool = False,
        chunk_size: int | None = CHUNK_SIZE,
        split_size: int | None = None,
    ) -> int:
        """The number of rows of a table, counted by tasks: no row goes to Java.

        ``read_table(table).count()`` with the same options gives the same and takes longer: Spark
        does not tell a Python data source that it needs no column, so all of them are decoded and
        sent.

        Args:
            table: Its full name, ``<operator>.<table>``, with the operator's uid or hash.
            columns: They don't change the number, but each must exist.
            keys: Counts only rows of these keys.
            key_groups: Counts only rows of these key groups: ``3`` or ``"0-15"``.
            where: A condition in DuckDB's SQL: counts only rows that fulfil it.
            flat: A list or map state: counts its elements or entries.
            merge: State -> rule or function that merges its local instances, for ``where`` alone.
            with_key_group: Lets ``where`` use ``key_group``.
            with_subtask: Counts each copy of broadcast state; lets ``where`` use ``subtask``.
            with_scope: Lets ``where`` use ``scope``.
            with_times: Lets ``where`` see values with TTL as a struct of ``timestamp`` and ``value``.
            chunk_size: A larger key group is decoded this many bytes at a time.
            split_size: The approximate size in bytes that a task reads; by default all cores get the same.

        Raises:
            SavepointError: As ``read_table``, and as a read of the rows.
            TypeError, ValueError: An option is wrong.

        Example:
            >>> savepoint.count_rows("summarize.keyed_state")
        """
        asked = SourceOptions.of(self.forms.beside(locals()))
        operator, shown = self.table(table)
        scan = operator.scan(shown, asked.read)
        splits = scan.splits(asked.split_size or SPLIT_SIZE)
        if asked.split_size is None and not is_remote(self.spark):
            cores = self.spark.sparkContext.defaultParallelism
            if len(splits) > cores:
                splits = scan.splits(max(SPLIT_SIZE, _task_size(bytes_of_splits(splits), cores)))
        count = (
            partial(rows_in, scan)
            if asked.where is None
            else partial(matching_rows, FilteredScan.of(scan, asked.where, ()))
        )
        return sum(done_by_tasks(self.spark, count, splits))

    def verify(self, depth: Depth = "deep") -> Verification:
        """Like ``Savepoint.verify``; tasks read everything after the headers of files.

        Example:
            >>> savepoint.verify().is_whole
            True
        """
        return Verification.of(self, depth, partial(checked_by_tasks, self.spark))

    def stats(
        self,
        table: str | None = None,
        *,
        at: datetime | None = None,
        ttl: Mapping[str, timedelta] | None = None,
        ttl_of: timedelta | None = None,
        top: int = 10,
    ) -> SavepointStatistics:
        """Like ``Savepoint.stats``; tasks count keyed state, some key groups each.

        Example:
            >>> report = savepoint.stats()
            >>> spark.createDataFrame(report.to_arrow("key_groups")).orderBy("size").show()
        """
        from savepoint_extensions.sizes.weighing import statistics_of  # noqa: PLC0415  # loads no extension before it is used

        count = partial(_counted_by_tasks, self.spark)
        return statistics_of(self, table, at=at, ttl=ttl, ttl_of=ttl_of, top=top, count=count)

    def diff(
        self,
        other: Snapshot | PathText,
        table: str | None = None,
        *,
        with_times: bool = False,
        full: bool = False,
    ) -> SparkSavepointDiff:
        """Like ``Savepoint.diff``, by tasks; ``to_dataframe`` returns the rows that differ.

        Example:
            >>> savepoint.diff("s3://jobs/orders/savepoint-5e6f").to_dataframe("a.timers").show()
        """
        diff = super().diff(other, table, with_times=with_times, full=full)
        return SparkSavepointDiff(
            diff.before, diff.after, table, with_times, full=full, spark=self.spark
        )

    def changes(
        self,
        other: Snapshot | PathText,
        *,
        operator: str | None = None,
        state: str | None = None,
        with_times: bool = False,
        new_types: NewTypes = "refuse",
    ) -> SparkChangeFeed:
        """Like ``Savepoint.changes``; ``to_dataframe`` returns the changes.

        Example:
            >>> savepoint.changes("s3://jobs/orders/savepoint-5e6f").to_dataframe().show()
        """
        from savepoint_extensions.change_feed.feed_frames import SparkChangeFeed  # noqa: PLC0415  # loads no extension before it is used
        from savepoint_extensions.change_feed.feed_tables import Wanted  # noqa: PLC0415

        wanted = Wanted(operator, state, with_times, new_types)
        diff = self.diff(other, with_times=with_times)
        return SparkChangeFeed(diff, wanted, spark=self.spark)


def checked_by_tasks(
    spark: SparkSession, parts: Iterable[Part], task_size: int = PART_SIZE
) -> Iterator[CheckedEntries]:
    """The faults of parts of operators, in order; a task reads about ``task_size`` bytes."""
    tasks = in_tasks(parts, task_size)
    return chain.from_iterable(done_by_tasks(spark, lambda parts: list(looked_at(parts)), tasks))


def in_tasks(parts: Iterable[PartOfSize], task_size: int = PART_SIZE) -> list[list[PartOfSize]]:
    """The parts in order, those of a task together; a task reads about ``task_size`` bytes."""
    tasks: list[list[PartOfSize]] = []
    size = task_size
    for part in parts:
        if size >= task_size:
            tasks.append([])
            size = 0
        tasks[-1].append(part)
        size += part.size
    return tasks


def _counted_by_tasks(
    spark: SparkSession, weighed: WeighedOperator, states: Sequence[State]
) -> KeyedCounts:
    states, total = tuple(states), weighed.keyed(states, ())
    parts = [(part,) for part in weighed.parts()]
    for counts in done_by_tasks(spark, partial(weighed.keyed, states), parts):
        total.merge(counts)
    return total
