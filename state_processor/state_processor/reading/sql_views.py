"""Tables of savepoints as views of Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.values.arrow_types import spark_type_name
from state_processor.reading.data_source import FORMAT
from state_processor.types.sql_names import literal, quoted, sql_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

_BASE_DATABASE = "savepoint_tables"


def create_view(
    spark: SparkSession, name: str, schema: pa.Schema, options: Mapping[str, str]
) -> None:
    """A view of a table of a savepoint.

    Spark forgets the options of a table whose source is written in Python; those that a query
    gives it remembers. So the view is such a query, over a table that has but the schema.

    Args:
        spark: The session.
        name: The view, with its database, which need not be there.
        schema: The columns of the table.
        options: Those of the data source that read it.
    """
    database, _, _ = name.partition(".")
    base = f"{_BASE_DATABASE}.{sql_name(name)}"
    given = ", ".join(f"`{name}` = {literal(value)}" for name, value in options.items())
    columns = ", ".join(f"{quoted(field.name)} {spark_type_name(field.type)}" for field in schema)
    for statement in (
        f"CREATE DATABASE IF NOT EXISTS {_BASE_DATABASE}",
        f"CREATE DATABASE IF NOT EXISTS {database}",
        f"DROP TABLE IF EXISTS {base}",
        f"CREATE TABLE {base} ({columns}) USING {FORMAT}",
        f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {base} WITH ({given})",
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
