"""Queries that change while they run: jobs of a real Flink over halves of their input."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flink_home import FlinkHome

from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_JOB = Path(__file__).parents[1] / "flink" / "plan_job"


@dataclass(frozen=True)
class Statements:
    """Queries that become one job.

    Attributes:
        tables: Statements that create their tables.
        inserts: A statement for each query.
        options: Options of the planner.
        sources: Number of tables that they read.
        backend: The state backend of the job.
    """

    tables: Sequence[str]
    inserts: Sequence[str]
    options: Sequence[str] = ()
    sources: int = 1
    backend: str = "hashmap"


class Jobs:
    """A release of Flink, the plans of queries, and the jobs that it runs."""

    def __init__(self, release: str, folder: Path, queries: Mapping[str, Statements]) -> None:
        self.release, self.folder, self.queries = release, folder, queries
        self._home = FlinkHome.cached(release)
        self._home.install()
        compiled = self._home.compiled([_JOB, SAMPLES / "job"])
        services = folder / "classes" / "META-INF" / "services"
        services.mkdir(parents=True)
        factory = services / "org.apache.flink.table.factories.Factory"
        factory.write_text("plans.RowsTables\n")
        self._classes = Path(f"{compiled}{os.pathsep}{folder / 'classes'}")
        for name, query in queries.items():
            (folder / "queries" / name).mkdir(parents=True)
            files = {
                "tables.sql": query.tables,
                "options": query.options,
                "query.sql": query.inserts,
            }
            for file, lines in files.items():
                (folder / "queries" / name / file).write_text("\n".join(lines))
        subprocess.run([*self._java(), "plans.CompilePlans", str(folder / "queries")], check=True)

    def plan(self, query: str) -> Path:
        return self.folder / "queries" / query / "plan.json"

    def job(self, query: str, begin: str, end: str, savepoint: str | None = None) -> dict[str, Any]:
        return {
            "plan": str(self.plan(query)),
            "from": begin,
            "to": end,
            "savepoint": savepoint,
            "target": str(self.folder / "savepoints"),
            "sources": self.queries[query].sources,
            "backend": self.queries[query].backend,
        }

    def run(self, jobs: Mapping[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
        """What each job answers."""
        asked = self.folder / "jobs"
        asked.write_text("\n".join(json.dumps(job) for job in jobs.values()))
        command = [*self._java(), "plans.MigrationJobs", str(asked)]
        shown = subprocess.run(command, check=True, capture_output=True, text=True)
        # Flink's log has lines of its own.
        lines = (line for line in shown.stdout.splitlines() if line.startswith("{"))
        answers = map(json.loads, lines)
        return dict(zip(jobs, answers, strict=True))

    def _java(self) -> list[str]:
        return self._home.java(self._classes, ["-Xmx1g", f"-Djava.io.tmpdir={self.folder}"])


def net(rows: list[str], columns: tuple[int, ...] | None) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for line in rows:
        kind, *values = line.split("|")
        shown = tuple(values) if columns is None else tuple(values[number] for number in columns)
        counts[shown] += 1 if kind.startswith("+") else -1
    return counts


def without_zeros(counts: Counter[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    return {row: count for row, count in counts.items() if count}
