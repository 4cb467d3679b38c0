"""From the start of ``python`` to the first result of a read of all rows through Spark.

    python benchmarks/cold_process.py [--keys 1000000 5000000 20000000] [--only parquet canonical]

Whole processes, one after the other, in ``--rounds`` that alternate; the round that had its first
result soonest counts. Seconds are by the clock since the process was started, CPU seconds those of
all its processes until the first result: the driver, Java, Python workers. ``x`` is against the
process that reads the same rows from Parquet.

| row       | what is read                                                                   |
|-----------|--------------------------------------------------------------------------------|
| parquet   | a Parquet file by Spark itself, in a session without a fork server             |
| canonical | a canonical savepoint                                                          |
| native    | a native one of RocksDB                                                        |
| memory    | batches that a data source in Python has in memory: what Spark takes for that  |
| flink     | the canonical savepoint, by Flink's State Processor API                        |
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from customers import expect_totals, make_parquet, read_by_flink
from make_savepoint import BenchmarkSavepoint
from measure import installed_flink, options_parser

if TYPE_CHECKING:
    import argparse

    from peer.flink import Flink

_HERE = Path(__file__).parent
_WAYS = ["parquet", "canonical", "native", "memory", "flink"]
_STEPS = ["imports", "session", "frame", "first"]


@dataclass(frozen=True, slots=True)
class ColdProcess:
    """Seconds of a process.

    Attributes:
        steps: Seconds until each of ``_STEPS``; Flink's process has but the last.
        cpu: CPU seconds until the first result.
        whole: Seconds until the process had ended.
        load: How many processes wanted a core in the minute before.
    """

    steps: dict[str, float]
    cpu: float
    whole: float
    load: float

    @property
    def first(self) -> float:
        return self.steps["first"]


def of_spark(way: str, path: Path, keys: int) -> ColdProcess:
    """A process of ``cold_read.py``."""
    load = os.getloadavg()[0]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(_HERE), os.environ.get("PYTHONPATH", "")]),
        # With a Python of another name, no fork server is started: Parquet has no use for it.
        "PYSPARK_PYTHON": "python3" if way == "parquet" else sys.executable,
    }
    started = time.time()
    command = [sys.executable, str(_HERE / "cold_read.py"), way, str(path), str(started)]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    whole = time.time() - started
    seconds, totals = json.loads(run.stdout.splitlines()[-1])
    if way == "memory":
        if totals[0] != keys:
            raise ValueError(f"{totals[0]} rows from memory, expected {keys}")
    else:
        expect_totals(tuple(totals), path, keys)
    return ColdProcess({step: seconds[step] for step in _STEPS}, seconds["cpu"], whole, load)


def of_flink(flink: Flink, savepoint: BenchmarkSavepoint) -> ColdProcess:
    """A JVM that runs one job."""
    load, started = os.getloadavg()[0], time.time()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    read_by_flink(flink, savepoint.path, savepoint.keys, savepoint.backend, 1)
    whole, after = time.time() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ColdProcess({"first": whole}, cpu, whole, load)


def measured(options: argparse.Namespace, flink: Flink, keys: int) -> dict[str, ColdProcess]:
    """The best of all rounds, of each way."""
    parquet = options.folder / f"parquet-{keys}.parquet"
    make_parquet(parquet, keys)
    savepoints = {
        form: BenchmarkSavepoint(options.folder, form, keys) for form in ("canonical", "native")
    }
    best: dict[str, ColdProcess] = {}
    for _ in range(options.rounds):
        for way in options.only:
            if way in savepoints or way == "flink":
                savepoints.get(way, savepoints["canonical"]).make(flink)
            if way == "flink":
                process = of_flink(flink, savepoints["canonical"])
            else:
                path = savepoints[way].path if way in savepoints else parquet
                path = Path(f"memory-{keys}") if way == "memory" else path
                process = of_spark(way, path, keys)
            if way not in best or process.first < best[way].first:
                best[way] = process
    return best


def main() -> None:
    """Makes what is not there, measures, prints a table."""
    parser = options_parser(__doc__)
    parser.add_argument("--only", choices=_WAYS, nargs="+", default=_WAYS, help="all by default")
    parser.add_argument("--rounds", type=int, default=2, help="processes of each")
    options = parser.parse_args()
    flink = installed_flink(options)
    print(
        "| keys | process | imports | session | frame | first result | x | whole | CPU s | load |"
    )
    print("|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for keys in options.keys:
        processes = measured(options, flink, keys)
        for way, process in processes.items():
            steps = " | ".join(
                f"{process.steps[s]:.1f}" if s in process.steps else "-" for s in _STEPS
            )
            x = (
                f"{process.first / processes['parquet'].first:.2f}"
                if "parquet" in processes
                else "-"
            )
            figures = (
                f"{steps} | {x} | {process.whole:.1f} | {process.cpu:.1f} | {process.load:.1f}"
            )
            print(f"| {keys / 1e6:g} M | {way} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
