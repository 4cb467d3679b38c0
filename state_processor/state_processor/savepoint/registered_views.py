"""The views of Spark SQL that show the tables of a savepoint, in a database per operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor.reading.sql_views import create_view, drop_view
from state_processor.snapshot.sql_tables import SqlTables
from state_processor.types.schema import exported_schema
from state_processor.types.source_options import SourceOptions
from state_processor.types.timer_dates import are_dates

if TYPE_CHECKING:
    from savepoint_formats.scan.read_options import ReadOptions
    from state_processor.savepoint.spark_savepoint import SparkSavepoint
    from state_processor.snapshot.snapshot import Snapshot
    from state_processor.types.timer_dates import Times


def create_views(savepoint: SparkSavepoint, options: ReadOptions, times: Times) -> dict[str, str]:
    """Makes each table a view; see ``SparkSavepoint.register``.

    Args:
        savepoint: The savepoint.
        options: How each table is read.
        times: What the times of timers are.

    Returns:
        Name in SQL -> full name of the table.
    """
    names: dict[str, str] = {}
    for shown in SqlTables(savepoint.operators()):
        if shown.problem is not None:
            # A view of another savepoint would answer in its place.
            drop_view(savepoint.spark, shown.spark_sql)
            continue
        names[shown.spark_sql] = shown.full_name
        given = {
            **savepoint.source_options(shown.full_name, SourceOptions(options)),
            "savepoint": savepoint.directory.absolute_uri,
        }
        scan = shown.operator.scan(shown.operator.table(shown.table), options)
        schema = exported_schema(scan.schema, options.nanoseconds)
        has_dates = are_dates(scan.kind, times)
        create_view(savepoint.spark, shown.spark_sql, schema, given, has_dates=has_dates)
    return names


def unread_views(savepoint: Snapshot) -> dict[str, str]:
    """Name in SQL -> why there is no view of this table."""
    return {
        shown.spark_sql: str(shown.problem)
        for shown in SqlTables(savepoint.operators())
        if shown.problem is not None
    }
