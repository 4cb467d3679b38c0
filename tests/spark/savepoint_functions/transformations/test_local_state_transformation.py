"""Local keyed state made of DataFrames reads back as the rows of its subtasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.local_counts import KEY_GROUPS, SUBTASKS, local_rows, open_local, write_local

from savepoint_formats.errors import (
    ColumnNotFoundError,
    ColumnTypeError,
    DuplicateKeyError,
    SubtaskError,
)
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_functions.transformations.local_state_transformation import LocalStateTransformation
from savepoint_spark.writing.keyed_rows import Key
from state_processor import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

COUNT = ReducingStateDescriptor("count", Types.LONG())


def by_word(data: DataFrame) -> LocalStateTransformation:
    return LocalStateTransformation(data, Key(("word",), Types.STRING().snapshot))


def written(spark: SparkSession, local: LocalStateTransformation, out: Path) -> SparkSavepoint:
    writer = Savepoint.create(spark, parallelism=SUBTASKS, max_parallelism=KEY_GROUPS)
    writer.with_operator("counts", local).write(str(out))
    return open_local(spark, out)


@pytest.fixture(scope="module")
def local(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    return write_local(spark, tmp_path_factory.mktemp("local") / "savepoint")


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [(0, "a", 1), (1, "a", 2), (1, "b", 3)], "subtask INT, word STRING, count BIGINT"
    )


def test_each_subtask_has_all_key_groups_and_its_own_rows(
    spark: SparkSession, local: SparkSavepoint
) -> None:
    handles = [one.managed_keyed_state for one in local.operator("counts").record.subtasks]
    assert [one.key_groups for one in handles if one] == [KeyGroupRange(0, KEY_GROUPS - 1)] * 3
    found = local.read_keyed_state("counts")
    assert found.columns == ["subtask", "key", "count", "mean", "ids", "by_subtask", "last"]
    expected = local_rows(spark).selectExpr(
        "subtask",
        "word AS key",
        "array(count) AS count",
        "array(mean) AS mean",
        "ids",
        "transform_values(by_subtask, (k, v) -> array(v)) AS by_subtask",
        "IF(last IS NULL, NULL, array(last)) AS last",
    )

    def as_rows(data: DataFrame) -> list[object]:
        ordered = data.orderBy("subtask", "key").collect()
        return [row.asDict(recursive=True) for row in ordered]

    assert as_rows(found) == as_rows(expected)


def test_what_has_a_time_to_live_has_one_in_each_instance(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    timed = by_word(rows.withColumn("at", F.col("count") * 1000)).with_state(
        ValueStateDescriptor("count", Types.LONG()).with_ttl(), last_access="at"
    )
    savepoint = written(spark, timed, tmp_path / "out")
    found = savepoint.read_table(
        "counts.keyed_state", with_times=True, columns=["count"], keys=["b"]
    )
    (row,) = found.collect()
    assert [(one.timestamp.timestamp(), one.value) for one in row["count"]] == [(3, 3)]
    shown = savepoint.read_local_state("counts", {"count": "max"}, keys=["a"]).orderBy("subtask")
    assert [row["count"] for row in shown.collect()] == [1, 2]


def test_maps_may_have_null_values_and_null_keys(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    found = rows.select("subtask", "word", F.expr("map('x', count, 'y', NULL) AS best"))
    descriptor = MapStateDescriptor("best", Types.STRING(), Types.LONG())
    savepoint = written(spark, by_word(found).with_state(descriptor), tmp_path / "out")
    shown = savepoint.read_keyed_state("counts").where("key = 'b'").collect()
    assert [row.best for row in shown] == [{"x": [3], "y": None}]


def test_any_partition_may_hold_rows_of_any_subtask(spark: SparkSession, tmp_path: Path) -> None:
    shuffled = local_rows(spark).repartition(5)
    savepoint = written(spark, by_word(shuffled).with_state(COUNT), tmp_path / "out")
    found = savepoint.read_local_state("counts", {"count": "sum"})
    expected = local_rows(spark).select("subtask", F.col("word").alias("key"), "count")
    assert found.exceptAll(expected).isEmpty()
    assert expected.exceptAll(found).isEmpty()


def test_two_rows_of_a_key_in_one_subtask_are_refused(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    twice = rows.unionAll(rows.where("word = 'b'"))
    with pytest.raises(DuplicateKeyError, match="subtask 1, key 'b'"):
        written(spark, by_word(twice).with_state(COUNT), tmp_path / "out")
    assert not (tmp_path / "out" / "_metadata").exists()


@pytest.mark.parametrize(
    ("subtask", "message"),
    [("3", "row of subtask 3, expected 0 to 2"), ("-1", "subtask -1"), ("NULL", "no subtask")],
)
def test_a_row_of_a_subtask_that_there_is_not_is_refused(
    spark: SparkSession, rows: DataFrame, tmp_path: Path, subtask: str, message: str
) -> None:
    wrong = rows.withColumn("subtask", F.expr(f"CAST({subtask} AS INT)")).limit(1)
    with pytest.raises(SubtaskError, match=message):
        written(spark, by_word(wrong).with_state(COUNT), tmp_path / "out")


def test_wrong_columns_and_descriptors_are_told_at_once(rows: DataFrame) -> None:
    local = by_word(rows)
    with pytest.raises(ColumnNotFoundError, match="no column 'total'"):
        local.with_state(ReducingStateDescriptor("total", Types.LONG()))
    with pytest.raises(ColumnTypeError, match="count"):
        local.with_state(ReducingStateDescriptor("count", Types.STRING()))
    with pytest.raises(ValueError, match="added already"):
        local.with_state(COUNT).with_state(COUNT)
    with pytest.raises(ValueError, match="time to live, which local lists and maps"):
        local.with_state(ListStateDescriptor("count", Types.LONG()).with_ttl())
    with pytest.raises(ValueError, match="no column becomes state"):
        local.plan()
    words = LocalStateTransformation(rows, local.key, subtask="word").with_state(COUNT)
    with pytest.raises(ColumnTypeError, match="'word' is string, but the subtask takes int"):
        words.plan()
