"""Compiles jobs of a folder of Java once, and runs them in one cluster of a real Flink."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flink_home import FlinkHome

from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

JOBS = SAMPLES.parent / "tests" / "flink"


@dataclass(frozen=True, slots=True)
class JavaJobs:
    """Jobs of a release of Flink.

    Attributes:
        release: The release.
        folder: Where the log lies.
        sources: Folder of the jobs, in ``tests/flink``.
        main: The class that runs them; it answers with a line of JSON for each job.
    """

    release: str
    folder: Path
    sources: str
    main: str

    def run(self, arguments: Iterable[str], *options: str) -> list[dict[str, Any]]:
        """The answers of the jobs."""
        home = FlinkHome.cached(self.release)
        home.install()
        classes = home.compiled([SAMPLES / "job", JOBS / self.sources])
        java = home.java(classes, ["-Xmx1g", *options])
        with (self.folder / "log").open("a", encoding="utf-8") as log:
            done = subprocess.run(
                [*java, self.main, *arguments],
                check=True,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
            )
        return [json.loads(line) for line in done.stdout.splitlines()]


def begun_with(savepoint: str) -> str:
    """The argument for the savepoint that a job begins with; empty for none."""
    return f"file:{savepoint}" if savepoint else "-"
