"""Work on more and more keys, on two cores: seconds, keys per second, and memory per process.

    python benchmarks/scale.py [--keys 5000000 20000000 100000000] [--forms canonical native]

A canonical savepoint is bootstrapped from rows that Spark makes itself, in no order; one of RocksDB is
made by a job of Flink, if it is not there, and kept. Each is read through Spark (a count, and sums of all
columns), and rescaled: to other subtasks alone, and to other key groups. What is written is read when
the clock has stopped, and removed. 100 M keys take 20 GB of disk for a while.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from customers import COUNT, MAX_PARALLELISM, NAME, UID, expect_totals
from make_savepoint import BenchmarkSavepoint
from measure import (
    CORES,
    all_cpu_seconds,
    descendants,
    installed_flink,
    is_worker,
    megabytes,
    options_parser,
    peak_memory,
)
from pyspark.sql import functions as F

from state_processor import OperatorTransformation, Savepoint, local_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

CANONICAL, NATIVE = FORMS = "canonical", "native"
KEYS = [5_000_000, 20_000_000, 100_000_000]

# A prime above any number of keys, so that its multiples visit each key once, in no order.
_STRIDE = 2**31 - 1

_HEADER = """
| savepoint | keys | what | seconds | M keys/s | seconds of CPU | driver MB | Java MB | worker MB |
|---|---|---|---|---|---|---|---|---|"""

# What resets VmHWM; see proc(5).
_RESET_PEAK = "5"


@dataclass(frozen=True, slots=True)
class Step:
    """Work done on savepoints of one form and size.

    Attributes:
        spark: The session.
        form: The form of what is read.
        keys: How many it has.
    """

    spark: SparkSession
    form: str
    keys: int

    def measure(self, what: str, work: Callable[[], object]) -> None:
        """Does something, prints a row of the table."""
        reset_peaks()
        before = all_cpu_seconds()
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        cpu = all_cpu_seconds() - before
        driver, java, worker = map(megabytes, peaks())
        print(
            f"| {self.form} | {self.keys // 1_000_000} M | {what} | {seconds:.1f}"
            f" | {self.keys / seconds / 1e6:.2f} | {cpu:.1f} | {driver} | {java} | {worker} |",
            flush=True,
        )

    def bootstrap(self, path: Path) -> None:
        """Writes all keys."""
        customers = OperatorTransformation.bootstrap_with(rows(self.spark, self.keys)).key_by("key")
        writer = Savepoint.create(self.spark, parallelism=CORES, max_parallelism=MAX_PARALLELISM)
        writer.with_operator(UID, customers.with_state(COUNT).with_state(NAME)).write(str(path))

    def read(self, path: Path) -> None:
        """Adds up all columns.

        Raises:
            ValueError: The sums are not those of all keys.
        """
        table = Savepoint.load(self.spark, str(path)).read_keyed_state(UID)
        sums = F.count("key"), F.sum("count"), F.sum(F.length("name"))
        (totals,) = table.agg(*sums).collect()
        expect_totals((totals[0], totals[1], totals[2]), path, self.keys)

    def rescale(self, what: str, source: Path, target: Path, max_parallelism: int) -> None:
        """Writes it with twice the subtasks; reads it, and removes it."""
        savepoint = Savepoint.load(self.spark, str(source))
        writer = savepoint.rescale(parallelism=2 * CORES, max_parallelism=max_parallelism)
        self.measure(what, lambda: writer.write(str(target)))
        self.read(target)
        shutil.rmtree(target)


def rows(spark: SparkSession, keys: int) -> DataFrame:
    """All rows, in the order of no column."""
    numbers = spark.range(keys).select((F.col("id") * _STRIDE % keys).alias("key"))
    name = F.concat(F.lit("customer-"), F.lpad(F.col("key").cast("string"), 11, "0"))
    return numbers.select("key", (F.col("key") + 1).alias("count"), name.alias("name"))


def processes() -> list[int]:
    """The process itself, and all that it has started."""
    return list(descendants(os.getpid()))


def reset_peaks() -> None:
    """Has the peaks of memory be those from now on."""
    for process in processes():
        with suppress(OSError):
            Path(f"/proc/{process}/clear_refs").write_text(_RESET_PEAK, encoding="ascii")


def peaks() -> tuple[int, int, int]:
    """The peak memory of the driver, of Java, and of the largest Python worker."""
    driver, java, worker = peak_memory(os.getpid()), 0, 0
    for process in processes():
        if is_worker(process):
            worker = max(worker, peak_memory(process))
        elif process != os.getpid():
            java = max(java, peak_memory(process))
    return driver, java, worker


def run(step: Step, source: Path, target: Path) -> None:
    """All steps on a savepoint; a canonical one is made by the first of them."""
    if step.form == CANONICAL:
        step.measure("bootstrap", lambda: step.bootstrap(source))
    step.measure("read", lambda: step.read(source))
    step.rescale("rescale, other subtasks", source, target, MAX_PARALLELISM)
    step.rescale("rescale, other key groups", source, target, 2 * MAX_PARALLELISM)


def main() -> None:
    """Makes what is not there, measures, prints."""
    parser = options_parser(__doc__)
    parser.set_defaults(keys=KEYS)
    parser.add_argument("--forms", choices=FORMS, nargs="+", default=[CANONICAL], help="of what")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    if NATIVE in options.forms:
        flink = installed_flink(options)
        for keys in options.keys:
            BenchmarkSavepoint(options.folder, NATIVE, keys).make(flink)
    written = options.folder / "scaled"
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir(parents=True)
    spark = local_session(f"local[{CORES}]")
    # Java's own start, and that of workers, belongs to no size.
    warm = Step(spark, CANONICAL, 1000)
    warm.bootstrap(written / "warm")
    warm.read(written / "warm")
    print(_HEADER, flush=True)
    for form in options.forms:
        for keys in options.keys:
            own = written / "made"
            source = (
                own if form == CANONICAL else BenchmarkSavepoint(options.folder, form, keys).path
            )
            run(Step(spark, form, keys), source, written / "rescaled")
            shutil.rmtree(own, ignore_errors=True)
    spark.stop()
    shutil.rmtree(written)


if __name__ == "__main__":
    main()
