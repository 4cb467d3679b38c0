"""Windows by hand: what one run leaves two runs leave, with every backend; and what is refused."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.run_by_hand import entries_of, left_by

from savepoint_formats.errors import EndlessTimersError
from savepoint_functions.functions.backends.in_memory import SingleKeyBackend
from savepoint_functions.functions.execution_options import ExecutionOptions
from savepoint_functions.functions.function_calls import FunctionCalls
from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
from savepoint_functions.functions.process_functions import KeyedContext
from savepoint_functions.windows.evictors import CountEvictor, TimeEvictor
from savepoint_functions.windows.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    EventTimeTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TriggerResult,
)
from savepoint_functions.windows.window_assigners import (
    GlobalWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
)
from savepoint_functions.windows.window_contents import (
    evicted,
    of_aggregation,
    of_elements,
    of_reduction,
)
from savepoint_functions.windows.window_functions import ProcessWindowFunction
from savepoint_functions.windows.window_operator import RowTimes, Windowing, WindowOperator
from savepoint_spark.reading.functions import GlobalWindow, TimeWindow
from state_processor import Types, ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_functions.windows.triggers import Trigger
    from savepoint_functions.windows.window_assigners import WindowAssigner
    from savepoint_functions.windows.window_contents import WindowContents

LONG, WINDOW = Types.LONG(), TimeWindow(0, 10)
PAIR = Types.TUPLE([LONG, LONG])
WAYS = [ExecutionOptions(state_backend=name) for name in ("single_key", "rocksdb")]

# Rows of the columns key, at, watermark and number.
TIMES = RowTimes(columns=(1, 2))


class Mean:
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: Any) -> tuple[int, int]:
        total, count = parts(accumulator)
        return total + value, count + 1

    def get_result(self, accumulator: Any) -> float:
        total, count = parts(accumulator)
        return total / count

    def merge(self, one: Any, other: Any) -> tuple[int, int]:
        return parts(one)[0] + parts(other)[0], parts(one)[1] + parts(other)[1]


def parts(accumulator: Any) -> tuple[int, int]:
    values = accumulator.values() if isinstance(accumulator, dict) else accumulator
    total, count = values
    return total, count


class Recorded(ProcessWindowFunction):
    """Writes down what it is called for."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def process(self, key: Any, context: Any, elements: list[Any]) -> Iterator[Any]:
        self.calls.append((key, context.window(), context.current_watermark(), list(elements)))
        return iter(())


def windows(
    assigner: WindowAssigner,
    contents: WindowContents,
    trigger: Trigger | None = None,
    **settings: Any,
) -> tuple[WindowOperator, Recorded]:
    function = Recorded()
    windowing = Windowing(
        assigner, trigger or EventTimeTrigger(), times=TIMES, element=3, **settings
    )
    return WindowOperator(windowing, contents, function), function


ALL = of_elements(LONG)
SUM = of_reduction(operator.add, LONG)
MEAN = of_aggregation(Mean(), PAIR)
CASES = {
    "tumbling": lambda: windows(TumblingWindows(10), ALL, allowed_lateness_ms=5),
    "sliding": lambda: windows(SlidingWindows(10, 5), SUM),
    "session": lambda: windows(SessionWindows(6), MEAN, allowed_lateness_ms=3),
    "continuous": lambda: windows(SessionWindows(6), SUM, ContinuousEventTimeTrigger.of(4)),
    "count": lambda: windows(GlobalWindows(), SUM, PurgingTrigger.of(CountTrigger.of(3))),
    "evicted": lambda: windows(
        GlobalWindows(), evicted(ALL, CountEvictor.of(2), LONG), CountTrigger.of(3)
    ),
    "evicted after": lambda: windows(
        SessionWindows(6), evicted(MEAN, TimeEvictor.of(4, do_evict_after=True), LONG)
    ),
}
ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 60), st.integers(0, 3)), min_size=2, max_size=50
)


