"""The job that reads files of rows as a DataFrame, each split in a task of its own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from savepoint_spark.columns.spark_types import spark_schema
from savepoint_spark.session.tasks import rows_of_tasks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.files import TableFiles


def files_frame(spark: SparkSession, files: TableFiles, schema: pa.Schema) -> DataFrame:
    """Rows of files; ``schema`` is the result of ``TableFiles.chosen``."""
    read = partial(files.read, schema=schema)
    return rows_of_tasks(spark, read, files.splits(), spark_schema(schema))
