"""A savepoint as a database of Spark SQL: a query makes views of its tables only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from savepoint_database.sql import SqlResult
from savepoint_database.sql.listing import listing
from savepoint_database.sql.sql_text import (
    Dialect,
    ambiguous_names,
    expect_spark_query,
    named_tables,
    names_in,
    rewritten,
)
from savepoint_database.types.sql_names import unquoted
from savepoint_formats.errors import NotFoundError, SavepointError, TableFileError
from savepoint_formats.locations.location import Location, is_local
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_spark.reading.spark_rows import all_batches, first_batches, query_errors
from savepoint_spark.savepoint.registered_views import RegisteredViews

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from savepoint_database.types.timer_dates import Times
    from savepoint_spark.savepoint.spark_tables import SparkTables


class SparkDatabase:
    """Answers queries about a savepoint on Spark, as ``SqlDatabase`` does in this process.

    ``options`` apply to all tables: ``nanoseconds``, ``undescribed_subclasses``.
    """

    def __init__(
        self,
        savepoint: SparkTables,
        options: ReadOptions | None = None,
        *,
        times: Times = "numbers",
    ) -> None:
        self._savepoint = savepoint
        self._views = RegisteredViews(savepoint, options or ReadOptions(), times)
        self._shown: set[str] = set()

    def query(self, sql: str, limit: int | None = None) -> SqlResult:
        """The result of a query in Spark SQL; without ``limit``, rows come partition by partition.

        Raises:
            QueryError: It is no query, can't be understood, or fails.
            TableNotFoundError: There is no table of that name.
            NotFoundError: It names a table that can't be read.
            SavepointError: A file is damaged or missing, as the scan tells it.
        """
        if (listed := listing(sql, self._views.tables)) is not None:
            return SqlResult(listed.schema, iter(listed.to_batches()))
        frame = self._frame(sql)
        return SqlResult(*(all_batches(frame) if limit is None else first_batches(frame, limit)))

    def write(self, sql: str, directory: str, *, is_overwritten: bool) -> None:
        """Writes the result of a query as Parquet to a directory, a file for each task.

        Raises:
            TableFileError: The directory exists and must not be overwritten.
            QueryError: As ``query``; or Spark can't write there, or not these types.
            NotFoundError, SavepointError: As ``query``.
        """
        frame = self._frame(sql)
        # A session may have been started in another directory.
        target = Location.of(directory).path if is_local(directory) else directory
        with query_errors():
            try:
                frame.write.mode("overwrite" if is_overwritten else "error").parquet(target)
            except PySparkException as error:
                if error.getCondition() != "PATH_ALREADY_EXISTS":
                    raise
                raise TableFileError(
                    f"{directory} exists already; write to another directory, or overwrite it"
                ) from error

    def cancel(self) -> None:
        """Cancels all jobs of the session, because nobody waits for them any more."""
        self._savepoint.spark.sparkContext.cancelAllJobs()

    def _frame(self, sql: str) -> DataFrame:
        expect_spark_query(sql)
        tables = self._views.tables
        for operator, name in ambiguous_names(sql, tables, Dialect.SPARK):
            self._views.hide(operator, name)
        for table in named_tables(sql, tables, Dialect.SPARK):
            if table.spark_sql in self._shown:
                continue
            if table.problem is not None:
                self._views.hide(table.database, table.name)
                continue
            self._views.show(table)
            self._shown.add(table.spark_sql)
        with query_errors():
            try:
                return self._savepoint.spark.sql(rewritten(sql, tables, Dialect.SPARK))
            except PySparkException as error:
                if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
                    raise
                raise self._not_found(error) from error

    def _not_found(self, error: PySparkException) -> SavepointError:
        written = (error.getMessageParameters() or {}).get("relationName", "")
        *_, operator, table = ["", "", *(unquoted(part) for part in names_in(written))]
        name = f"{operator}.{table}" if operator else table
        tables = self._views.tables
        reasons = [
            f"{shown.sql}: {shown.problem}"
            for owner in tables.operators(operator)
            for shown in tables.of_operator(owner)
            if shown.problem is not None
        ]
        if not reasons:
            return tables.unknown(operator, table)
        return NotFoundError(f"there is no table {name}; could not be read: {'; '.join(reasons)}")
