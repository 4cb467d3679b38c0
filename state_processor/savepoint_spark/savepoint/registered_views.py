"""The views of Spark SQL on the tables of a savepoint, in a database per operator."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from savepoint_database.snapshot.sql_tables import SqlTables
from savepoint_database.types.spark_values import exported_schema
from savepoint_database.types.sql_names import literal, quoted
from savepoint_database.types.timer_dates import LAST_MS, dated_columns
from savepoint_formats.values.arrow_types import spark_type_name
from savepoint_spark.reading.data_source import FORMAT
from savepoint_spark.reading.source_options import SourceOptions

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from savepoint_database.snapshot.sql_tables import SqlTable
    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.scan.read_options import ReadOptions
    from savepoint_spark.savepoint.spark_tables import SparkTables

_BASES = "savepoint_tables"


class RegisteredViews:
    """The tables of a savepoint; each becomes a view when it is needed."""

    def __init__(self, savepoint: SparkTables, options: ReadOptions, times: Times) -> None:
        self.tables = SqlTables(savepoint.operators())
        self._savepoint, self._options, self._times = savepoint, options, times
        self.sql = SqlViews(savepoint.spark)

    def show(self, table: SqlTable) -> None:
        """Makes a view of a readable table."""
        savepoint, options = self._savepoint, self._options
        texts = {
            **savepoint.source_options(table.full_name, SourceOptions(options)),
            "savepoint": savepoint.directory.absolute_uri,
        }
        scan = table.operator.scan(table.operator.table(table.table), options)
        schema = exported_schema(scan.schema, options.nanoseconds)
        self.sql.create(table, schema, texts, dated_columns(scan.table, self._times))

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
        """The table with these columns that views select from."""
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


def _shown(name: str, dated: Collection[str]) -> str:
    """A column; milliseconds as timestamps, like ``with_dates`` makes them."""
    column = quoted(name)
    if name not in dated:
        return column
    near = f"greatest(least({column}, {LAST_MS}L), -{LAST_MS}L)"
    return f"timestamp_micros(1000 * {near}) AS {column}"
