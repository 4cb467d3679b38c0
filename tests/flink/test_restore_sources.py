"""A real Flink goes on reading files where a changed savepoint says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.flink_restore import LATEST, RELEASES
from support.java_jobs import JavaJobs, begun_with
from support.nightly import nightly

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.source_splits.file_splits import FileSplit
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from state_processor import SourceEntry

LINES = 5000


@pytest.fixture(params=[*RELEASES, pytest.param(LATEST, marks=nightly)])
def jobs(request: pytest.FixtureRequest, tmp_path: Path) -> JavaJobs:
    (tmp_path / "files").mkdir()
    for name in ("a", "b"):
        lines = "".join(f"{name} {number}\n" for number in range(LINES))
        (tmp_path / "files" / name).write_text(lines)
    return JavaJobs(request.param, tmp_path, "source_job", "sources.SourceJobs")


def run(jobs: JavaJobs, savepoints: Sequence[str]) -> list[dict[str, object]]:
    files, target = (jobs.folder / "files").as_uri(), (jobs.folder / "savepoints").as_uri()
    return jobs.run(
        text for savepoint in savepoints for text in (begun_with(savepoint), files, target)
    )


def entries_of(savepoint: Savepoint, operator: str) -> list[SourceEntry]:
    return [entry for entry in savepoint.sources().entries if entry.operator == operator]


def check_other_sources(savepoint: Savepoint) -> None:
    """Ranges of numbers, and a source that reads files before others."""
    (numbers,) = entries_of(savepoint, "numbers")
    assert (numbers.connector, numbers.kind, numbers.content) == (
        "numbers",
        "range",
        "last=1000000",
    )
    assert 1 < json.loads(numbers.position)["next"] < 100_000
    reader, enumerator, waiting = entries_of(savepoint, "hybrid")
    assert {entry.connector for entry in (reader, enumerator, waiting)} == {"hybrid"}
    assert reader.content.startswith("source=0, connector=file, path=")
    assert json.loads(reader.position)["records"] > 0
    assert (enumerator.kind, enumerator.content) == ("enumerator", "source=0")
    assert (waiting.kind, waiting.state) == ("file", "waiting")


def test_a_file_is_read_on_from_another_line(jobs: JavaJobs) -> None:
    (taken,) = run(jobs, [""])
    lines = taken["lines"]
    assert isinstance(lines, list)
    path = str(taken["savepoint"]).removeprefix("file:")
    savepoint = Savepoint.open(path, uids=["lines", "numbers", "hybrid"])
    reader, waiting = entries_of(savepoint, "lines")
    assert {entry.connector for entry in (reader, waiting)} == {"file"}
    assert (reader.subtask, reader.state) == (0, "reading")
    assert (waiting.subtask, waiting.state, waiting.position) == (None, "waiting", "")
    read = json.loads(reader.position)["records"]
    assert 50 <= read <= len(lines)
    first = lines[0].split()[0]
    assert f"/files/{first}, " in reader.content
    assert f"/files/{first}, " not in waiting.content
    data = bytes.fromhex(reader.bytes)
    split = FileSplit.of(Versioned(1, data), reader.split)
    assert split.to_versioned().data == data

    check_other_sources(savepoint)

    target = jobs.folder / "moved"
    position = json.dumps({"offset": -1, "records": 4000})
    savepoint.change_sources({reader.split: position}).write(target)
    savepoint.change_sources(reset=["lines"]).write(jobs.folder / "anew")
    read_path, waiting_path = (
        entry.content.partition("path=")[2].partition(",")[0] for entry in (reader, waiting)
    )
    for name, path_to_forget in (("switched", read_path), ("alone", waiting_path)):
        forgetful = savepoint.change_sources(
            {reader.split: json.dumps({"offset": -1, "records": 4900})},
            drop_files=[path_to_forget],
            operator="lines",
        )
        forgetful.write(jobs.folder / name)
    places = [str(jobs.folder / name) for name in ("moved", "anew", "switched", "alone")]
    unchanged, moved, anew, switched, alone = run(jobs, [path, *places])
    assert unchanged["lines"][0] == f"{first} {read}"  # type: ignore[index]
    assert moved["lines"][:2] == [f"{first} 4000", f"{first} 4001"]  # type: ignore[index]
    assert anew["lines"][0] in ("a 0", "b 0")  # type: ignore[index]
    others = {line.split()[0] for line in switched["lines"]}  # type: ignore[attr-defined]
    assert others == {"a", "b"} - {first}
    for answer, has_other in ((unchanged, True), (alone, False)):
        after = Savepoint.open(str(answer["savepoint"]).removeprefix("file:"), uids=["lines"])
        assert (waiting_path in str(entries_of(after, "lines"))) == has_other
