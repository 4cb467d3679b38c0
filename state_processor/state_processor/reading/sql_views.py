"""Tables of savepoints as views of Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.values.arrow_types import spark_type_name
from state_processor.reading.data_source import FORMAT
from state_processor.types.sql_names import literal, quoted, sql_name
from state_processor.types.timer_dates import LAST_MS, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

_BASE_DATABASE = "savepoint_tables"


def create_view(
    spark: SparkSession,
    name: str,
    schema: pa.Schema,
    options: Mapping[str, str],
    *,
    has_dates: bool = False,
) -> None:
    """A view of a table of a savepoint.

    Spark forgets the options of a table whose source is written in Python; those that a query
    gives it remembers. So the view is such a query, over a table that has but the schema.

    Args:
        spark: The session.
        name: The view, with its database, which need not be there.
        schema: The columns of the table.
        options: Those of the data source that read it.
        has_dates: Whether the table is of timers whose times are to be timestamps.
    """
    database, _, _ = name.partition(".")
    base = f"{_BASE_DATABASE}.{sql_name(name)}"
    given = ", ".join(f"`{name}` = {literal(value)}" for name, value in options.items())
    columns = ", ".join(f"{quoted(field.name)} {spark_type_name(field.type)}" for field in schema)
    shown = ", ".join(_shown(field.name) for field in schema) if has_dates else "*"
    for statement in (
        f"CREATE DATABASE IF NOT EXISTS {_BASE_DATABASE}",
        f"CREATE DATABASE IF NOT EXISTS {database}",
        f"DROP TABLE IF EXISTS {base}",
        f"CREATE TABLE {base} ({columns}) USING {FORMAT}",
        f"CREATE OR REPLACE VIEW {name} AS SELECT {shown} FROM {base} WITH ({given})",
    ):
        spark.sql(statement)


def drop_view(spark: SparkSession, name: str) -> None:
    """Drops a view if it is there.

    Args:
        spark: The session.
        name: The view, with its database, which need not be there.
    """
    database, _, _ = name.partition(".")
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
    spark.sql(f"DROP VIEW IF EXISTS {name}")


def _shown(name: str) -> str:
    """A column as it is, or the times of timers as ``with_dates`` has them."""
    column = quoted(name)
    if name != TIMESTAMP:
        return column
    near = f"greatest(least({column}, {LAST_MS}L), -{LAST_MS}L)"
    return f"timestamp_micros(1000 * {near}) AS {column}"
