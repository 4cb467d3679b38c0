"""A running stream: its progress, and savepoints of it; a backlog may run as one.

The rows of such a backlog are written to a directory first, from which Spark streams them, file
after file. When all are processed, the savepoint of the switch is taken from the state store.

| path           | content                                                              |
|----------------|----------------------------------------------------------------------|
| ``rows/<n>``   | the rows of input n, from 0                                          |
| ``stream``     | Spark's checkpoint                                                   |
| ``savepoints`` | the last savepoint of the interval                                   |
| ``savepoint``  | that of the switch; with its offsets, the backlog is over            |
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from pyarrow import fs
from pyspark.errors import PySparkException

from savepoint_formats.errors import SavepointError, SavepointNotFoundError
from savepoint_formats.locations.location import Location
from savepoint_functions.functions.backends import processing_time
from savepoint_functions.functions.backends.timers import MIN_WATERMARK
from savepoint_functions.mixed_mode.committed_batch import CommittedBatch
from savepoint_functions.mixed_mode.progress import BACKLOG, ProgressListener
from savepoint_functions.mixed_mode.spark_paths import readable
from savepoint_functions.mixed_mode.stream_rows import wake_up
from savepoint_spark.savepoint.savepoint import Savepoint
from savepoint_spark.session.tasks import typed_errors

if TYPE_CHECKING:
    from savepoint_functions.functions.sorted_inputs import KeyedInput
    from savepoint_functions.mixed_mode.progress import BatchProgress, Tell
    from savepoint_functions.mixed_mode.stream_function import Output, StreamFunction, StreamQuery
    from savepoint_spark.savepoint.spark_savepoint import SparkSavepoint
    from savepoint_spark.savepoint.write import WrittenSavepoint


# Due at once, because the timers are not known before a look at the state.
_UNKNOWN = 0


class StreamClock:
    """Does what is due when ``tick`` is called; ``savepoints`` has only the last savepoint."""

    def __init__(
        self,
        function: StreamFunction,
        query: StreamQuery,
        savepoints: str,
        interval_ms: int | None,
        now: int,
    ) -> None:
        self.last_savepoint: str | None = None
        self._function = function
        self._query = query
        self._savepoints = savepoints
        self._interval_ms = interval_ms
        self._next_savepoint = now + (interval_ms or 0)
        self._saved_batch: int | None = None
        # The listener's thread sets it, and another thread reads it.
        self._lock = threading.Lock()
        self._next_due: int | None = _UNKNOWN

    def expect(self, due: int | None) -> None:
        """Takes notice of a timer of processing time, in ms."""
        with self._lock:
            if due is not None:
                self._next_due = due if self._next_due is None else min(due, self._next_due)

    def tick(self, now: int) -> None:
        """Does what is due at ``now``, in ms. Raises ``SavepointError`` if a savepoint fails."""
        if self._is_due(now):
            self._wake_up(now)
        if self._interval_ms is not None and now >= self._next_savepoint:
            self._next_savepoint = now + self._interval_ms
            self._save()

    def _is_due(self, now: int) -> bool:
        with self._lock:
            return self._next_due is not None and self._next_due <= now

    def _wake_up(self, now: int) -> None:
        batch = self._query.last_batch()
        if batch is None:
            return
        with self._lock:
            # Timers that come from now on are later than the state that is read.
            self._next_due = None
        keys = self._query.keys(batch.batch_id)
        self.expect(wake_up(keys, self._query.wake_ups, now))

    def _save(self) -> None:
        batch = self._query.last_batch()
        if batch is None or batch.batch_id == self._saved_batch:
            return
        name = f"savepoint-{batch.batch_id}-{uuid4().hex[:8]}"
        path = f"{self._savepoints}/{name}"
        self._function.write_savepoint(self._query, batch, path)
        self.last_savepoint, self._saved_batch = path, batch.batch_id
        self._remove_all_but(name)

    def _remove_all_but(self, name: str) -> None:
        location = Location.of(self._savepoints)
        for info in location.filesystem.get_file_info(fs.FileSelector(location.path)):
            if info.base_name != name:
                location.filesystem.delete_dir(info.path)


_TICK_SECONDS = 0.2
_REMEMBERED_BATCHES = 100
# Spark reports a batch from another thread, which is seldom late.
_PATIENCE_SECONDS = 10.0


class RunningStream:
    """A stream that goes on from its last committed batch, and runs until it is stopped, or fails.

    Use it in a ``with`` statement, or stop it. When its job is started again, it goes on where it
    was stopped.

    Attributes:
        batches: The last finished batches since it was started, 100 at most.
    """

    def __init__(
        self,
        function: StreamFunction,
        query: StreamQuery,
        output: Output,
        phase: str,
        *,
        savepoints: str,
        interval_ms: int | None,
        tell: Tell | None,
        until_end: bool = False,
    ) -> None:
        self.batches: deque[BatchProgress] = deque(maxlen=_REMEMBERED_BATCHES)
        self._function = function
        self._query = query
        self._clock = StreamClock(function, query, savepoints, interval_ms, processing_time())
        self._running = query.start(output, until_end=until_end)
        self._tell = tell
        self._error: SavepointError | PySparkException | None = None
        self._is_stopped = threading.Event()
        self._listener = ProgressListener(phase, str(self._running.runId), self._add)
        function.spark.streams.addListener(self._listener)
        self._thread = threading.Thread(target=self._tick, name="stream clock", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def is_active(self) -> bool:
        """Whether it runs."""
        return bool(self._running.isActive)

    @property
    def last_savepoint(self) -> str | None:
        """The path of the last savepoint of the interval since the start; None if there is none."""
        return self._clock.last_savepoint

    @property
    def last_batch(self) -> CommittedBatch | None:
        """The last committed batch, with its offsets; None if there is none."""
        return self._query.last_batch()

    def take_savepoint(self, path: str) -> WrittenSavepoint:
        """Writes the state after the last committed batch, while the stream goes on.

        The offsets of the stream lie beside it; see ``CommittedBatch.beside``.

        Args:
            path: An empty or new directory: a local path, or a URI that pyarrow knows.

        Raises:
            SavepointNotFoundError: No batch is committed yet; use the savepoint of the switch.
            SavepointExistsError: A savepoint lies there.
            SavepointError: The file system has failed with it.

        Example:
            >>> running.take_savepoint("/jobs/totals/cut-over")
        """
        path = path.rstrip("/")
        batch = self.last_batch
        if batch is None:
            raise SavepointNotFoundError(
                f"{self._query.checkpoint} has no committed batch yet, so there is nothing behind"
                " the savepoint of the switch: take that, or wait for rows"
            )
        return self._function.write_savepoint(self._query, batch, path)

    def process_all_available(self) -> None:
        """Waits until all current rows are processed.

        Raises:
            StreamingQueryException: The stream has failed.
            SavepointError: A task has failed with it, or a process of Python has not started.
        """
        with typed_errors():
            self._running.processAllAvailable()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._is_behind() and time.monotonic() < deadline:
            time.sleep(_TICK_SECONDS / 10)

    def await_termination(self, timeout_s: int | None = None) -> bool:
        """Waits until the stream ends.

        Args:
            timeout_s: How long to wait, in seconds; for ever by default.

        Returns:
            Whether it has ended.

        Raises:
            StreamingQueryException: It has failed.
            SavepointError: A savepoint of the interval, or a task, has failed with it.
        """
        with typed_errors():
            if timeout_s is None:
                self._running.awaitTermination()
                has_ended = True
            else:
                has_ended = bool(self._running.awaitTermination(timeout_s))
        if self._error is not None:
            raise self._error
        return has_ended

    def stop(self) -> None:
        """Stops the stream; work that is not committed is done again when it goes on.

        Raises:
            SavepointError: A savepoint of the interval has failed.
        """
        self._is_stopped.set()
        self._running.stop()
        self._thread.join()
        self._function.spark.streams.removeListener(self._listener)
        if self._error is not None:
            raise self._error

    def _add(self, progress: BatchProgress) -> None:
        self.batches.append(progress)
        self._clock.expect(progress.next_due)
        if self._tell is not None:
            self._tell(progress)

    def _is_behind(self) -> bool:
        last = self._running.lastProgress
        reported = self.batches[-1].batch_id if self.batches else -1
        return last is not None and reported < last.batchId

    def _tick(self) -> None:
        while not self._is_stopped.wait(_TICK_SECONDS) and self._running.isActive:
            try:
                self._clock.tick(processing_time())
            except (SavepointError, PySparkException) as error:
                self._error = error
                self._running.stop()


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
        streamed.write_savepoint(query, batch, self.savepoint)
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
    location = Location.of(directory)
    if location.filesystem.get_file_info(location.path).type == fs.FileType.Directory:
        location.filesystem.delete_dir(location.path)
