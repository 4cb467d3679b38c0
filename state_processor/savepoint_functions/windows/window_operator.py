"""Flink's window operator, as a function over keyed rows.

Like any function it is called for rows and for timers. The window is the namespace of its state and
timers, so Flink can continue with its state.

| state                  | namespace | what it is                                                   |
|------------------------|-----------|--------------------------------------------------------------|
| ``window-contents``    | window    | elements, or what they were reduced to                       |
| ``merging-window-set`` | void      | of windows that merge: pairs of a window and that of its state |
| ``window-timers``      | window    | timers of the trigger, and one that removes the window       |

Before a row comes, timers up to its watermark fire, but only up to the watermark of the run. So
windows of a key fire as in a stream, and rows may be late. Without a watermark of the run, nothing
fires, and no row is late.

Flink: ``WindowOperator``, ``EvictingWindowOperator``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from pyspark.sql.types import StructType

from savepoint_database.types import ListStateDescriptor, Types
from savepoint_functions.functions.backends.timers import EVENT_TIME, MAX_WATERMARK, timer_states
from savepoint_functions.functions.keyed_runtime_context import WINDOW_TIMERS
from savepoint_functions.functions.outputs import LEFT_OUT, OutputTag
from savepoint_functions.functions.process_functions import KeyedProcessFunction
from savepoint_functions.windows.evictors import TimestampedValue
from savepoint_functions.windows.window_functions import (
    WindowContext,
    WindowStateStore,
    registered_states,
)
from savepoint_functions.windows.window_state import (
    MergingWindowSet,
    TriggerContext,
    WindowTimer,
    WindowTimerService,
    merge_namespaces,
)
from savepoint_spark.bootstrapping import CONTENTS, MERGING_SET
from savepoint_spark.columns import task_columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_functions.functions.backends import KeyedStateBackend, TimerService
    from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
    from savepoint_functions.functions.process_functions import KeyedContext
    from savepoint_functions.windows.triggers import Trigger, TriggerResult
    from savepoint_functions.windows.window_assigners import Window, WindowAssigner
    from savepoint_functions.windows.window_contents import WindowContents
    from savepoint_functions.windows.window_functions import ProcessWindowFunction
    from savepoint_functions.windows.window_state import MergedWindows
    from savepoint_spark.reading import ListState, OutputRow, State


@dataclass(frozen=True)
class RowTimes:
    """The time of each row, and the watermark before it.

    Without ``columns`` rows come in the order of their timestamps, and the watermark of each is
    ``out_of_orderness_ms`` and 1 ms behind. ``columns`` are the places of the columns with both, in
    ms; rows then come in any order. ``in_stream`` means that rows bring no watermark.
    """

    out_of_orderness_ms: int = 0
    columns: tuple[int, int] | None = None
    in_stream: bool = False

    def of(self, row: Any, timestamp: int | None) -> tuple[int | None, int | None]:
        """The timestamp and the watermark of a row, each None if it has none."""
        if self.columns is not None:
            time, watermark = self.columns
            return row[time], row[watermark]
        if timestamp is None or self.in_stream:
            return timestamp, None
        return timestamp, timestamp - self.out_of_orderness_ms - 1


@dataclass(frozen=True)
class Windowing:
    """How elements become windows, and when windows fire and end.

    ``element`` is the place of the column of the elements; None for whole rows.
    """

    assigner: WindowAssigner
    trigger: Trigger
    is_processing_time: bool = False
    allowed_lateness_ms: int = 0
    late: OutputTag | None = None
    times: RowTimes = RowTimes()  # it is frozen
    element: int | None = None

    @property
    def is_event_time(self) -> bool:
        return self.assigner.has_time and not self.is_processing_time


class WindowOperator(KeyedProcessFunction):
    """Windows of rows, their trigger, their contents and their function."""

    fired_timers = WINDOW_TIMERS
    fires_by_itself = True

    def __init__(
        self,
        windowing: Windowing,
        contents: WindowContents,
        function: ProcessWindowFunction,
        left_out: OutputTag | None = None,
    ) -> None:
        self._windowing = windowing
        self._assigner, self._trigger = windowing.assigner, windowing.trigger
        self._is_event_time = windowing.is_event_time
        self._contents, self._function = contents, function
        late = [tag for tag in (windowing.late, left_out) if tag is not None]
        # The first tag takes late rows; the other one then has none.
        self._late = late[0] if late else None
        self.side_outputs = (*late, *function.side_outputs)  # type: ignore[misc]  # those of its parts

    def with_left_out(self, schema: StructType) -> Self:
        """The operator with a side output for late rows that no other side output takes."""
        left_out = OutputTag(LEFT_OUT, task_columns(schema))
        return type(self)(self._windowing, self._contents, self._function, left_out)

    def _make_timer_service(
        self, backend: KeyedStateBackend, *, flows: bool
    ) -> TimerService:  # event time of windows always flows
        return WindowTimerService(backend, self.fired_timers, self._assigner.window_type.layout)

    def _in_stream(self) -> Self:
        in_stream = replace(self._windowing, times=RowTimes(in_stream=True))
        return type(self)(in_stream, self._contents, self._function)

    def _expect_watermark(self, out_of_orderness_ms: int) -> None:
        times = self._windowing.times
        if times.columns is not None:
            raise ValueError(
                "a backlog and its stream have one watermark, made of timestamps: leave out"
                " in_order_of_arrival"
            )
        if self._is_event_time and times.out_of_orderness_ms != out_of_orderness_ms:
            raise ValueError(
                f"windows are {times.out_of_orderness_ms} ms behind their rows, and the job"
                f" {out_of_orderness_ms} ms: add bounded_out_of_orderness({out_of_orderness_ms})"
            )

    def open(self, runtime_context: KeyedRuntimeContext) -> None:
        window, function = self._assigner.window_type, self._function
        timers = timer_states(self.fired_timers).values()
        runtime_context.namespaces.update(dict.fromkeys(timers, window))
        contents = registered_states(runtime_context, [self._contents.descriptor], window)
        self._state: State = contents[CONTENTS]
        self._context = TriggerContext(
            registered_states(runtime_context, self._trigger.descriptors, window)
        )
        if self._assigner.is_merging:
            pair = Types.TUPLE([Types.TIME_WINDOW(), Types.TIME_WINDOW()])
            self._pairs: ListState = runtime_context.get_list_state(
                ListStateDescriptor(MERGING_SET, pair)
            )
        of_window = registered_states(runtime_context, function.window_states, window)
        of_key = registered_states(runtime_context, function.global_states, None)
        self._window_context = WindowContext(
            WindowStateStore(of_window, "window_states"), WindowStateStore(of_key, "global_states")
        )
        function.open(runtime_context)
        # The key, and the watermark that its timers have fired with.
        self._reached: tuple[Any, int] | None = None

    def close(self) -> None:
        self._function.close()

    def process_element(self, value: Any, context: KeyedContext) -> Iterable[OutputRow]:
        """Rows of the windows that fire before a row, or by it."""
        self._begin(context)
        timestamp, watermark = self._windowing.times.of(value, context.timestamp)
        if watermark is not None:
            self._advance(watermark)
        place = self._windowing.element
        element = TimestampedValue(timestamp, value if place is None else value[place])
        windows = self._assigner.windows_of(self._time(timestamp), value)
        add = self._add_to_merging if self._assigner.is_merging else self._add_to_plain
        if not add(windows, element) and self._late is not None and self._is_late(timestamp):
            context.output(self._late, self._late_row(value))
        return self._given

    def _late_row(self, row: Any) -> Any:
        """The row with the columns that the side output has; a tag of the user has the row's."""
        tag = self._late
        if tag is None or tag.name != LEFT_OUT or not isinstance(tag.schema, StructType):
            return row
        return {name: row[name] for name in tag.schema.names}

    def on_timer(self, timestamp: int, context: KeyedContext) -> Iterable[OutputRow]:
        """Rows of the window of a timer."""
        self._begin(context)
        self._fire(context.time_domain, timestamp)
        return self._given

    def _begin(self, context: KeyedContext) -> None:
        self._given: list[OutputRow] = []
        self._keyed = context
        self._context.timers = self._timers = context.timer_service

    def _advance(self, watermark: int) -> None:
        """Fires timers that a row's watermark reaches, if it is a new one for the key.

        As in Flink, a timer that is due when it is registered waits for the next watermark.
        """
        of_key = self._keyed.current_key, watermark
        if of_key != self._reached:
            key, before = self._reached or of_key
            if key == of_key[0] and watermark < before:
                raise ValueError(
                    f"the watermark goes back from {before} to {watermark}: rows are not in the order"
                    " in which they have arrived"
                )
            self._reached = of_key
            last = self._timers.last_watermark
            if last is None:
                return
            self._timers.set_watermark(min(watermark, last))
            for domain, timer in self._timers.due(watermark=min(watermark, last)):
                self._fire(domain, timer)

    def _fire(self, domain: str | None, timer: int) -> None:
        assert isinstance(timer, WindowTimer)  # it makes the timer service by itself
        window = self._assigner.window(timer.namespace)
        merging = self._merging()
        state_window = window if merging is None else merging.state_window(window)
        if state_window is None:
            # The window was merged into another one.
            return
        is_event = domain == EVENT_TIME
        call = self._trigger.on_event_time if is_event else self._trigger.on_processing_time
        self._follow(call(int(timer), window, self._at(window)), window, state_window)
        if is_event == self._is_event_time and timer == self._cleanup_time(window):
            self._clear(window, state_window)
            if merging is not None:
                merging.retire(window)
        if merging is not None:
            merging.persist()

    def _add_to_plain(self, windows: Iterable[Window], element: TimestampedValue) -> bool:
        """Adds an element to its windows; False if all of them are late."""
        is_added = False
        for window in windows:
            if not self._is_window_late(window):
                is_added = True
                self._add(window, window, element)
        return is_added

    def _add_to_merging(self, windows: Iterable[Window], element: TimestampedValue) -> bool:
        """Adds an element to windows that merge with existing ones."""
        is_added = False
        merging = MergingWindowSet(self._pairs)
        for new in windows:
            window, merged = merging.add(new)
            if merged is not None:
                self._merge(merged)
            if self._is_window_late(window):
                merging.retire(window)
                continue
            is_added = True
            self._add(window, merging.state_window(window), element)
        merging.persist()
        return is_added

    def _merge(self, merged: MergedWindows) -> None:
        window = merged.window
        self._expect_alive(window)
        self._context.merged = merged.merged
        self._trigger.on_merge(window, self._at(window))
        for gone in merged.merged:
            self._trigger.clear(gone, self._at(gone))
            self._set_cleanup(gone, is_deleted=True)
        merge_namespaces(self._state, merged.target, merged.sources)

    def _add(self, window: Window, state_window: Any, element: TimestampedValue) -> None:
        self._state.set_current_namespace(state_window)
        self._contents.add(self._state, element)
        time, value = element
        result = self._trigger.on_element(value, time, window, self._at(window))
        self._follow(result, window, state_window)
        self._set_cleanup(window)

    def _follow(self, result: TriggerResult, window: Window, state_window: Any) -> None:
        self._state.set_current_namespace(state_window)
        if result.is_fire:
            self._contents.fire(self._state, window, self._process)
        if result.is_purge:
            self._state.clear()

    def _process(self, window: Window, elements: list[Any]) -> None:
        context = self._window_context.at(window, self._keyed)
        self._given += self._function.process(self._keyed.current_key, context, elements) or ()

    def _clear(self, window: Window, state_window: Any) -> None:
        self._state.set_current_namespace(state_window)
        self._state.clear()
        self._trigger.clear(window, self._at(window))
        self._function.clear(self._window_context.at(window, self._keyed))

    def _merging(self) -> MergingWindowSet | None:
        return MergingWindowSet(self._pairs) if self._assigner.is_merging else None

    def _at(self, window: Window) -> TriggerContext:
        self._context.window = window
        return self._context

    def _time(self, timestamp: int | None) -> int:
        if not self._is_event_time:
            return self._timers.current_processing_time()
        if timestamp is None:
            raise ValueError(
                "a row has no timestamp, which windows of event time need: add"
                " assign_timestamps('at'), or is_processing_time=True"
            )
        return timestamp

    def _cleanup_time(self, window: Window) -> int:
        lateness = self._windowing.allowed_lateness_ms if self._is_event_time else 0
        return min(window.max_timestamp() + lateness, MAX_WATERMARK)

    def _set_cleanup(self, window: Window, *, is_deleted: bool = False) -> None:
        """Registers, or deletes, the timer that removes a window; an endless window has none."""
        time, timers = self._cleanup_time(window), self._at(window)
        if time == MAX_WATERMARK:
            return
        change = timers._delete if is_deleted else timers._register
        change(time, is_event_time=self._is_event_time)

    def _is_window_late(self, window: Window) -> bool:
        return (
            self._is_event_time and self._cleanup_time(window) <= self._timers.current_watermark()
        )

    def _is_late(self, timestamp: int | None) -> bool:
        if not self._is_event_time or timestamp is None:
            return False
        lateness = self._windowing.allowed_lateness_ms
        return timestamp + lateness <= self._timers.current_watermark()

    def _expect_alive(self, window: Window) -> None:
        """Raises ``ValueError`` if merging has made a window that has ended already."""
        if self._is_event_time:
            is_over = self._is_window_late(window)
        else:
            is_over = window.max_timestamp() <= self._timers.current_processing_time()
        if is_over:
            raise ValueError(
                f"windows were merged into {window}, which has ended by the watermark"
                f" {self._timers.current_watermark()} or the clock: Flink refuses this as well"
            )
