"""The checkpoints of a job in its directory: complete ones, of one job."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from support.longs_by_text import savepoint_of_longs

from savepoint_extensions.change_feed.retained_steps import CheckpointDirectory, GoneCheckpointError
from savepoint_formats.errors import AmbiguousJobError, SavepointNotFoundError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_only_complete_checkpoints_count_in_the_order_of_their_ids(tmp_path: Path) -> None:
    for number in (10, 9, 2):
        savepoint_of_longs(tmp_path / f"chk-{number}", {})
    (tmp_path / "chk-11").mkdir()
    (tmp_path / "shared").mkdir()
    savepoint_of_longs(tmp_path / "savepoint-1a2b3c-000000000000", {})
    job = CheckpointDirectory.of(tmp_path)
    assert job.checkpoints() == [2, 9, 10]
    assert job.path_of(9) == f"{tmp_path}/chk-9"


def test_the_directory_above_that_of_the_only_job_stands_for_it(tmp_path: Path) -> None:
    savepoint_of_longs(tmp_path / "1a2b" / "chk-3", {})
    (tmp_path / "3c4d" / "shared").mkdir(parents=True)
    (tmp_path / "lost+found" / "chk-3").mkdir(parents=True)  # only the superuser may list it
    assert CheckpointDirectory.of(tmp_path).uri == f"{tmp_path}/1a2b"
    savepoint_of_longs(tmp_path / "3c4d" / "chk-3", {})
    with pytest.raises(AmbiguousJobError, match=r"checkpoints of 2 jobs: .*1a2b, .*3c4d"):
        CheckpointDirectory.of(tmp_path)


def test_a_directory_without_checkpoints_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SavepointNotFoundError, match="has no checkpoints, expected"):
        CheckpointDirectory.of(tmp_path)
    with pytest.raises(SavepointNotFoundError):
        CheckpointDirectory.of(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is a running job: name the directory"):
        CheckpointDirectory.of("flink://localhost:8081/orders")


def test_a_step_of_a_checkpoint_that_is_gone_says_what_is_lost(tmp_path: Path) -> None:
    for number in (1, 2):
        savepoint_of_longs(tmp_path / f"chk-{number}", {})
    job = CheckpointDirectory.of(tmp_path)
    step = job.step(1, 2)
    job.expect(step)
    shutil.rmtree(tmp_path / "chk-1")
    with pytest.raises(GoneCheckpointError, match=r"checkpoint 1 is gone.*from checkpoint 1 to 2"):
        job.expect(step)
