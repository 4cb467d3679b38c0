"""Rows of a query in Spark SQL, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from savepoint_formats.errors import NotFoundError, QueryError
from state_processor.reading.rows import Rows, result_rows
from state_processor.snapshot.task_errors import typed_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession


def query_rows(
    spark: SparkSession, query: str, limit: int, unread: Mapping[str, str] | None = None
) -> tuple[list[str], Rows]:
    """The first rows of a query in Spark SQL, as plain values.

    Args:
        spark: The session.
        query: The query.
        limit: How many rows at most.
        unread: Name in SQL of a table -> why it can't be read, as ``unread_views`` gives them.

    Returns:
        As ``result_rows``.

    Raises:
        QueryError: The query can't be understood, or fails.
        NotFoundError: It names one of the tables that can't be read.
        SavepointError: A file is damaged or missing, as the scan tells it.
    """
    found = query_table(spark, query, limit, unread)
    return result_rows(found.schema, iter(found.to_batches()), limit)


def query_table(
    spark: SparkSession,
    query: str,
    limit: int | None = None,
    unread: Mapping[str, str] | None = None,
) -> pa.Table:
    """The rows of a query in Spark SQL; all without a limit.

    Raises:
        QueryError: As ``query_rows``.
        NotFoundError: As ``query_rows``.
        SavepointError: As ``query_rows``.
    """
    try:
        with typed_errors():
            rows = spark.sql(query)
            return (rows if limit is None else rows.limit(limit)).toArrow()
    except PySparkException as error:
        if reason := _unread_reason(error, unread or {}):
            raise NotFoundError(reason) from error
        raise QueryError(str(error).strip().splitlines()[0]) from error


def _unread_reason(error: PySparkException, unread: Mapping[str, str]) -> str | None:
    """Why the table that Spark has not found can't be read, if it is one of those."""
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    wanted = (error.getMessageParameters() or {}).get("relationName", "").replace("`", "")
    database = wanted.casefold().partition(".")[0]
    reasons = [
        f"{name}: {reason}"
        for name, reason in unread.items()
        if name.replace("`", "").casefold().partition(".")[0] == database
    ]
    return (
        f"there is no table {wanted}; could not be read: {'; '.join(reasons)}" if reasons else None
    )
