"""Savepoints of one operator, made of DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_spark.writing.write_context import StateTransformation
    from state_processor.savepoint.spark_savepoint import SparkSavepoint


def written(
    spark: SparkSession, transformation: StateTransformation, folder: Path
) -> SparkSavepoint:
    """A savepoint whose operator ``operator`` has this state."""
    path = str(folder / "savepoint")
    Savepoint.create(spark, parallelism=2).with_operator("operator", transformation).write(path)
    return Savepoint.load(spark, path, uids=["operator"])


def rows(frame: DataFrame, *order: str) -> list[dict[str, object]]:
    """The rows as dicts, in the order of these columns."""
    return [row.asDict(recursive=True) for row in frame.orderBy(*order).collect()]
