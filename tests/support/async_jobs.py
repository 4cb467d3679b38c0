"""Runs the jobs of ``tests/flink/async_job``: asynchronous operators, of functions and of SQL."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flink_home import FlinkHome

from support.flink_restore import RestoreError
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

JOBS = SAMPLES.parent / "tests" / "flink" / "async_job"
KEYS = 40


@dataclass(frozen=True, slots=True)
class AsyncJob:
    """A job to run.

    Attributes:
        savepoint: The savepoint that it begins with; empty to begin without state.
        backend: ``hashmap``, ``rocksdb`` or ``forst``.
        is_async: Whether its operators are asynchronous.
    """

    savepoint: str
    backend: str
    is_async: bool = True


@dataclass(frozen=True, slots=True)
class Ended:
    """Result of a job.

    Attributes:
        savepoint: The native savepoint that it took at its end.
        rows: How often each row is in the table of each query, less what it was at the beginning.
        error: What it failed with.
    """

    savepoint: str = ""
    rows: Counter[str] = field(default_factory=Counter)
    error: str = ""

    def expect_done(self) -> Ended:
        """Raises ``RestoreError`` if the job has failed."""
        if self.error:
            raise RestoreError(self.error)
        return self


def run_jobs(release: str, folder: Path, jobs: Sequence[AsyncJob]) -> list[Ended]:
    """Runs jobs in one cluster; those without a savepoint take other rows than those with one."""
    home, classes = FlinkHome.cached(release), folder / "classes"
    home.install()
    home.compile([SAMPLES / "job", JOBS], classes)
    java = home.java(classes, ["-Xmx1g", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC"])
    arguments = [
        text
        for number, job in enumerate(jobs)
        for text in (
            (job.savepoint and f"file:{job.savepoint}") or "-",
            job.backend,
            "async" if job.is_async else "sync",
            (folder / f"savepoint-{number}").as_uri(),
        )
    ]
    with (folder / "log").open("w", encoding="utf-8") as log:
        done = subprocess.run(
            [*java, "async.AsyncJobs", *arguments],
            check=True,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        )
    return [_ended(line) for line in done.stdout.splitlines()]


def _ended(line: str) -> Ended:
    answer = json.loads(line)
    if "error" in answer:
        return Ended(error=answer["error"])
    rows: Counter[str] = Counter()
    for printed in answer["rows"]:
        query, _, change = printed.partition("> ")
        rows[f"{query} {change[2:]}"] += 1 if change[:2] in ("+I", "+U") else -1
    return Ended(
        answer["savepoint"].removeprefix("file:"),
        Counter({row: count for row, count in rows.items() if count}),
    )
