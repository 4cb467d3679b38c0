"""Runs the jobs of ``tests/flink/sink_job``, which write numbers into files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.java_jobs import JavaJobs, begun_with

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ROWS = 100


@dataclass(frozen=True, slots=True)
class SinkJob:
    """A job to run.

    Attributes:
        savepoint: The savepoint that it begins with; empty to begin without state.
        files: Where it writes.
        rolling: ``rolling`` where each checkpoint finishes files, ``open`` where none does.
    """

    savepoint: str
    files: Path
    rolling: str


@dataclass(frozen=True, slots=True)
class SinkJobs:
    """Jobs of a release of Flink."""

    release: str
    folder: Path

    def run(self, jobs: Sequence[SinkJob]) -> list[dict[str, str]]:
        """Runs jobs in one cluster; each gives its ``savepoint``, or an ``error``."""
        targets = self.folder / "savepoints"
        arguments = (
            text
            for job in jobs
            for text in (
                begun_with(job.savepoint),
                job.files.as_uri(),
                job.rolling,
                str(ROWS),
                targets.as_uri(),
            )
        )
        jobs_of_sinks = JavaJobs(self.release, self.folder, "sink_job", "sinks.SinkJobs")
        return jobs_of_sinks.run(arguments)
