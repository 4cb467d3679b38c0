"""All keyed state of a savepoint, read by Flink's State Processor API and by ours, on two cores.

    python benchmarks/read_keyed_state.py [--keys 1000000 5000000] [--form canonical native]

Every measurement is a fresh process, one after the other, in ``--rounds`` that alternate between
Flink and ours; the least of all rounds counts. The first reading is timed from the start of its
process, with all that comes before it: imports, JVM, session. ``warm`` are the readings after it
in the same process. ``load`` is how many processes wanted a core, on average, in the minute before
the last round: above 2.5 others have disturbed it.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from customers import TABLE, expect_totals, read_by_flink
from make_savepoint import FORMS, BenchmarkSavepoint
from measure import (
    Measurement,
    alternating,
    in_fresh_process,
    installed_flink,
    measuring_parser,
    megabytes,
    print_table,
)

from savepoint_formats.scan.splits import KeyedSplit
from state_processor import Savepoint

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from peer.flink import Flink
    from pyspark.sql import SparkSession

READERS = ["flink", "arrow", "spark"]


def flink_reading(flink: Flink, savepoint: BenchmarkSavepoint, runs: int) -> Measurement:
    """Several jobs in one JVM."""
    path, keys, backend = savepoint.path, savepoint.keys, savepoint.backend
    return Measurement.of_flink(read_by_flink(flink, path, keys, backend, 1 + runs))


def arrow_reading(savepoint: BenchmarkSavepoint, runs: int, started: float) -> Measurement:
    """One core, batch by batch."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    return Measurement.of_this_process(partial(read_by_arrow, savepoint), runs, started)


def read_by_arrow(savepoint: BenchmarkSavepoint, run: int = 0) -> None:  # noqa: ARG001
    """Adds all rows up, and checks the sums."""
    scan = Savepoint.open(str(savepoint.path)).scan(TABLE)
    rows = counts = characters = 0
    for split in scan.splits():
        for batch in scan.read(split):
            rows += batch.num_rows
            counts += pc.sum(batch["count"]).as_py()
            characters += pc.sum(pc.utf8_length(batch["name"])).as_py()
    expect_totals((rows, counts, characters), savepoint.path, savepoint.keys)


def read_by_spark(savepoint: BenchmarkSavepoint, spark: SparkSession, run: int) -> None:  # noqa: ARG001
    """Reads the keys by a query."""
    frame = spark.read.format("savepoint").option("table", TABLE).load(str(savepoint.path))
    row = frame.selectExpr("count(key)", "sum(count)", "sum(length(name))").first()
    assert row is not None
    expect_totals((row[0], row[1], row[2]), savepoint.path, savepoint.keys)


def beside_parquet(savepoint: BenchmarkSavepoint, runs: int, _started: float) -> str:
    """CPU time of the rows as Arrow, and of pyarrow's batches of the same rows from Parquet.

    One process and one core read them in turns; the least counts.
    """
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])

    def batches() -> Iterator[pa.RecordBatch]:
        scan = Savepoint.open(str(savepoint.path)).scan(TABLE)
        return (batch for split in scan.splits() for batch in scan.read(split))

    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        pq.write_table(pa.Table.from_batches(batches()), file.name)

        def stored() -> Iterator[pa.RecordBatch]:
            yield from pq.ParquetFile(file.name).iter_batches(use_threads=False)

        seconds: dict[str, float] = {}
        for _ in range(1 + runs):
            for name, read in (("Arrow", batches), ("Parquet", stored)):
                start = time.process_time()
                rows = sum(batch.num_rows for batch in read())
                seconds[name] = min(seconds.get(name, inf), time.process_time() - start)
                if rows != savepoint.keys:
                    raise ValueError(f"{rows} rows from {name}, expected {savepoint.keys}")
    ratio = seconds["Arrow"] / seconds["Parquet"]
    return f"{seconds['Arrow']:.2f} s, Parquet {seconds['Parquet']:.2f} s, {ratio:.2f} x Parquet"


@dataclass(frozen=True, slots=True)
class LookUp:
    """Cost of finding one key.

    Attributes:
        first: Seconds from the start of the process.
        warm: Seconds of the fastest one after that, opening the savepoint included.
        key_groups: How many were read.
        read_size: Bytes that were read from files.
    """

    first: float
    warm: float
    key_groups: int
    read_size: int

    def __str__(self) -> str:
        groups = f"{self.key_groups} key groups, {self.read_size / 1e6:.1f} MB read"
        return f"first {self.first:.2f} s, warm {self.warm * 1000:.1f} ms, {groups}"


def look_up(savepoint: BenchmarkSavepoint, runs: int, started: float) -> LookUp:
    """One key in the middle."""
    key = savepoint.keys // 2
    key_groups = _find(savepoint, key)
    first, seconds, before = time.time() - started, [], _read_size()
    for _ in range(runs):
        start = time.perf_counter()
        _find(savepoint, key)
        seconds.append(time.perf_counter() - start)
    return LookUp(first, min(seconds), key_groups, (_read_size() - before) // runs)


def _find(savepoint: BenchmarkSavepoint, key: int) -> int:
    """How many key groups it took."""
    scan = Savepoint.open(str(savepoint.path)).scan(TABLE, keys=(key,))
    splits = scan.splits()
    counts = [count for split in splits for batch in scan.read(split) for count in batch["count"]]
    if [count.as_py() for count in counts] != [key + 1]:
        raise ValueError(f"{savepoint.path} has {counts} for key {key}, expected {key + 1}")
    return sum(len(split.key_groups) for split in splits if isinstance(split, KeyedSplit))


def _read_size() -> int:
    """Bytes that this process has read so far."""
    line = Path("/proc/self/io").read_text(encoding="ascii").splitlines()[0]
    return int(line.removeprefix("rchar:"))


def report(flink: Flink, savepoint: BenchmarkSavepoint, options: argparse.Namespace) -> None:
    """Measures one savepoint, prints its table."""
    runs = options.runs
    by_spark = partial(read_by_spark, savepoint)
    measures: dict[str, Callable[[], Measurement]] = {
        "flink": partial(flink_reading, flink, savepoint, runs),
        "arrow": partial(in_fresh_process, arrow_reading, savepoint, runs),
        "spark": partial(in_fresh_process, Measurement.of_spark, by_spark, runs),
    }
    measurements = alternating({name: measures[name] for name in options.only}, options.rounds)
    sized = {
        name: replace(measurement, size=savepoint.size)
        for name, measurement in measurements.items()
    }
    title = f"{savepoint.path.name}: {savepoint.keys:,} keys, {megabytes(savepoint.size)} MB"
    print_table(title, sized, savepoint.keys)


def main() -> None:
    """Makes what is not there, measures, prints."""
    parser = measuring_parser(__doc__, READERS)
    parser.add_argument("--form", choices=FORMS, nargs="+", default=["canonical", "native"])
    options = parser.parse_args()
    flink = installed_flink(options)
    for form in options.form:
        print(f"\n{form}")
        for keys in options.keys:
            savepoint = BenchmarkSavepoint(options.folder, form, keys)
            savepoint.make(flink)
            report(flink, savepoint, options)
            beside = in_fresh_process(beside_parquet, savepoint, options.runs)
            print(f"CPU time into Arrow, one core: {beside}", flush=True)
            print(f"one key: {in_fresh_process(look_up, savepoint, options.runs)}", flush=True)


if __name__ == "__main__":
    main()
