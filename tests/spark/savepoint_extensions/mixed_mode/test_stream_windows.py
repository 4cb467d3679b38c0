"""Windows of a stream behind a backlog fire, and are left, as those of one run over all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.nightly import nightly
from support.streamed_rows import StreamedRows

from state_processor import (
    CountEvictor,
    CountTrigger,
    GlobalWindows,
    KeyedProcessFunction,
    MixedModeJob,
    OperatorSettings,
    OperatorTransformation,
    OutputTag,
    ParquetOutput,
    ProcessWindowFunction,
    ReducingStateDescriptor,
    Savepoint,
    SessionWindows,
    TimeWindow,
    TumblingWindows,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.transformations.windowed_rows import WindowFunctionRows
    from state_processor import KeyedStateTransformation

COLUMNS = "shop STRING, at BIGINT, cents BIGINT"
SCHEMA = "shop STRING, end BIGINT, all BIGINT, cents ARRAY<BIGINT>"
LONG, END = Types.LONG(), 2**63 - 1
SALES = [(f"shop {number % 3}", number * 7 + number % 5 * 30, number) for number in range(60)]
SALES.sort(key=lambda sale: sale[1])
BATCHES = (SALES[:25], SALES[25:40], SALES[40:41], SALES[41:])
LATE = ("shop 0", 3, 1_000_000)


def seen() -> ProcessWindowFunction:
    """A function that goes to workers as a whole, because they don't find this module."""
    of_key = ReducingStateDescriptor("of key", LONG, lambda one, other: one + other)

    class Seen(ProcessWindowFunction):
        global_states = (of_key,)

        def process(self, key: Any, context: Any, elements: list[Any]) -> Iterator[Any]:
            everything = context.global_state().get_reducing_state(of_key)
            everything.add(1)
            yield key, getattr(context.window(), "end", None), everything.get(), list(elements)

    return Seen()


def hourly(keyed: KeyedStateTransformation) -> WindowFunctionRows:
    windows = keyed.window(TumblingWindows(50), allowed_lateness_ms=5)
    return windows.reduce(lambda one, other: one + other, LONG, "cents", seen())


def sessions(keyed: KeyedStateTransformation) -> WindowFunctionRows:
    return keyed.window(SessionWindows(20)).process(seen(), LONG, "cents")


def counted(keyed: KeyedStateTransformation) -> WindowFunctionRows:
    windows = keyed.window(GlobalWindows()).trigger(CountTrigger.of(3))
    return windows.evictor(CountEvictor.of(5)).process(seen(), LONG, "cents")


def keyed(rows: DataFrame) -> KeyedStateTransformation:
    return OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("shop")


def left_in(spark: SparkSession, path: str) -> list[str]:
    """The rows of all tables of the operator."""
    savepoint = Savepoint.load(spark, path, uids=["windows"])
    names = [table.name for table in savepoint.operator("windows").tables]
    scans = [savepoint.scan(f"windows.{name}") for name in names]
    return sorted(f"{scan.table.name} {row}" for scan in scans for row in rows_of(scan))


def rows_of(scan: Any) -> Iterator[Any]:
    for batch in scan.batches():
        yield from batch.to_pylist()


@nightly
@pytest.mark.parametrize("windows", [hourly, sessions, counted])
def test_a_stream_fires_and_leaves_what_one_run_does(
    spark: SparkSession,
    tmp_path: Path,
    windows: Callable[[KeyedStateTransformation], WindowFunctionRows],
) -> None:
    first, *others = BATCHES
    live = StreamedRows(tmp_path / "rows", COLUMNS)
    for batch in others:
        live.put(batch)
    past = keyed(spark.createDataFrame(first, COLUMNS))
    settings = OperatorSettings("windows", SCHEMA, parallelism=2)
    job = MixedModeJob.of(
        past, keyed(live.frame(spark)), windows(past).operator, settings, str(tmp_path / "job")
    )
    found: list[Any] = []
    with job.start(lambda rows, _: found.extend(rows.collect())) as running:
        running.process_all_available()
        running.take_savepoint(str(tmp_path / "cut"))
        if windows is not counted:
            # The watermark of the stream is far behind the window of this row.
            live.put([LATE])
            running.process_all_available()
    job.finish(str(tmp_path / "end"), lambda rows, _: found.extend(rows.collect()))
    watermark = SALES[-1][1] - 1
    whole = windows(keyed(spark.createDataFrame(SALES, COLUMNS)))
    at_once = whole.run(SCHEMA, watermark=END)
    assert sorted(map(str, found)) == sorted(map(str, at_once.output.collect())) != []
    for name, result in (("cut", whole.run(SCHEMA, watermark=watermark)), ("end", at_once)):
        path = str(tmp_path / f"whole {name}")
        Savepoint.create(spark, parallelism=2).with_operator("windows", result.state).write(path)
        assert left_in(spark, str(tmp_path / name)) == left_in(spark, path), name


