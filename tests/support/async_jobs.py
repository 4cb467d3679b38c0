"""Runs the jobs of ``tests/flink/async_job``: asynchronous operators, of functions and of SQL."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.flink_restore import RestoreError
from support.java_jobs import JavaJobs, begun_with

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
    arguments = (
        text
        for number, job in enumerate(jobs)
        for text in (
            begun_with(job.savepoint),
            job.backend,
            "async" if job.is_async else "sync",
            (folder / f"savepoint-{number}").as_uri(),
        )
    )
    jobs_of_states = JavaJobs(release, folder, "async_job", "async.AsyncJobs")
    return [_ended(answer) for answer in jobs_of_states.run(arguments, "-Duser.timezone=UTC")]


def _ended(answer: dict[str, Any]) -> Ended:
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
