"""Runs a process function over the rows of a stream, on Spark's ``transformWithState``.

Spark calls the processor for each key with rows in a micro-batch, then for each key whose alarm the
watermark has reached. Such a visit goes as in Flink, if a watermark follows each micro-batch:

1. timers fire if the watermark of earlier batches, or the clock, has reached them;
2. the rows come in the order of their arrival; after each, timers of processing time that the
   function has set fire if the clock has reached them.

Timers are state of the key. Spark's own timers only wake a key up. A key has one of them at a time:
the alarm, at its first timer. Spark can't know processing time here, because a query has one kind
of time; ``stream_rows`` wakes these keys.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from savepoint_database.types import record_maker, user_frames_first
from savepoint_extensions.mixed_mode.stored_backend import KeyRow, StoredBackend, first_alarm
from savepoint_extensions.mixed_mode.stream_rows import Packet
from savepoint_functions.functions import (
    FunctionCalls,
    KeyedContext,
    KeyedCoProcessFunction,
    KeyedRuntimeContext,
    RecordAttributes,
    decoded_keys,
    python_keys,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        StatefulProcessorHandle,
        TimerValues,
        ValueState,
    )

    from savepoint_extensions.mixed_mode.switch_state import SwitchState
    from savepoint_formats.layout import Layout
    from savepoint_functions.functions import Clock, KeyedFunction, KeyedProcessFunction

    ProcessFunction = KeyedProcessFunction | KeyedCoProcessFunction

STATE = "keyed_state"
"""The name of the value state that has the rows of keys."""

VISITS = (
    "key BINARY, output BINARY, rows BIGINT, timers BIGINT, reads BIGINT, writes BIGINT, due BIGINT"
)
"""The columns of a visit: the rows that the function gave, pickled with the key; counts; and the
first timer of processing time that the key has left, in ms."""

_VISIT = Row("key", "output", "rows", "timers", "reads", "writes", "due")

# Spark's watermark before the first row.
_NO_WATERMARK = 0


@dataclass(frozen=True)
class StreamTask:
    """A function over a stream.

    ``inputs`` are the column names of each input, and the stream begins with ``watermark``, in ms.
    ``switch`` is the state of keys that are not in the store yet.
    """

    function: KeyedFunction
    key: Layout
    inputs: tuple[tuple[str, ...], ...]
    watermark: int
    switch: SwitchState


class KeyedProcessor(StatefulProcessor):
    """Calls the function; Spark makes one processor for each task."""

    def __init__(self, task: StreamTask, clock: Clock | None = None) -> None:
        self._task = task
        self._clock = clock

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._backend = StoredBackend(self._task.key, self._clock)
        self._timers = self._task.function._make_timer_service(self._backend, flows=False)
        self._context = KeyedContext(self._timers)
        self._rows = [record_maker(names) for names in self._task.inputs]
        self._task.function.open(KeyedRuntimeContext(self._backend))
        self._task.function.process_record_attributes(RecordAttributes(is_backlog=False))
        self._store: ValueState = handle.getValueState(STATE, self._backend.row_type)

    def close(self) -> None:
        self._task.function.close()

    @user_frames_first
    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        """A visit of a key that has rows, or is woken up."""
        all_rows = list(rows)
        arrived = sorted((row[1], bytes(row[2])) for row in all_rows if row[2] is not None)
        packets = [Packet.read(packet) for _, packet in arrived]
        key_bytes = bytes(key[0])
        before = self._stored()
        is_first = before is None
        if is_first:
            before = self._at_switch(all_rows[0][3], key_bytes)
        watermark = self._watermark(timerValues)
        yield self._visit(key_bytes, before, packets, watermark, is_first=is_first)

    @user_frames_first
    def handleExpiredTimer(  # noqa: N802  # Spark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        """A visit of a key whose alarm has fired; Spark deletes the alarm afterwards."""
        fired = expiredTimerInfo.getExpiryTimeInMs()
        watermark = self._watermark(timerValues)
        yield self._visit(bytes(key[0]), self._stored(), [], watermark, fired=fired)

    def _stored(self) -> KeyRow | None:
        stored = self._store.get()
        return None if stored is None else KeyRow.of(stored)

    def _at_switch(self, key_group: int, key_bytes: bytes) -> KeyRow | None:
        row = self._task.switch.row(key_group, key_bytes)
        if row is None:
            return None
        return _with_alarm(replace(row, is_of_switch=True), self._task.watermark)

    def _watermark(self, values: TimerValues) -> int:
        watermark = values.getCurrentWatermarkInMs()
        return (
            self._task.watermark
            if watermark == _NO_WATERMARK
            else max(watermark, self._task.watermark)
        )

    def _visit(
        self,
        key_bytes: bytes,
        before: KeyRow | None,
        packets: list[Packet],
        watermark: int,
        *,
        is_first: bool = False,
        fired: int | None = None,
    ) -> Row:
        key = packets[0].key if packets else self._key(key_bytes)
        self._backend.load(key, key_bytes, before)
        # Timers in the state store were registered in other tasks.
        self._timers.begun(is_restored=True)
        self._context.current_key = key
        calls = FunctionCalls.of(self._task.function, self._context)
        try:
            self._call(calls, before, packets, watermark)
        except BaseException as error:
            error.add_note(f"in {type(self._task.function).__name__} for key {key!r}")
            raise
        after, writes = self._settle(before, watermark, fired, is_first=is_first)
        output = pickle.dumps((key, calls.given)) if calls.given else None
        due = min(after.timers[1], default=None)
        rows = sum(len(packet.rows) for packet in packets)
        return _VISIT(key_bytes, output, rows, calls.fired, 1, writes, due)

    def _call(
        self, calls: FunctionCalls, before: KeyRow | None, packets: list[Packet], watermark: int
    ) -> None:
        timers = self._timers
        timers.set_watermark(watermark)
        if _due_before(before, watermark):
            calls.fire(timers.due(watermark=watermark))

        def fire_by_clock(now: int) -> None:
            calls.fire(timers.due(processing_time=now))

        now = timers.current_processing_time()
        fire_by_clock(now)
        rows = chain.from_iterable(map(self._timed_rows, packets))
        calls.process(timers.between(rows, lambda: now, fire_by_clock))
        # The last row may have set timers.
        fire_by_clock(now)

    def _timed_rows(self, packet: Packet) -> Iterator[tuple[int | None, Any]]:
        """Timestamps and rows of a packet; with two inputs, rows are pairs of input and row."""
        rows: Iterable[Any] = map(self._rows[packet.number], packet.rows)
        if len(self._rows) > 1:
            rows = zip(repeat(packet.number), rows, strict=False)
        return zip(packet.timestamps, rows, strict=True)

    def _key(self, key_bytes: bytes) -> Any:
        (key,) = python_keys(decoded_keys(self._task.key, pa.array([key_bytes], pa.binary())))
        return key

    def _settle(
        self, before: KeyRow | None, watermark: int, fired: int | None, *, is_first: bool
    ) -> tuple[KeyRow, int]:
        """Stores the state of the key if it has changed; returns it and the number of writes."""
        # Spark has no alarm for a key that is not in the store.
        last = None if before is None or is_first else before.alarm
        of_switch = before is not None and before.is_of_switch
        after = _with_alarm(
            replace(self._backend.stored(), is_of_switch=of_switch), watermark, last
        )
        if last is not None and last not in (after.alarm, fired):
            self._handle.deleteTimer(last)
        if after.alarm is not None and after.alarm != last:
            self._handle.registerTimer(after.alarm)
        if after.is_empty and not of_switch:
            if before is not None:
                self._store.clear()
            return after, int(before is not None)
        if after == before and not is_first:
            return after, 0
        self._store.update(after.to_row())
        return after, 1


def _due_before(row: KeyRow | None, watermark: int) -> bool:
    """Whether a key may have event-time timers that have not fired with this watermark."""
    return row is not None and (row.watermark is None or watermark > row.watermark)


def _with_alarm(row: KeyRow, watermark: int, last: int | None = None) -> KeyRow:
    """The row with the alarm that its timers need; the last alarm stays if it comes early enough."""
    first = min(row.timers[0], default=None)
    if first is None:
        return row
    # A timer that is due already fires with the next watermark, as in Flink.
    wanted = max(first, first_alarm(watermark))
    is_early = last is not None and watermark < last <= wanted
    return replace(
        row, alarm=last if is_early else wanted, watermark=watermark if first <= watermark else None
    )
