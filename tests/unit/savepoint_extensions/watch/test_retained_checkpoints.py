"""What is a completed checkpoint below a directory under a running job, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.s3_server import S3Server
from support.watched_jobs import START, checkpoint

from savepoint_extensions.watch.retained_checkpoints import Place, RetainedCheckpoints
from state_processor import SavepointNotFoundError


def names(directory: Path) -> list[str]:
    places = RetainedCheckpoints(str(directory))()
    return [str(Path(place.path).relative_to(directory)) for place in places]


def test_checkpoints_of_a_job_come_in_order_of_time(tmp_path: Path) -> None:
    for number in (10, 9, 100):
        checkpoint(tmp_path, number)
    places = RetainedCheckpoints(str(tmp_path))()
    assert [place.id for place in places] == [9, 10, 100]
    assert places[0] == Place(START + 540, 9, str(tmp_path), str(tmp_path / "chk-9"))


def test_all_else_is_passed_over(tmp_path: Path) -> None:
    checkpoint(tmp_path / "4f0e", 3)
    checkpoint(tmp_path, 2)
    checkpoint(tmp_path, 1).rename(tmp_path / "savepoint-4f0e12-6a0c8e9b1f2d")
    for folder in (
        "chk-4",
        "chk-x",
        "shared/chk-5",
        "taskowned",
        "other/deep/chk-6",
        "4f0e/shared",
    ):
        (tmp_path / folder).mkdir(parents=True)
    checkpoint(tmp_path / "lost+found", 5)  # nobody but the superuser may list it
    (tmp_path / "chk-7").write_text("a file")
    (tmp_path / "chk-8").mkdir()
    (tmp_path / "chk-8" / "_metadata").touch()  # under way
    (tmp_path / "notes.txt").write_text("")
    assert names(tmp_path) == ["chk-2", "4f0e/chk-3"]


def test_a_checkpoint_that_is_completed_later_appears_and_a_deleted_one_goes(
    tmp_path: Path,
) -> None:
    search = RetainedCheckpoints(str(tmp_path))
    (tmp_path / "chk-1").mkdir()
    assert search() == []
    (tmp_path / "chk-1").rmdir()
    first = checkpoint(tmp_path, 1)
    assert [place.id for place in search()] == [1]
    checkpoint(tmp_path, 2)
    (first / "_metadata").unlink()
    for file in first.iterdir():
        file.unlink()
    first.rmdir()
    assert [place.id for place in search()] == [2]


def test_a_directory_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SavepointNotFoundError, match="is not a directory"):
        RetainedCheckpoints(str(tmp_path / "none"))()


def test_checkpoints_of_a_store_are_listed(tmp_path: Path) -> None:
    checkpoint(tmp_path / "4f0e", 3)
    with S3Server.running() as server:
        bucket = server.bucket("jobs")
        for file in tmp_path.glob("*/*/*"):
            server.put(bucket, str(file.relative_to(tmp_path)), file.read_bytes())
        places = RetainedCheckpoints(server.uri(bucket, ""))()
    assert [place.id for place in places] == [3]
