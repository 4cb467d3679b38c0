"""Window functions beside Flink's window operator: each firing, line by line.

Rows and watermarks are random, so that some rows are late. Three runs must have one trace: Flink from
nothing; a run of ours, then Flink that restores what it left; and two runs of ours.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from support.flink_restore import LATEST, RELEASES, FlinkRestore, Operator, TimeWindows
from support.sample_rows import tables_of

from state_processor import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeTrigger,
    Evictor,
    GlobalWindows,
    OperatorTransformation,
    OutputTag,
    ProcessWindowFunction,
    PurgingTrigger,
    ReducingStateDescriptor,
    Savepoint,
    SessionWindows,
    SlidingWindows,
    TimeEvictor,
    Trigger,
    TumblingWindows,
    Types,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from savepoint_functions.transformations.function_result import FunctionResult
    from savepoint_functions.transformations.windowed_rows import WindowFunctionRows
    from savepoint_functions.windows.window_assigners import WindowAssigner
    from state_processor import Operator as StoredOperator

    Event = tuple[int, ...]
    Line = tuple[Any, ...]

SIZE, KEYS, ROWS = 40, 3, 150
NO_WATERMARK, END = -(2**63), 2**63 - 1
LATE = OutputTag("late", "n BIGINT, at BIGINT, key BIGINT, watermark BIGINT, arrival BIGINT")
SCHEMA = "key BIGINT, all BIGINT, start BIGINT, end BIGINT, fired BIGINT, contents ARRAY<BIGINT>"


@dataclass(frozen=True)
class Case:
    """Windows in the words of ``WindowTrace.java``."""

    assigner: str
    contents: str = "process"
    lateness: int = 0
    trigger: str = ""
    evictor: str = ""
    size: int = SIZE

    @property
    def uid(self) -> str:
        words = (self.assigner, self.contents, str(self.lateness), self.trigger, self.evictor)
        return "-".join(words).replace(" ", "_")

    def in_flink(self, events: Sequence[Event]) -> Operator:
        windows = TimeWindows(
            self.assigner,
            self.size,
            self.contents,
            "LONG",
            self.lateness,
            self.trigger,
            self.evictor,
        )
        return Operator(self.uid, key="LONG", windows=windows).tracing(events)

    def here(
        self, spark: SparkSession, events: Sequence[Event], *, is_sorted: bool = True
    ) -> WindowFunctionRows:
        rows = spark.createDataFrame(
            rows_of(events), "n BIGINT, at BIGINT, key BIGINT, watermark BIGINT, arrival BIGINT"
        )
        keyed = OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("key")
        windows = (
            keyed.with_options({"execution.sorted-inputs.enabled": is_sorted})
            .window(assigner_of(self.assigner, self.size), allowed_lateness_ms=self.lateness)
            .side_output_late_data(LATE)
        )
        if is_sorted:
            windows = windows.in_order_of_arrival("arrival", "watermark")
        if self.trigger:
            windows = windows.trigger(trigger_of(self.trigger.split()))
        if self.evictor:
            windows = windows.evictor(evictor_of(self.evictor.split()))
        function = trace_function(is_merging=self.assigner == "session")
        if self.contents == "reduce":
            return windows.reduce(lambda one, other: one + other, Types.LONG(), "n", function)
        return windows.process(function, Types.LONG(), "n")


CASES = (
    Case("tumbling"),
    Case("tumbling", "reduce", lateness=25),
    Case("sliding", "reduce", lateness=10),
    Case("sliding", evictor="count 2"),
    Case("session"),
    Case("session", "reduce", lateness=30),
    Case("session", trigger="count 3"),
    Case("session", trigger="continuous 15 purging", lateness=5),
    Case("session", evictor="time 30 after"),
    Case("tumbling", trigger="continuous 15", lateness=12),
    Case("tumbling", trigger="event purging", lateness=25),
    Case("tumbling", "reduce", trigger="count 2 purging"),
    Case("tumbling", trigger="delta 20", evictor="delta 25"),
    Case("global", trigger="count 4 purging"),
    Case("global", "reduce", trigger="count 3", evictor="count 5"),
    Case("global", trigger="count 3", evictor="time 60 after"),
)


def assigner_of(word: str, size: int) -> WindowAssigner:
    assigners = {
        "tumbling": TumblingWindows(size),
        "sliding": SlidingWindows(size, size // 2),
        "session": SessionWindows(size),
        "global": GlobalWindows(),
    }
    return assigners[word]


def trigger_of(words: list[str]) -> Trigger:
    match words:
        case [*nested, "purging"]:
            return PurgingTrigger.of(trigger_of(nested))
        case ["count", number]:
            return CountTrigger.of(int(number))
        case ["continuous", number]:
            return ContinuousEventTimeTrigger.of(int(number))
        case ["delta", number]:
            return DeltaTrigger.of(float(number), lambda older, newer: newer - older, Types.LONG())
        case _:
            return EventTimeTrigger()


def evictor_of(words: list[str]) -> Evictor:
    kind, number, *when = words
    is_after = when == ["after"]
    match kind:
        case "count":
            return CountEvictor.of(int(number), do_evict_after=is_after)
        case "time":
            return TimeEvictor.of(int(number), do_evict_after=is_after)
        case _:
            return DeltaEvictor.of(
                int(number), lambda element, last: last - element, do_evict_after=is_after
            )


def trace_function(*, is_merging: bool) -> ProcessWindowFunction:
    """A function that goes to workers as a whole, because they don't find this module."""
    add = lambda one, other: one + other  # noqa: E731  # it is pickled with the function
    fired = ReducingStateDescriptor("times-fired", Types.LONG(), add)
    of_key = ReducingStateDescriptor("of-key", Types.LONG(), add)

    class Trace(ProcessWindowFunction):
        window_states = () if is_merging else (fired,)
        global_states = (of_key,)

        def process(self, key: Any, context: Any, elements: list[Any]) -> Iterator[Any]:
            everything = context.global_state().get_reducing_state(of_key)
            everything.add(1)
            times, window = None, context.window()
            if not is_merging:
                state = context.window_state().get_reducing_state(fired)
                state.add(1)
                times = state.get()
            span = getattr(window, "start", None), getattr(window, "end", None)
            yield key, everything.get(), *span, times, list(elements)

        def clear(self, context: Any) -> None:
            if not is_merging:
                context.window_state().get_reducing_state(fired).clear()

    return Trace()