def totals() -> KeyedProcessFunction:
    """Likewise: a running total of all shops."""

    class Totals(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.total = runtime_context.get_state(ValueStateDescriptor("total", LONG))

        def process_element(self, value: Any, context: Any) -> None:
            self.total.update((self.total.value() or 0) + sum(value.cents))
            context.timer_service.register_event_time_timer(value.end)

        def on_timer(self, timestamp: int, context: Any) -> Iterator[Any]:
            yield context.current_key, timestamp

    return Totals()


def test_jobs_that_follow_each_other_end_with_one_savepoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    live = StreamedRows(tmp_path / "rows", COLUMNS)
    for batch in BATCHES[1:]:
        live.put(batch)
    past, fired = keyed(spark.createDataFrame(BATCHES[0], COLUMNS)), str(tmp_path / "fired")
    settings = OperatorSettings("windows", SCHEMA, parallelism=2)
    first = MixedModeJob.of(
        past, keyed(live.frame(spark)), hourly(past).operator, settings, str(tmp_path / "first")
    )
    first.finish(str(tmp_path / "1"), ParquetOutput(fired))
    stored, columns = spark.read.parquet(fired), f"{SCHEMA}, batch INT"
    streams = (
        stored.where("batch < 0"),
        spark.readStream.schema(columns).parquet(fired).where("batch >= 0"),
    )
    past_ends, live_ends = (
        OperatorTransformation.bootstrap_with(rows.selectExpr("'all' AS every", "end", "cents"))
        .assign_timestamps("end")
        .key_by("every")
        for rows in streams
    )
    second = MixedModeJob.of(
        past_ends,
        live_ends,
        totals(),
        OperatorSettings("totals", "every STRING, at BIGINT"),
        str(tmp_path / "second"),
    )
    beside = Savepoint.load(spark, str(tmp_path / "1"), uids=["windows"])
    second.finish(str(tmp_path / "2"), beside=beside)
    assert left_in(spark, str(tmp_path / "2")) == left_in(spark, str(tmp_path / "1")) != []
    found = Savepoint.load(spark, str(tmp_path / "2"), uids=["windows", "totals"])
    (row,) = found.read_keyed_state("totals").collect()
    assert row.total == sum(cents for *_, cents in SALES)


def test_state_with_namespaces_of_a_function_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    class ByTen(KeyedProcessFunction):
        """Sums by windows that nothing fires."""

        def open(self, runtime_context: Any) -> None:
            total = ValueStateDescriptor("total", LONG)
            self.total = runtime_context.get_state(total, namespace=Types.TIME_WINDOW())

        def process_element(self, value: Any, context: Any) -> None:
            start = value.cents // 10 * 10
            self.total.set_current_namespace(TimeWindow(start, start + 10))
            self.total.update((self.total.value() or 0) + value.cents)

    live = StreamedRows(tmp_path / "rows", COLUMNS)
    live.put(SALES[40:])
    past = keyed(spark.createDataFrame(SALES[:40], COLUMNS))
    settings = OperatorSettings("windows", "n INT")
    place = str(tmp_path / "job")
    job = MixedModeJob.of(past, keyed(live.frame(spark)), ByTen(), settings, place)
    with job.start() as running:
        running.process_all_available()
        running.take_savepoint(str(tmp_path / "cut"))
    whole = keyed(spark.createDataFrame(SALES, COLUMNS)).transform(ByTen())
    path = str(tmp_path / "whole")
    Savepoint.create(spark).with_operator("windows", whole).write(path)
    assert left_in(spark, str(tmp_path / "cut")) == left_in(spark, path) != []


def test_what_a_stream_has_not_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    past = keyed(spark.createDataFrame(SALES, COLUMNS))
    live = keyed(StreamedRows(tmp_path / "rows", COLUMNS).frame(spark))
    settings, place = OperatorSettings("windows", "cents BIGINT"), str(tmp_path / "job")
    arrived = past.window(TumblingWindows(50)).in_order_of_arrival("cents", "at")
    with pytest.raises(ValueError, match="leave out in_order_of_arrival"):
        MixedModeJob.of(past, live, arrived.reduce(max, LONG, "cents").operator, settings, place)
    behind = past.window(TumblingWindows(50)).bounded_out_of_orderness(5)
    with pytest.raises(ValueError, match=r"the job 0 ms: add bounded_out_of_orderness\(0\)"):
        MixedModeJob.of(past, live, behind.reduce(max, LONG, "cents").operator, settings, place)
    late = past.window(TumblingWindows(50)).side_output_late_data(OutputTag("late", COLUMNS))
    with pytest.raises(ValueError, match="side output"):
        MixedModeJob.of(past, live, late.reduce(max, LONG, "cents").operator, settings, place)

    class Unfired(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.timers = runtime_context.get_internal_timer_service()

        def process_element(self, value: Any, context: Any) -> None: ...

    with pytest.raises(ValueError, match="which only Flink fires"):
        MixedModeJob.of(past, live, Unfired(), settings, place)
