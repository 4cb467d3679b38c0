"""Progress of a job: of its backlog every few seconds, and of its stream after each batch.

Spark counts the rows of a task when the task is done.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pyspark.sql.streaming.listener import StreamingQueryListener

from savepoint_extensions.mixed_mode.stream_function import METRICS
from savepoint_spark.session import TaskCount, task_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import Accumulator
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import (
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )

    from savepoint_extensions.mixed_mode.backlog_result import BacklogCounts

INTERVAL_SECONDS = 3.0
"""Seconds between two reports."""


@dataclass(frozen=True, slots=True)
class BacklogProgress:
    """Progress of a backlog.

    Attributes:
        phase: ``backlog``.
        rows: The number of rows that the function was called for, in finished tasks.
        keys: The number of keys that have ended, in finished tasks.
        seconds: The time since the beginning.
        tasks: Finished and total tasks of Spark, in the stages that run now.
        is_done: Whether the backlog is over, with its savepoint.
    """

    phase: ClassVar[str] = "backlog"
    rows: int
    keys: int
    seconds: float
    tasks: TaskCount
    is_done: bool = False

    @property
    def rows_per_second(self) -> float:
        """Rows per second since it has begun."""
        return self.rows / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        how_far = "done" if self.is_done else f"{self.tasks.done} of {self.tasks.total} tasks"
        return (
            f"{self.phase}: {how_far}, {self.rows} rows at {self.rows_per_second:.0f} rows/s,"
            f" {self.keys} keys, {self.seconds:.1f} s"
        )


def no_progress(progress: BacklogProgress) -> None:
    """Drops the progress."""


@dataclass(frozen=True)
class BacklogTally:
    """Counts of rows and ended keys while a backlog runs; a repeated task counts twice."""

    rows: Accumulator[int]
    keys: Accumulator[int]

    @classmethod
    def of(cls, spark: SparkSession) -> Self:
        context = spark.sparkContext
        return cls(context.accumulator(0), context.accumulator(0))

    def add(self, rows: int, keys: int) -> None:
        self.rows.add(rows)
        self.keys.add(keys)


class BacklogWatch:
    """Calls ``tell`` with the progress of a backlog, from another thread."""

    def __init__(
        self,
        spark: SparkSession,
        tally: BacklogTally,
        tell: Callable[[BacklogProgress], object],
        interval_s: float = INTERVAL_SECONDS,
    ) -> None:
        self._spark = spark
        self._tally = tally
        self._tell = tell
        self._interval_s = interval_s
        self._begun = time.monotonic()
        self._is_over = threading.Event()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Tells the progress until the end of the ``with`` statement."""
        self._look()
        thread = threading.Thread(target=self._watch, name="backlog watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def tell_end(self, counts: BacklogCounts) -> None:
        self._tell(
            BacklogProgress(
                counts.rows, counts.keys, self._seconds(), task_count(self._spark), is_done=True
            )
        )

    def _watch(self) -> None:
        while not self._is_over.wait(self._interval_s):
            self._look()

    def _look(self) -> None:
        rows, keys = self._tally.rows.value, self._tally.keys.value
        self._tell(BacklogProgress(rows, keys, self._seconds(), task_count(self._spark)))

    def _seconds(self) -> float:
        return time.monotonic() - self._begun


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """A finished batch.

    Attributes:
        phase: ``stream``.
        batch_id: Its number.
        rows: The number of rows that the function was called for.
        timers: The number of timers that fired.
        rows_per_second: Rows per second of its duration.
        visits: The number of keys that it touched.
        state_reads: How often the state of a key was read.
        state_writes: How often it was written.
        keys: The number of keys in the state store: keys visited since the switch that have or had
            state.
        next_due: The first timer of processing time that a visited key has left, in ms.
        lag_ms: How far the watermark is behind the clock, in ms; None without a watermark.
    """

    phase: ClassVar[str] = "stream"
    batch_id: int
    rows: int
    timers: int
    rows_per_second: float
    visits: int
    state_reads: int
    state_writes: int
    keys: int
    next_due: int | None
    lag_ms: int | None

    @classmethod
    def of(cls, progress: StreamingQueryProgress) -> BatchProgress:
        """The progress of a batch, from Spark's."""
        metrics: Any = progress.observedMetrics.get(METRICS)
        counts = metrics.asDict() if metrics is not None else {}
        rows = counts.get("rows") or 0
        seconds = progress.batchDuration / 1000
        operators = progress.stateOperators
        return cls(
            progress.batchId,
            rows,
            counts.get("timers") or 0,
            rows / seconds if seconds else 0.0,
            counts.get("visits") or 0,
            counts.get("reads") or 0,
            counts.get("writes") or 0,
            operators[0].numRowsTotal if operators else 0,
            counts.get("due"),
            _lag_ms(progress.eventTime.get("watermark")),
        )

    def __str__(self) -> str:
        lag = "" if self.lag_ms is None else f", {self.lag_ms / 1000:.1f} s behind"
        return (
            f"{self.phase}: batch {self.batch_id}, {self.rows} rows at {self.rows_per_second:.0f}"
            f" rows/s, {self.timers} timers, {self.keys} keys{lag}"
        )


Progress = BacklogProgress | BatchProgress
"""Progress of either phase of a job."""

Tell = Callable[[Progress], object]
"""Called with the progress."""


def print_progress(progress: Progress) -> None:
    """Prints a line on the standard error stream."""
    print(progress, file=sys.stderr)


class ProgressListener(StreamingQueryListener):
    """Calls ``tell`` with the progress of each batch of one run of a query, from another thread."""

    def __init__(self, run_id: str, tell: Callable[[BatchProgress], None]) -> None:
        self._run_id = run_id
        self._tell = tell

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802  # Spark's name
        ...

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802  # Spark's name
        if str(event.progress.runId) == self._run_id:
            self._tell(BatchProgress.of(event.progress))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802  # Spark's name
        ...

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802  # Spark's name
        ...


def _lag_ms(watermark: str | None) -> int | None:
    if watermark is None:
        return None
    at = datetime.fromisoformat(watermark).timestamp()
    return None if at <= 0 else int(1000 * (time.time() - at))
