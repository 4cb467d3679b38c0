"""A backlog as a batch, and the same rows as a stream, on two cores; and what a switch costs.

    python benchmarks/mixed_mode.py [--rows 1000000] [--keys 20000]

A function counts the rows of each key in a value state, and sets a timer for the last. The ways:

| way       | is                                                                                |
|-----------|-----------------------------------------------------------------------------------|
| bounded   | the function over all rows, whose state becomes a savepoint                       |
| backlog   | the backlog phase of a mixed mode job: state, timers, rows; the same savepoint    |
| stream    | the same rows through the streaming phase, in micro-batches, behind no backlog    |
| switch    | the start of a stream behind the backlog, and its first batch, of one row         |

``reads`` and ``writes`` are of the state behind the function, per key; in a stream, per key and batch.
Each way is warmed up by a little, and the rows are there as Parquet. CPU seconds are those of all
processes; with other work on the machine they say more than seconds. ``--only`` runs some ways; what
the switch costs per key is the difference of two runs, ``--only backlog switch``, by ``--keys``.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import CORES, all_cpu_seconds

from state_processor import (
    Backlog,
    BacklogProgress,
    BatchProgress,
    KeyedProcessFunction,
    MixedModeJob,
    OperatorSettings,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
    local_session,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from savepoint_functions.transformations.keyed_transformation import KeyedStateTransformation

SCHEMA = "account BIGINT, count BIGINT"
COLUMNS = "account BIGINT, at BIGINT"
COUNT = ValueStateDescriptor("count", Types.LONG())
FAR = 10**12
ROWS_PER_FILE = 100_000
_WAYS = ("bounded", "backlog", "switch", "stream")


class Counts(KeyedProcessFunction):
    """Counts rows, and rings for each hundredth."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, context: Any) -> Any:  # noqa: ARG002
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count == 1:
            context.timer_service.register_event_time_timer(FAR)
        return ((context.current_key, count),) if count % 100 == 0 else None


def keyed(rows: DataFrame) -> KeyedStateTransformation:
    """Rows by account."""
    return OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("account")


@dataclass(frozen=True)
class Bench:
    """A job and its input.

    Attributes:
        spark: The session.
        folder: Where everything is written.
        rows: The number of rows.
        keys: The number of keys.
    """

    spark: SparkSession
    folder: Path
    rows: int
    keys: int

    def data(self) -> DataFrame:
        """The rows, which are written before."""
        path = str(self.folder / "input")
        if not Path(path).exists():
            account = f"(id * 7919 + 13) % {self.keys} AS account"
            self.spark.range(self.rows).selectExpr(account, "id + 1 AS at").write.parquet(path)
        return self.spark.read.parquet(path)

    def bounded(self) -> str:
        """All of it, without output."""
        writer = Savepoint.create(self.spark, parallelism=CORES)
        path = str(self.folder / "bounded")
        writer.with_operator("counts", keyed(self.data()).transform(Counts())).write(path)
        return ""

    def backlog(self) -> str:
        """State and output."""
        backlog = Backlog.of(keyed(self.data()), Counts(), SCHEMA)
        result = backlog.run(str(self.folder / "job"), "counts", parallelism=CORES)
        counts = result.counts
        assert (counts.rows, counts.keys) == (self.rows, self.keys)
        return accesses(counts.state_reads or 0, counts.state_writes or 0, counts.keys)

    def switch(self) -> str:
        """A stream with one row, behind the backlog."""
        live = self.folder / "live"
        live.mkdir()
        (live / "1.json").write_text(json.dumps({"account": 0, "at": self.rows + 1}))
        stream = self.spark.readStream.schema(COLUMNS).json(str(live))
        return self._streamed("job", self.data(), stream, 1)

    def stream(self) -> str:
        """All rows as a stream, behind a backlog of no rows."""
        history = str(self.folder / "history")
        self.data().write.option("maxRecordsPerFile", ROWS_PER_FILE).parquet(history)
        files = self.spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", CORES)
        return self._streamed("as-stream", self.data().limit(0), files.parquet(history), self.rows)

    def _streamed(self, name: str, past: DataFrame, live: DataFrame, rows: int) -> str:
        job = MixedModeJob.of(
            keyed(past),
            keyed(live),
            Counts(),
            OperatorSettings("counts", SCHEMA, parallelism=CORES),
            str(self.folder / name),
        )
        told: list[BacklogProgress | BatchProgress] = []
        with job.start(on_progress=told.append) as running:
            running.process_all_available()
        batches = [progress for progress in told if isinstance(progress, BatchProgress)]
        assert sum(batch.rows for batch in batches) == rows
        return accesses(
            sum(batch.state_reads for batch in batches),
            sum(batch.state_writes for batch in batches),
            sum(batch.visits for batch in batches),
        )


def accesses(reads: int, writes: int, keys: int) -> str:
    """Reads and writes of a key."""
    return f"{reads / keys:6.2f} {writes / keys:6.2f}"


def measured(bench: Bench, way: str) -> float:
    """The seconds that a way takes; prints a line of the table."""
    start, cpu = time.perf_counter(), all_cpu_seconds()
    result = getattr(bench, way)()
    seconds, cpu = time.perf_counter() - start, all_cpu_seconds() - cpu
    print(f"{way:10} {seconds:8.1f} {cpu:8.1f} {bench.rows / seconds:12,.0f} {result}", flush=True)
    return seconds


def main() -> None:
    """Runs all ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--only", nargs="+", default=_WAYS, choices=_WAYS)
    options = parser.parse_args()
    spark = local_session(f"local[{CORES}]", spark__sql__shuffle__partitions=str(CORES))
    with tempfile.TemporaryDirectory() as folder:
        for name, rows, keys in (("warm", 1000, 10), ("measured", options.rows, options.keys)):
            bench = Bench(spark, Path(folder) / name, rows, keys)
            bench.folder.mkdir()
            bench.data()
            print(
                f"{name}: {rows:,} rows, {keys:,} keys; load {os.getloadavg()[0]:.0f}\n"
                "way         seconds    CPU s       rows/s  reads writes"
            )
            seconds = {way: measured(bench, way) for way in options.only}
        if set(options.only) == set(_WAYS):
            both = seconds["backlog"] + seconds["switch"]
            print(
                f"backlog is {seconds['stream'] / seconds['backlog']:.1f} times as fast as stream,"
                f" with the switch {seconds['stream'] / both:.1f} times,"
                f" and takes {seconds['backlog'] / seconds['bounded']:.2f} times as long as bounded"
            )
    spark.stop()


if __name__ == "__main__":
    main()
