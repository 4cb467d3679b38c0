"""A savepoint as a database of Spark SQL: a query makes views of the tables that it names, no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from savepoint_formats.errors import NotFoundError, SavepointError, TableFileError
from savepoint_formats.locations.location import Location, is_local
from savepoint_formats.scan.read_options import ReadOptions
from state_processor.reading.spark_rows import all_batches, first_batches, query_errors
from state_processor.savepoint.registered_views import RegisteredViews, unread_views
from state_processor.sql import SqlResult
from state_processor.sql.sql_text import Dialect, expect_spark_query, named_tables, rewritten

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from state_processor.savepoint.spark_savepoint import SparkSavepoint
    from state_processor.types.timer_dates import Times


class SparkDatabase:
    """Answers queries about a savepoint on Spark, as ``SqlDatabase`` does in this process.

    Args:
        savepoint: The savepoint.
        options: How all tables are read: ``nanoseconds``, ``undescribed_subclasses``.
        times: What the times of timers are.

    Example:
        >>> SparkDatabase(savepoint).query("SELECT count(*) FROM summarize.keyed_state").read_all()
    """

    def __init__(
        self,
        savepoint: SparkSavepoint,
        options: ReadOptions | None = None,
        *,
        times: Times = "numbers",
    ) -> None:
        self._savepoint = savepoint
        self._views = RegisteredViews(savepoint, options or ReadOptions(), times)
        self._shown: set[str] = set()

    def query(self, sql: str, limit: int | None = None) -> SqlResult:
        """The result of a query in Spark SQL.

        Args:
            sql: The query.
            limit: How many rows at most; without it, rows come partition by partition.

        Raises:
            QueryError: It is no query, can't be understood, or fails.
            TableNotFoundError: It names a table that there is not.
            NotFoundError: It names a table that can't be read.
            SavepointError: A file is damaged or missing, as the scan tells it.
        """
        frame = self._frame(sql)
        return SqlResult(*(all_batches(frame) if limit is None else first_batches(frame, limit)))

    def write(self, sql: str, directory: str, *, is_overwritten: bool) -> None:
        """Writes the result of a query as Parquet, a file for each task.

        Args:
            sql: The query.
            directory: Where to, as Spark takes it.
            is_overwritten: Whether what lies there is replaced.

        Raises:
            TableFileError: Something lies there that is not to be replaced.
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

    def _frame(self, sql: str) -> DataFrame:
        expect_spark_query(sql)
        tables = self._views.tables
        for table in named_tables(sql, tables, Dialect.SPARK):
            if table.spark_sql in self._shown:
                continue
            if table.problem is not None:
                self._views.hide(table)
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
        name = (error.getMessageParameters() or {}).get("relationName", "").replace("`", "")
        database = name.casefold().partition(".")[0]
        reasons = [
            f"{view}: {reason}"
            for view, reason in unread_views(self._savepoint).items()
            if view.replace("`", "").casefold().partition(".")[0] == database
        ]
        if not reasons:
            return self._views.tables.unknown(name)
        return NotFoundError(f"there is no table {name}; could not be read: {'; '.join(reasons)}")
