"""Measures a process that does one thing several times, and prints the figures."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from peer.flink import VERSION, Flink, Run

from state_processor import local_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

CORES = 2

HEADER = (
    "         first s  x flink   warm s  x flink    M rows/s      MB/s   task MB   all MB   load"
)

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Measurement:
    """Cost of reading or writing all rows of a savepoint.

    Attributes:
        first: Seconds from the start of the process to the end of the first run.
        warm: Seconds of the fastest run after that.
        task_memory: Peak, in bytes, of the process that a task runs in.
        all_memory: The same of all processes together.
        size: Bytes of the savepoint.
        load: What the system's other work was, on average, before it.
    """

    first: float
    warm: float
    task_memory: int
    all_memory: int
    size: int = 0
    load: float = 0.0

    @classmethod
    def of_flink(cls, run: Run) -> Self:
        """Several jobs in one JVM; ``warm`` is a job alone, without its cluster's start."""
        first = run.numbers[0][-1] / 1000
        warm = min(milliseconds for *_, milliseconds, _ in run.numbers[1:]) / 1000
        return cls(first, warm, run.peak_memory, run.peak_memory)

    @classmethod
    def of_this_process(cls, task: Callable[[int], None], runs: int, started: float) -> Self:
        """A task that is given the number of the run, from 0 to ``runs``."""
        task(0)
        first, warm = time.time() - started, []
        for run in range(1, runs + 1):
            start = time.perf_counter()
            task(run)
            warm.append(time.perf_counter() - start)
        memory = peak_memory(os.getpid())
        return cls(first, min(warm), memory, memory)

    @classmethod
    def of_spark(cls, task: Callable[[SparkSession, int], None], runs: int, started: float) -> Self:
        """A session on all cores; a task of it is a Python worker."""
        spark = local_session(f"local[{CORES}]")
        measurement = cls.of_this_process(partial(task, spark), runs, started)
        processes = {process: peak_memory(process) for process in descendants(os.getpid())}
        workers = [size for process, size in processes.items() if is_worker(process)]
        spark.stop()
        return replace(
            measurement, task_memory=max(workers, default=0), all_memory=sum(processes.values())
        )

    def least(self, other: Measurement) -> Measurement:
        """The less of each; of memory the more."""
        return Measurement(
            min(self.first, other.first),
            min(self.warm, other.warm),
            max(self.task_memory, other.task_memory),
            max(self.all_memory, other.all_memory),
            other.size,
            other.load,
        )


def alternating(
    measures: Mapping[str, Callable[[], Measurement]], rounds: int
) -> dict[str, Measurement]:
    """The least of what each measures in all rounds."""
    measurements: dict[str, Measurement] = {}
    for _ in range(rounds):
        for name, measure in measures.items():
            load = os.getloadavg()[0]
            measured = replace(measure(), load=load)
            measurements[name] = (
                measurements[name].least(measured) if name in measurements else measured
            )
    return measurements


def print_table(title: str, measurements: Mapping[str, Measurement], rows: int) -> None:
    """A line each. Compares with the one of Flink that is fastest when warm."""
    peers = [measurement for name, measurement in measurements.items() if name.startswith("flink")]
    peer = min(peers, key=lambda measurement: measurement.warm, default=None)
    print(f"\n{title}")
    print(HEADER)
    for name, measurement in measurements.items():
        first = f"{peer.first / measurement.first:.1f}" if peer else "-"
        warm = f"{peer.warm / measurement.warm:.1f}" if peer else "-"
        print(
            f"{name:7} {measurement.first:8.2f} {first:>8} {measurement.warm:8.2f} {warm:>8}"
            f" {rows / measurement.warm / 1e6:11.2f}"
            f" {megabytes(measurement.size / measurement.warm):>9}"
            f" {megabytes(measurement.task_memory):>9} {megabytes(measurement.all_memory):>8}"
            f" {measurement.load:6.1f}",
            flush=True,
        )


def megabytes(size: float) -> str:
    """Bytes as people read them."""
    return f"{size / 1e6:,.0f}"


def peak_memory(process: int) -> int:
    """The most memory, in bytes, that the process has had; 0 if it has ended."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(sizes[0]) << 10 if sizes else 0


def cpu_seconds(process: int) -> float:
    """The CPU time that the process and those of its children that have ended took."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    # What is behind the name of the program: the 14th to 17th field of ``proc(5)``.
    ticks = stat.rpartition(")")[2].split()[11:15]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def descendants(process: int) -> Iterator[int]:
    """The process and all that it has started."""
    yield process
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        for child in children.read_text(encoding="ascii").split():
            yield from descendants(int(child))


def is_worker(process: int) -> bool:
    """Whether it is a Python worker of Spark, not the driver."""
    command = Path(f"/proc/{process}/cmdline").read_bytes()
    names = (b"pyspark.daemon", b"workers.fork_server")
    return process != os.getpid() and any(name in command for name in names)


def all_cpu_seconds() -> float:
    """The CPU time of this process and all that it has started, in seconds."""
    return sum(map(cpu_seconds, descendants(os.getpid())))


def within(limit: float, command: list[str]) -> bool:
    """Whether the process ended in time; else it and all that it has started are ended."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment = {**os.environ, "TMPDIR": folder}
        with subprocess.Popen(command, env=environment) as process:
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                for started in list(descendants(process.pid)):
                    with suppress(ProcessLookupError):
                        os.kill(started, signal.SIGKILL)
                return False
    if status:
        raise subprocess.CalledProcessError(status, command)
    return True


def in_fresh_process(measure: Callable[..., ResultT], *arguments: object) -> ResultT:
    """Result of a function that is told when its process began."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(measure, *arguments, time.time()).result()


def cache_folder() -> Path:
    """Folder that keeps Flink and savepoints from one run to the next."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "savepoint-benchmarks")


def sizes_parser(description: str | None, keys: int) -> argparse.ArgumentParser:
    """The options that every script has which keeps savepoints; ``keys`` is the size by default."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, nargs="+", default=[keys], help="sizes")
    parser.add_argument("--folder", type=Path, default=cache_folder(), help="what is kept, where")
    return parser


def options_parser(description: str | None) -> argparse.ArgumentParser:
    """The options that every script has which needs Flink."""
    parser = sizes_parser(description, keys=5_000_000)
    parser.add_argument("--heap", default="8g", help="the most that Flink's JVM may take")
    return parser


def measuring_parser(description: str | None, who: list[str]) -> argparse.ArgumentParser:
    """Options of every benchmark, and of those measured in rounds."""
    parser = options_parser(description)
    parser.add_argument("--only", choices=who, nargs="+", default=who, help="all by default")
    parser.add_argument("--rounds", type=int, default=2, help="processes of each")
    parser.add_argument("--runs", type=int, default=3, help="runs per process after the first")
    return parser


def pin() -> None:
    """Has this process, and all that it starts, take two cores."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])


def installed_flink(options: argparse.Namespace) -> Flink:
    """Flink, fetched and compiled against if it is not there; pins all to the same cores."""
    pin()
    flink = Flink(options.folder / f"flink-{VERSION}", CORES, options.heap)
    flink.install()
    return flink
