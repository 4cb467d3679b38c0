"""Results of a backlog: how tasks make them, key after key, and how they are read.

When a key has no more rows, its event-time timers up to the greatest watermark of the backlog fire.
Meanwhile that watermark is the current one. If the backlog begins with the state of a
savepoint, some of them fire between rows, see ``KeyLoop``. Timers of processing time fire when the
clock reaches them: between two rows of their key, or at its end. Other timers stay timers of the
key.

The results are the table of ``result_table``, with one more column:

| column    | type   | meaning                                                    |
|-----------|--------|------------------------------------------------------------|
| counts    | STRUCT | a row per task: ``BacklogCounts`` and the watermark        |

Each run of a backlog has a directory of its own below that of the user, so that nothing overwrites
the files of another run:

| path                                | content                                                    |
|-------------------------------------|------------------------------------------------------------|
| ``backlog-<16 hex digits>``         | a run                                                      |
| ``backlog-<…>/rows``                | the table, as Parquet                                      |
| ``backlog-<…>/savepoint``           | the savepoint; once it is complete, the run is finished    |
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from savepoint_extensions.mixed_mode.spark_paths import readable
from savepoint_formats.errors import SavepointExistsError
from savepoint_formats.locations import METADATA_FILE, Location
from savepoint_functions.functions import (
    MIN_WATERMARK,
    OUTPUT,
    KeyLoop,
    RecordAttributes,
    ResultTable,
    SingleKeyBackend,
    in_column,
    rows_in,
)
from savepoint_spark.columns import spark_schema
from savepoint_spark.session import typed_errors
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_extensions.mixed_mode.progress import BacklogTally
    from savepoint_functions.functions import FunctionTask, KeyedStateBackend, RowsOfKey
    from state_processor import SparkSavepoint


class BacklogLoop(KeyLoop):
    """A function at work on a backlog, which counts rows, ended keys, and keys that left state."""

    def __init__(self, task: FunctionTask, backend: KeyedStateBackend) -> None:
        super().__init__(task, backend)
        assert task.watermark is not None  # every backlog has one
        self.rows = self.keys = self.kept = 0
        self.watermark = task.watermark

    @property
    def state_accesses(self) -> tuple[int | None, int | None]:
        """How often state of a key was read from its store, and written there.

        In memory the state of each key is written once, and never read. Accesses to RocksDB are not
        counted.
        """
        return (0, self.kept) if isinstance(self.backend, SingleKeyBackend) else (None, None)

    def steps(self, keys: Iterable[RowsOfKey]) -> Iterator[None]:
        """See ``KeyLoop``; the function also learns where the backlog begins and ends."""
        self._task.function.process_record_attributes(RecordAttributes(is_backlog=True))
        yield from super().steps(keys)
        self._task.function.process_record_attributes(RecordAttributes(is_backlog=False))

    def _rows(self, of_key: RowsOfKey) -> Iterator[tuple[int | None, Any]]:
        self.rows += len(of_key.rows)
        return self._timers.between(super()._rows(of_key), self.backend.clock, self._fire_by_clock)

    def _fire_by_clock(self, now: int) -> None:
        self._calls.fire(self._timers.due(processing_time=now))

    def _end(self) -> None:
        now = self.backend.clock()
        # The clock's timers were due before the watermark came.
        self._fire_by_clock(now)
        self._calls.fire(self._timers.due(watermark=self.watermark, processing_time=now))
        before = len(self.ended)
        self._keep()
        self.keys += 1
        self.kept += len(self.ended) - before


COUNTS = "counts"


@dataclass(frozen=True, slots=True)
class BacklogCounts:
    """Amounts of rows, keys and work of a backlog.

    Attributes:
        rows: The number of rows that the function was called for.
        keys: The number of their keys.
        output_rows: The number of rows that the function gave.
        state_reads: How often the state of a key was read from its store; None with RocksDB, whose
            accesses are not counted.
        state_writes: How often the state of a key was written there; None likewise.
    """

    rows: int
    keys: int
    output_rows: int
    state_reads: int | None
    state_writes: int | None


COUNT_NAMES = (*(field.name for field in fields(BacklogCounts)), "watermark")
_COUNTS = pa.field(COUNTS, pa.struct([(name, pa.int64()) for name in COUNT_NAMES]))


@dataclass(frozen=True, kw_only=True)
class BacklogTable(ResultTable):
    """A function over a backlog; ``tally`` counts the work of tasks while it runs."""

    kind = BacklogLoop
    tally: BacklogTally

    @property
    def spark_schema(self) -> StructType:
        return StructType([*super().spark_schema, *spark_schema(pa.schema([_COUNTS]))])

    @property
    def schema(self) -> pa.Schema:
        return super().schema.append(_COUNTS)

    def end(self, loop: KeyLoop, output_rows: int) -> Iterator[pa.RecordBatch]:
        """The counts of a task that is done."""
        assert isinstance(loop, BacklogLoop)  # as ``kind`` says
        self.tally.add(loop.rows, loop.keys)
        counts = BacklogCounts(loop.rows, loop.keys, output_rows, *loop.state_accesses)
        row = {**asdict(counts), "watermark": loop.watermark}
        yield in_column(self.schema, COUNTS, pa.array([row], _COUNTS.type))


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
                f"{finished.savepoint} is the result of this backlog already: continue from it with"
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
        """Removes the directories of killed runs next to this one."""
        for path in _runs(self.path.rpartition("/")[0]):
            if path != self.path:
                location = Location.of(path)
                location.filesystem.delete_dir(location.path)


def _runs(directory: str) -> Iterator[str]:
    for info in Location.of(directory).infos():
        if info.type == fs.FileType.Directory and _OF_A_RUN.fullmatch(info.base_name):
            yield f"{directory.rstrip('/')}/{info.base_name}"


@dataclass(frozen=True)
class BacklogResult:
    """Results of a finished backlog.

    Attributes:
        spark: The session for its tables.
        files: Its place.
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
