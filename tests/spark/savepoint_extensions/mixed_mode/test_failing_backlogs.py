"""A backlog loses nothing, and doubles nothing, when its workers or its driver are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support.nightly import nightly
from support.spark_processes import workers_of

from state_processor import BacklogResult

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS, KEYS = 80_000, 8_000

# Four attempts at each task, as a cluster has them. The rows of a key are far apart in the input.
DRIVER = f"""
import sys
from state_processor import (
    Backlog,
    KeyedProcessFunction,
    OperatorTransformation,
    Types,
    ValueStateDescriptor,
    local_session,
)

class Totals(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, context):
        self.total.update((self.total.value() or 0) + value.at)
        context.timer_service.register_event_time_timer(value.at)
        yield value.account, value.at

spark = local_session("local[2, 4]", spark__sql__shuffle__partitions="4")
rows = spark.sql("SELECT id AS at, id % {KEYS} AS account FROM range({ROWS})")
keyed = OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("account")
Backlog.of(keyed, Totals(), "account BIGINT, at BIGINT").run(sys.argv[1], "totals")
"""

TOTAL = ROWS * (ROWS - 1) // 2
EXPECTED = [KEYS, TOTAL, ROWS, ROWS, TOTAL, 1, ROWS, KEYS, ROWS, KEYS]


def start(directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(directory)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(driver: subprocess.Popen[str]) -> None:
    """Waits until the driver is done, and has no error."""
    _, errors = driver.communicate(timeout=300)
    assert driver.returncode == 0, errors


def begun(directory: Path) -> Iterator[Path]:
    """The files that tasks of the function have begun to write."""
    return directory.glob("backlog-*/rows/_temporary/**/part-*")


def wait_for_tasks(
    driver: subprocess.Popen[str], directory: Path, besides: Path | None = None
) -> None:
    """Until a task has begun to write, elsewhere than into what another driver has left."""
    while driver.poll() is None:
        if any(besides not in file.parents for file in begun(directory)):
            return
        time.sleep(0.01)
    pytest.fail(f"the driver ended before anything was killed: {driver.communicate()[1]}")


def found(spark: SparkSession, directory: Path) -> list[int]:
    """The figures of the finished backlog."""
    result = BacklogResult.find(spark, str(directory), "totals")
    assert result is not None
    read = result.savepoint.read_keyed_state("totals").selectExpr("count(*)", "sum(total)")
    output = result.output.selectExpr("count(*)", "count(DISTINCT at)", "sum(at)")
    timers, counts = result.savepoint.read_timers("totals").count(), result.counts
    of_rows = (counts.rows, counts.keys, counts.output_rows, counts.state_writes)
    return [*read.collect()[0], *output.collect()[0], timers, *of_rows]


@nightly
def test_a_backlog_whose_driver_dies_is_run_anew_and_a_task_whose_worker_dies_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    driver = start(tmp_path)
    wait_for_tasks(driver, tmp_path)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.communicate()
    left = list(tmp_path.iterdir())
    assert len(left) == 1
    driver = start(tmp_path)
    wait_for_tasks(driver, tmp_path, besides=left[0])
    killed = list(workers_of(driver.pid))
    assert killed
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    end(driver)
    # The task has read its input again from the beginning.
    assert found(spark, tmp_path) == EXPECTED
    # What the first driver left is gone.
    assert len(list(tmp_path.iterdir())) == 1
