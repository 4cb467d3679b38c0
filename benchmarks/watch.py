"""Cost of a round of a watch over a new checkpoint, beside ``stats`` and ``verify`` of all of it.

    python benchmarks/watch.py [--elements 40000] [--keys 400000] [--job DIRECTORY]

A real Flink makes twelve incremental checkpoints of RocksDB, with so many elements between each and the
next; half of its keys come once. Each way runs in a process of its own, with the files in the system's
cache: the watch has seen all checkpoints but the newest, and its cost is that of the round over the
newest alone. Bytes are those that the process asked the system for. Sizes of states are compared.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
UIDS = ("ticks", "batches", "orders", "end")
COUNT = 12


def made(folder: Path, elements: int, keys: int) -> Path:
    """The directory of a job with its checkpoints."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "sample_savepoints")]
    from support.java_jobs import JavaJobs  # noqa: PLC0415  # of the tests

    jobs = JavaJobs("2.2.1", folder, "chain_job", "chain.ChainJobs")
    options = (f"-Dbatch={elements}", f"-Dkeys={keys}")
    answers = jobs.run(["rocksdb", "2", "-", str(COUNT), "4", (folder / "job").as_uri()], *options)
    return Path(answers[-1]["path"].removeprefix("file:")).parent


def read_bytes() -> int:
    """Bytes that this process has asked the system for."""
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["rchar"])


def peak_memory() -> int:
    """The most bytes that this process has held in memory."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(
        next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]
    )


def newest(job: Path) -> Path:
    """The checkpoint of a job with the highest number."""
    return max(job.glob("chk-*"), key=lambda path: int(path.name[4:]))


def watched(job: Path) -> dict[str, Any]:
    """The cost of a round over the newest checkpoint."""
    from state_processor import watch  # noqa: PLC0415  # imports are measured for each way

    last = newest(job)
    with tempfile.TemporaryDirectory(dir=job.parent) as later:
        hidden = last.rename(Path(later) / last.name)
        try:
            watching = watch(job, uids=UIDS)
            watching.round()
        finally:
            hidden.rename(last)
    before = read_bytes(), time.process_time(), time.perf_counter()
    answer = watching.round()
    after = read_bytes(), time.process_time(), time.perf_counter()
    read, cpu, seconds = (end - start for start, end in zip(before, after, strict=True))
    assert answer.measured == (int(last.name[4:]),)
    sizes = {it.state: it.size for it in answer.states if it.operator == "orders"}
    errors = {it.state: it.error for it in answer.states if it.operator == "orders"}
    return {
        "read": read,
        "cpu": cpu,
        "seconds": seconds,
        "memory": peak_memory(),
        "new": answer.new_size,
        "all": answer.size,
        "sizes": sizes,
        "errors": errors,
    }


def counted(job: Path) -> dict[str, Any]:
    """The cost of ``stats`` and ``verify`` of the newest checkpoint."""
    from state_processor import Savepoint  # noqa: PLC0415  # imports are measured for each way

    before = read_bytes(), time.process_time(), time.perf_counter()
    report = Savepoint.open(newest(job), uids=UIDS).stats()
    assert Savepoint.open(newest(job), uids=UIDS).verify().is_whole
    after = read_bytes(), time.process_time(), time.perf_counter()
    read, cpu, seconds = (end - start for start, end in zip(before, after, strict=True))
    sizes = {it.state: it.size for it in report.states if it.operator == "orders"}
    return {"read": read, "cpu": cpu, "seconds": seconds, "memory": peak_memory(), "sizes": sizes}


WAYS = {"watch": watched, "stats and verify": counted}


def measured(way: str, job: Path) -> dict[str, Any]:
    """What a way costs in a fresh process."""
    command = [sys.executable, __file__, "--job", str(job), "--way", way]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Measures both ways, and prints their costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=40_000, help="between two checkpoints")
    parser.add_argument("--keys", type=int, default=400_000)
    parser.add_argument("--job", type=Path, help="the directory of a job that was made before")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way is not None:
        warnings.simplefilter("ignore")
        print(json.dumps(WAYS[options.way](options.job)))
        return
    folder = Path(tempfile.mkdtemp())
    try:
        job = options.job or made(folder, options.elements, options.keys)
        for _ in range(2):  # the first time fills the system's cache
            costs = {way: measured(way, job) for way in WAYS}
        own, full = costs["watch"], costs["stats and verify"]
        print(f"checkpoint of {own['all'] / 1e6:.1f} MB, {own['new'] / 1e6:.1f} MB of them new")
        for way, cost in costs.items():
            print(
                f"{way:18} {cost['read'] / 1e6:8.1f} MB read {cost['cpu']:7.2f} s of CPU"
                f" {cost['seconds']:7.2f} s {cost['memory'] / 1e6:7.0f} MB of memory"
            )
        for state, size in full["sizes"].items():
            off = abs(own["sizes"][state] - size) / max(size, 1)
            print(f"  {state}: {size:,} bytes, off by {off:.2%}, said {own['errors'][state]:.2%}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
