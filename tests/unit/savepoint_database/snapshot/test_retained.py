"""Checkpoints and savepoints below a directory, and which of them is read."""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from savepoint_database.snapshot import retained
from savepoint_formats.errors import SavepointNotFoundError, UnreachableError
from savepoint_formats.savepoint_warnings import NewestSnapshotWarning
from state_processor import Savepoint, snapshots

if TYPE_CHECKING:
    from support.s3_server import S3Server

    from savepoint_database.snapshot.retained import RetainedSnapshot
    from savepoint_formats.locations.path_rules import PathRules

JOB = "b6a8a8a2b2e04b0f8a6a8e3a0f6c7d11"


@pytest.fixture
def checkpoints(samples: Path, tmp_path: Path) -> Path:
    """A job with two checkpoints, a later one that is under way, and a savepoint beside them."""
    job = tmp_path / "checkpoints" / JOB
    shutil.copytree(samples / "states-2.2.1-rocksdb-incremental", job)
    shutil.copytree(job / "chk-2", job / "chk-10")
    (job / "chk-11").mkdir()
    (job / "chk-11" / "part").write_bytes(b"12345")
    savepoint = tmp_path / "checkpoints" / "savepoint-b6a8a8-0123456789ab"
    shutil.copytree(samples / "currency-2.2.1-hashmap-canonical", savepoint)
    for name in (savepoint, job / "chk-10"):
        os.utime(name / "_metadata", (1_700_000_000, 1_700_000_000))
    os.utime(job / "chk-2" / "_metadata", (1_800_000_000, 1_800_000_000))
    return tmp_path / "checkpoints"


def test_all_snapshots_are_told(checkpoints: Path) -> None:
    found = {os.path.basename(one.path): one for one in snapshots(str(checkpoints))}
    assert set(found) == {"chk-2", "chk-10", "chk-11", "savepoint-b6a8a8-0123456789ab"}
    assert {name for name, one in found.items() if one.is_complete} == set(found) - {"chk-11"}
    unfinished = found["chk-11"]
    assert (unfinished.id, unfinished.time, unfinished.own_size) == (None, None, 5)
    assert "not completed" in unfinished.problem
    savepoint = found["savepoint-b6a8a8-0123456789ab"]
    assert savepoint.time == "2023-11-14 22:13:20.000Z"
    assert savepoint.kind == "canonical savepoint"
    described = Savepoint.open(savepoint.path).describe()
    assert (savepoint.size, savepoint.operators) == (described.size, len(described.operators))
    files = [file for file in (checkpoints / JOB / "chk-2").rglob("*") if file.is_file()]
    assert found["chk-2"].own_size == sum(file.stat().st_size for file in files)
    assert found["chk-2"].size > found["chk-2"].own_size, "shared files count to what it refers to"


def test_snapshots_are_a_table(checkpoints: Path) -> None:
    found = snapshots(str(checkpoints))
    rows = found.to_arrow().to_pylist()
    assert rows == [asdict(one) for one in found]
    assert {row["is_complete"] for row in rows} == {True, False}


def test_the_files_of_each_directory_count_to_its_snapshot(checkpoints: Path) -> None:
    # Names of which one begins as the other does, and files in a folder further down.
    below = checkpoints / JOB / "chk-1" / "further" / "down"
    below.mkdir(parents=True)
    (below / "part").write_bytes(b"123")
    found = {os.path.basename(one.path): one.own_size for one in snapshots(str(checkpoints))}
    assert (found["chk-1"], found["chk-11"]) == (3, 5)
    alone = snapshots(str(checkpoints / JOB / "chk-10"))
    assert [one.own_size for one in alone] == [found["chk-10"]]


def test_a_snapshot_without_one_of_its_files_is_not_complete(checkpoints: Path) -> None:
    shared = sorted((checkpoints / JOB / "shared").iterdir())
    shared[0].unlink()
    shared[1].write_bytes(shared[1].read_bytes()[:-1])
    found = {os.path.basename(one.path): one for one in snapshots(str(checkpoints))}
    assert not found["chk-2"].is_complete
    assert "files are missing or cut: 2, the first" in found["chk-2"].problem


def test_the_newest_complete_one_is_read_and_told(checkpoints: Path) -> None:
    with pytest.warns(NewestSnapshotWarning, match="newest complete snapshot of 4"):
        opened = Savepoint.open(str(checkpoints))
    # The checkpoints of the job have the latest time; of them, the id decides.
    newest = snapshots(str(checkpoints))
    first = next(one for one in newest if one.is_complete)
    assert opened.path == first.path
    with pytest.warns(NewestSnapshotWarning):
        opened = Savepoint.open(str(checkpoints / JOB))
    assert opened.metadata.checkpoint_id == first.id
    assert opened.tables()


def test_a_checkpoint_that_vanishes_after_the_search_is_followed_by_another(
    checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = retained._newest_complete

    def search_and_lose(path: str, rules: PathRules) -> tuple[RetainedSnapshot | None, int]:
        newest, count = search(path, rules)
        # The same number as of the other: the time decides.
        shutil.rmtree(checkpoints / JOB / "chk-2", ignore_errors=True)
        return newest, count

    monkeypatch.setattr(retained, "_newest_complete", search_and_lose)
    with pytest.warns(NewestSnapshotWarning):
        opened = Savepoint.open(str(checkpoints / JOB))
    assert opened.path == str(checkpoints / JOB / "chk-10")


def test_a_description_needs_no_file_whose_content_is_known(checkpoints: Path) -> None:
    path = checkpoints / JOB / "chk-2"
    opened = Savepoint.open(path)
    described = opened.describe()
    # As a running job does, which removes this file of an older checkpoint first.
    (path / "_metadata").unlink()
    assert opened.describe() == described


def test_of_a_damaged_newest_one_the_one_before_is_read(checkpoints: Path) -> None:
    newest, other = (one for one in snapshots(checkpoints / JOB) if one.is_complete)
    (Path(newest.path) / "_metadata").write_bytes(b"no metadata at all")
    with pytest.warns(NewestSnapshotWarning):
        opened = Savepoint.open(str(checkpoints / JOB))
    assert opened.path == other.path


def test_where_none_is_complete_nothing_is_read(tmp_path: Path) -> None:
    (tmp_path / "chk-3").mkdir()
    with pytest.raises(SavepointNotFoundError, match="has no _metadata"):
        Savepoint.open(str(tmp_path))
    (one,) = snapshots(str(tmp_path))
    assert not one.is_complete


def test_what_is_no_directory_has_no_snapshots(tmp_path: Path) -> None:
    assert snapshots(str(tmp_path)) == ()
    with pytest.raises(SavepointNotFoundError, match="is not a directory"):
        snapshots(str(tmp_path / "nowhere"))
    with pytest.raises(UnreachableError):
        snapshots("nosuch://bucket/checkpoints")


@pytest.mark.usefixtures("slow")
def test_on_an_object_store(checkpoints: Path, s3_server: S3Server) -> None:
    bucket = s3_server.bucket("retained")
    for file in checkpoints.rglob("*"):
        if file.is_file() and "savepoint-" not in str(file.relative_to(checkpoints)):
            s3_server.put(bucket, f"jobs/{file.relative_to(checkpoints)}", file.read_bytes())
    uri = s3_server.uri(bucket, "jobs")
    found = snapshots(uri)
    assert sorted(one.is_complete for one in found) == [False, True, True]
    complete = next(one for one in found if one.is_complete)
    assert Savepoint.open(complete.path).metadata.checkpoint_id == complete.id
