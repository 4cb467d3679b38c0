"""Queries that change while they run: jobs of a real Flink over halves of their input."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from contextlib import ExitStack, closing
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


class QueryServer:
    """A planner and a cluster of a release, which live until they are closed."""

    def __init__(self, release: str, folder: Path) -> None:
        self.release = release
        home = FlinkHome.cached(release)
        home.install()
        services = folder / "classes" / "META-INF" / "services"
        services.mkdir(parents=True)
        factory = services / "org.apache.flink.table.factories.Factory"
        factory.write_text("plans.RowsTables\n")
        classes = f"{home.compiled([_JOB, SAMPLES / 'job'])}{os.pathsep}{folder / 'classes'}"
        # Each job brings classes of its own, whose code stays.
        options = ["-Xmx1g", "-XX:ReservedCodeCacheSize=128m", f"-Djava.io.tmpdir={folder}"]
        self._log = folder / "log"
        with self._log.open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [*home.java(Path(classes), options), "plans.QueryServer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
            )

    def compile(self, queries: Path) -> None:
        """Writes a plan into each folder of a query."""
        answer = self.answer({"queries": str(queries)})
        assert "error" not in answer, answer["error"]

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(self._log.read_text(encoding="utf-8")[-4000:])
        return dict(json.loads(line))

    def close(self) -> None:
        """Ends the process and waits for it."""
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()


class QueryServers:
    """A server for each release that is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = ExitStack()
        self._servers: dict[str, QueryServer] = {}

    def of(self, release: str) -> QueryServer:
        if release not in self._servers:
            server = QueryServer(release, self._folder / release)
            self._servers[release] = self._open.enter_context(closing(server))
        return self._servers[release]

    def close(self) -> None:
        self._open.close()


class Jobs:
    """The plans of queries, and the jobs that a release of Flink runs."""

    def __init__(
        self, server: QueryServer, folder: Path, queries: Mapping[str, Statements]
    ) -> None:
        self.release, self.folder, self.queries = server.release, folder, queries
        self._server = server
        for name, query in queries.items():
            (folder / "queries" / name).mkdir(parents=True)
            files = {
                "tables.sql": query.tables,
                "options": query.options,
                "query.sql": query.inserts,
            }
            for file, lines in files.items():
                (folder / "queries" / name / file).write_text("\n".join(lines))
        server.compile(folder / "queries")

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
        return {name: self._server.answer(job) for name, job in jobs.items()}


def net(rows: list[str], columns: tuple[int, ...] | None) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for line in rows:
        kind, *values = line.split("|")
        shown = tuple(values) if columns is None else tuple(values[number] for number in columns)
        counts[shown] += 1 if kind.startswith("+") else -1
    return counts


def without_zeros(counts: Counter[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    return {row: count for row, count in counts.items() if count}
