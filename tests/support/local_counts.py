"""Local keyed state of a job that counts words where they are: three subtasks, twelve key groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_functions.transformations.local_state_transformation import LocalStateTransformation
from savepoint_spark.writing.keyed_rows import Key
from state_processor import (
    AggregatingStateDescriptor,
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

SUBTASKS, KEY_GROUPS, WORDS = 3, 12, 40
MEAN = Types.TUPLE([Types.LONG(), Types.LONG()])
MERGE = {"count": "sum", "mean": "sum", "by_subtask": "sum", "last": "max"}
"""Merge functions of instances; values of ``ids`` are appended."""


def local_rows(spark: SparkSession) -> DataFrame:
    """Counts of each subtask; not every word reached each of them."""
    return (
        spark.sql(
            f"""
        SELECT subtask, concat('Wörd ', word) AS word, 100 * subtask + word AS count,
            named_struct('f0', 10 * subtask, 'f1', word) AS mean,
            array(subtask, word) AS ids,
            map('all', word, concat('of ', subtask), subtask) AS by_subtask,
            IF(word % 3 = 0, NULL, CAST(subtask AS INT)) AS last
        FROM (SELECT explode(sequence(0L, {SUBTASKS - 1}L)) AS subtask),
            (SELECT explode(sequence(0L, {WORDS - 1}L)) AS word)
        WHERE (subtask + word) % 4 != 0
        """
        )
        .withColumnRenamed("subtask", "of")
        .selectExpr("CAST(of AS INT) AS subtask", "*")
    )


def local_state(rows: DataFrame) -> LocalStateTransformation:
    """The rows as state of every kind."""
    return (
        LocalStateTransformation(rows, Key(("word",), Types.STRING().snapshot))
        .with_state(ReducingStateDescriptor("count", Types.LONG()))
        .with_state(AggregatingStateDescriptor("mean", MEAN))
        .with_state(ListStateDescriptor("ids", Types.LONG()))
        .with_state(MapStateDescriptor("by_subtask", Types.STRING(), Types.LONG()))
        .with_state(ValueStateDescriptor("last", Types.INT()))
    )


def write_local(spark: SparkSession, path: Path) -> SparkSavepoint:
    """A savepoint whose operator ``counts`` has the state of ``local_rows``."""
    writer = Savepoint.create(spark, parallelism=SUBTASKS, max_parallelism=KEY_GROUPS)
    writer.with_operator("counts", local_state(local_rows(spark))).write(str(path))
    return open_local(spark, path)


def open_local(spark: SparkSession, path: Path) -> SparkSavepoint:
    return Savepoint.load(spark, str(path), uids=["counts"])


def merged_counts() -> list[dict[str, object]]:
    """Expected state once all instances are merged."""
    counts = []
    for word in range(WORDS):
        subtasks = [subtask for subtask in range(SUBTASKS) if (subtask + word) % 4 != 0]
        by_subtask = {"all": len(subtasks) * word} | {
            f"of {subtask}": subtask for subtask in subtasks
        }
        counts.append(
            {
                "key": f"Wörd {word}",
                "count": sum(100 * subtask + word for subtask in subtasks),
                "mean": {"f0": 10 * sum(subtasks), "f1": len(subtasks) * word},
                "ids": [number for subtask in subtasks for number in (subtask, word)],
                "by_subtask": by_subtask,
                "last": None if word % 3 == 0 else max(subtasks),
            }
        )
    return sorted(counts, key=lambda row: str(row["key"]))
