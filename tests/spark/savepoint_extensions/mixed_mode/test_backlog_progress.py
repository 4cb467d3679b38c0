"""A backlog tells how far it is: when it begins, meanwhile, and at its end."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import cloudpickle

from savepoint_extensions.mixed_mode.progress import BacklogTally, BacklogWatch
from savepoint_spark.session.session import TaskCount
from state_processor import (
    Backlog,
    BacklogProgress,
    KeyedProcessFunction,
    OperatorTransformation,
    print_progress,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from savepoint_functions.functions.process_functions import KeyedContext

# Workers that Spark starts on the driver find less than this process does.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

PATIENCE_SECONDS = 60


class Echo(KeyedProcessFunction):
    def process_element(self, value: Any, context: KeyedContext) -> Any:
        if value.at < 0:
            raise ArithmeticError("no such row")
        yield (value.at,)


def backlog(spark: SparkSession, rows: str) -> Backlog:
    data = spark.sql(f"SELECT id AS at, id % 7 AS account FROM {rows}")
    keyed = OperatorTransformation.bootstrap_with(data).assign_timestamps("at")
    return Backlog.of(keyed.key_by("account"), Echo(), "at BIGINT")


def test_it_is_told_of_the_beginning_first_and_of_all_rows_and_keys_at_the_end(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[BacklogProgress] = []
    backlog(spark, "range(100)").run(str(tmp_path), "echo", on_progress=told.append)
    first, *_, last = told
    assert (first.rows, first.keys, first.is_done) == (0, 0, False)
    assert (last.rows, last.keys, last.is_done) == (100, 7, True)
    assert last.rows_per_second == 100 / last.seconds
    assert [one.is_done for one in told].count(True) == 1
    print_progress(last)
    printed = capsys.readouterr().err
    assert printed.startswith("backlog: done, 100 rows at ")
    assert ", 7 keys, " in printed


def test_a_backlog_that_fails_has_no_end_and_leaves_no_thread(
    spark: SparkSession, tmp_path: Path
) -> None:
    told: list[BacklogProgress] = []
    with pytest.raises(Exception, match="no such row"):
        backlog(spark, "range(-1, 9)").run(str(tmp_path), "echo", on_progress=told.append)
    assert told
    assert not any(one.is_done for one in told)
    assert "backlog watch" not in [thread.name for thread in threading.enumerate()]


def test_meanwhile_it_is_told_what_tasks_have_done_that_are_over(spark: SparkSession) -> None:
    told: list[BacklogProgress] = []
    has_seen_all = threading.Event()

    def tell(progress: BacklogProgress) -> None:
        told.append(progress)
        if (progress.rows, progress.keys) == (40, 8):
            has_seen_all.set()

    tally = BacklogTally.of(spark)

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tally.add(10, 2)
        yield from batches

    with BacklogWatch(spark, tally, tell, interval_s=0.01).watching():
        spark.range(0, 8, numPartitions=4).mapInArrow(count, "id BIGINT").collect()
        assert has_seen_all.wait(PATIENCE_SECONDS)
    assert told[0].rows == 0
    assert [one.rows for one in told] == sorted(one.rows for one in told)


def test_a_line_says_which_tasks_are_done_while_it_runs() -> None:
    progress = BacklogProgress(rows=600, keys=7, seconds=2.0, tasks=TaskCount(3, 8))
    assert str(progress) == "backlog: 3 of 8 tasks, 600 rows at 300 rows/s, 7 keys, 2.0 s"
