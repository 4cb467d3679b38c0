"""Versions of one job that differ in one thing each, run by a real Flink in one cluster."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from flink_home import FlinkHome

from support.java_jobs import JOBS
from support.maven_jars import fetched
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONFIG = {"pipeline.serialization-config": "[app.Job$Address: {type: kryo}]"}
"""Flink's configuration of every version that says nothing else."""

AVRO = {"2.2.1": "2.2.1", "1.20.5": "1.20.3"}
"""Release of Flink -> that of its library for Avro; the repository may lack that of 1.20.5."""

SOURCE = JOBS / "changed_job" / "Job.java"


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the job.

    Attributes:
        name: Name of the change.
        lines: Text of ``Job.java`` -> the text that replaces it.
        config: Flink's configuration of this version.
        operators: Number of operators that process each key.
    """

    name: str
    lines: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    operators: int = 2

    def source(self) -> str:
        """The text of the job. Each replaced text must be there."""
        text = SOURCE.read_text(encoding="utf-8")
        for old, new in self.lines.items():
            assert old in text, f"{self.name}: {old!r} is not in Job.java"
            text = text.replace(old, new)
        return text

    def on(self, backend: str) -> Version:
        """The version with another state backend."""
        return replace(self, config={**self.config, "state.backend.type": backend})


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of a version gave: the path of a savepoint and the texts of values found by state, or an error."""

    savepoint: str = ""
    kept: Mapping[str, list[str]] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """A job that goes on: the address of its cluster, and its id."""

    rest: str
    job: str


@dataclass(slots=True)
class ChangedJobs:
    """A cluster of a release, with a folder for what it needs."""

    release: str
    folder: Path
    _process: subprocess.Popen[str] | None = None
    _open: ExitStack = field(default_factory=ExitStack)

    def run(self, version: Version, savepoint: str | None = None, form: str = "canonical") -> Run:
        """Runs a version from a savepoint, or from nothing, and takes a savepoint of it."""
        answer = self._answer(self._request(version, savepoint, form))
        taken = (answer.get("savepoint") or "").removeprefix("file:")
        return Run(taken, answer.get("kept", {}), answer.get("error", ""))

    def start(self, version: Version) -> Running:
        """Runs a version until the cluster ends."""
        answer = self._answer({**self._request(version, None, "canonical"), "keep": True})
        return Running(answer["rest"], answer["job"])

    def _request(self, version: Version, savepoint: str | None, form: str) -> dict[str, Any]:
        folder = self.folder / version.name
        (folder / "classes").mkdir(parents=True, exist_ok=True)
        (folder / "Job.java").write_text(version.source(), encoding="utf-8")
        return {
            "sources": str(folder),
            "classes": str(folder / "classes"),
            "savepoint": None if savepoint is None else f"file:{savepoint}",
            "target": (self.folder / "savepoints").as_uri(),
            "format": form,
            "operators": version.operators,
            "configuration": {**CONFIG, **version.config},
        }

    def close(self) -> None:
        """Ends the cluster."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
        self._open.close()

    def _answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if self._process is None:
            self._process = self._start()
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError((self.folder / "log").read_text(encoding="utf-8")[-4000:])
        return dict(json.loads(line))

    def _start(self) -> subprocess.Popen[str]:
        avro = fetched(f"avro-{self.release}", {"flink-avro": AVRO[self.release]})
        cached = FlinkHome.cached(self.release)
        home = replace(cached, more=tuple(sorted(avro.glob("*.jar"))))
        inbox = self.folder / "inbox"
        inbox.mkdir()
        home.install()
        classes = home.compiled([SAMPLES / "job", JOBS / "changed_server"])
        java = home.java(classes, ["-Xmx1g"])
        log = self._open.enter_context((self.folder / "log").open("w", encoding="utf-8"))
        process = subprocess.Popen(
            [*java, "changes.JobServer", str(inbox)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        )
        return self._open.enter_context(process)
