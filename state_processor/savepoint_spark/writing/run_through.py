"""Runs a job whose rows nobody keeps: what it would refuse, it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_spark.session.task_errors import typed_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_through(rows: DataFrame) -> None:
    """Makes all rows, and drops them.

    Raises:
        SavepointError: What a task has raised.
        PySparkException: What Spark itself can't do, as to divide by zero.
    """
    with typed_errors():
        rows.write.format("noop").mode("overwrite").save()
