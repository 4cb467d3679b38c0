"""How far a backlog in batch mode is: reported when it begins, every few seconds, and at its end.

A task of Spark says what it has done when it is done; until then it is one of those that are not.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from savepoint_spark.session.session import TaskCount, task_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark import Accumulator
    from pyspark.sql import SparkSession

    from savepoint_functions.mixed_mode.backlog_result import BacklogCounts

INTERVAL_SECONDS = 3.0
"""How long it is from one telling to the next."""


@dataclass(frozen=True, slots=True)
class BacklogProgress:
    """How far a backlog is.

    Attributes:
        phase: ``backlog``.
        rows: The rows that the function was called for, in the tasks that are done.
        keys: The keys that have ended, likewise.
        seconds: How long it has run.
        tasks: The tasks of Spark that are done, and all there are, of the stages that run now.
        is_done: Whether it is over, and its savepoint is there.
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
    """Drops it."""


@dataclass(frozen=True)
class BacklogTally:
    """What tasks add up while a backlog runs; a task that is lost and done again counts twice.

    Attributes:
        rows: The rows that the function was called for.
        keys: The keys that have ended.
    """

    rows: Accumulator[int]
    keys: Accumulator[int]

    @classmethod
    def of(cls, spark: SparkSession) -> Self:
        """One of nothing."""
        context = spark.sparkContext
        return cls(context.accumulator(0), context.accumulator(0))

    def add(self, rows: int, keys: int) -> None:
        """Counts what a task has done."""
        self.rows.add(rows)
        self.keys.add(keys)


class BacklogWatch:
    """Tells how far a backlog is.

    Args:
        spark: The session that it runs in.
        tally: What its tasks count.
        tell: Is called, while the backlog runs from another thread.
        interval_s: How long it is from one telling to the next, in seconds.
    """

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
        """Tells of what runs meanwhile, from its beginning on."""
        self._look()
        thread = threading.Thread(target=self._watch, name="backlog watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def tell_end(self, counts: BacklogCounts) -> None:
        """Tells that the backlog is over, with what it was in all."""
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
