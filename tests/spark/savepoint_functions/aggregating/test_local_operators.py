"""Operators of rows that stay in their partition: what they leave is local keyed state."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from support.aggregated_rows import sorted_rows

from savepoint_formats.errors import ColumnTypeError
from savepoint_functions.aggregating.aggregates import Aggregate, Avg, Count, Max, Sum, TopN
from savepoint_functions.functions.process_functions import KeyedStateBootstrapFunction
from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    ReducingStateDescriptor,
    Savepoint,
    Types,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.transformations.transformation import OneInputStateTransformation
    from savepoint_spark.changing.local_write import Merge
    from savepoint_spark.writing.write_context import StateTransformation
    from state_processor.savepoint.spark_savepoint import SparkSavepoint

# Workers do not find the modules of tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

AGGREGATES: dict[str, Aggregate] = {
    "n": Count(),
    "total": Sum("cents"),
    "mean": Avg("cents"),
    "best": TopN(2, "cents"),
}
MERGE: dict[str, Merge] = {
    "n": "sum",
    "total": "sum",
    "mean": "sum",
    "best": TopN(2, "cents").merge,
}


class History(KeyedStateBootstrapFunction):
    """Values of a key in its partition, and their sum."""

    def open(self, runtime_context: Any) -> None:
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.LONG()))
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", Types.LONG(), lambda one, other: one + other)
        )

    def process_element(self, value: Any, context: Any) -> None:
        self.all.add(value.cents)
        self.total.add(value.cents)


class Alarms(History):
    """Leaves timers."""

    def process_element(self, value: Any, context: Any) -> None:
        super().process_element(value, context)
        context.timer_service.register_event_time_timer(value.cents)


@pytest.fixture(scope="module")
def sales(spark: SparkSession) -> DataFrame:
    """Rows in seven partitions; half of them are of one shop."""
    shop = F.when(F.col("id") % 2 == 0, "hot").otherwise(F.concat(F.lit("s"), F.col("id") % 13))
    return spark.range(0, 1000, 1, 7).select(
        shop.alias("shop"), (F.col("id") * 37 % 101).alias("cents")
    )


@pytest.fixture(scope="module")
def rows(sales: DataFrame) -> OneInputStateTransformation:
    return OperatorTransformation.bootstrap_with(sales)


def written(
    spark: SparkSession, operator: StateTransformation, folder: Path, parallelism: int
) -> SparkSavepoint:
    path = str(folder / "savepoint")
    writer = Savepoint.create(spark, parallelism=parallelism, max_parallelism=12)
    writer.with_operator("sales", operator).write(path)
    return Savepoint.load(spark, path, uids=["sales"])


def merged(spark: SparkSession, savepoint: SparkSavepoint, path: Path) -> list[tuple[Any, ...]]:
    """The state of each key when all subtasks' is merged."""
    savepoint.merge_local("sales", MERGE).write(str(path))
    state = Savepoint.load(spark, str(path), uids=["sales"]).read_keyed_state("sales")
    return sorted_rows(state.select("key", *AGGREGATES))


@pytest.mark.parametrize("parallelism", [3, 9])
def test_accumulators_of_partitions_are_local_keyed_state(
    spark: SparkSession, rows: OneInputStateTransformation, tmp_path: Path, parallelism: int
) -> None:
    savepoint = written(
        spark, rows.local_key_by("shop").aggregate(**AGGREGATES), tmp_path, parallelism
    )
    found = savepoint.read_local_state("sales").where("key = 'hot'").collect()
    assert {row.subtask for row in found} == set(range(min(parallelism, 7)))
    assert sum(instance for row in found for instance in row.n) == 500
    expected = rows.key_by("shop").aggregate(**AGGREGATES).accumulators()
    assert merged(spark, savepoint, tmp_path / "merged") == sorted_rows(expected)


def test_accumulators_are_the_same_after_each_rescaling(
    spark: SparkSession, rows: OneInputStateTransformation, tmp_path: Path
) -> None:
    savepoint = written(spark, rows.local_key_by("shop").aggregate(**AGGREGATES), tmp_path, 3)
    before = merged(spark, savepoint, tmp_path / "merged")
    for parallelism in (2, 5, 1):
        path = tmp_path / f"of {parallelism}"
        savepoint.rescale(parallelism=parallelism).write(str(path))
        savepoint = Savepoint.load(spark, str(path), uids=["sales"])
        assert merged(spark, savepoint, tmp_path / f"merged {parallelism}") == before


