"""Whatever is killed, the state and the rows of a job are those of a run in which nothing was.

Each job is a process of its own because it is killed, or loses its workers. The moments of death are
drawn by a generator with a fixed seed, and fall into the backlog, the switch and the stream.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

from support.nightly import nightly
from support.spark_processes import workers_of
from support.streamed_rows import StreamedRows

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

KEYS, BATCHES, ROWS = 7, 5, 40
PATIENCE_SECONDS = 300

JOB = """
import sys, time
from pathlib import Path
from state_processor import KeyedProcessFunction, OperatorTransformation, Types
from state_processor import ValueStateDescriptor, local_session
from state_processor import MixedModeJob, OperatorSettings, ParquetOutput

directory, rows, batches = sys.argv[1], sys.argv[2], int(sys.argv[3])

class Ranks(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, context):
        time.sleep(0.002)
        self.count.update((self.count.value() or 0) + 1)
        context.timer_service.register_event_time_timer(value.at + 10)
        yield value.account, value.at, self.count.value()

    def on_timer(self, timestamp, context):
        yield context.current_key, -timestamp, self.count.value()

spark = local_session("local[2, 4]", spark__sql__shuffle__partitions="2")
columns = "account BIGINT, at BIGINT"
past = spark.range(1000, 1400).selectExpr("id % 7 AS account", "id AS at")
live = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).json(rows)
keyed = [
    OperatorTransformation.bootstrap_with(one).assign_timestamps("at").key_by("account")
    for one in (past, live)
]
settings = OperatorSettings("ranks", "account BIGINT, at BIGINT, rank BIGINT")
job = MixedModeJob.of(*keyed, Ranks(), settings, directory + "/job")
with job.start(ParquetOutput(directory + "/output")) as running:
    running.process_all_available()
    running.take_savepoint(directory + "/savepoint")
"""


def sold(number: int) -> list[tuple[int, int]]:
    """The rows of a batch: account and timestamp, no two of which are the same."""
    first = 1400 + number * ROWS
    return [(at % KEYS, at) for at in range(first, first + ROWS)]


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", JOB, str(folder), str(folder / "rows"), str(BATCHES)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)


def feed(folder: Path) -> None:
    rows = StreamedRows(folder / "rows", "account BIGINT, at BIGINT")
    for number in range(BATCHES):
        rows.put(sold(number))


def finish(job: subprocess.Popen[str]) -> None:
    _, errors = job.communicate(timeout=PATIENCE_SECONDS)
    assert job.returncode == 0, errors


def check(spark: SparkSession, folder: Path) -> None:
    """Each row was counted once, and each timer that was due fired once."""
    times = range(1000, 1400 + BATCHES * ROWS)
    last = Counter(at % KEYS for at in times)
    savepoint = Savepoint.load(spark, str(folder / "savepoint"), uids=["ranks"])
    state = {row.key: row["count"] for row in savepoint.read_keyed_state("ranks").collect()}
    assert state == dict(last)
    watermark = times[-1] - 1
    waiting = sorted(row.timestamp for row in savepoint.read_timers("ranks").collect())
    assert waiting == [at + 10 for at in times if at + 10 > watermark]
    output = spark.read.parquet(str(folder / "output")).collect()
    of_rows = sorted((row.account, row.at, row["rank"]) for row in output if row.at > 0)
    ranks: Counter[int] = Counter()
    expected = []
    for at in times:
        ranks[at % KEYS] += 1
        expected.append((at % KEYS, at, ranks[at % KEYS]))
    assert of_rows == sorted(expected)
    fired = sorted(-row.at for row in output if row.at < 0)
    assert fired == [at + 10 for at in times if at + 10 <= watermark]


@nightly
def test_drivers_and_workers_that_are_killed_leave_what_others_leave(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed(tmp_path)
    chance = random.Random(7)
    job = start(tmp_path)
    for of_workers, of_driver in (
        ("job/backlog-*", "job/backlog-*"),
        (None, "job/stream/checkpoint/offsets/0"),
        ("job/stream/*/offsets/1", "job/stream/*/commits/2"),
    ):
        if of_workers is not None:
            wait_for(job, tmp_path, of_workers)
            time.sleep(chance.uniform(0, 0.5))
            kill_workers(job)
        wait_for(job, tmp_path, of_driver)
        time.sleep(chance.uniform(0, 1.5))
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate()
        job = start(tmp_path)
    wait_for(job, tmp_path, "job/stream/*/offsets/3")
    time.sleep(chance.uniform(0, 0.5))
    kill_workers(job)
    finish(job)
    check(spark, tmp_path)


def wait_for(job: subprocess.Popen[str], folder: Path, pattern: str) -> None:
    """Until a file is there, or the job has ended."""
    while job.poll() is None and not list(folder.glob(pattern)):
        time.sleep(0.02)


def kill_workers(job: subprocess.Popen[str]) -> None:
    for pid in workers_of(job.pid):
        os.kill(pid, signal.SIGKILL)
