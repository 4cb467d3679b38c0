"""The views of Spark SQL on the tables of a savepoint, in a database per operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_database.snapshot.sql_tables import SqlTables
from savepoint_database.types.schema import exported_schema
from savepoint_database.types.sql_names import sql_name
from savepoint_database.types.timer_dates import dated_columns
from savepoint_spark.reading.source_options import SourceOptions
from savepoint_spark.reading.sql_views import SqlViews

if TYPE_CHECKING:
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_database.snapshot.sql_tables import SqlTable
    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.scan.read_options import ReadOptions
    from savepoint_spark.savepoint.spark_tables import SparkTables


class RegisteredViews:
    """The tables of a savepoint; each becomes a view when it is needed."""

    def __init__(self, savepoint: SparkTables, options: ReadOptions, times: Times) -> None:
        self.tables = SqlTables(savepoint.operators())
        self._savepoint, self._options, self._times = savepoint, options, times
        self._views = SqlViews(savepoint.spark)

    def show(self, table: SqlTable) -> None:
        """Makes a view of a readable table."""
        savepoint, options = self._savepoint, self._options
        given = {
            **savepoint.source_options(table.full_name, SourceOptions(options)),
            "savepoint": savepoint.directory.absolute_uri,
        }
        scan = table.operator.scan(table.operator.table(table.table), options)
        schema = exported_schema(scan.schema, options.nanoseconds)
        self._views.create(table, schema, given, dated_columns(scan.table, self._times))

    def hide(self, database: str, name: str) -> None:
        """Drops a view of another savepoint that would answer instead of a table."""
        self._views.drop(database, name)

    def show_all(self) -> dict[str, str]:
        """Makes views of all readable tables; returns full names by names in SQL."""
        names: dict[str, str] = {}
        for database, name in self.tables.without_table():
            self.hide(database, name)
        for table in self.tables:
            if table.problem is not None:
                self.hide(table.database, table.name)
                continue
            self.show(table)
            names[table.spark_sql] = table.full_name
        return names


def unread_views(savepoint: Snapshot) -> dict[str, str]:
    """Name in SQL -> reason why there is no such view."""
    tables = SqlTables(savepoint.operators())
    unread = {shown.spark_sql: str(shown.problem) for shown in tables if shown.problem is not None}
    ambiguous = {
        f"{sql_name(database)}.{sql_name(name)}": str(tables.unknown(database, name))
        for database, name in sorted(tables.without_table())
    }
    return {**unread, **ambiguous}
