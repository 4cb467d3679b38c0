"""A backup that was tried out is whole, or the drill has failed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.backed_up import job_at, next_checkpoint
from support.commands import run
from support.nightly import nightly

from state_processor import Savepoint, restore_drill


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drill")
    Savepoint.open(job_at(folder / "job")).backup(folder / "onto")
    shutil.rmtree(folder / "job")
    return folder / "onto"


@pytest.fixture
def backup(made: Path, tmp_path: Path) -> Path:
    onto = Path(shutil.copytree(made, tmp_path / "onto"))
    (metadata,) = onto.glob("backup-*/_metadata")
    return metadata.parent


def test_a_whole_backup_passes(backup: Path) -> None:
    drill = restore_drill(backup)
    assert (drill.result, drill.is_passed, drill.faults) == ("passed", True, ())
    assert drill.checksums == drill.files == len([*(backup.parent / "shared").iterdir()])
    rows = {table.table: table.rows for table in drill.tables}
    assert (rows["stateful.keyed_state"], rows["buffer.elements"]) == (23, 18)
    assert drill.rows == sum(row or 0 for row in rows.values()) == 160


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("every", [40, pytest.param(5, marks=nightly)])
def test_each_file_that_is_torn_is_seen(backup: Path, every: int) -> None:
    """Also files that no key lies in, such as options of RocksDB, of which no reader sees a byte."""
    for path in sorted((backup.parent / "shared").iterdir())[::every]:
        data = path.read_bytes()
        for torn in (data[:-1], bytes([data[0] ^ 1]) + data[1:], data[:-1] + bytes([data[-1] ^ 1])):
            path.write_bytes(torn)
            drill = restore_drill(backup)
            assert not drill.is_passed, path
            assert any(path.name in fault.file for fault in drill.faults)
        path.unlink()
        assert not restore_drill(backup).is_passed
        path.write_bytes(data)
    assert restore_drill(backup).is_passed


def test_files_elsewhere_do_not_stand_in_for_missing_ones(tmp_path: Path) -> None:
    snapshot, _ = next_checkpoint(job_at(tmp_path / "job"), 99)
    alone = Path(shutil.copytree(snapshot, tmp_path / "elsewhere" / snapshot.name))
    assert Savepoint.open(alone).verify("quick").is_whole
    drill = restore_drill(alone)
    assert (drill.is_passed, drill.checksums) == (False, 0)


def test_the_commands(tmp_path: Path) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    code, text = run("backup", snapshot, onto)
    assert (code, "copied files" in text) == (0, True)
    code, text = run("backup", snapshot, onto, "--keep", "7d,4w")
    assert (code, "the newest" in text) == (0, True)
    assert run("restore-drill", onto)[0] == 0
    for path in (onto / "shared").iterdir():
        path.write_bytes(b"")
    code, text = run("restore-drill", onto / sorted(it.name for it in onto.glob("backup-*"))[0])
    assert (code, "failed" in text) == (1, True)
    code, text = run("backup", snapshot, onto, "--keep", "7")
    assert (code, "expected such as 7d,4w" in text) == (2, True)
