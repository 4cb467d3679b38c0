"""A backlog that runs as a stream, with savepoints while it lasts.

Its rows are written to a directory first, from which Spark streams them, file after file. When all
are processed, the savepoint of the switch is taken from the state store.

| path           | content                                                              |
|----------------|----------------------------------------------------------------------|
| ``rows/<n>``   | the rows of input n, from 0                                          |
| ``stream``     | Spark's checkpoint                                                   |
| ``savepoints`` | the last savepoint of the interval                                   |
| ``savepoint``  | that of the switch; with its offsets, the backlog is over            |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyarrow import fs

from savepoint_formats.errors import SavepointNotFoundError
from savepoint_formats.locations.location import Location
from savepoint_functions.functions.backends.timers import MIN_WATERMARK
from savepoint_functions.mixed_mode.committed_batch import CommittedBatch
from savepoint_functions.mixed_mode.progress import BACKLOG
from savepoint_functions.mixed_mode.running_stream import RunningStream
from savepoint_functions.mixed_mode.spark_paths import readable
from savepoint_spark.savepoint.savepoint import Savepoint

if TYPE_CHECKING:
    from savepoint_functions.functions.sorted_inputs import KeyedInput
    from savepoint_functions.mixed_mode.progress import Tell
    from savepoint_functions.mixed_mode.stream_function import Output, StreamFunction
    from savepoint_spark.savepoint.spark_savepoint import SparkSavepoint

FIRST_BACKLOG_BATCH = -(2**62)
"""The number of the first batch of a backlog that runs in stream mode."""

_ROWS_PER_FILE = 100_000


@dataclass(frozen=True)
class BacklogStream:
    """A function over a backlog, row by row as they come.

    The rows of ``function`` are the backlog, as a bounded DataFrame. A savepoint is taken every
    ``interval_ms``.
    """

    function: StreamFunction
    directory: str
    interval_ms: int

    @property
    def savepoint(self) -> str:
        """The savepoint of the switch."""
        return f"{self.directory}/savepoint"

    def run(self, output: Output, tell: Tell | None) -> tuple[SparkSavepoint, int]:
        """Runs the rest of the backlog; returns the savepoint of the switch, and its watermark in ms.

        ``output`` takes the rows of each batch, and ``tell`` is called with each batch.
        """
        function = self.function
        try:
            batch = CommittedBatch.beside(self.savepoint)
        except SavepointNotFoundError:
            batch = self._process(output, tell)
        savepoint = Savepoint.load(function.spark, self.savepoint, uids=[function.settings.uid])
        # Spark's watermark is 0 if there were no rows.
        return savepoint, batch.watermark or MIN_WATERMARK

    def _process(self, output: Output, tell: Tell | None) -> CommittedBatch:
        streamed = self._streamed()
        query = streamed.backlog_query(f"{self.directory}/stream")
        running = RunningStream(
            streamed,
            query,
            lambda rows, batch_id: output(rows, FIRST_BACKLOG_BATCH + batch_id),
            BACKLOG,
            savepoints=f"{self.directory}/savepoints",
            interval_ms=self.interval_ms,
            tell=tell,
            until_end=True,
        )
        with running:
            running.await_termination()
        batch = query.last_batch()
        assert batch is not None  # a query that has ended has a batch, be it of no rows
        _remove(self.savepoint)
        streamed.write_savepoint(query.keys(batch.batch_id), self.savepoint)
        batch.write_beside(self.savepoint)
        return batch

    def _streamed(self) -> StreamFunction:
        numbered = enumerate(self.function.inputs)
        inputs = tuple(self._as_stream(rows, number) for number, rows in numbered)
        return replace(self.function, inputs=inputs)

    def _as_stream(self, source: KeyedInput, number: int) -> KeyedInput:
        spark, path = self.function.spark, f"{self.directory}/rows/{number}"
        if Location.of(f"{path}/_SUCCESS").file_size() is None:
            writer = source.data.write.option("maxRecordsPerFile", _ROWS_PER_FILE)
            writer.mode("overwrite").parquet(path)
        files = spark.readStream.schema(source.data.schema)
        files = files.option("maxFilesPerTrigger", spark.sparkContext.defaultParallelism)
        return replace(source, data=files.parquet(readable(spark, path)))


def _remove(directory: str) -> None:
    """Removes a directory of a killed run, if it is there."""
    location = Location.of(directory)
    if location.filesystem.get_file_info(location.path).type == fs.FileType.Directory:
        location.filesystem.delete_dir(location.path)
