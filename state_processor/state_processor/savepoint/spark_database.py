"""A savepoint as a database of Spark SQL: views on its tables; a query makes those that it needs."""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import convert_exception

from savepoint_database.snapshot import SqlTables
from savepoint_database.sql import SqlResult
from savepoint_database.sql.scan_dataset import SqlRows
from savepoint_database.sql.sql_text import (
    Dialect,
    ambiguous_names,
    expect_spark_query,
    listing,
    named_tables,
    rewritten,
    words,
)
from savepoint_database.types import (
    EXPORTED,
    LAST_MS,
    dated_columns,
    distinct,
    literal,
    quoted,
    unquoted,
)
from savepoint_formats.errors import NotFoundError, QueryError, SavepointError, TableFileError
from savepoint_formats.locations import Location, absolute, is_local
from savepoint_formats.new_snapshot import whole_file
from savepoint_formats.scan import ReadOptions
from savepoint_formats.values import spark_type_name
from savepoint_spark.reading import FORMAT, SourceOptions
from savepoint_spark.session import expect_release, typed_errors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.snapshot import SqlTable
    from savepoint_database.sql.table_cache import TableCache
    from savepoint_database.types import Times
    from state_processor.savepoint.spark_tables import SparkTables

_BASES = "savepoint_tables"

# Limit for a row of Spark, which is several times in memory on its way.
_STORED_SIZE = 1 << 26


class RegisteredViews:
    """The tables of a savepoint; each becomes a view when it is needed."""

    def __init__(
        self,
        savepoint: SparkTables,
        options: ReadOptions,
        times: Times,
        cache: TableCache | None = None,
    ) -> None:
        expect_release("4.0", "tables in Spark SQL need")
        self.tables = SqlTables(savepoint.operators())
        self._savepoint, self._options, self._times = savepoint, options, times
        self._cache = cache
        self.sql = SqlViews(savepoint.spark)

    def show(self, table: SqlTable) -> None:
        """Makes a view of a readable table."""
        savepoint, options = self._savepoint, self._options
        texts = {
            **savepoint.source_options(table.full_name, SourceOptions(options)),
            "savepoint": savepoint.directory.absolute_uri,
        }
        scan = table.operator.scan(table.operator.table(table.table), options)
        schema = EXPORTED[options.nanoseconds].schema(scan.schema)
        self.sql.create(table, schema, texts, dated_columns(scan.table, self._times))
        if self._cache is not None:
            rows = SqlRows(scan, self._times)
            path = f"{self._cache.path(savepoint, rows)}.spark"
            self.sql.store(table, path, self._cache)

    def show_all(self) -> dict[str, str]:
        """Makes views of all readable tables; returns full names by names in SQL."""
        names: dict[str, str] = {}
        for database, name in self.tables.without_table():
            self.sql.drop(database, name)
        for table in self.tables:
            if table.problem is not None:
                self.sql.drop(table.database, table.name)
                continue
            self.show(table)
            names[table.spark_sql] = table.full_name
        return names