def test_a_function_leaves_local_keyed_state(
    spark: SparkSession, sales: DataFrame, rows: OneInputStateTransformation, tmp_path: Path
) -> None:
    savepoint = written(spark, rows.local_key_by("shop").transform(History()), tmp_path, 3)
    state = savepoint.read_local_state("sales", merge={"total": "sum"})
    assert state.where("key = 'hot'").count() == 3
    elements = state.select("key", F.explode("all").alias("cents"))
    assert sorted_rows(elements) == sorted_rows(sales)
    totals = state.groupBy("key").agg(F.sum("total"))
    assert sorted_rows(totals) == sorted_rows(sales.groupBy("shop").agg(F.sum("cents")))


def test_combined_accumulators_are_ordinary_keyed_state(
    spark: SparkSession, rows: OneInputStateTransformation, tmp_path: Path
) -> None:
    partial = rows.local_key_by("shop").aggregate(**AGGREGATES)
    savepoint = written(spark, partial.key_by("shop"), tmp_path, 3)
    state = savepoint.read_keyed_state("sales")
    assert state.columns == ["key", "n", "total", "mean", "best"]
    expected = rows.key_by("shop").aggregate(**AGGREGATES).accumulators()
    assert sorted_rows(state) == sorted_rows(expected)


def test_a_column_of_accumulators_is_a_state_of_another_name(
    spark: SparkSession, rows: OneInputStateTransformation, tmp_path: Path
) -> None:
    partial = rows.local_key_by("shop").aggregate(most=Max("cents"))
    descriptor = ReducingStateDescriptor("greatest", Types.LONG())
    keyed = partial.key_by("shop").with_state(descriptor, "most")
    state = written(spark, keyed, tmp_path, 2).read_keyed_state("sales")
    expected = rows.key_by("shop").aggregate(most=Max("cents")).rows()
    assert sorted_rows(state) == sorted_rows(expected)


def test_combined_windows_are_the_state_of_a_window_operator(
    spark: SparkSession, sales: DataFrame, tmp_path: Path
) -> None:
    hourly = sales.withColumn("hour", F.window(F.timestamp_seconds("cents"), "10 seconds"))
    local = OperatorTransformation.bootstrap_with(hourly).local_key_by("shop").window("hour")
    combined = local.aggregate(total=Sum("cents")).key_by("shop")
    windows = combined.window("hour").reduce(Types.LONG(), "total")
    state = written(spark, windows, tmp_path, 2).read_window_state("sales")
    found = state.select("key", "namespace.start", "window-contents")
    start = F.unix_millis("hour.start")
    assert sorted_rows(found) == sorted_rows(hourly.groupBy("shop", start).agg(F.sum("cents")))


class TestRefusals:
    def test_timers(
        self, spark: SparkSession, rows: OneInputStateTransformation, tmp_path: Path
    ) -> None:
        with pytest.raises(PySparkException, match="Alarms has registered timers"):
            written(spark, rows.local_key_by("shop").transform(Alarms()), tmp_path, 2)

    def test_windows(self, spark: SparkSession, sales: DataFrame, tmp_path: Path) -> None:
        hourly = sales.withColumn("hour", F.window(F.timestamp_seconds("cents"), "10 seconds"))
        local = OperatorTransformation.bootstrap_with(hourly).local_key_by("shop").window("hour")
        partial = local.aggregate(n=Count())
        with pytest.raises(ValueError, match="local keyed state has no windows"):
            written(spark, partial, tmp_path, 2)
        with pytest.raises(ValueError, match="the state of windows is written as"):
            written(spark, partial.key_by("shop"), tmp_path, 2)

    def test_rows_that_were_reduced_as_a_whole(
        self, spark: SparkSession, rows: OneInputStateTransformation, tmp_path: Path
    ) -> None:
        partial = rows.local_key_by("shop").reduce(max)
        with pytest.raises(ValueError, match="say which columns become state"):
            written(spark, partial, tmp_path, 2)

    def test_sums_of_decimals_without_a_type(
        self, spark: SparkSession, sales: DataFrame, tmp_path: Path
    ) -> None:
        exact = sales.withColumn("cents", F.col("cents").cast("decimal(10,2)"))
        local = OperatorTransformation.bootstrap_with(exact).local_key_by("shop")
        with pytest.raises(ColumnTypeError, match="which may be keys of several types"):
            written(spark, local.aggregate(total=Sum("cents")), tmp_path, 2)
