"""A count of words, on two cores: with the state of one key in memory, and in RocksDB.

    python benchmarks/word_count.py [--full] [--keys long string] [--only single_key rocksdb]

Rows are made by Spark and counted by a Python function over a value state, a row for each key at
its end. ``--full`` takes 40 M records of 4 M keys instead of 4 M of 400 k. Each line is a process
of its own, warm; ``jvm s`` and ``python s`` are the CPU time of Spark and of its workers, ``rows/s``
is of all of it; ``task MB`` is the peak of the Python worker that had most. ``batches`` is the function over
Arrow tables, which leaves its state to a savepoint, which is read again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import CORES, cpu_seconds, descendants, is_worker, peak_memory
from pyspark.sql import functions as F

from savepoint_functions.functions.process_functions import KeyedProcessFunction
from state_processor import (
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
    local_session,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame

WAYS: dict[str, dict[str, bool | str]] = {
    "single_key": {},
    "rocksdb": {"state.backend.type": "rocksdb"},
    "batches": {},
}
COUNT = ValueStateDescriptor("count", Types.LONG())
SCALE = 10
MEGABYTE = 1 << 20


class WordCount(KeyedProcessFunction):
    """Counts the rows of each word, and tells when no more come."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, context: Any) -> None:  # noqa: ARG002
        count = self.count
        before = count.value()
        if before is None:
            context.timer_service.register_event_time_timer(0)
            before = 0
        count.update(before + 1)

    def on_timer(self, timestamp: int, context: Any) -> Iterable[tuple[Any, int]]:  # noqa: ARG002
        yield context.current_key, self.count.value()


def counted(rows: pa.Table) -> pa.Table:
    """Counts words over a table."""
    counted = rows.group_by("word", use_threads=False).aggregate([([], "count_all")])
    return counted.rename_columns(["key", "count"])


def words(records: int, keys: int, key_type: str) -> DataFrame:
    """Records whose words come in no order."""
    spark = local_session(f"local[{CORES}]", spark__sql__shuffle__partitions=str(CORES))
    number = (F.col("id") * 7919 + 13) % keys
    word = number if key_type == "long" else F.concat(F.lit("word-"), number.cast("string"))
    return spark.range(records, numPartitions=CORES).select(word.alias("word"))


def count(way: str, data: DataFrame) -> tuple[int, int]:
    """Counts in one way; the number of words, and that of records."""
    keyed = OperatorTransformation.bootstrap_with(data).key_by("word").with_options(WAYS[way])
    if way == "batches":
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "savepoint")
            operator = keyed.transform_batches(counted, COUNT)
            writer = Savepoint.create(data.sparkSession, parallelism=CORES)
            writer.with_operator("words", operator).write(path)
            written = Savepoint.load(data.sparkSession, path, uids=["words"])
            counts = written.read_keyed_state("words").withColumnRenamed("count", "n")
            row = counts.agg(F.count("*"), F.sum("n")).first()
    else:
        schema = f"word {data.schema[0].dataType.simpleString()}, n BIGINT"
        row = keyed.process(WordCount(), schema).agg(F.count("*"), F.sum("n")).first()
    assert row is not None
    return row[0], row[1]


def run(way: str, key_type: str, records: int) -> None:
    """Counts once, after a little that starts everything, and prints a line of the table."""
    count(way, words(records // SCALE, 10, key_type))
    jvm, workers = cpu_times()
    start = time.perf_counter()
    totals = count(way, words(records, records // SCALE, key_type))
    seconds = time.perf_counter() - start
    assert totals == (records // SCALE, records), totals
    jvm, workers = (
        after - before for after, before in zip(cpu_times(), (jvm, workers), strict=True)
    )
    workers_memory = map(peak_memory, filter(is_worker, descendants(os.getpid())))
    memory = max(workers_memory) // MEGABYTE
    rate = records / (jvm + workers)
    print(
        f"{way:12} {key_type:8} {seconds:8.1f} {jvm:8.1f} {workers:8.1f} {rate:10,.0f} {memory:9,}",
        flush=True,
    )


def cpu_times() -> tuple[float, float]:
    """The CPU seconds of Spark, and of its Python workers, so far."""
    others = [process for process in descendants(os.getpid()) if process != os.getpid()]
    of_workers = sum(cpu_seconds(process) for process in others if is_worker(process))
    return sum(map(cpu_seconds, others)) - of_workers, of_workers


def main() -> None:
    """Runs each way in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--keys", nargs="+", default=["long", "string"])
    parser.add_argument("--only", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    records = options.records * (SCALE if options.full else 1)
    if options.alone:
        run(options.only[0], options.keys[0], records)
        return
    print(f"{records:,} records, {records // SCALE:,} keys, {CORES} cores")
    names = f"{'seconds':>8} {'jvm s':>8} {'python s':>8} {'rows/s':>10} {'task MB':>9}"
    print(f"{'backend':12} {'key':8} {names}")
    for key_type in options.keys:
        for way in options.only:
            command = [sys.executable, __file__, "--alone", "--only", way, "--keys", key_type]
            subprocess.run([*command, "--records", str(records)], check=True)


if __name__ == "__main__":
    main()