class SqlViews:
    """The views of a session that show tables of savepoints; using one plans its read.

    Spark forgets the options of a table whose source is written in Python, but remembers options in
    a query. So a view is a query over a table that has only the columns. Each statement takes Spark
    some 10 ms, so none is sent twice: one table serves all views with its columns, and stays.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._databases: set[str] = set()
        self._ensure_database(_BASES)
        tables = spark.sql(f"SHOW TABLES IN {_BASES}").collect()
        self._bases = {str(row["tableName"]) for row in tables}

    def create(
        self,
        view: SqlTable,
        schema: pa.Schema,
        options: Mapping[str, str],
        dated: Collection[str] = (),
    ) -> None:
        """Makes or replaces a view; the milliseconds of ``dated`` columns become timestamps."""
        self._ensure_database(view.database)
        base = self._base(schema)
        texts = ", ".join(f"`{name}` = {literal(value)}" for name, value in options.items())
        shown = ", ".join(_shown(field.name, dated) for field in schema) if dated else "*"
        self._spark.sql(
            f"CREATE OR REPLACE VIEW {view.spark_sql} AS SELECT {shown} FROM {base} WITH ({texts})"
        )

    def store(self, view: SqlTable, path: str, cache: TableCache) -> None:
        """Makes a view of Parquet files, which tasks write now unless they exist.

        Each writer has a directory of its own; the file at ``path`` names a complete one.
        """
        location = Location.of(path)
        if location.file_size() is None:
            written = f"{absolute(path)}-{uuid4().hex}"
            self._spark.table(view.spark_sql).write.parquet(_spark_path(written))
            with whole_file(path, is_overwritten=True) as file:
                file.write(written.encode())
            cache.tell(f"{view.full_name} is now cached as Parquet: {written}")
        with location.filesystem.open_input_stream(location.path) as file:
            written = file.read().decode()
        self._spark.sql(
            f"CREATE OR REPLACE VIEW {view.spark_sql} AS SELECT * FROM parquet.{quoted(_spark_path(written))}"
        )

    def drop(self, database: str, name: str) -> None:
        """Drops a view, maybe of another savepoint, if it exists; its database may be missing."""
        view = f"{quoted(database)}.{quoted(name)}"
        if self._spark.catalog.tableExists(view):
            self._spark.sql(f"DROP VIEW IF EXISTS {view}")

    def _ensure_database(self, name: str) -> None:
        if name not in self._databases:
            self._spark.sql(f"CREATE DATABASE IF NOT EXISTS {quoted(name)}")
            self._databases.add(name)

    def _base(self, schema: pa.Schema) -> str:
        columns = ", ".join(
            f"{quoted(field.name)} {spark_type_name(field.type)}" for field in schema
        )
        base = f"columns_{sha256(columns.encode()).hexdigest()[:32]}"
        if base not in self._bases:
            self._spark.sql(
                f"CREATE TABLE IF NOT EXISTS {_BASES}.{quoted(base)} ({columns}) USING {FORMAT}"
            )
            self._bases.add(base)
        return f"{_BASES}.{quoted(base)}"


def _spark_path(path: str) -> str:
    """A path for Spark, whose session may have been started in another directory."""
    return Location.of(path).path if is_local(path) else path


def _shown(name: str, dated: Collection[str]) -> str:
    """A column; milliseconds as timestamps, like ``with_dates`` makes them."""
    column = quoted(name)
    if name not in dated:
        return column
    near = f"greatest(least({column}, {LAST_MS}L), -{LAST_MS}L)"
    return f"timestamp_micros(1000 * {near}) AS {column}"


class SparkDatabase:
    """Answers queries about a savepoint on Spark, as ``SqlDatabase`` does in this process."""

    def __init__(
        self,
        savepoint: SparkTables,
        options: ReadOptions | None = None,
        *,
        times: Times = "numbers",
        cache: TableCache | None = None,
    ) -> None:
        self._savepoint = savepoint
        self._views = RegisteredViews(savepoint, options or ReadOptions(), times, cache)
        self._shown: set[str] = set()

    def query(self, sql: str, limit: int | None = None) -> SqlResult:
        """The result of a query in Spark SQL; without ``limit``, rows come partition by partition.

        Raises ``QueryError``, ``TableNotFoundError``, or the error of a table that can't be read.
        """
        if (listed := listing(sql, self._views.tables)) is not None:
            return SqlResult(listed.schema, iter(listed.to_batches()))
        frame = self._frame(sql)
        return SqlResult(*(_all_batches(frame) if limit is None else _first_batches(frame, limit)))

    def write(self, sql: str, directory: str, *, is_overwritten: bool) -> None:
        """Writes the result of a query as Parquet to a directory, a file per task; raises as ``query``."""
        frame = self._frame(sql)
        target = _spark_path(directory)
        with _query_errors():
            try:
                frame.write.mode("overwrite" if is_overwritten else "error").parquet(target)
            except PySparkException as error:
                if error.getCondition() != "PATH_ALREADY_EXISTS":
                    raise
                raise TableFileError(
                    f"{directory} exists already; write to another directory, or overwrite it"
                ) from error

    def cancel(self) -> None:
        """Cancels all jobs of the session, because their results are no longer needed."""
        self._savepoint.spark.sparkContext.cancelAllJobs()

    def _frame(self, sql: str) -> DataFrame:
        expect_spark_query(sql)
        tables = self._views.tables
        for operator, name in ambiguous_names(sql, tables, Dialect.SPARK):
            self._views.sql.drop(operator, name)
        for table in named_tables(sql, tables, Dialect.SPARK):
            if table.spark_sql in self._shown:
                continue
            if table.problem is not None:
                self._views.sql.drop(table.database, table.name)
                continue
            self._views.show(table)
            self._shown.add(table.spark_sql)
        with _query_errors():
            try:
                return self._savepoint.spark.sql(rewritten(sql, tables, Dialect.SPARK))
            except PySparkException as error:
                if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
                    raise
                raise self._not_found(error) from error

    def _not_found(self, error: PySparkException) -> SavepointError:
        written = (error.getMessageParameters() or {}).get("relationName", "")
        names = [unquoted(word) for word in words(written, Dialect.SPARK) if word != "."]
        *_, operator, table = ["", "", *names]
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


def _first_batches(frame: DataFrame, limit: int) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    with _query_errors():
        table = frame.limit(limit).toArrow()
    return table.schema, iter(table.to_batches())


def _all_batches(frame: DataFrame) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema and all rows of a query; the driver holds two partitions at a time."""
    with _query_errors():
        named = frame.toDF(*distinct(frame.columns))
        schema = named.limit(0).toArrow().schema
    return schema, _batches(named.mapInArrow(_stored, "batch BINARY"), schema)


def _batches(stored: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with _query_errors(), _causes():
        for row in stored.toLocalIterator(prefetchPartitions=True):
            with pa.ipc.open_stream(row["batch"]) as stream:
                for batch in stream:
                    yield batch.cast(schema)


def _stored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Packs each batch into a row, as an Arrow stream; runs in a task."""
    for batch in batches:
        for rows in _small_batches(batch):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, rows.schema) as stream:
                stream.write_batch(rows)
            cell = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([cell], names=["batch"])


def _small_batches(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = max(1, batch.num_rows * _STORED_SIZE // max(batch.nbytes, 1))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


@contextmanager
def _causes() -> Iterator[None]:
    """Raises the error of a task; an iterator of rows would only say that it waited in vain."""
    try:
        yield
    except Py4JJavaError as error:
        cause = error.java_exception
        while (deeper := cause.getCause()) is not None:
            cause = deeper
        raise convert_exception(cause) from error


@contextmanager
def _query_errors() -> Iterator[None]:
    try:
        with typed_errors():
            yield
    except PySparkException as error:
        raise QueryError(str(error).strip().splitlines()[0]) from error