def random_events(seed: int) -> list[Event]:
    """Pairs of time and number, and watermarks."""
    chance = random.Random(seed)
    events: list[Event] = []
    now = greatest = 0
    for number in range(ROWS):
        now += chance.choice([0, 1, 3, 9, 9, 70 if chance.random() < 0.1 else 2])
        time = max(now - chance.choice([0, 0, 5, 20, 60]), 0)
        events.append((time, number + chance.randrange(0, 60, KEYS)))
        greatest = max(greatest, time)
        if chance.random() < 0.6:
            events.append((greatest - 5,))
    return events


def rows_of(events: Sequence[Event]) -> list[tuple[int, ...]]:
    """The rows with the watermark that was there when each arrived."""
    watermark = NO_WATERMARK
    rows: list[tuple[int, ...]] = []
    for place, event in enumerate(events):
        if len(event) == 1:
            (watermark,) = event
        else:
            time, number = event
            rows.append((number, time, number % KEYS, watermark, place))
    return rows


EVENTS = random_events(7)
HALF = next(place for place, event in enumerate(EVENTS) if len(event) == 1 and place > ROWS // 2)
WATERMARK = EVENTS[HALF][0]
# The second half begins with the watermark of the first.
FIRST, SECOND = EVENTS[: HALF + 1], EVENTS[HALF:]


def lines_of(result: FunctionResult) -> tuple[list[Line], list[Line]]:
    """The firings in the order of each key, and the late rows."""
    fired = [
        (row[0], row[1], row[2], row[3], row[4], tuple(row[5])) for row in result.output.collect()
    ]
    late = [(row.key, row.n) for row in result.side_output(LATE).collect()]
    return sorted(fired), sorted(late)


def traced(rows: Any) -> tuple[list[Line], list[Line]]:
    """Firings in an answer of Flink."""
    lines = [line for of_key in rows.values() for line in of_key]
    fired, late = [], []
    for line in lines:
        if "late" in line:
            late.append((line["key"], line["late"]))
            continue
        window = line["window"]
        start, end = (None, None) if window == "global" else window
        contents = tuple(line["contents"])
        fired.append((line["key"], line["all"], start, end, line["fired"], contents))
    return sorted(fired), sorted(late)


@dataclass(frozen=True)
class Halves:
    """The savepoint of the first half, its trace by uid, and that of the second half."""

    path: str
    first: dict[str, tuple[list[Line], list[Line]]]
    second: dict[str, tuple[list[Line], list[Line]]]


def ran(
    spark: SparkSession,
    case: Case,
    events: Sequence[Event],
    watermark: int,
    initial: StoredOperator | None = None,
) -> FunctionResult:
    return case.here(spark, events).run(SCHEMA, initial=initial, watermark=watermark)


@pytest.fixture(scope="module")
def halves(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Halves:
    path = str(tmp_path_factory.mktemp("windows") / "savepoint")
    writer, first, second = Savepoint.create(spark, parallelism=2), {}, {}
    for case in CASES:
        result = ran(spark, case, FIRST, WATERMARK)
        first[case.uid] = lines_of(result)
        writer = writer.with_operator(case.uid, result.state)
    writer.write(path)
    savepoint = Savepoint.load(spark, path, uids=[case.uid for case in CASES])
    for case in CASES:
        result = ran(spark, case, SECOND, END, savepoint.operator(case.uid))
        second[case.uid] = lines_of(result)
    return Halves(path, first, second)


def both(one: tuple[list[Line], list[Line]], other: tuple[list[Line], list[Line]]) -> Any:
    return sorted(one[0] + other[0]), sorted(one[1] + other[1])


@pytest.mark.parametrize(
    ("flink", "backend"),
    [(RELEASES[-1], "hashmap"), (RELEASES[0], "rocksdb"), (LATEST, "hashmap")],
)
def test_every_firing_is_that_of_flink(
    flink_restore: FlinkRestore, halves: Halves, flink: str, backend: str
) -> None:
    whole = flink_restore(
        None,
        *(case.in_flink(EVENTS) for case in CASES),
        flink=flink,
        backend=backend,
        parallelism=1,
        ends=True,
    )
    gone_on = flink_restore(
        halves.path,
        *(case.in_flink(SECOND) for case in CASES),
        flink=flink,
        backend=backend,
        parallelism=2,
        ends=True,
    )
    for case in CASES:
        expected = traced(whole.trace(case.uid))
        assert len(expected[0]) > 10, case
        assert both(halves.first[case.uid], halves.second[case.uid]) == expected, case
        assert both(halves.first[case.uid], traced(gone_on.trace(case.uid))) == expected, case
    assert any(traced(whole.trace(case.uid))[1] for case in CASES)


def test_windows_of_flink_go_on_here(
    spark: SparkSession, flink_restore: FlinkRestore, tmp_path: Path
) -> None:
    begun = [case.in_flink(FIRST) for case in CASES]
    first = flink_restore(None, *begun, parallelism=1, resave=tmp_path)
    assert first.savepoint is not None
    whole = [case.in_flink(EVENTS) for case in CASES]
    expected = flink_restore(None, *whole, parallelism=1, ends=True)
    savepoint = Savepoint.load(spark, first.savepoint, uids=[case.uid for case in CASES])
    for case in CASES:
        result = ran(spark, case, SECOND, END, savepoint.operator(case.uid))
        trace = both(traced(first.trace(case.uid)), lines_of(result))
        assert trace == traced(expected.trace(case.uid)), case


def test_rows_beyond_the_watermark_fire_nothing_and_become_state(
    spark: SparkSession, flink_restore: FlinkRestore, tmp_path: Path
) -> None:
    cases = CASES[1:8:3]
    # All rows come, but the watermark stops.
    events = [event for event in EVENTS if len(event) > 1 or event[0] <= WATERMARK]
    begun = [case.in_flink(events) for case in cases]
    theirs = flink_restore(None, *begun, parallelism=1, resave=tmp_path)
    writer = Savepoint.create(spark, parallelism=1)
    for case in cases:
        result = ran(spark, case, EVENTS, WATERMARK)
        assert lines_of(result) == traced(theirs.trace(case.uid)), case
        writer = writer.with_operator(case.uid, result.state)
    writer.write(str(tmp_path / "ours"))
    uids = [case.uid for case in cases]
    expected = tables_of(theirs.savepoint or "", uids)
    ours = tables_of(str(tmp_path / "ours"), uids)
    assert all(expected[f"{uid}.window_state"] for uid in uids)
    assert {name: expected[name] for name in ours} == ours


def test_without_sorted_inputs_windows_have_all_rows_in_the_order_of_arrival(
    spark: SparkSession, flink_restore: FlinkRestore
) -> None:
    rows = [event for event in EVENTS if len(event) > 1]
    names = ("sorted-inputs", "batch-state-backend")
    config = {f"execution.{name}.enabled": "false" for name in names}
    theirs = flink_restore(
        None,
        *(case.in_flink(rows) for case in CASES[::5]),
        flink=LATEST,
        parallelism=1,
        ends=True,
        config={"execution.runtime-mode": "BATCH", **config},
    )
    for case in CASES[::5]:
        windows = case.here(spark, rows, is_sorted=False)
        fired = [(*row[:5], tuple(row[5])) for row in windows.rows(SCHEMA).collect()]
        assert sorted(fired) == traced(theirs.trace(case.uid))[0] != [], case


def test_a_continuous_trigger_fires_as_often_as_its_window_has_intervals(
    spark: SparkSession, flink_restore: FlinkRestore
) -> None:
    case = Case("tumbling", "reduce", trigger="continuous 1", size=12_000)
    events = ((7, 0), (9, 3), (9,), (10, 6))
    theirs = flink_restore(None, case.in_flink(events), parallelism=1, ends=True)
    ours = lines_of(ran(spark, case, events, END))
    assert ours == traced(theirs.trace(case.uid))
    assert len(ours[0]) > 10_000
