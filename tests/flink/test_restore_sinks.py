"""A real Flink restores pending commits and writers' states, whole and dropped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.flink_restore import LATEST, RELEASES
from support.nightly import nightly
from support.sink_jobs import ROWS, SinkJob, SinkJobs

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from state_processor import SinkEntry

UIDS = ["files"]


@dataclass(frozen=True, slots=True)
class Begun:
    """Two jobs that were stopped with a savepoint each."""

    jobs: SinkJobs
    rolling: str
    open: str


@pytest.fixture(scope="module", params=[*RELEASES, pytest.param(LATEST, marks=nightly)])
def begun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Begun:
    folder = tmp_path_factory.mktemp(request.param)
    jobs = SinkJobs(request.param, folder)
    taken = jobs.run([SinkJob("", folder / name, name) for name in ("rolling", "open")])
    rolling, still_open = (answer["savepoint"].removeprefix("file:") for answer in taken)
    return Begun(jobs, rolling, still_open)


def finished(folder: Path) -> list[str]:
    """The rows of all files that are complete."""
    files = (path for path in folder.rglob("part-*") if path.is_file())
    return [line for path in files for line in path.read_text().splitlines()]


def fact(entry: SinkEntry, name: str) -> str:
    facts = dict(text.split("=", 1) for text in entry.content.split(", "))
    return facts[name]


def temporaries(entries: Iterable[SinkEntry]) -> list[Path]:
    return [Path(fact(entry, "temporary")) for entry in entries]


def test_a_dropped_commit_is_not_repeated_and_the_others_are(begun: Begun, tmp_path: Path) -> None:
    files = begun.jobs.folder / "rolling"
    savepoint = Savepoint.open(begun.rolling, uids=UIDS)
    commits = savepoint.sinks().chosen("kind = 'commit'")
    assert [entry.connector for entry in commits] == ["file", "file"]
    assert [entry.state for entry in commits] == ["received", "received"]
    first, second = temporaries(commits)
    assert len(first.read_text().splitlines() + second.read_text().splitlines()) == ROWS
    rows = first.read_text().splitlines()
    assert finished(files) == []

    target = tmp_path / "dropped"
    savepoint.change_sinks(drop=f"number = {commits[1].number}").write(target)

    (answer,) = begun.jobs.run([SinkJob(str(target), files, "rolling")])
    assert "error" not in answer
    assert Path(fact(commits[0], "target")).read_text().splitlines() == rows
    assert not Path(fact(commits[1], "target")).exists()
    assert second.exists()

    (answer,) = begun.jobs.run([SinkJob(begun.rolling, files, "rolling")])
    assert "error" not in answer
    assert Path(fact(commits[1], "target")).exists()


def test_a_lost_file_keeps_the_job_from_starting_until_its_state_is_dropped(
    begun: Begun, tmp_path: Path
) -> None:
    files = begun.jobs.folder / "open"
    savepoint = Savepoint.open(begun.open, uids=UIDS)
    writers = savepoint.sinks().entries
    assert [(entry.kind, entry.connector) for entry in writers] == [("writer", "file")] * 2
    lost, other = temporaries(writers)
    rows = other.read_text().splitlines()
    lost.unlink()
    target = tmp_path / "dropped"
    savepoint.change_sinks(drop=f"content LIKE '%{lost.name}%'").write(target)

    jobs = [SinkJob(path, files, "rolling") for path in (begun.open, str(target))]
    refused, restored = begun.jobs.run(jobs)
    assert lost.name in refused["error"]
    assert "FileNotFoundException" in refused["error"]
    assert "error" not in restored
    assert Path(fact(writers[1], "target")).read_text().splitlines()[: len(rows)] == rows