def rows_of(given_rows: list[tuple[int, int, int]]) -> list[Mapping[str, Any]]:
    """Rows with watermarks that grow."""
    watermark = -(2**63)
    rows: list[Mapping[str, Any]] = []
    for number, (key, at, step) in enumerate(given_rows):
        rows.append({"key": key, "at": at, "watermark": watermark, "number": number})
        watermark = max(watermark, at - 10 * step)
    return rows


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("case", CASES)
@settings(
    max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(given_rows=ROWS, cut=st.integers(1, 49), way=st.sampled_from(WAYS))
def test_two_runs_fire_and_leave_what_one_does(
    tmp_path_factory: pytest.TempPathFactory,
    case: str,
    given_rows: list[tuple[int, int, int]],
    cut: int,
    way: ExecutionOptions,
) -> None:
    folder, rows = tmp_path_factory.getbasetemp(), rows_of(given_rows)
    first, second = rows[:cut], rows[cut:]
    reached = rows[-1]["watermark"]
    at_once, of_one = CASES[case]()
    whole = left_by(at_once, rows, way, folder, watermark=reached)
    begun, of_first = CASES[case]()
    before = left_by(
        begun, first, ExecutionOptions(), folder, watermark=rows[len(first) - 1]["watermark"]
    )
    gone_on, of_second = CASES[case]()
    after = left_by(gone_on, second, way, folder, before, watermark=reached)
    assert by_key(of_first.calls + of_second.calls) == by_key(of_one.calls)
    assert without_targets(entries_of(after)) == without_targets(entries_of(whole))


def by_key(calls: list[tuple[Any, ...]]) -> dict[Any, list[Any]]:
    """The windows and elements of the calls of each key, in their order."""
    return {key: [call[1::2] for call in calls if call[0] == key] for key, *_ in calls}


def without_targets(entries: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Entries, with the pairs of windows in one order."""
    return sorted(
        (*entry[:3], b"".join(sorted(entry[3].split(b","))))
        if entry[0] == "merging-window-set"
        else entry
        for entry in entries
    )


def test_a_late_row_fires_its_window_again_until_that_is_gone(tmp_path: Any) -> None:
    function, recorded = windows(TumblingWindows(10), ALL, allowed_lateness_ms=5)
    times = [(1, -1), (2, 9), (3, 13), (4, 14), (11, 14)]
    rows = [{"key": 1, "at": at, "watermark": watermark, "number": at} for at, watermark in times]
    left_by(function, rows, ExecutionOptions(), tmp_path, watermark=14)
    assert recorded.calls == [
        (1, WINDOW, 9, [1]),
        (1, WINDOW, 9, [1, 2]),
        (1, WINDOW, 13, [1, 2, 3]),
    ]


def test_sessions_that_a_row_joins_become_one(tmp_path: Any) -> None:
    function, recorded = windows(SessionWindows(5), SUM)
    times = [(0, -1), (9, -1), (4, -1), (30, 20)]
    rows = [{"key": 1, "at": at, "watermark": watermark, "number": 1} for at, watermark in times]
    left_by(function, rows, ExecutionOptions(), tmp_path, watermark=20)
    assert recorded.calls == [(1, TimeWindow(0, 14), 20, [3])]


def test_windows_fire_up_to_the_watermark_of_the_run_whatever_rows_bring(tmp_path: Any) -> None:
    for reached, expected in ((None, 0), (8, 0), (9, 1), (18, 1), (19, 2), (2**63 - 1, 10)):
        function, recorded = windows(TumblingWindows(10), ALL)
        rows = [{"key": 1, "at": at, "watermark": at - 1, "number": at} for at in range(100)]
        left = left_by(function, rows, ExecutionOptions(), tmp_path, watermark=reached)
        assert [elements[0] for *_, elements in recorded.calls] == [*range(0, expected * 10, 10)]
        stored = [entry for entry in entries_of(left) if entry[0] == "window-contents"]
        assert len(stored) == 10 - expected


def test_the_watermark_of_a_key_is_not_that_of_the_key_before(tmp_path: Any) -> None:
    function, _ = windows(TumblingWindows(10), ALL)
    rows = [{"key": key, "at": 3, "watermark": 2, "number": 1} for key in range(8)]
    before = left_by(function, rows, ExecutionOptions(), tmp_path, tasks=1)
    function, recorded = windows(TumblingWindows(10), ALL)
    rows = [{"key": 1, "at": 95, "watermark": 94, "number": 1}]
    left_by(function, rows, ExecutionOptions(), tmp_path, before, tasks=1, watermark=94)
    others = {watermark for key, _, watermark, _ in recorded.calls if key != 1}
    assert (len(recorded.calls), others) == (8, {9})


def fired_at_the_end(assigner: WindowAssigner, trigger: Trigger, folder: Any) -> int:
    """How often a window of one row fires when the last watermark comes with another key's row."""
    function, recorded = windows(assigner, SUM, trigger)
    rows = [
        {"key": 1, "at": at, "watermark": watermark, "number": 1}
        for at, watermark in ((0, -1), (30_000, 2**63 - 1))
    ]
    left_by(function, rows, ExecutionOptions(), folder, watermark=2**63 - 1)
    return len(recorded.calls)


@pytest.mark.usefixtures("slow")
def test_at_the_end_of_time_a_window_fires_for_each_interval_it_has(tmp_path: Any) -> None:
    each = ContinuousEventTimeTrigger.of(1)
    assert fired_at_the_end(TumblingWindows(20_000), each, tmp_path) == 19_999
    with pytest.raises(EndlessTimersError, match="registered 10000 timers"):
        fired_at_the_end(GlobalWindows(), each, tmp_path)


def test_a_trigger_that_sets_the_same_timer_again_never_ends(tmp_path: Any) -> None:
    class Again(EventTimeTrigger):
        def on_event_time(self, time: int, window: Any, context: Any) -> TriggerResult:
            context.register_event_time_timer(time)
            return TriggerResult.CONTINUE

        def clear(self, window: Any, context: Any) -> None:
            """Leaves the timer."""

    with pytest.raises(EndlessTimersError, match="the last one at 9"):
        fired_at_the_end(TumblingWindows(10), Again(), tmp_path)


def test_a_row_without_a_timestamp_has_no_window_of_event_time(tmp_path: Any) -> None:
    function = WindowOperator(Windowing(TumblingWindows(10), EventTimeTrigger()), ALL, Recorded())
    with pytest.raises(ValueError, match="has no timestamp"):
        left_by(function, [{"key": 1}], ExecutionOptions(), tmp_path)


def test_a_watermark_that_goes_back_is_an_error(tmp_path: Any) -> None:
    function, _ = windows(TumblingWindows(10), ALL)
    rows = [{"key": 1, "at": 5, "watermark": watermark, "number": 1} for watermark in (4, 3)]
    with pytest.raises(ValueError, match="goes back from 4 to 3"):
        left_by(function, rows, ExecutionOptions(), tmp_path)


class ByClock:
    """A window operator at one key, whose clock a test sets."""

    def __init__(self, assigner: WindowAssigner, trigger: Trigger, **settings: Any) -> None:
        self.now, self.recorded = 0, Recorded()
        windowing = Windowing(assigner, trigger, is_processing_time=True, **settings)
        function = WindowOperator(windowing, ALL, self.recorded)
        backend = SingleKeyBackend(LONG.layout, lambda: self.now)
        self.timers = function._make_timer_service(backend, flows=True)
        function.open(KeyedRuntimeContext(backend))
        backend.set_current_key(1, b"1")
        context = KeyedContext(self.timers)
        context.current_key = 1
        self._calls = FunctionCalls.of(function, context)

    def at(self, now: int, *rows: int) -> list[tuple[Any, list[int]]]:
        """Fires what the clock has reached, and brings rows; the windows that have fired."""
        self.now = now
        self._calls.fire(self.timers.due(processing_time=now))
        self._calls.process((None, row) for row in rows)
        fired = [(window.end, elements) for _, window, _, elements in self.recorded.calls]
        self.recorded.calls.clear()
        return fired


def test_windows_of_the_clock_fire_at_their_end_by_one_timer() -> None:
    clock = ByClock(TumblingWindows(10), ProcessingTimeTrigger(), allowed_lateness_ms=5)
    assert clock.at(2, 1) == clock.at(7, 2) == clock.at(8) == []
    assert clock.timers.processing_time_timers() == [9]
    assert clock.at(12, 3) == [(10, [1, 2])]
    assert clock.timers.processing_time_timers() == [19]
    assert clock.at(30) == [(20, [3])]
    assert clock.timers.processing_time_timers() == []


def test_sessions_of_the_clock_merge() -> None:
    clock = ByClock(SessionWindows(5), ProcessingTimeTrigger())
    assert clock.at(2, 1) == clock.at(5, 2) == []
    assert clock.timers.processing_time_timers() == [9]
    assert clock.at(9) == [(10, [1, 2])]


def test_a_continuous_trigger_of_the_clock_fires_at_each_interval_and_at_the_end() -> None:
    clock = ByClock(TumblingWindows(10), ContinuousProcessingTimeTrigger.of(4))
    assert clock.at(1, 1) == []
    assert clock.at(5, 2) == [(10, [1])]
    assert clock.at(8, 3) == [(10, [1, 2])]
    assert clock.at(9) == [(10, [1, 2, 3])]
    assert clock.timers.processing_time_timers() == []


def test_states_of_windows_and_triggers_are_named_before(tmp_path: Any) -> None:
    class Unnamed(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: list[Any]) -> None:
            context.window_state().get_state(ValueStateDescriptor("seen", LONG))

    windowing = Windowing(GlobalWindows(), CountTrigger.of(1))
    with pytest.raises(ValueError, match="add its descriptor to window_states"):
        left_by(
            WindowOperator(windowing, ALL, Unnamed()), [{"key": 1}], ExecutionOptions(), tmp_path
        )


def test_windows_of_one_row_are_those_of_the_column() -> None:
    assert TumblingWindows(10, 3).windows_of(-1, None) == [TimeWindow(-7, 3)]
    assert SlidingWindows(10, 4).windows_of(9, None) == [
        TimeWindow(8, 18),
        TimeWindow(4, 14),
        WINDOW,
    ]
    assert SessionWindows(10).windows_of(0, None) == [WINDOW]
    assert GlobalWindows().windows_of(5, None) == [GlobalWindow()]
