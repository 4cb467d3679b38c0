"""Samples that are changed and written again, and the rows of all their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from state_processor import SavepointWriter
    from state_processor.savepoint.spark_savepoint import SparkSavepoint
    from support.sample_rows import Sample


def load(spark: SparkSession, sample: Sample) -> SparkSavepoint:
    return Savepoint.load(spark, sample.path, uids=sample.uids)


def written(
    spark: SparkSession, writer: SavepointWriter, sample: Sample, folder: Path
) -> SparkSavepoint:
    """The savepoint that was written."""
    path = str(folder / "written")
    writer.write(path)
    return Savepoint.load(spark, path, uids=sample.uids)


def rows(frame: DataFrame) -> list[str]:
    """The rows, in an order that does not depend on how they were read."""
    return sorted(str(row.asDict(recursive=True)) for row in frame.collect())


def tables(savepoint: SparkSavepoint, *others_than: str) -> dict[str, list[str]]:
    """The rows of all tables but these."""
    names = (table.table for table in savepoint.tables())
    return {name: rows(savepoint.read_table(name)) for name in names if name not in others_than}
