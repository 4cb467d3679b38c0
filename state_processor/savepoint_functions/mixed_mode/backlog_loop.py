"""Runs a function over the rows of a backlog, key after key.

There are no watermarks while rows come. When a key has no more rows, its event-time timers up to
the greatest watermark of the backlog fire, and that is the current watermark meanwhile. Timers of
processing time fire when the clock reaches them: between two rows of their key, or at its end.
Other timers stay timers of the key.

The results are the table of ``result_table``, with one more column:

| column    | type   | meaning                                                    |
|-----------|--------|------------------------------------------------------------|
| counts    | STRUCT | a row per task: ``BacklogCounts`` and the watermark        |
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa
from pyspark.sql.types import LongType, StructField, StructType

from savepoint_functions.functions.backends import TimerService
from savepoint_functions.functions.backends.timers import MAX_WATERMARK
from savepoint_functions.functions.function_task import KeyLoop
from savepoint_functions.functions.outputs import in_column
from savepoint_functions.functions.process_functions import RecordAttributes
from savepoint_functions.functions.result_table import ResultTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from savepoint_functions.functions.backends import KeyedStateBackend
    from savepoint_functions.functions.backends.backend import Clock
    from savepoint_functions.functions.function_task import FunctionTask
    from savepoint_functions.functions.key_spans import RowsOfKey
    from savepoint_functions.mixed_mode.progress import BacklogTally
    from savepoint_spark.reading.states import MapState

RowT = TypeVar("RowT")


class BacklogTimers(TimerService):
    """Timers of a key, some of which the clock fires while rows come.

    The current key has no timer of processing time before ``next_processing_time``, in ms.
    """

    def __init__(
        self, backend: KeyedStateBackend, timers: Mapping[str, MapState] | None = None
    ) -> None:
        super().__init__(backend, timers)
        self.next_processing_time = MAX_WATERMARK
        self._has_processing_time = False

    def register_processing_time_timer(self, timestamp: int) -> None:
        super().register_processing_time_timer(timestamp)
        self._has_processing_time = True
        self.next_processing_time = min(self.next_processing_time, timestamp)

    def restored(self) -> None:
        super().restored()
        self._has_processing_time = True

    def look(self) -> None:
        """Looks for the first timer of processing time, after timers have fired or the key has changed."""
        if self._has_processing_time:
            self.next_processing_time = min(self.processing_time_timers(), default=MAX_WATERMARK)

    def between(
        self, rows: Iterable[RowT], clock: Clock, fire: Callable[[int], None]
    ) -> Iterator[RowT]:
        """The rows of a key; before each, ``fire`` is called if the clock has reached a timer."""
        for row in rows:
            if self.next_processing_time < MAX_WATERMARK:
                now = clock()
                if self.next_processing_time <= now:
                    fire(now)
            yield row


class BacklogLoop(KeyLoop):
    """A function at work on a backlog, which counts rows, ended keys, and keys that left state."""

    timer_service = BacklogTimers

    def __init__(self, task: FunctionTask, backend: KeyedStateBackend) -> None:
        super().__init__(task, backend)
        assert task.watermark is not None  # every backlog has one
        self.rows = self.keys = self.kept = 0
        self.watermark = task.watermark
        self._clocked = cast("BacklogTimers", self._timers)

    @property
    def state_accesses(self) -> tuple[int | None, int | None]:
        """How often state of a key was read from its store, and written there.

        A backend of one key writes the state of each key once, and never reads it. Nobody counts
        how often a function uses a backend of all keys.
        """
        return (None, None) if self.backend.keeps_all_keys else (0, self.kept)

    def steps(self, keys: Iterable[RowsOfKey]) -> Iterator[None]:
        """See ``KeyLoop``; the function also learns where the backlog begins and ends."""
        self._task.function.process_record_attributes(RecordAttributes(is_backlog=True))
        yield from super().steps(keys)
        self._task.function.process_record_attributes(RecordAttributes(is_backlog=False))

    def _rows(self, of_key: RowsOfKey) -> Iterator[tuple[int | None, Any]]:
        self.rows += len(of_key.rows)
        fire = partial(self._fire_by_clock, of_key)
        return self._clocked.between(super()._rows(of_key), self.backend.clock, fire)

    def _fire_by_clock(self, of_key: RowsOfKey, now: int) -> None:
        self._calls.fire(self._timers.due(processing_time=now))
        self._clocked.look()
        if self._left and self._is_sorted:
            raise self._refusal(of_key)
        if self._left:
            self._left.clear()
            self._begin(of_key.key, of_key.key_bytes)

    def _begin(self, key: Any, key_bytes: bytes) -> None:
        super()._begin(key, key_bytes)
        self._clocked.look()

    def _end(self) -> None:
        now = self.backend.clock()
        # The clock's timers were due before the watermark came.
        self._calls.fire(self._timers.due(processing_time=now))
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
        state_reads: How often the state of a key was read from its store; None with a backend of
            all keys, whose accesses nobody counts.
        state_writes: How often the state of a key was written there; None likewise.
    """

    rows: int
    keys: int
    output_rows: int
    state_reads: int | None
    state_writes: int | None


COUNT_NAMES = (*(field.name for field in fields(BacklogCounts)), "watermark")
_COUNT_TYPE = pa.struct([(name, pa.int64()) for name in COUNT_NAMES])


@dataclass(frozen=True, kw_only=True)
class BacklogTable(ResultTable):
    """A function over a backlog; ``tally`` counts the work of tasks while it runs."""

    kind = BacklogLoop
    tally: BacklogTally

    @property
    def spark_schema(self) -> StructType:
        counts = StructType([StructField(name, LongType()) for name in COUNT_NAMES])
        return StructType([*super().spark_schema, StructField(COUNTS, counts)])

    @property
    def schema(self) -> pa.Schema:
        return super().schema.append(pa.field(COUNTS, _COUNT_TYPE))

    def end(self, loop: KeyLoop, output_rows: int) -> Iterator[pa.RecordBatch]:
        """The counts of a task that is done."""
        assert isinstance(loop, BacklogLoop)  # as ``kind`` says
        self.tally.add(loop.rows, loop.keys)
        counts = BacklogCounts(loop.rows, loop.keys, output_rows, *loop.state_accesses)
        row = {**asdict(counts), "watermark": loop.watermark}
        yield in_column(self.schema, COUNTS, pa.array([row], _COUNT_TYPE))
