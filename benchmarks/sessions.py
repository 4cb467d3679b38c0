"""One function of users, sessions with timers, beside Spark's own ways and beside Flink.

    python benchmarks/sessions.py [--rows 4000000] [--only WAY …] [--limit 3600] [--heap 4g]

| way                         | what runs                                                                 |
|-----------------------------|---------------------------------------------------------------------------|
| `process`                   | a function over rows: its rows alone                                      |
| `run`                       | the same: its rows, and state and timers in a savepoint                   |
| `batches`                   | a function over batches of whole keys, with numpy: its rows and its state |
| `applyInArrow`              | Spark's, with numpy, a call per key                                       |
| `transformWithState batch`  | Spark's, over rows, with RocksDB                                          |
| `stream`                    | `MixedModeJob.finish`: the function over a stream, to its end             |
| `transformWithState stream` | Spark's, over the same stream, with RocksDB                               |
| `flink batch`               | the function in Java: `BATCH`, sorted input                               |
| `flink streaming`           | `STREAMING`, state on the heap                                            |
| `flink rocksdb`             | `STREAMING`, state in RocksDB                                             |

A user has ten rows, and a session ends 30 minutes behind its last row. Spark's rows lie in Parquet
files; each of ten micro-batches has a row of each user. Flink's are made by a source, which costs less than any
file. Each way is a process of its own, which runs over a hundredth of the rows first; `whole s` is
all of it. `seconds` and `cpu s` are those of the second run: CPU time is that of Java and Python
together. Each way must find the sessions and cents that numpy finds. A way that takes longer than
the limit, in seconds, is ended and gets a line that says so. `load` is how many processes wanted a
core in the minute before: above 2.5 others have disturbed the figures.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import CORES, all_cpu_seconds, cache_folder, pin, within
from peer.flink import HASHMAP, ROCKSDB, VERSION, Flink
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from state_processor import (
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
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from state_processor import KeyBatch, KeyedStateTransformation

MINUTE = 60_000
GAP, JITTER = 30 * MINUTE, 20 * MINUTE
ROWS_OF_A_KEY, FILES_PER_BATCH = 10, 2
FILES = ROWS_OF_A_KEY * FILES_PER_BATCH
FEWEST = ROWS_OF_A_KEY * FILES
FAR = 10**12
COLUMNS = "user BIGINT, at BIGINT, cents BIGINT"
SESSIONS = "user BIGINT, n BIGINT, cents BIGINT"
LONG = Types.LONG()
OPEN = ValueStateDescriptor("open", Types.TUPLE([LONG, LONG, LONG]))
FLINKS = {
    "flink batch": ("BATCH", HASHMAP),
    "flink streaming": ("STREAMING", HASHMAP),
    "flink rocksdb": ("STREAMING", ROCKSDB),
}


class Found(NamedTuple):
    """All sessions, and the cents of all."""

    sessions: int
    cents: int


class Sessions(KeyedProcessFunction):
    """End, rows and cents of the open session of each user."""

    def open(self, runtime_context: Any) -> None:
        self.session = runtime_context.get_state(OPEN)

    def process_element(self, value: Any, context: Any) -> Iterator[Any]:
        session, timers = self.session.value(), context.timer_service
        count = cents = 0
        if session is not None:
            end, count, cents = session
            timers.delete_event_time_timer(end)
            if value.at >= end:
                yield value.user, count, cents
                count = cents = 0
        self.session.update((value.at + GAP, count + 1, cents + value.cents))
        timers.register_event_time_timer(value.at + GAP)

    def on_timer(self, timestamp: int, context: Any) -> Iterator[Any]:  # noqa: ARG002  # Flink's
        _, count, cents = self.session.value()
        self.session.clear()
        yield context.current_key, count, cents


class SparkSessions(StatefulProcessor):
    """The same as Spark's own processor."""

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._session = handle.getValueState("open", "end BIGINT, n BIGINT, cents BIGINT")

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,
        rows: Any,
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Rows of a user in a micro-batch."""
        end, count, cents = before = self._session.get() or (None, 0, 0)
        for at, added in sorted((row.at, row.cents) for row in rows):
            if end is not None and at >= end:
                yield Row(user=key[0], n=count, cents=cents)
                count = cents = 0
            end, count, cents = at + GAP, count + 1, cents + added
        if before[0] is not None:
            self._handle.deleteTimer(before[0])
        self._session.update((end, count, cents))
        self._handle.registerTimer(end)

    def handleExpiredTimer(  # noqa: N802  # Spark's name
        self,
        key: Any,
        timerValues: Any,  # noqa: ARG002, N803
        expiredTimerInfo: Any,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """The end of a session."""
        _, count, cents = self._session.get()
        self._session.clear()
        yield Row(user=key[0], n=count, cents=cents)

    def close(self) -> None:
        pass


class BoundedSparkSessions(SparkSessions):
    """All rows of a user come at once in a batch, and no timer of event time fires in it."""

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,
        rows: Any,
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """All sessions of a user."""
        yield from super().handleInputRows(key, rows, timerValues)
        yield from self.handleExpiredTimer(key, timerValues, None)


def rows_of(rows: int) -> pa.Table:
    """The rows, as ``Sessions.java`` makes them. Spark drops a row of time 0: there is none."""
    index, keys = np.arange(rows), rows // ROWS_OF_A_KEY
    rounds = index // keys + 1
    users, at = (index * 7_919 + 13) % keys, rounds * GAP + index * 40_503 % JITTER
    return pa.table({"user": users, "at": at, "cents": index % 1_000})


def sums_of(users: NDArray[Any], at: NDArray[Any], cents: NDArray[Any]) -> tuple[Any, ...]:
    """User, end, rows and cents of the sessions of rows that are sorted by user and time."""
    is_first = np.ones(len(users), bool)
    is_first[1:] = (np.diff(users) != 0) | (np.diff(at) >= GAP)
    (starts,) = np.nonzero(is_first)
    ends = np.append(starts[1:], len(users))
    return users[starts], at[ends - 1] + GAP, ends - starts, np.add.reduceat(cents, starts)


def sums_of_table(rows: pa.Table) -> pa.Table:
    """The sessions of sorted rows."""
    columns = (rows.column(name).to_numpy() for name in ("user", "at", "cents"))
    users, _, counts, cents = sums_of(*columns)
    return pa.table({"user": users, "n": counts, "cents": cents})


def in_batch(batch: KeyBatch) -> tuple[pa.Table, pa.Table]:
    """The sessions that have ended in a batch, and the last one of each user, which is open."""
    columns = (batch.rows.column(name).to_numpy() for name in ("user", "at", "cents"))
    users, ends, counts, cents = sums_of(*columns)
    is_last = np.append(np.diff(users) != 0, True)
    sessions = pa.table({"user": users, "n": counts, "cents": cents}).filter(~is_last)
    opened = pa.StructArray.from_arrays(
        [pa.array(column[is_last]) for column in (ends, counts, cents)], ["f0", "f1", "f2"]
    )
    return sessions, pa.table({"key": users[is_last], "open": opened})


def in_arrow(rows: pa.Table) -> pa.Table:
    """The sessions of one user."""
    return sums_of_table(rows.sort_by("at"))


def keyed(rows: DataFrame) -> KeyedStateTransformation:
    """The rows with their timestamps, by user."""
    return OperatorTransformation.bootstrap_with(rows).assign_timestamps("at").key_by("user")


def found_in(sessions: DataFrame) -> Found:
    """Sessions and cents of some sessions."""
    row = sessions.agg(F.count("*"), F.coalesce(F.sum("cents"), F.lit(0))).first()
    assert row is not None
    return Found(*row)


def stored(run: Any, spark: SparkSession, folder: Path) -> Found:
    """The sessions of a run, those of its savepoint that are open included."""
    path = str(folder / "savepoint")
    found = found_in(run.output)
    writer = Savepoint.create(spark, parallelism=CORES).with_operator("sessions", run.state)
    writer.write(path, mode="overwrite")
    state = Savepoint.load(spark, path, uids=["sessions"]).read_keyed_state("sessions")
    opened = found_in(state.select(F.col("open.f2").alias("cents")))
    return Found(found.sessions + opened.sessions, found.cents + opened.cents)


def bounded(spark: SparkSession, files: str) -> DataFrame:
    """The rows."""
    return spark.read.parquet(f"{files}/[0-9]*.parquet")


def streamed(spark: SparkSession, files: str) -> DataFrame:
    """The rows as a stream, and one far behind them, whose watermark ends the last sessions."""
    stream = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", FILES_PER_BATCH)
    return stream.parquet(files)


class Sums:
    """Adds the sessions of micro-batches up."""

    def __init__(self) -> None:
        self.found = Found(0, 0)

    def __call__(self, rows: DataFrame, batch_id: int) -> None:  # noqa: ARG002  # a sink's
        of_batch = found_in(rows.where(f"user < {FAR}"))
        self.found = Found(*map(sum, zip(self.found, of_batch, strict=True)))


def by_stream(spark: SparkSession, files: str, folder: Path) -> Found:
    """The function over a stream, to its end."""
    sums = Sums()
    nothing = spark.createDataFrame([], COLUMNS)
    settings = OperatorSettings("sessions", SESSIONS, out_of_orderness_ms=JITTER)
    live = keyed(streamed(spark, files))
    job = MixedModeJob.of(keyed(nothing), live, Sessions(), settings, str(folder / "job"))
    job.finish(str(folder / "end"), sums)
    return sums.found


def transformed(rows: DataFrame, processor: StatefulProcessor) -> DataFrame:
    """The sessions of Spark's processor."""
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    rows.sparkSession.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    timed = rows.withColumn("time", F.timestamp_millis("at"))
    users = timed.withWatermark("time", f"{JITTER} milliseconds").groupBy("user")
    return users.transformWithState(processor, SESSIONS, "update", "eventTime")


