"""Functions over windows in Spark: beside local windows, beside each other, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from savepoint_spark.session.session import is_at_least
from state_processor import (
    Backlog,
    ColumnNotFoundError,
    ColumnTypeError,
    CountEvictor,
    DeltaTrigger,
    GlobalWindows,
    KeyedProcessFunction,
    MixedModeJob,
    OperatorSettings,
    OperatorTransformation,
    OutputTag,
    ProcessWindowFunction,
    ReducingStateDescriptor,
    Savepoint,
    SessionWindows,
    SlidingWindows,
    Sum,
    TumblingWindows,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from state_processor import KeyedStateTransformation

LONG, END = Types.LONG(), 2**63 - 1
PAIR = Types.TUPLE([LONG, LONG])
SCHEMA = "start BIGINT, end BIGINT, value DOUBLE"


@pytest.fixture(scope="module")
def sales(spark: SparkSession) -> DataFrame:
    return spark.range(0, 300, 1, 4).select(
        (F.col("id") % 5).alias("shop"),
        F.concat(F.lit("till "), F.col("id") % 2).alias("till"),
        (F.pmod(F.hash("id"), F.lit(2000))).cast("bigint").alias("at"),
        F.col("id").alias("cents"),
    )


def ranges() -> ProcessWindowFunction:
    class Ranges(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: list[Any]) -> Iterator[Any]:
            window = context.window()
            yield window.start, window.end, float(sum(elements))

    return Ranges()


def mean() -> Any:
    class Mean:
        def create_accumulator(self) -> Any:
            return {"f0": 0, "f1": 0}

        def add(self, value: int, accumulator: Any) -> Any:
            return {"f0": accumulator["f0"] + value, "f1": accumulator["f1"] + 1}

        def get_result(self, accumulator: Any) -> float:
            return float(accumulator["f0"] / accumulator["f1"])

        def merge(self, one: Any, other: Any) -> Any:
            return {name: one[name] + other[name] for name in ("f0", "f1")}

    return Mean()


def placed(columns: int = 1) -> ProcessWindowFunction:
    class Placed(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: list[Any]) -> Iterator[Any]:
            (element,) = elements
            values = (element,) if columns == 1 else tuple(element)
            yield key, context.window().start, *values

    return Placed()


def parts() -> Any:
    class Parts(type(mean())):  # type: ignore[misc]  # the class is made there
        def get_result(self, accumulator: Any) -> Any:
            return accumulator

    return Parts()


def mean_of_parts() -> Any:
    class MeanOfParts(type(mean())):  # type: ignore[misc]  # likewise
        def add(self, value: Any, accumulator: Any) -> Any:
            return self.merge({"f0": value.total, "f1": value.n}, accumulator)

    return MeanOfParts()


def assert_same(windows: Any, others: Any, schema: str = SCHEMA) -> None:
    expected = sorted(map(tuple, others.rows(schema).collect()))
    assert sorted(map(tuple, windows.rows(schema).collect())) == expected != []


def add(one: int, other: int) -> int:
    return one + other


@pytest.fixture
def keyed(sales: DataFrame) -> KeyedStateTransformation:
    return OperatorTransformation.bootstrap_with(sales).assign_timestamps("at").key_by("shop")


def counted(*, is_merging: bool) -> ProcessWindowFunction:
    """Gives the number of a window of its key, its times and elements, and the number of its firings."""
    of_key = ReducingStateDescriptor("windows", LONG, add)
    of_window = ValueStateDescriptor("firings", LONG)

    class Counted(ProcessWindowFunction):
        global_states = (of_key,)
        window_states = () if is_merging else (of_window,)

        def process(self, key: Any, context: Any, elements: list[Any]) -> Iterator[Any]:
            number = context.global_state().get_state(of_key)
            number.add(1)
            if not is_merging:
                firings = context.window_state().get_state(of_window)
                firings.update((firings.value() or 0) + 1)
                assert firings.value() == 1
            window = context.window()
            yield key, number.get(), window.start, window.end, len(elements), sum(elements)

    return Counted()


@pytest.mark.parametrize(
    "assigner", [TumblingWindows(100), SlidingWindows(100, 50), SessionWindows(20)], ids=str
)
def test_windows_of_partitions_merge_into_those_of_keys(sales: DataFrame, assigner: Any) -> None:
    of_partitions = "shop BIGINT, number BIGINT, start BIGINT, end BIGINT, n BIGINT, cents BIGINT"
    rows = OperatorTransformation.bootstrap_with(sales).assign_timestamps("at")
    function = counted(is_merging=assigner.is_merging)
    local = rows.local_key_by("shop").window(assigner).process(function, LONG, "cents")
    partial = local.rows(of_partitions).persist()
    # Each of four partitions has windows of each key, which its state numbers.
    numbers = partial.groupBy("shop", "number").count().collect()
    assert {row["count"] for row in numbers if row.number == 1} == {4}
    assert partial.agg(F.sum("n")).first()[0] >= 300
    windows = partial.withColumn("window", F.struct("start", "end"))
    merged = (
        OperatorTransformation.bootstrap_with(windows)
        .local_key_by("shop")
        .window("window", is_merging=assigner.is_merging)
        .aggregate(cents=Sum("cents"))
        .key_by("shop")
    )
    # With a watermark this far behind, sessions that touch are one, in whatever order they come.
    windowed = rows.key_by("shop").window(assigner).bounded_out_of_orderness(10_000)
    expected = sorted(windowed.reduce(add, LONG, "cents", ranges()).rows(SCHEMA).collect())
    found = merged.rows().select("window.start", "window.end", F.col("cents").cast("double"))
    assert sorted(map(tuple, found.collect())) == sorted(map(tuple, expected)) != []


def test_windows_of_partitions_reduce_and_aggregate_as_the_proposal_does(sales: DataFrame) -> None:
    rows = OperatorTransformation.bootstrap_with(sales).assign_timestamps("at")
    hours = rows.local_key_by("shop").window(TumblingWindows(500))
    summed = hours.reduce(add, LONG, "cents", placed()).rows("shop BIGINT, at BIGINT, cents BIGINT")
    means = hours.aggregate(parts(), PAIR, "cents", placed(2)).rows(
        "shop BIGINT, at BIGINT, total BIGINT, n BIGINT"
    )
    whole = rows.key_by("shop").window(TumblingWindows(500))

    def keyed_again(partial: DataFrame) -> Any:
        again = OperatorTransformation.bootstrap_with(partial).assign_timestamps("at")
        return again.key_by("shop").window(TumblingWindows(500))

    assert summed.count() == means.count() == 4 * 5 * 4
    merged = keyed_again(summed).reduce(add, LONG, "cents", ranges())
    assert_same(merged, whole.reduce(add, LONG, "cents", ranges()))
    of_parts = keyed_again(means).aggregate(mean_of_parts(), PAIR)
    assert_same(of_parts, whole.aggregate(mean(), PAIR, "cents"), "mean DOUBLE")


def test_windows_of_partitions_have_no_savepoint(sales: DataFrame) -> None:
    rows = OperatorTransformation.bootstrap_with(sales).assign_timestamps("at")
    windows = rows.local_key_by("shop").window(TumblingWindows(100)).reduce(add, LONG, "cents")
    for leave in (windows.transform, windows.run):
        with pytest.raises(ValueError, match=r"local keyed state has no windows: take their rows"):
            leave()


def test_operators_that_follow_each_other_have_one_savepoint(
    spark: SparkSession, sales: DataFrame, tmp_path: Path
) -> None:
    total = ValueStateDescriptor("total", LONG)

    class Totals(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.total = runtime_context.get_state(total)

        def process_element(self, value: Any, context: Any) -> Iterator[Any]:
            self.total.update((self.total.value() or 0) + int(value.value))
            yield value.end, self.total.value()

    def night(half: DataFrame, before: Any, watermark: int, path: str) -> list[Any]:
        """Hourly sums, their running total, and the greatest sale beside them, of one half."""
        keyed = OperatorTransformation.bootstrap_with(half).assign_timestamps("at").key_by("shop")
        initial = before.operator if before else {}.get
        summed = keyed.window(TumblingWindows(100)).reduce(
            lambda one, other: one + other, LONG, "cents", ranges()
        )
        hourly = summed.run(SCHEMA, initial=initial("hourly"), watermark=watermark)
        most = keyed.window(TumblingWindows(500)).reduce(max, LONG, "cents")
        greatest = most.run("cents BIGINT", initial=initial("greatest"), watermark=watermark)
        of_hours = OperatorTransformation.bootstrap_with(
            hourly.output.withColumn("all", F.lit("all"))
        )
        totals = of_hours.assign_timestamps("end").key_by("all")
        run = totals.run(Totals(), "end BIGINT, total BIGINT", initial=initial("totals"))
        writer = before or Savepoint.create(spark, parallelism=2)
        for uid, result in (("hourly", hourly), ("greatest", greatest), ("totals", run)):
            writer = writer.with_operator(uid, result.state)
        writer.write(path)
        return [*run.output.collect(), *greatest.output.collect()]

    first, second = sales.where("at < 950"), sales.where("at >= 950")
    before = night(first, None, 949, str(tmp_path / "1"))
    uids = ["hourly", "greatest", "totals"]
    savepoint = Savepoint.load(spark, str(tmp_path / "1"), uids=uids)
    after = night(second, savepoint, END, str(tmp_path / "2"))
    whole = night(sales, None, END, str(tmp_path / "3"))
    assert {row[-1] for row in before + after} >= {row[-1] for row in whole if len(row) == 1}
    ends = [
        Savepoint.load(spark, str(tmp_path / number), uids=uids)
        .read_keyed_state("totals")
        .collect()
        for number in "23"
    ]
    assert ends[0] == ends[1] != []


def test_a_backlog_has_windows(keyed: KeyedStateTransformation, tmp_path: Path) -> None:
    windows = keyed.window(TumblingWindows(100)).process(ranges(), LONG, "cents")
    result = Backlog.of(keyed, windows.operator, SCHEMA).run(str(tmp_path), "hourly")
    fired = windows.run(SCHEMA, watermark=result.watermark)
    assert sorted(result.output.collect()) == sorted(fired.output.collect()) != []


def test_a_stream_behind_an_operator_with_state_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    class Nothing(KeyedProcessFunction):
        def process_element(self, value: Any, context: Any) -> None: ...

    live = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    chained = live.dropDuplicates(["value", "timestamp"])
    past = spark.createDataFrame([], live.schema)

    def keyed(rows: DataFrame) -> KeyedStateTransformation:
        timed = OperatorTransformation.bootstrap_with(rows).assign_timestamps("timestamp")
        return timed.key_by("value")

    settings = OperatorSettings("seen", "value BIGINT")
    MixedModeJob.of(keyed(past), keyed(live), Nothing(), settings, str(tmp_path))
    with pytest.raises(ValueError, match="from an operator with state, Deduplicate"):
        MixedModeJob.of(keyed(past), keyed(chained), Nothing(), settings, str(tmp_path))


def arrived(spark: SparkSession, late: OutputTag | None = None, *others: Any) -> Any:
    rows = [("a", 0, 10, -1), ("a", 1, 35, 9), ("a", 2, 12, 34), ("b", 3, 5, 34), ("b", 4, 31, 34)]
    data = spark.createDataFrame(rows, "shop STRING, offset BIGINT, at BIGINT, mark BIGINT")
    data = data.select("*", *others)
    keyed = OperatorTransformation.bootstrap_with(data).assign_timestamps("at").key_by("shop")
    windows = keyed.window(TumblingWindows(10)).in_order_of_arrival("offset", "mark")
    windows = windows if late is None else windows.side_output_late_data(late)
    return windows.process(ranges(), LONG, "at")


def test_a_run_has_the_late_rows_that_it_leaves_out(spark: SparkSession) -> None:
    run = arrived(spark).run(SCHEMA, watermark=34)
    assert run.left_out.columns == ["shop", "offset", "at", "mark"]
    assert sorted(row.offset for row in run.left_out.collect()) == [2, 3]
    assert [tuple(row) for row in run.output.collect()] == [(10, 20, 10.0)]
    assert not arrived(spark).run(SCHEMA).left_out.count()


@pytest.mark.skipif(not is_at_least("4.0"), reason="VARIANT is of Spark 4")
def test_late_rows_lack_only_columns_that_no_function_gives(spark: SparkSession) -> None:
    others = (
        F.expr("parse_json('1')").alias("json"),
        F.expr("map('a', date'2024-02-29')").alias("m"),
    )
    run = arrived(spark, None, *others).run(SCHEMA, watermark=34)
    assert run.left_out.columns == ["shop", "offset", "at", "mark", "m"]
    assert {row.offset: str(row.m["a"]) for row in run.left_out.collect()} == dict.fromkeys(
        (2, 3), "2024-02-29"
    )


def test_late_rows_of_a_side_output_are_not_left_out(spark: SparkSession) -> None:
    late = OutputTag("late", "shop STRING, offset BIGINT, at BIGINT, mark BIGINT")
    run = arrived(spark, late).run(SCHEMA, watermark=34)
    assert sorted(row.offset for row in run.side_output(late).collect()) == [2, 3]
    assert not run.left_out.count()
    with pytest.raises(ValueError, match=r"no side output 'x'; the function has: late$"):
        run.side_output(OutputTag("x", "a INT"))


def test_what_cannot_be_is_refused_before_it_runs(keyed: KeyedStateTransformation) -> None:
    sessions, hours = keyed.window(SessionWindows(10)), keyed.window(TumblingWindows(10))
    delta = DeltaTrigger.of(1.0, lambda one, other: other - one, LONG)

    class PerWindow(ProcessWindowFunction):
        window_states = (ValueStateDescriptor("seen", LONG),)

        def process(self, key: Any, context: Any, elements: list[Any]) -> None: ...

    with pytest.raises(ValueError, match="DeltaTrigger can't merge"):
        sessions.trigger(delta)
    with pytest.raises(ValueError, match="window_states, which windows that merge"):
        sessions.process(PerWindow(), LONG, "cents")
    with pytest.raises(ValueError, match="say when it fires"):
        keyed.window(GlobalWindows()).reduce(max, LONG, "cents")
    with pytest.raises(ValueError, match="give element_type"):
        hours.evictor(CountEvictor.of(1)).aggregate(mean(), PAIR, "cents")
    with pytest.raises(ValueError, match="allowed_lateness_ms=-1"):
        keyed.window(TumblingWindows(10), allowed_lateness_ms=-1)
    with pytest.raises(ValueError, match="out_of_orderness_ms=-1"):
        hours.bounded_out_of_orderness(-1)
    unsorted = keyed.with_options({"execution.sorted-inputs.enabled": False})
    with pytest.raises(ValueError, match="leave out in_order_of_arrival"):
        unsorted.window(TumblingWindows(10)).in_order_of_arrival("cents", "at")
    with pytest.raises(ColumnTypeError, match="column 'till' is string"):
        hours.in_order_of_arrival("till", "at")
    with pytest.raises(ColumnNotFoundError):
        hours.reduce(max, LONG, "euros")
    with pytest.raises(ValueError, match="the rows of one input"):
        keyed.connect(keyed).window(TumblingWindows(10))
