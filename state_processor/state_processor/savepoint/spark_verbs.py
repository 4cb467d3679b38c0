"""What those ask who look after a job, answered by the tasks of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor.savepoint.audit_verbs import AuditVerbs
from state_processor.savepoint.spark_diff import SparkSavepointDiff

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from state_processor.snapshot.snapshot import Snapshot


class SparkAuditVerbs(AuditVerbs):
    """The verbs whose work a session shares; the others of ``AuditVerbs`` run in the driver."""

    spark: SparkSession

    def diff(
        self, other: Snapshot | str, table: str | None = None, *, with_times: bool = False
    ) -> SparkSavepointDiff:
        """As ``Savepoint.diff``, by tasks; ``to_dataframe`` gives the rows that differ.

        Example:
            >>> savepoint.diff("s3://jobs/orders/savepoint-5e6f").to_dataframe("a.timers").show()
        """
        found = super().diff(other, table, with_times=with_times)
        return SparkSavepointDiff.of(found, self.spark)