def by_transform_with_state(spark: SparkSession, files: str, folder: Path) -> Found:
    """Spark's processor over the same stream."""
    sessions, sums = transformed(streamed(spark, files), SparkSessions()), Sums()
    writer = sessions.writeStream.outputMode("update").foreachBatch(sums)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return sums.found


def by_rows(run: Callable[[KeyedStateTransformation], Found]) -> Callable[..., Found]:
    """A way that reads all rows."""
    return lambda spark, files, _: run(keyed(bounded(spark, files)))


WAYS: dict[str, Callable[[SparkSession, str, Path], Found]] = {
    "process": by_rows(lambda rows: found_in(rows.process(Sessions(), SESSIONS))),
    "run": lambda spark, files, folder: stored(
        keyed(bounded(spark, files)).run(Sessions(), SESSIONS), spark, folder
    ),
    "batches": lambda spark, files, folder: stored(
        keyed(bounded(spark, files)).run_batches(in_batch, SESSIONS, OPEN), spark, folder
    ),
    "applyInArrow": lambda spark, files, _: found_in(
        bounded(spark, files).groupBy("user").applyInArrow(in_arrow, SESSIONS)
    ),
    "transformWithState batch": lambda spark, files, _: found_in(
        transformed(bounded(spark, files), BoundedSparkSessions())
    ),
    "stream": by_stream,
    "transformWithState stream": by_transform_with_state,
}


