"""The job that reads files of rows as a DataFrame, each split in a task of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_spark.columns.spark_types import spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.files import FileSplit, TableFiles


@dataclass(frozen=True, slots=True)
class FileReading:
    """What a task is given: small and picklable.

    Attributes:
        files: The files.
        splits: Their splits; a task gets the indexes of its own.
        schema: The columns that are wanted.
    """

    files: TableFiles
    splits: tuple[FileSplit, ...]
    schema: pa.Schema

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the splits of these indexes.

        Raises:
            TableFileError: A file is damaged, or a value in it is none of its column's type.
        """
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield from self.files.read(self.splits[index], self.schema)


def files_frame(spark: SparkSession, files: TableFiles, schema: pa.Schema) -> DataFrame:
    """The rows of files.

    Args:
        spark: The session.
        files: The files.
        schema: Their columns, or some of them, as ``TableFiles.chosen`` gives them.
    """
    splits = files.splits()
    reading = FileReading(files, splits, schema)
    indexes = spark.range(0, len(splits), 1, max(1, len(splits)))
    return indexes.mapInArrow(reading.run, spark_schema(schema))
