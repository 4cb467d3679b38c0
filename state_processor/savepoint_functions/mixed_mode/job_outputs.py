"""Outputs of a job: anything that takes the rows and the number of a batch.

A batch that was not committed before a failure comes again, with the same number and the same rows.
So each row counts once if an output replaces the rows of a number. Batches of a backlog have
negative numbers, and those of the stream begin with 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.locations.location import absolute

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BACKLOG_BATCH = -1
"""The number of the batch that has the rows of a backlog, where that runs in batch mode."""

FIRST_BACKLOG_BATCH = -(2**62)
"""The number of the first batch of a backlog that runs in stream mode."""


@dataclass(frozen=True, slots=True)
class ParquetOutput:
    """A directory of Parquet files, with a directory ``batch=<number>`` for each batch.

    Attributes:
        path: The directory.

    Example:
        >>> output = ParquetOutput("/jobs/totals/rows")
        >>> spark.read.parquet("/jobs/totals/rows").where("batch >= 0").show()
    """

    path: str

    def __post_init__(self) -> None:
        # Spark may have another working directory than this process.
        object.__setattr__(self, "path", absolute(self.path))

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes the rows of a batch, and replaces those of the same number."""
        rows.write.mode("overwrite").parquet(f"{self.path}/batch={batch_id}")


def no_output(rows: DataFrame, batch_id: int) -> None:
    """Drops the rows."""
