"""Results of a backlog: a savepoint of the switch, output rows, and counts.

Each run of a backlog has a directory of its own below that of the user, so that nothing overwrites
the
files of another run:

| path                                | content                                                    |
|-------------------------------------|------------------------------------------------------------|
| ``backlog-<16 hex digits>``         | a run                                                      |
| ``backlog-<…>/rows``                | the table of ``backlog_loop``, as Parquet                   |
| ``backlog-<…>/savepoint``           | the savepoint; once it is complete, the run is finished    |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from pyarrow import fs
from pyspark.sql import functions as F

from savepoint_formats.errors import SavepointExistsError
from savepoint_formats.locations.file_io import METADATA_FILE
from savepoint_formats.locations.location import Location
from savepoint_functions.functions.backends.timers import MIN_WATERMARK
from savepoint_functions.functions.outputs import OUTPUT, rows_in
from savepoint_functions.mixed_mode.backlog_loop import COUNT_NAMES, COUNTS, BacklogCounts
from savepoint_functions.mixed_mode.spark_paths import readable
from savepoint_spark.savepoint.savepoint import Savepoint
from savepoint_spark.session.tasks import typed_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_spark.savepoint.spark_savepoint import SparkSavepoint

_OF_A_RUN = re.compile(r"backlog-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class BacklogFiles:
    """The directory of a run of a backlog."""

    path: str

    @classmethod
    def new(cls, directory: str) -> Self:
        """A new run below a directory. Raises ``SavepointExistsError`` if it has a finished one."""
        finished = cls.finished(directory)
        if finished is not None:
            raise SavepointExistsError(
                f"{finished.savepoint} is what the backlog has left already: go on from there with"
                " BacklogResult.find, or name another directory"
            )
        return cls(f"{directory.rstrip('/')}/backlog-{uuid4().hex[:16]}")

    @classmethod
    def finished(cls, directory: str) -> Self | None:
        """The finished run below a directory, if there is one."""
        results = (cls(path) for path in _runs(directory))
        return next((result for result in results if result.is_finished), None)

    @property
    def rows(self) -> str:
        return f"{self.path}/rows"

    @property
    def savepoint(self) -> str:
        return f"{self.path}/savepoint"

    @property
    def is_finished(self) -> bool:
        """Whether the savepoint is complete."""
        return Location.of(f"{self.savepoint}/{METADATA_FILE}").file_size() is not None

    def remove_others(self) -> None:
        """Removes the directories of killed runs beside this one."""
        for path in _runs(self.path.rpartition("/")[0]):
            if path != self.path:
                location = Location.of(path)
                location.filesystem.delete_dir(location.path)


def _runs(directory: str) -> Iterator[str]:
    location = Location.of(directory)
    selector = fs.FileSelector(location.path, allow_not_found=True)
    for info in location.filesystem.get_file_info(selector):
        if info.type == fs.FileType.Directory and _OF_A_RUN.fullmatch(info.base_name):
            yield f"{directory.rstrip('/')}/{info.base_name}"


@dataclass(frozen=True)
class BacklogResult:
    """Results of a finished backlog.

    Attributes:
        spark: The session for its tables.
        files: Where it lies.
        uid: The uid of the operator in the savepoint.
    """

    spark: SparkSession
    files: BacklogFiles
    uid: str

    @classmethod
    def find(cls, spark: SparkSession, directory: str, uid: str) -> Self | None:
        """The result of a finished backlog; None if there is none.

        Args:
            spark: The session for its tables.
            directory: As for ``Backlog.run``.
            uid: As for ``Backlog.run``.

        Raises:
            OperatorNotFoundError: The operator of the savepoint has another uid.

        Example:
            >>> result = BacklogResult.find(spark, "/jobs/totals", "totals")
        """
        files = BacklogFiles.finished(directory)
        if files is None:
            return None
        # Raises if the savepoint has another uid, without a warning about uids.
        Savepoint.open(files.savepoint).operator(uid)
        return cls(spark, files, uid)

    @property
    def savepoint(self) -> SparkSavepoint:
        """The savepoint of the switch: the state of all keys, and their timers that are not due yet.

        Example:
            >>> result.savepoint.read_keyed_state("totals").show()
        """
        return Savepoint.load(self.spark, self.files.savepoint, uids=[self.uid])

    @property
    def output(self) -> DataFrame:
        """The rows that the function gave, in no order.

        All columns are nullable; a column that the schema calls not nullable has no null.
        """
        return rows_in(self._rows, OUTPUT)

    @property
    def watermark(self) -> int:
        """The greatest watermark of the backlog in ms; -2**63 if there was none."""
        return self._totals[1]

    @property
    def counts(self) -> BacklogCounts:
        """Amounts of rows, keys and work."""
        return self._totals[0]

    @cached_property
    def _totals(self) -> tuple[BacklogCounts, int]:
        *names, watermark = COUNT_NAMES
        of_tasks = rows_in(self._rows, COUNTS)
        sums = (F.sum(name).alias(name) for name in names)
        with typed_errors():
            (totals,) = of_tasks.agg(*sums, F.max(watermark).alias(watermark)).collect()
        # Spark runs no task if there are no rows at all.
        if totals.rows is None:
            return BacklogCounts(0, 0, 0, 0, 0), MIN_WATERMARK
        return BacklogCounts(*totals[:-1]), totals.watermark

    @property
    def _rows(self) -> DataFrame:
        return self.spark.read.parquet(readable(self.spark, self.files.rows))
