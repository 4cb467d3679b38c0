"""State of another checkpoint that a regional checkpoint refers to: version 7 of ``_metadata``.

No release writes it so far, so these files are made by our own writer, by the source of Flink's master.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.backed_up import broken, job_at, metadata_of, put_metadata

from savepoint_formats.metadata import FileStream, MetadataVersion, RelativeFile, with_streams
from state_processor import Garbage, Savepoint, restore_drill

if TYPE_CHECKING:
    from savepoint_formats.metadata import OperatorState, PlainStream

UID = "stateful"


def regional(folder: Path, reference: int = 1) -> Path:
    """Checkpoint 2 of a job; the state of a subtask is that of checkpoint 1, whose ``_metadata`` is gone."""
    snapshot = job_at(folder)
    metadata, old = metadata_of(snapshot), snapshot.parent / "chk-1"
    old.mkdir()

    def of_old(stream: PlainStream) -> PlainStream:
        """The file in the directory of checkpoint 1."""
        if not isinstance(stream, FileStream | RelativeFile):
            return stream
        name = Path(stream.path).name
        if not (snapshot / name).exists() and not (old / name).exists():
            return stream  # shared by all checkpoints
        shutil.copy2(snapshot / name, old / name)
        return FileStream(stream.size, f"file:{old / name}")

    def changed(operator: OperatorState) -> OperatorState:
        subtasks = tuple(
            replace(
                with_streams(replace(operator, subtasks=(subtask,)), of_old).subtasks[0],
                reference_checkpoint=reference,
            )
            if subtask.index == 1
            else subtask
            for subtask in operator.subtasks
        )
        return replace(operator, subtasks=subtasks)

    return put_metadata(
        snapshot,
        replace(
            metadata,
            version=MetadataVersion.REFERENCE_CHECKPOINT,
            operators=tuple(map(changed, metadata.operators)),
        ),
    )


def test_it_is_whole_and_equal_to_the_same_state_without_references(tmp_path: Path) -> None:
    plain, snapshot = job_at(tmp_path / "plain"), regional(tmp_path / "job")
    assert any((tmp_path / "job" / "chk-1").iterdir())
    opened = Savepoint.open(snapshot, uids=[UID])
    assert opened.metadata.version == 7
    assert opened.verify().is_whole
    assert opened.diff(Savepoint.open(plain, uids=[UID])).is_equal


def test_verify_tells_whose_state_is_gone(tmp_path: Path) -> None:
    snapshot = regional(tmp_path / "job")
    for path in (tmp_path / "job" / "chk-1").iterdir():
        path.unlink()
    for path in snapshot.iterdir():  # files of the same names would be taken for moved ones
        if path.name != "_metadata":
            path.unlink()
    faults = Savepoint.open(snapshot).verify("quick").faults
    costs = {fault.subtask: fault.cost for fault in faults if fault.subtask is not None}
    assert "it is state of checkpoint 1, which others may need, too" in costs[1]
    assert all("checkpoint 1" not in cost for subtask, cost in costs.items() if subtask != 1)


@pytest.mark.parametrize(("reference", "is_whole"), [(-1, False), (0, True), (2, True), (3, False)])
def test_a_reference_to_a_later_checkpoint_is_damage(
    tmp_path: Path, reference: int, is_whole: bool
) -> None:
    verification = Savepoint.open(regional(tmp_path / "job", reference)).verify("quick")
    assert verification.is_whole == is_whole
    problems = {fault.problem for fault in verification.faults}
    assert problems == (
        set() if is_whole else {f"state of checkpoint {reference}, expected none after 2"}
    )


def test_gc_keeps_the_files_of_a_checkpoint_that_is_referenced(tmp_path: Path) -> None:
    snapshot = regional(tmp_path / "job")
    orphan = snapshot.parent / "chk-1" / "00000000-0000-4000-8000-000000000000"
    orphan.write_bytes(b"x")
    for path in snapshot.parent.rglob("*"):
        os.utime(path, (1, 1))
    (snapshot / "_metadata").touch()
    garbage = Garbage.delete(tmp_path / "job", older_than=timedelta(days=1))
    assert not orphan.exists()
    assert garbage.deleted_files == 1
    assert Savepoint.open(snapshot).verify("quick").is_whole


def test_strict_paths_need_leave_for_another_checkpoint(tmp_path: Path) -> None:
    snapshot = regional(tmp_path / "job")
    for path in snapshot.iterdir():
        if path.name != "_metadata" and (snapshot.parent / "chk-1" / path.name).exists():
            path.unlink()
    strict = Savepoint.open(snapshot, strict_paths=True).verify("quick")
    assert any("--allow-path" in fault.problem for fault in strict.faults)
    allowed = Savepoint.open(snapshot, strict_paths=True, allow_paths=[snapshot.parent / "chk-1"])
    assert allowed.verify("quick").result == Savepoint.open(snapshot).verify("quick").result


def test_a_backup_has_the_state_of_the_other_checkpoint(tmp_path: Path) -> None:
    snapshot = regional(tmp_path / "job")
    backup = Savepoint.open(snapshot).backup(tmp_path / "onto")
    assert Savepoint.open(backup.path).verify_replica(snapshot).is_complete
    shutil.rmtree(tmp_path / "job")
    opened = Savepoint.open(backup.path)
    assert opened.metadata.version == 7
    references = {it.reference_checkpoint for op in opened.metadata.operators for it in op.subtasks}
    assert references == {None, 1}
    assert restore_drill(backup.path).is_passed
    assert broken(tmp_path / "onto") == []
