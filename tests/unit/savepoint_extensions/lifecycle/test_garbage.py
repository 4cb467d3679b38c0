"""Files that no snapshot needs are found below real checkpoints, and nothing else is removed."""

from __future__ import annotations

import json
import os
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import run

from savepoint_formats.errors import RefusedError, SavepointNotFoundError
from savepoint_formats.locations.path_rules import is_below
from state_processor import Garbage, Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.s3_server import S3Server

DAY = 24 * 3600
ORPHAN = "00000000-0000-4000-8000-{:012d}"
PLACES = {
    "shared": "shared",
    "taskowned": "taskowned",
    "dstl/job/dstl": "taskowned",
    "chk-2": "exclusive",
    "chk-1": "left over",
    "savepoint-ab-cd": "left over",
    "": "unknown",
}


def answer(*arguments: str | Path) -> dict[str, Any]:
    code, output = run(*arguments, "--output", "json")
    assert code == 0, output
    found: dict[str, Any] = json.loads(output)
    return found


def aged(folder: Path, days: float) -> None:
    """Lets all files below be so old."""
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - days * DAY,) * 2, follow_symlinks=False)


@pytest.fixture
def job(samples: Path, tmp_path: Path) -> Path:
    """An incremental checkpoint of ten days ago, and files beside it that are older yet."""
    folder = Path(shutil.copytree(samples / "states-2.2.1-rocksdb-incremental", tmp_path / "job"))
    aged(folder, 10)
    for number, place in enumerate(PLACES):
        path = folder / place / ORPHAN.format(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * (number + 1))
        os.utime(path, (time.time() - 20 * DAY,) * 2)
    return folder


def orphans(job: Path) -> dict[str, Path]:
    return {place: job / place / ORPHAN.format(number) for number, place in enumerate(PLACES)}


def test_garbage_is_listed_and_nothing_is_removed(job: Path) -> None:
    found = answer("gc", job)
    assert (found["garbage_files"], found["deleted_files"], found["problems"]) == (8, 0, [])
    assert found["snapshots"] == [str(job / "chk-2")]
    files = Savepoint.open(str(job / "chk-2")).files()
    assert found["needed_files"] == sum(bool(one.references) for one in files)
    listed = {one["path"]: one for one in found["files"]}
    assert listed.pop("expected.json")["kind"] == "unknown"
    for place, path in orphans(job).items():
        one = listed.pop(str(path.relative_to(job)))
        assert one["kind"] == PLACES[place]
        assert one["size"] == path.stat().st_size
        assert abs(one["age_seconds"] - 20 * DAY) < 3600
        assert bool(one["kept"]) == (one["kind"] == "unknown")
        assert path.exists()
    assert listed == {}
    assert "left over" in run("gc", job)[1]


@pytest.mark.usefixtures("slow")
def test_garbage_is_removed_where_it_is_old_enough(job: Path) -> None:
    young = orphans(job)["shared"]
    os.utime(young, (time.time() - 15 * DAY,) * 2)
    before = Savepoint.open(str(job / "chk-2")).verify().entries
    found = answer("gc", job, "--delete", "--older-than", "17d")
    assert found["deleted_files"] == 5
    assert found["deleted_size"] == sum(one["size"] for one in found["files"] if one["is_deleted"])
    left = {place for place, path in orphans(job).items() if path.exists()}
    assert left == {"shared", ""}
    assert (job / "expected.json").exists()
    after = Savepoint.open(str(job / "chk-2")).verify()
    assert (after.is_whole, after.entries) == (True, before)
    assert answer("gc", job, "--delete", "--older-than", "1d")["deleted_files"] == 1


def test_nothing_is_removed_that_is_younger_than_the_newest_snapshot(job: Path) -> None:
    for path in orphans(job).values():
        os.utime(path, (time.time() - 9 * DAY,) * 2)
    found = answer("gc", job, "--delete", "--older-than", "1h")
    assert found["deleted_files"] == 0
    kept = {one["kept"] for one in found["files"] if one["kind"] != "unknown"}
    assert kept == {"it is younger than the newest snapshot"}


def test_a_snapshot_that_cannot_be_read_protects_all(job: Path) -> None:
    metadata = job / "chk-9" / "_metadata"
    metadata.parent.mkdir()
    metadata.write_bytes((job / "chk-2" / "_metadata").read_bytes()[:500])
    assert len(answer("gc", job)["problems"]) == 1
    code, output = run("gc", job, "--delete", "--older-than", "1d")
    assert (code, "chk-9" in output) == (1, True)
    assert all(path.exists() for path in orphans(job).values())


def test_a_directory_without_a_snapshot_is_left_alone(job: Path) -> None:
    (job / "chk-2" / "_metadata").unlink()
    with pytest.raises(RefusedError, match="no snapshot"):
        Garbage.delete(str(job), older_than=timedelta(days=1))
    assert all(path.exists() for path in orphans(job).values())


