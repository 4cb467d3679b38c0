"""A running stream: its progress, and savepoints of it."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from pyspark.errors import PySparkException

from savepoint_extensions.mixed_mode.progress import ProgressListener
from savepoint_extensions.mixed_mode.stream_rows import wake_up
from savepoint_formats.errors import SavepointError, SavepointNotFoundError
from savepoint_formats.locations import Location
from savepoint_functions.functions import processing_time
from savepoint_spark.session import typed_errors

if TYPE_CHECKING:
    from savepoint_extensions.mixed_mode.committed_batch import CommittedBatch
    from savepoint_extensions.mixed_mode.progress import BatchProgress, Tell
    from savepoint_extensions.mixed_mode.stream_function import Output, StreamFunction
    from state_processor import WrittenSavepoint


# Due at once, because only the state tells the timers.
_UNKNOWN = 0


class StreamClock:
    """Does what is due when ``tick`` is called; ``savepoints`` has only the last savepoint."""

    def __init__(
        self, function: StreamFunction, savepoints: str, interval_ms: int | None, now: int
    ) -> None:
        self.last_savepoint: str | None = None
        self._function = function
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
        batch = self._function.last_batch()
        if batch is None:
            return
        with self._lock:
            # Timers that come from now on are later than the state that is read.
            self._next_due = None
        keys = self._function.keys(batch.batch_id)
        self.expect(wake_up(keys, self._function.wake_ups, now))

    def _save(self) -> None:
        batch = self._function.last_batch()
        if batch is None or batch.batch_id == self._saved_batch:
            return
        name = f"savepoint-{batch.batch_id}-{uuid4().hex[:8]}"
        path = f"{self._savepoints}/{name}"
        self._function.write_savepoint(batch, path)
        self.last_savepoint, self._saved_batch = path, batch.batch_id
        self._remove_all_but(name)

    def _remove_all_but(self, name: str) -> None:
        location = Location.of(self._savepoints)
        for info in location.infos():
            if info.base_name != name:
                location.filesystem.delete_dir(info.path)


_TICK_SECONDS = 0.2
_REMEMBERED_BATCHES = 100
# Spark reports a batch from another thread, which is seldom late.
_PATIENCE_SECONDS = 10.0


class RunningStream:
    """A stream that continues from its last committed batch, and runs until it is stopped, or fails.

    Use it in a ``with`` statement, or stop it. When its job is started again, it continues where it
    was stopped.

    Attributes:
        batches: The last finished batches since it was started, 100 at most.
    """

    def __init__(
        self,
        function: StreamFunction,
        output: Output,
        *,
        savepoints: str,
        interval_ms: int | None,
        tell: Tell | None,
        until_end: bool = False,
    ) -> None:
        self.batches: deque[BatchProgress] = deque(maxlen=_REMEMBERED_BATCHES)
        self._function = function
        self._clock = StreamClock(function, savepoints, interval_ms, processing_time())
        self._running = function.start(output, until_end=until_end)
        self._tell = tell
        self._error: SavepointError | PySparkException | None = None
        self._is_stopped = threading.Event()
        self._listener = ProgressListener(str(self._running.runId), self._add)
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
        return self._function.last_batch()

    def take_savepoint(self, path: str) -> WrittenSavepoint:
        """Writes the state after the last committed batch, while the stream goes on.

        The offsets of the stream are next to it; see ``CommittedBatch.beside``.

        Args:
            path: An empty or new directory: a local path, or a URI that pyarrow knows.

        Raises:
            SavepointNotFoundError: No batch is committed yet; use the savepoint of the switch.
            SavepointExistsError: A savepoint is there already.
            SavepointError: The file system failed with this error.

        Example:
            >>> running.take_savepoint("/jobs/totals/cut-over")
        """
        path = path.rstrip("/")
        batch = self.last_batch
        if batch is None:
            raise SavepointNotFoundError(
                f"{self._function.checkpoint} has no committed batch yet, so there is nothing after"
                " the savepoint of the switch: take that, or wait for rows"
            )
        return self._function.write_savepoint(batch, path)

    def process_all_available(self) -> None:
        """Waits until all current rows are processed.

        Raises:
            StreamingQueryException: The stream has failed.
            SavepointError: A task failed with this error, or a Python process did not start.
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
            SavepointError: A savepoint of the interval, or a task, failed with this error.
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
        """Stops the stream; uncommitted work is done again when it continues.

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
