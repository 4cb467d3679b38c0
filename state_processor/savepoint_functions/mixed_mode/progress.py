"""How far a stream is: figures of each batch, as Spark's listener of streams tells them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from savepoint_functions.mixed_mode.backlog_progress import BacklogProgress
from savepoint_functions.mixed_mode.stream_query import METRICS

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )

BACKLOG, STREAM = "backlog", "stream"


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """A batch that is done.

    Attributes:
        phase: ``backlog`` or ``stream``.
        batch_id: Its number.
        rows: The rows that the function was called for.
        timers: The timers that fired.
        rows_per_second: Rows per second of its duration.
        visits: The keys that it touched.
        state_reads: How often the state of a key was read.
        state_writes: How often it was written.
        keys: The keys in the state store: those that were visited since the switch, and have or had
            state.
        next_due: The first timer of processing time that a visited key has left, in ms.
        lag_ms: How far the watermark is behind the clock, in ms; None without a watermark.
    """

    phase: str
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
    def of(cls, phase: str, progress: StreamingQueryProgress) -> BatchProgress:
        """What Spark tells of a batch."""
        metrics: Any = progress.observedMetrics.get(METRICS)
        counts = metrics.asDict() if metrics is not None else {}
        rows = counts.get("rows") or 0
        seconds = progress.batchDuration / 1000
        operators = progress.stateOperators
        return cls(
            phase,
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
"""What a job tells."""

Tell = Callable[[Progress], object]
"""Whom it tells."""


def print_progress(progress: Progress) -> None:
    """Prints a line on the standard error stream."""
    print(progress, file=sys.stderr)


class ProgressListener(StreamingQueryListener):
    """Tells of the batches of one query.

    Args:
        phase: That of the query.
        run_id: The id of the run of the query.
        tell: Is called with each batch, from another thread.
    """

    def __init__(self, phase: str, run_id: str, tell: Callable[[BatchProgress], None]) -> None:
        self._phase = phase
        self._run_id = run_id
        self._tell = tell

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802  # Spark's name
        """Nothing to tell yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802  # Spark's name
        """Tells of a batch."""
        if str(event.progress.runId) == self._run_id:
            self._tell(BatchProgress.of(self._phase, event.progress))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802  # Spark's name
        """Nothing to tell."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802  # Spark's name
        """Whoever waits for the query knows."""


def _lag_ms(watermark: str | None) -> int | None:
    if watermark is None:
        return None
    at = datetime.fromisoformat(watermark).timestamp()
    return None if at <= 0 else int(1000 * (time.time() - at))
