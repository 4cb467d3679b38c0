"""Functions over windows in Spark: beside local windows, beside each other, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

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
    ProcessWindowFunction,
    Savepoint,
    SessionWindows,
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


def add(one: int, other: int) -> int:
    return one + other


@pytest.fixture
def keyed(sales: DataFrame) -> KeyedStateTransformation:
    return OperatorTransformation.bootstrap_with(sales).assign_timestamps("at").key_by("shop")


def test_an_assigner_is_no_column_of_local_windows(sales: DataFrame) -> None:
    local = OperatorTransformation.bootstrap_with(sales).local_key_by("shop")
    assigner: Any = TumblingWindows(100)
    with pytest.raises(TypeError, match=r"have a column of windows, .* assign_windows\(…\)"):
        local.window(assigner)


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
    with pytest.raises(ColumnTypeError, match="column 'till' is string"):
        hours.in_order_of_arrival("till", "at")
    with pytest.raises(ColumnNotFoundError):
        hours.reduce(max, LONG, "euros")
    with pytest.raises(ValueError, match="the rows of one input"):
        keyed.connect(keyed).window(TumblingWindows(10))
