"""What those ask who look after a job, answered by the tasks of Spark."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Unpack

from savepoint_database.audit.audit_verbs import AuditVerbs
from savepoint_database.audit.weighing import statistics_of
from savepoint_database.checks.verification import Verification
from savepoint_database.rows.filtered_scan import FilteredScan, matching_rows
from savepoint_database.types.listed_options import lists
from savepoint_formats.scan.counting import rows_in
from savepoint_formats.scan.splits import SPLIT_SIZE
from savepoint_spark.reading.source_options import SourceOptions, TableArguments
from savepoint_spark.savepoint.spark_checks import SparkChecks
from savepoint_spark.savepoint.spark_counts import SparkCounts
from savepoint_spark.savepoint.spark_diff import SparkSavepointDiff
from savepoint_spark.savepoint.spark_tasks import done_by_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from pyspark.sql import SparkSession

    from savepoint_database.audit.statistics import SavepointStatistics
    from savepoint_database.checks.verification import Depth
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.locations.location import PathText


class SparkAuditVerbs(AuditVerbs):
    """The verbs whose work a session shares; the others of ``AuditVerbs`` run in the driver."""

    spark: SparkSession

    @lists(TableArguments)
    def count_rows(self, table: str, **options: Unpack[TableArguments]) -> int:
        """The number of rows of a table, which tasks count: no row goes to Java.

        ``read_table(table).count()`` gives the same and takes longer. Spark does not say to a data
        source in Python that it needs no column, so all of them are decoded and sent.

        Args:
            table: ``<operator>.<table>``, the operator by its uid or hash.
            options: As for ``read_table``; ``keys``, ``where``, ``key_groups`` and ``flat`` choose
                rows.

        Raises:
            SavepointError: As ``read_table``, and as a read of the rows.
            TypeError, ValueError: An option is wrong.

        Example:
            >>> savepoint.count_rows("summarize.keyed_state")
        """
        asked = SourceOptions.of(options)
        operator, shown = self.table(table)
        scan = operator.scan(shown, asked.read)
        splits = scan.splits(asked.split_size or SPLIT_SIZE)
        count = (
            partial(rows_in, scan)
            if asked.where is None
            else partial(matching_rows, FilteredScan.of(scan, asked.where, ()))
        )
        return sum(done_by_tasks(self.spark, count, splits))

    def verify(self, depth: Depth = "deep") -> Verification:
        """As ``Savepoint.verify``; tasks look at what lies behind the headers of files.

        Example:
            >>> savepoint.verify().is_whole
            True
        """
        return Verification.of(self, depth, SparkChecks(self.spark))

    def stats(
        self,
        table: str | None = None,
        *,
        at: datetime | None = None,
        ttl: Mapping[str, timedelta] | None = None,
        top: int = 10,
    ) -> SavepointStatistics:
        """As ``Savepoint.stats``; tasks count keyed state, some key groups each.

        Example:
            >>> report = savepoint.stats()
            >>> spark.createDataFrame(report.to_arrow("key_groups")).orderBy("size").show()
        """
        count = SparkCounts(self.spark)
        return statistics_of(self, table, at=at, ttl=ttl, top=top, count=count)

    def diff(
        self, other: Snapshot | PathText, table: str | None = None, *, with_times: bool = False
    ) -> SparkSavepointDiff:
        """As ``Savepoint.diff``, by tasks; ``to_dataframe`` gives the rows that differ.

        Example:
            >>> savepoint.diff("s3://jobs/orders/savepoint-5e6f").to_dataframe("a.timers").show()
        """
        diff = super().diff(other, table, with_times=with_times)
        return SparkSavepointDiff.of(diff, self.spark)
