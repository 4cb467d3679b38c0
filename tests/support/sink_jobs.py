"""Runs the jobs of ``tests/flink/sink_job``, which write numbers into files."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flink_home import FlinkHome

from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

JOBS = SAMPLES.parent / "tests" / "flink" / "sink_job"
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
    """Compiled jobs of a release of Flink."""

    release: str
    folder: Path

    def run(self, jobs: Sequence[SinkJob]) -> list[dict[str, str]]:
        """Runs jobs in one cluster; each gives its ``savepoint``, or an ``error``."""
        home, classes = FlinkHome.cached(self.release), self.folder / "classes"
        home.install()
        if not classes.exists():
            home.compile([SAMPLES / "job", JOBS], classes)
        java = home.java(classes, ["-Xmx1g", "-XX:TieredStopAtLevel=1"])
        targets = self.folder / "savepoints"
        arguments = [
            text
            for job in jobs
            for text in (
                (job.savepoint and f"file:{job.savepoint}") or "-",
                job.files.as_uri(),
                job.rolling,
                str(ROWS),
                targets.as_uri(),
            )
        ]
        with (self.folder / "log").open("a", encoding="utf-8") as log:
            done = subprocess.run(
                [*java, "sinks.SinkJobs", *arguments],
                check=True,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
            )
        return [json.loads(line) for line in done.stdout.splitlines()]
