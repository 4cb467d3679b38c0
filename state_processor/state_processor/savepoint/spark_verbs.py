"""What those ask who look after a job, answered by the tasks of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor.audit.weighing import statistics_of
from state_processor.checks.verification import Verification
from state_processor.savepoint.audit_verbs import AuditVerbs
from state_processor.savepoint.spark_checks import SparkChecks
from state_processor.savepoint.spark_counts import SparkCounts
from state_processor.savepoint.spark_diff import SparkSavepointDiff

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from pyspark.sql import SparkSession

    from state_processor.audit.statistics import SavepointStatistics
    from state_processor.checks.verification import Depth
    from state_processor.snapshot.snapshot import Snapshot


class SparkAuditVerbs(AuditVerbs):
    """The verbs whose work a session shares; the others of ``AuditVerbs`` run in the driver."""

    spark: SparkSession

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
        self, other: Snapshot | str, table: str | None = None, *, with_times: bool = False
    ) -> SparkSavepointDiff:
        """As ``Savepoint.diff``, by tasks; ``to_dataframe`` gives the rows that differ.

        Example:
            >>> savepoint.diff("s3://jobs/orders/savepoint-5e6f").to_dataframe("a.timers").show()
        """
        diff = super().diff(other, table, with_times=with_times)
        return SparkSavepointDiff.of(diff, self.spark)
