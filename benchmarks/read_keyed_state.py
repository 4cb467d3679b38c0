"""All keyed state of a savepoint, read by Flink's State Processor API and by ours, on two cores.

    python benchmarks/read_keyed_state.py [--keys 1000000 5000000] [--form canonical native]

Every measurement is a fresh process, one after the other, in ``--rounds`` that alternate between
Flink and ours; the least of all rounds counts. The first reading is timed from the start of its
process, with all that comes before it: imports, JVM, session. ``warm`` are the readings after it
in the same process. ``load`` is how many processes wanted a core, on average, in the minute before
the last round: above 2.5 others have disturbed it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pyarrow.compute as pc
from make_savepoint import FORMS, BenchmarkSavepoint, cache_folder
from peer.flink import VERSION, Flink

from savepoint_formats.scan import KeyedSplit
from state_processor import Savepoint, local_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

TABLE = "bench.keyed_state"
CORES = 2

READERS = ["flink", "arrow", "spark"]

Totals = tuple[int, int, int]
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Reading:
    """What it took to read all rows of a savepoint.

    Attributes:
        first: Seconds from the start of the process to the end of the first reading.
        warm: Seconds of the fastest reading after that.
        task_memory: Peak, in bytes, of the process that a task runs in.
        all_memory: The same of all processes together.
        load: What the system's other work was, on average, before it.
    """

    first: float
    warm: float
    task_memory: int
    all_memory: int
    load: float = 0.0

    def least(self, other: Reading) -> Reading:
        """The less of each; of memory the more."""
        return Reading(
            min(self.first, other.first),
            min(self.warm, other.warm),
            max(self.task_memory, other.task_memory),
            max(self.all_memory, other.all_memory),
            other.load,
        )


def read_by_flink(flink: Flink, savepoint: BenchmarkSavepoint, runs: int) -> Reading:
    """Several jobs in one JVM; ``warm`` is a job alone, without its cluster's start."""
    arguments = [savepoint.path.as_uri(), str(1 + runs)]
    run = flink.run("ReadKeyedState", arguments, savepoint.backend)
    jobs = [tuple(map(int, line.split())) for line in run.lines]
    for rows, counts, characters, _, _ in jobs:
        _expect((rows, counts, characters), savepoint)
    first = jobs[0][4] / 1000
    warm = min(milliseconds for *_, milliseconds, _ in jobs) / 1000
    return Reading(first, warm, run.peak_memory, run.peak_memory)


def read_by_arrow(savepoint: BenchmarkSavepoint, runs: int, started: float) -> Reading:
    """One core, batch by batch."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    first, warm = _measured(partial(_arrow_totals, str(savepoint.path)), savepoint, runs, started)
    return Reading(first, warm, peak_memory(os.getpid()), peak_memory(os.getpid()))


def _arrow_totals(path: str) -> Totals:
    scan = Savepoint.open(path).scan(TABLE)
    rows = counts = characters = 0
    for split in scan.splits():
        for batch in scan.read(split):
            rows += batch.num_rows
            counts += pc.sum(batch["count"]).as_py()
            characters += pc.sum(pc.utf8_length(batch["name"])).as_py()
    return rows, counts, characters


def read_by_spark(savepoint: BenchmarkSavepoint, runs: int, started: float) -> Reading:
    """A session on all cores; a task is a Python worker."""
    spark = local_session(f"local[{CORES}]")
    read = partial(_spark_totals, spark, str(savepoint.path))
    first, warm = _measured(read, savepoint, runs, started)
    processes = {process: peak_memory(process) for process in descendants(os.getpid())}
    workers = [size for process, size in processes.items() if _is_python(process)]
    spark.stop()
    return Reading(first, warm, max(workers), sum(processes.values()))


def _spark_totals(spark: SparkSession, path: str) -> Totals:
    frame = spark.read.format("savepoint").option("table", TABLE).load(path)
    row = frame.selectExpr("count(key)", "sum(count)", "sum(length(name))").first()
    assert row is not None
    return row[0], row[1], row[2]


def _measured(
    read: Callable[[], Totals], savepoint: BenchmarkSavepoint, runs: int, started: float
) -> tuple[float, float]:
    """Seconds of the first reading since the start of the process, and of the fastest other."""
    _expect(read(), savepoint)
    first, warm = time.time() - started, []
    for _ in range(runs):
        start = time.perf_counter()
        _expect(read(), savepoint)
        warm.append(time.perf_counter() - start)
    return first, min(warm)


def _expect(totals: Totals, savepoint: BenchmarkSavepoint) -> None:
    if totals != savepoint.totals:
        raise ValueError(f"{savepoint.path} gave {totals}, expected {savepoint.totals}")


def peak_memory(process: int) -> int:
    """The most memory, in bytes, that the process has had; 0 if it has ended."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(sizes[0]) << 10 if sizes else 0


def descendants(process: int) -> Iterator[int]:
    """The process and all that it has started."""
    yield process
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        for child in children.read_text(encoding="ascii").split():
            yield from descendants(int(child))


