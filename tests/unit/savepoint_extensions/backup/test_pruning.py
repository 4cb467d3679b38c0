"""Pruning removes what a rule doesn't keep, and no file that a kept backup needs."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.backed_up import aged, broken, complete, job_at, next_checkpoint, spare

from savepoint_extensions.backup.backup_store import BackupStore
from savepoint_formats.errors import RefusedError, SavepointNotFoundError
from savepoint_formats.savepoint_warnings import NewestSnapshotWarning
from state_processor import Garbage, PrunedBackups, Savepoint, prune_backups, snapshots

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """Backups of six checkpoints, a day after each other, and the checkpoints."""
    folder = tmp_path_factory.mktemp("pruned")
    snapshot, onto = job_at(folder / "job"), folder / "onto"
    snapshots = [snapshot]
    for day in range(25, 31):
        backup = Savepoint.open(snapshot).backup(onto)
        aged(onto, Path(backup.path).name, f"202611{day}T110000Z")
        snapshot, _ = next_checkpoint(snapshot, day % 3 + 1)
        snapshots.append(snapshot)
    return onto, snapshots[:-1]


@pytest.fixture
def onto(made: tuple[Path, list[Path]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[0], tmp_path / "onto"))


def days(pruned: PrunedBackups) -> dict[str, str]:
    """Day of each backup -> why it is kept."""
    return {row.time[8:10]: row.kept for row in pruned.backups}


def test_a_rule_keeps_days_and_weeks(onto: Path, made: tuple[Path, list[Path]]) -> None:
    pruned = prune_backups(onto, "2d,2w", now=NOW)
    assert days(pruned) == {
        **dict.fromkeys(["25", "26", "27", "28"], ""),
        "29": "the newest of the day 2026-11-29",
        "30": "the newest",
    }
    assert [name[7:15] for name in complete(onto)] == ["20261129", "20261130"]
    assert broken(onto) == spare(onto) == []
    for name, snapshot in zip(complete(onto), made[1][-2:], strict=True):
        assert Savepoint.open(onto / name).verify_replica(snapshot).is_complete
    assert pruned.deleted_files > 0
    assert {path.name for path in onto.iterdir()} == {"shared", "writes", *complete(onto)}
    again = prune_backups(onto, "2d,2w", now=NOW)
    assert (again.deleted_files, len(again.backups)) == (0, 2)


def test_a_dry_run_removes_nothing(onto: Path) -> None:
    before = sorted(onto.rglob("*"))
    pruned = prune_backups(onto, "1d", now=NOW, dry_run=True)
    assert sum(row.is_deleted for row in pruned.backups) == 5
    assert [path for path in sorted(onto.rglob("*")) if path.parent.name != "writes"] == [
        path for path in before if path.parent.name != "writes"
    ]


def test_a_torn_backup_is_not_the_newest_of_anything(onto: Path) -> None:
    newest, older = complete(onto)[-1], complete(onto)[-2]
    own = _only_of(onto, newest)[0]
    own.write_bytes(own.read_bytes()[:-1])
    pruned = prune_backups(onto, "1d", now=NOW)
    assert days(pruned)["30"].startswith("it lacks 1 files")
    assert days(pruned)["29"] == "the newest"
    assert complete(onto) == [older, newest]
    assert [fault for fault in broken(onto) if older in fault] == []


def _only_of(onto: Path, name: str) -> list[Path]:
    """Files that one backup needs, and no other one."""
    store = BackupStore.of(onto)
    backups = {each: store.backup(each) for each in store.names()}
    others = [backup.files for each, backup in backups.items() if each != name and backup]
    mine = backups[name]
    assert mine is not None
    return [onto / "shared" / file for file in mine.files - frozenset[str]().union(*others)]


def test_each_job_has_its_own_newest(onto: Path, tmp_path: Path) -> None:
    other = Savepoint.open(job_at(tmp_path / "other", "currency-2.2.1-rocksdb-native"))
    name = aged(onto, Path(other.backup(onto).path).name, "20200101T000000Z")
    pruned = prune_backups(onto, "1d", now=NOW)
    assert [row.kept for row in pruned.backups if not row.is_deleted] == ["the newest"] * 2
    assert name in complete(onto)
    assert broken(onto) == spare(onto) == []


@pytest.mark.parametrize("damage", [b"", b"\x49\x60\x67\x2d", None])
def test_a_backup_that_cannot_be_read_protects_all(onto: Path, damage: bytes | None) -> None:
    metadata = onto / complete(onto)[0] / "_metadata"
    metadata.write_bytes(metadata.read_bytes()[:500] if damage is None else damage)
    before = sorted(onto.rglob("*"))
    with pytest.raises(RefusedError, match=r"nothing is removed below .* mend it"):
        prune_backups(onto, "1d", now=NOW)
    assert sorted(onto.rglob("*")) == before
    # A backup goes on, and its rule is refused.
    snapshot = job_at(onto.parent / "again")
    with pytest.raises(RefusedError, match="is complete, but older backups stay: nothing is"):
        Savepoint.open(snapshot).backup(onto, keep="1d")
    names = [path.parent.name for path in onto.rglob("_metadata")]
    assert len(names) == 7


def test_files_of_a_backup_whose_directory_was_removed_go_with_the_next_prune(onto: Path) -> None:
    name = complete(onto)[0]
    spared = _only_of(onto, name)
    shutil.rmtree(onto / name)
    pruned = prune_backups(onto, "99d", now=NOW)
    assert pruned.deleted_files == len(spared) > 0
    assert not any(path.exists() for path in spared)
    assert broken(onto) == []


def test_wrong_calls(tmp_path: Path, onto: Path) -> None:
    with pytest.raises(SavepointNotFoundError, match="has no backup"):
        prune_backups(tmp_path / "nothing", "7d")
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(ValueError, match="expected a time with zone"):
        prune_backups(onto, "7d", now=datetime(2026, 1, 1))  # the mistake
    with pytest.raises(ValueError, match="expected such as"):
        prune_backups(onto, "7")


def test_foreign_files_stay(onto: Path) -> None:
    for path in (onto / "shared" / "notes.txt", onto / "README", onto / "writes" / "mine"):
        path.write_text("mine")
    folder = onto / "backup-of-mine"
    folder.mkdir()
    prune_backups(onto, "1d", now=NOW)
    assert (onto / "shared" / "notes.txt").exists()
    assert (onto / "README").exists()
    assert (onto / "writes" / "mine").exists()
    assert folder.exists()


def test_the_newest_is_that_of_its_name_after_the_directory_was_copied(onto: Path) -> None:
    names = complete(onto)
    for age, name in enumerate(names):
        os.utime(onto / name / "_metadata", (10**9 - age, 10**9 - age))
    listed = snapshots(onto)
    assert [Path(it.path).name for it in listed] == names[::-1]
    assert listed[0].time == "2026-11-30 11:00:00.000Z"
    with pytest.warns(NewestSnapshotWarning, match=names[-1]):
        Savepoint.open(onto)


def test_gc_removes_nothing_of_backups(onto: Path) -> None:
    for path in onto.rglob("*"):
        os.utime(path, (10**9, 10**9))
    shutil.rmtree(onto / complete(onto)[0])
    garbage = Garbage.delete(onto, older_than=timedelta(days=1))
    assert garbage.garbage_files > 0
    assert garbage.deleted_files == 0
    assert broken(onto) == []