def test_links_are_not_followed_out_of_the_directory(job: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside" / "shared"
    outside.mkdir(parents=True)
    precious = outside / ORPHAN.format(99)
    precious.write_bytes(b"precious")
    aged(tmp_path / "outside", 30)
    (job / "shared" / "link").symlink_to(outside)
    (job / "taskowned" / ORPHAN.format(98)).symlink_to(precious)
    found = answer("gc", job, "--delete", "--older-than", "1d")
    assert found["deleted_files"] == 6
    assert precious.read_bytes() == b"precious"
    assert (job / "taskowned" / ORPHAN.format(98)).is_symlink()


def test_a_snapshot_behind_a_link_or_elsewhere_needs_its_files(job: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.move(job / "chk-2", elsewhere / "chk-2")
    shared = len(list((job / "shared").iterdir())) - 1
    assert answer("gc", job)["needed_files"] == 0
    assert answer("gc", job, "--also", elsewhere)["needed_files"] == shared
    (job / "link").symlink_to(elsewhere)
    assert answer("gc", job)["needed_files"] == shared


def test_wrong_calls(job: Path) -> None:
    assert run("gc", job, "--delete")[0] == 2
    assert run("gc", job, "--delete", "--older-than", "7")[0] == 2
    assert run("gc", job, "--delete", "--older-than", "soon")[0] == 2
    with pytest.raises(ValueError, match="negative"):
        Garbage.delete(str(job), older_than=timedelta(days=-1))
    with pytest.raises(SavepointNotFoundError):
        Garbage.below(str(job / "nothing"))


def test_links_in_a_circle_lead_nowhere(job: Path) -> None:
    (job / "shared" / "circle").symlink_to("circle")
    (job / "into-a-file").symlink_to(job / "expected.json" / "below")
    assert answer("gc", job, "--delete", "--older-than", "1d")["deleted_files"] == 6


def test_what_cannot_be_looked_into_may_be_a_snapshot(job: Path) -> None:
    """No path is so long: the system refuses to list what lies there."""
    folder, name = os.open(job / "taskowned", os.O_RDONLY), "x" * 200
    for _ in range(25):
        os.mkdir(name, dir_fd=folder)
        above, folder = folder, os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(above)
    os.close(folder)
    (problem,) = answer("gc", job)["problems"]
    assert problem.endswith("can't be listed: File name too long")
    code, output = run("gc", job, "--delete", "--older-than", "1d")
    assert (code, "File name too long" in output) == (1, True)
    assert all(path.exists() for path in orphans(job).values())
    shutil.rmtree(job / "taskowned")


def removed_meanwhile(monkeypatch: pytest.MonkeyPatch, remove: Callable[[str], None]) -> None:
    """Removes each file just before it is its turn, as another process may."""

    def judged(path: str, directory: str) -> bool:
        remove(path)
        return is_below(path, directory)

    monkeypatch.setattr("savepoint_extensions.lifecycle.garbage.is_below", judged)


def test_a_file_that_is_gone_when_its_turn_comes_is_told_as_gone(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = orphans(job)["shared"]
    removed_meanwhile(
        monkeypatch, lambda path: gone.unlink(missing_ok=True) if path == str(gone) else None
    )
    found = answer("gc", job, "--delete", "--older-than", "1d")
    assert found["deleted_files"] == 5
    listed = {one["path"]: one for one in found["files"]}
    told = listed[str(gone.relative_to(job))]
    assert (told["kept"], told["is_deleted"]) == ("it was gone already", False)
    assert [path.exists() for path in orphans(job).values()].count(True) == 1


@pytest.mark.usefixtures("slow")
def test_garbage_in_an_object_store(
    samples: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = s3_server.bucket("garbage")
    folder = samples / "states-2.2.1-rocksdb-incremental"
    garbage = [f"jobs/shared/{ORPHAN.format(number)}" for number in range(2)]
    for key in garbage:
        s3_server.put(bucket, key, b"garbage")
    time.sleep(1.1)  # times are told in seconds there
    for file in folder.rglob("*"):
        if file.is_file():
            s3_server.put(bucket, f"jobs/{file.relative_to(folder)}", file.read_bytes())
    uri = s3_server.uri(bucket, "jobs")
    before = s3_server.keys(bucket)
    found = Garbage.below(uri)
    assert [(one.kind, one.kept) for one in found.files if one.kind != "unknown"] == [
        ("shared", ""),
        ("shared", ""),
    ]
    assert found.problems == ()

    def remove(path: str) -> None:
        if path == f"{bucket}/{garbage[0]}":
            s3_server.client.delete_object(Bucket=bucket, Key=garbage[0])

    removed_meanwhile(monkeypatch, remove)
    deleted = Garbage.delete(uri, older_than=timedelta())
    assert deleted.deleted_files == 1
    kept = [one.kept for one in deleted.files if one.kind == "shared"]
    assert kept == ["it was gone already", ""]
    assert before - s3_server.keys(bucket) == set(garbage)