def _is_python(process: int) -> bool:
    """Whether it is a worker of Spark, not the driver."""
    command = Path(f"/proc/{process}/cmdline").read_bytes()
    return process != os.getpid() and b"pyspark.daemon" in command


def in_fresh_process(measure: Callable[..., ResultT], *arguments: object) -> ResultT:
    """What a function measures that is told when its process began."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(measure, *arguments, time.time()).result()


@dataclass(frozen=True, slots=True)
class FirstUse:
    """What a fresh process takes for a first reading of next to nothing.

    Attributes:
        imports: Seconds until the modules are there.
        first: Seconds of the first reading.
        second: Seconds of the second one, for which no machine code is made or loaded.
        memory: Peak, in bytes.
    """

    imports: float
    first: float
    second: float
    memory: int

    def __str__(self) -> str:
        kernel = self.first - self.second
        return f"kernel {kernel:.2f} s, imports {self.imports:.2f} s, {_mb(self.memory)} MB"


def first_use(savepoint: BenchmarkSavepoint, started: float) -> FirstUse:
    """In this process, with whatever is in the cache of machine code."""
    imports = time.time() - started
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        _expect(_arrow_totals(str(savepoint.path)), savepoint)
        seconds.append(time.perf_counter() - start)
    return FirstUse(imports, seconds[0], seconds[1], peak_memory(os.getpid()))


@dataclass(frozen=True, slots=True)
class LookUp:
    """What it took to find one key.

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


def _mb(size: float) -> str:
    return f"{size / 1e6:,.0f}"


def report(
    flink: Flink, savepoint: BenchmarkSavepoint, readers: Sequence[str], rounds: int, runs: int
) -> None:
    """Measures one savepoint, prints its table."""
    measures: dict[str, Callable[[], Reading]] = {
        "flink": partial(read_by_flink, flink, savepoint, runs),
        "arrow": partial(in_fresh_process, read_by_arrow, savepoint, runs),
        "spark": partial(in_fresh_process, read_by_spark, savepoint, runs),
    }
    found: dict[str, Reading] = {}
    for _ in range(rounds):
        for name in readers:
            load = os.getloadavg()[0]
            reading = replace(measures[name](), load=load)
            found[name] = found[name].least(reading) if name in found else reading
    print(f"\n{savepoint.path.name}: {savepoint.keys:,} keys, {_mb(savepoint.size)} MB")
    print(HEADER)
    for name, reading in found.items():
        print(_line(name, reading, savepoint, found.get("flink")), flush=True)


HEADER = (
    "        first s  x flink   warm s  x flink    M rows/s      MB/s   task MB   all MB   load"
)


def _line(name: str, reading: Reading, savepoint: BenchmarkSavepoint, peer: Reading | None) -> str:
    first = f"{peer.first / reading.first:.1f}" if peer else "-"
    warm = f"{peer.warm / reading.warm:.1f}" if peer else "-"
    rate, speed = savepoint.keys / reading.warm / 1e6, savepoint.size / reading.warm
    return (
        f"{name:6} {reading.first:8.2f} {first:>8} {reading.warm:8.2f} {warm:>8}"
        f" {rate:11.2f} {_mb(speed):>9} {_mb(reading.task_memory):>9}"
        f" {_mb(reading.all_memory):>8} {reading.load:6.1f}"
    )


def report_first_use(savepoint: BenchmarkSavepoint) -> None:
    """What the kernel costs a machine once, and each process."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["NUMBA_CACHE_DIR"] = cache
        for what in ("nothing cached", "cached"):
            print(f"first use, {what}: {in_fresh_process(first_use, savepoint)}", flush=True)
        del os.environ["NUMBA_CACHE_DIR"]


def main() -> None:
    """Makes what is not there, measures, prints."""
    options = _options()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    flink = Flink(options.folder / f"flink-{VERSION}", CORES, options.heap)
    flink.install()
    for form in options.form:
        tiny = BenchmarkSavepoint(options.folder, form, 1000)
        tiny.make(flink)
        print(f"\n{form}")
        report_first_use(tiny)
        for keys in options.keys:
            savepoint = BenchmarkSavepoint(options.folder, form, keys)
            savepoint.make(flink)
            report(flink, savepoint, options.readers, options.rounds, options.runs)
            print(f"one key: {in_fresh_process(look_up, savepoint, options.runs)}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, nargs="+", default=[5_000_000])
    parser.add_argument("--form", choices=FORMS, nargs="+", default=["canonical", "native"])
    parser.add_argument(
        "--readers", choices=READERS, nargs="+", default=READERS, help="all by default"
    )
    parser.add_argument("--rounds", type=int, default=2, help="processes per reader")
    parser.add_argument("--runs", type=int, default=3, help="readings per process after the first")
    parser.add_argument("--folder", type=Path, default=cache_folder(), help="what is kept, where")
    parser.add_argument("--heap", default="8g", help="the most that Flink's JVM may take")
    return parser.parse_args()


if __name__ == "__main__":
    main()
