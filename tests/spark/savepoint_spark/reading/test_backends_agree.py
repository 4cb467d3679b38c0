"""A function leaves the same savepoint whatever holds its state meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from state_processor import (
    AggregatingStateDescriptor,
    KeyedStateBootstrapFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    ReducingStateDescriptor,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.functions.process_functions import KeyedContext
    from savepoint_functions.transformations.process_transformation import KeyedRowsTransformation
    from savepoint_spark.reading.functions import RuntimeContext
    from savepoint_spark.reading.states import ValueState
    from savepoint_spark.writing.write_context import StateTransformation

BACKENDS = ["single_key", "rocksdb"]


class Average:
    """The average of cents; the accumulator is their sum and count."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: Any) -> tuple[int, int]:
        total, count = accumulator.values() if isinstance(accumulator, dict) else accumulator
        return total + value, count + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, one: Any, other: Any) -> tuple[int, int]:
        return one[0] + other[0], one[1] + other[1]


class Everything(KeyedStateBootstrapFunction):
    """Keeps what it can of each sale, in state of every kind, and timers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        pair = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.last: ValueState = runtime_context.get_state(
            ValueStateDescriptor("last", Types.LONG())
        )
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()).with_ttl())
        self.cents = runtime_context.get_list_state(ListStateDescriptor("cents", Types.LONG()))
        self.by_day = runtime_context.get_map_state(
            MapStateDescriptor("by_day", Types.STRING(), Types.LONG())
        )
        self.most = runtime_context.get_reducing_state(
            ReducingStateDescriptor("most", Types.LONG(), max)
        )
        self.average = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("average", pair, Average())
        )

    def process_element(self, value: Any, context: KeyedContext) -> None:
        self.last.update(value.cents)
        self.seen.update(value.cents)
        self.cents.add(value.cents)
        self.by_day.put(value.day, (self.by_day.get(value.day) or 0) + value.cents)
        if value.cents % 5 == 0:
            self.by_day.remove("mon")
        self.most.add(value.cents)
        self.average.add(value.cents)
        assert context.timestamp is not None
        context.timer_service.register_event_time_timer(context.timestamp // 10 * 10)
        if value.cents % 3 == 0:
            context.timer_service.delete_event_time_timer(context.timestamp // 10 * 10)
            context.timer_service.register_processing_time_timer(value.cents)


@pytest.fixture(scope="module")
def sales(spark: SparkSession) -> DataFrame:
    """Sales whose times go up, so that rows that are not sorted come in their order, too."""
    return spark.range(0, 600, 1, numPartitions=1).select(
        F.concat(F.lit("shop-"), F.col("id") % 37).alias("shop"),
        (F.col("id") * 7919 % 101).alias("cents"),
        F.element_at(F.lit(["mon", "tue", "wed"]), (F.col("id") % 3 + 1).cast("int")).alias("day"),
        F.col("id").alias("sold_at"),
    )


def keyed(sales: DataFrame, backend: str) -> KeyedRowsTransformation:
    """The sales by shop, to be run in one way."""
    by_shop = OperatorTransformation.bootstrap_with(sales).assign_timestamps("sold_at")
    return by_shop.key_by("shop").with_options({"state.backend.type": backend})


def contents(
    spark: SparkSession, transformation: StateTransformation, folder: Path
) -> tuple[list[Any], list[Any]]:
    """The keys of a savepoint with all they have but times of last access, and its timers."""
    path = str(folder / "savepoint")
    Savepoint.create(spark, parallelism=2).with_operator("shops", transformation).write(path)
    savepoint = Savepoint.load(spark, path, uids=["shops"])
    state = savepoint.read_keyed_state("shops").orderBy("key")
    timers = savepoint.read_timers("shops").orderBy("key", "time_domain", "timestamp")
    return (
        [row.asDict(recursive=True) for row in state.collect()],
        [(row.key, row.time_domain, row.timestamp) for row in timers.collect()],
    )


@pytest.fixture(scope="module")
def reference(
    spark: SparkSession, sales: DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Any], list[Any]]:
    folder = tmp_path_factory.mktemp("reference")
    return contents(spark, keyed(sales, BACKENDS[0]).transform(Everything()), folder)


def test_the_savepoint_has_what_the_function_left(
    reference: tuple[list[Any], list[Any]], sales: DataFrame
) -> None:
    state, timers = reference
    cents = [row.cents for row in sales.where("shop = 'shop-3'").orderBy("sold_at").collect()]
    (shop,) = [row for row in state if row["key"] == "shop-3"]
    assert shop["cents"] == cents
    assert (shop["last"], shop["most"]) == (cents[-1], max(cents))
    assert shop["average"] == {"f0": sum(cents), "f1": len(cents)}
    assert len(state) == 37
    assert {domain for _, domain, _ in timers} == {"EVENT_TIME", "PROCESSING_TIME"}


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_all_ways_to_run_a_function_leave_the_same_savepoint(
    spark: SparkSession,
    sales: DataFrame,
    tmp_path: Path,
    reference: tuple[list[Any], list[Any]],
    backend: str,
) -> None:
    assert contents(spark, keyed(sales, backend).transform(Everything()), tmp_path) == reference