def make_files(rows: int, folder: Path) -> tuple[str, Found]:
    """Parquet files of the rows, in their order, and what is in them."""
    table, files = rows_of(rows), folder / f"rows-{rows}"
    files.mkdir(parents=True)
    size = rows // FILES
    parts = {f"{number:02}": table.slice(number * size, size) for number in range(FILES)}
    parts["far"] = pa.table({"user": [FAR], "at": [FAR], "cents": [0]})
    for number, (name, part) in enumerate(parts.items()):
        path = files / f"{name}.parquet"
        pq.write_table(part, path)
        os.utime(path, (number, number))
    sessions = sums_of_table(table.sort_by([("user", "ascending"), ("at", "ascending")]))
    return str(files), Found(len(sessions), int(sessions.column("cents").to_numpy().sum()))


def first_size(rows: int) -> int:
    """How many rows the first run has."""
    return max(rows // 100 // FEWEST, 1) * FEWEST


def of_spark(way: str, rows: int, folder: Path) -> tuple[float, float]:
    """Seconds and CPU seconds of the second run; the first has few rows."""
    spark = local_session(f"local[{CORES}]", spark__sql__shuffle__partitions=str(CORES))
    seconds = used = 0.0
    for count in (first_size(rows), rows):
        files, expected = make_files(count, folder)
        start, before = time.perf_counter(), all_cpu_seconds()
        found = WAYS[way](spark, files, folder / str(count))
        seconds, used = time.perf_counter() - start, all_cpu_seconds() - before
        assert found == expected, (found, expected)
    spark.stop()
    return seconds, used


def of_flink(way: str, rows: int, heap: str) -> tuple[float, float]:
    """Seconds and CPU seconds of the second job."""
    flink = Flink(cache_folder() / f"flink-{VERSION}", CORES, heap)
    flink.install()
    mode, backend = FLINKS[way]
    first = first_size(rows)
    sizes = [rows, rows // ROWS_OF_A_KEY, first, first // ROWS_OF_A_KEY]
    run = flink.run("Sessions", [mode, *map(str, sizes)], backend)
    *found, milliseconds, used = run.numbers[-1]
    with tempfile.TemporaryDirectory() as folder:
        _, expected = make_files(rows, Path(folder))
    assert tuple(found) == expected, (found, expected)
    return milliseconds / 1000, used / 1000


def alone(way: str, rows: int, heap: str) -> None:
    """Runs one way in this process, and prints its line of the table."""
    pin()
    load, start = os.getloadavg()[0], time.perf_counter()
    if way in FLINKS:
        seconds, used = of_flink(way, rows, heap)
    else:
        with tempfile.TemporaryDirectory() as folder:
            seconds, used = of_spark(way, rows, Path(folder))
    whole = time.perf_counter() - start
    figures = (
        f"{whole:8.1f} {seconds:8.1f} {used:8.1f} {rows / seconds:11,.0f} {rows / used:11,.0f}"
    )
    print(f"{way:25} {figures} {load:6.1f}", flush=True)


def main() -> None:
    """Runs each way in a process of its own."""
    ways = [*WAYS, *FLINKS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--only", nargs="+", choices=ways, default=ways)
    parser.add_argument("--limit", type=float, default=3600, help="seconds that a way may take")
    parser.add_argument("--heap", default="4g", help="the most that Flink's JVM may take")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rows < FEWEST or options.rows % FEWEST:
        parser.error(f"--rows must be a multiple of {FEWEST}")
    if options.alone:
        alone(options.only[0], options.rows, options.heap)
        return
    print(f"{options.rows:,} rows, {options.rows // ROWS_OF_A_KEY:,} keys, {CORES} cores")
    names = f"{'whole s':>8} {'seconds':>8} {'cpu s':>8} {'rows/s':>11} {'rows/cpu s':>11}"
    print(f"{'way':25} {names} {'load':>6}", flush=True)
    for way in options.only:
        command = [sys.executable, __file__, "--alone", "--only", way, "--heap", options.heap]
        if not within(options.limit, [*command, "--rows", str(options.rows)]):
            print(f"{way:25} longer than {options.limit:,.0f} s", flush=True)


if __name__ == "__main__":
    main()
