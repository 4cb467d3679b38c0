"""Spark knows the size of the tables that it joins."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from support.nightly import nightly

from savepoint_formats.metadata import KeyGroupsHandle
from savepoint_spark.session.tasks import rows_of_tasks
from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

pytestmark = pytest.mark.spark

THRESHOLD = 200_000
"""Above the bytes of the operator ``few``, below those of ``many``."""


@pytest.fixture(scope="module")
def orders(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    """An operator of 20,000 keys, one of 20 keys, and both as operator state."""
    path: Path = tmp_path_factory.mktemp("joins") / "savepoint"
    writer = Savepoint.create(spark, parallelism=2)
    for uid, count in (("many", 20_000), ("few", 20)):
        data = spark.sql(f"SELECT id key, repeat('x', 40) note FROM range({count})")
        keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.LONG())
        keyed = keyed.with_state(ValueStateDescriptor("note", Types.STRING()))
        notes = OperatorTransformation.bootstrap_with(data)
        listed = notes.list_state(ListStateDescriptor("notes", Types.STRING()), "note")
        writer = writer.with_operator(uid, keyed, listed)
    writer.write(str(path))
    return Savepoint.load(spark, str(path), uids=["many", "few"])


@contextmanager
def threshold(spark: SparkSession) -> Iterator[None]:
    name = "spark.sql.autoBroadcastJoinThreshold"
    before = spark.conf.get(name)
    spark.conf.set(name, str(THRESHOLD))
    try:
        yield
    finally:
        spark.conf.set(name, str(before))


def join_of(frame: DataFrame) -> str:
    """The kind of join in the plan."""
    plan: Any = frame._jdf.queryExecution().sparkPlan()  # the type of one release
    kinds = ("SortMergeJoin", "BroadcastHashJoin", "ShuffledHashJoin")
    (kind,) = (kind for kind in kinds if kind in plan.toString())
    return kind


def told_size(frame: DataFrame) -> int:
    plan: Any = frame._jdf.queryExecution().optimizedPlan()
    return int(plan.stats().sizeInBytes())


def test_two_large_tables_are_sorted_and_merged(
    spark: SparkSession, orders: SparkSavepoint
) -> None:
    with threshold(spark):
        many = orders.read_keyed_state("many")
        joined = many.join(orders.read_keyed_state("many"), "key")
        assert join_of(joined) == "SortMergeJoin"
        assert joined.count() == 20_000


def test_a_small_table_is_sent_to_all_tasks(spark: SparkSession, orders: SparkSavepoint) -> None:
    with threshold(spark):
        joined = orders.read_keyed_state("many").join(orders.read_keyed_state("few"), "key")
        assert join_of(joined) == "BroadcastHashJoin"
        assert joined.count() == 20


def test_the_elements_of_operator_state_have_a_size(
    spark: SparkSession, orders: SparkSavepoint
) -> None:
    with threshold(spark):
        many = orders.read_list_state("many", "notes")
        keyed = orders.read_keyed_state("many")
        assert join_of(keyed.join(many, keyed.note == many.value)) == "SortMergeJoin"


def test_a_look_up_of_few_keys_is_small(spark: SparkSession, orders: SparkSavepoint) -> None:
    with threshold(spark):
        found = orders.read_keyed_state("many", keys=[7, 8])
        joined = orders.read_keyed_state("many").join(found, "key")
        assert join_of(joined) == "BroadcastHashJoin"
        assert joined.count() == 2


def test_the_told_size_is_that_of_the_files(orders: SparkSavepoint) -> None:
    handles = (one.managed_keyed_state for one in orders.operator("many").record.subtasks)
    size = sum(handle.stream.size for handle in handles if isinstance(handle, KeyGroupsHandle))
    assert size > 1_000_000
    assert told_size(orders.read_keyed_state("many")) == pytest.approx(size, rel=0.5)


@nightly
def test_five_million_keys_are_joined_in_the_memory_of_a_test(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A broadcast of them ended with "Not enough memory to build and broadcast"."""
    data = spark.sql("SELECT id key, id % 1000 cents FROM range(5000000)")
    keyed = OperatorTransformation.bootstrap_with(data).key_by("key", key_type=Types.LONG())
    keyed = keyed.with_state(ValueStateDescriptor("cents", Types.LONG()))
    Savepoint.create(spark, parallelism=2).with_operator("all", keyed).write(str(tmp_path / "sp"))
    every = Savepoint.load(spark, str(tmp_path / "sp"), uids=["all"]).read_keyed_state("all")
    joined = every.join(every.withColumnRenamed("cents", "again"), "key")
    assert join_of(joined) == "SortMergeJoin"
    row = joined.selectExpr("count(*)", "sum(cents)", "sum(again)").collect()[0]
    assert tuple(row) == (5_000_000, 2_497_500_000, 2_497_500_000)


@pytest.mark.parametrize("size", [0, 10_000, 10**9])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_each_item_is_done_once_whatever_its_size(
    spark: SparkSession, count: int, size: int
) -> None:
    def work(item: int) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"item": [item]})

    rows = rows_of_tasks(spark, work, range(100, 100 + count), "item BIGINT", size)
    assert sorted(row.item for row in rows.collect()) == list(range(100, 100 + count))
    if count and size > 10_000:
        assert told_size(rows) == pytest.approx(size, rel=0.01)
