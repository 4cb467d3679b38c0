"""Files of earlier backups whose bytes are wrong are named and repaired if they are checked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.backed_up import (
    broken,
    damaged_objects,
    handles_of,
    job_at,
    next_checkpoint,
    spare,
    tables_of,
)
from support.commands import result_of, run
from support.nightly import nightly

from savepoint_extensions.backup import shared_files
from savepoint_formats.errors import RefusedError
from state_processor import Savepoint, prune_backups

if TYPE_CHECKING:
    from support.s3_server import S3Server


def test_a_rotten_file_of_earlier_backups_is_copied_anew_if_files_are_checked(
    tmp_path: Path,
) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    Savepoint.open(snapshot).backup(onto)
    victim = max((onto / "shared").iterdir(), key=lambda path: path.stat().st_size)
    data = victim.read_bytes()
    victim.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    blind = Savepoint.open(snapshot).backup(onto)
    assert (blind.copied_files, blind.check, blind.damaged) == (0, "sizes", ())
    code, text = run("backup", snapshot, onto, "--check", "--output", "json")
    made = json.loads(text)
    assert (code, made["copied_files"], made["copied_size"]) == (0, 1, len(data))
    assert (made["check"], made["damaged"], made["repaired"]) == (
        "bytes",
        [victim.name],
        [victim.name],
    )
    assert victim.read_bytes() == data
    for path in (blind.path, made["path"]):
        assert Savepoint.open(path).verify_replica(snapshot).is_complete
    again = Savepoint.open(snapshot).backup(onto, check=True)
    assert (again.copied_files, again.damaged) == (0, ())
    with pytest.raises(ValueError, match="reads no files"):
        Savepoint.open(snapshot).backup(onto, check=True, dry_run=True)


def test_later_backups_use_the_new_copy_of_a_rotten_file(tmp_path: Path) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    Savepoint.open(snapshot).backup(onto)
    # The names of copies differ by chance, and so does their order in a list.
    for round_number in range(4):
        victim = max((onto / "shared").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        rot(victim)
        assert victim.name in Savepoint.open(snapshot).backup(onto, check=True).damaged
        later = Savepoint.open(snapshot).backup(onto)
        assert (later.copied_files, later.damaged) == (0, ())
        assert Savepoint.open(later.path).verify_replica(snapshot).is_complete, round_number


def test_a_file_that_vanishes_while_files_are_checked_is_copied_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    Savepoint.open(snapshot).backup(onto)
    victim = max((onto / "shared").iterdir(), key=lambda path: path.stat().st_size)
    check = shared_files._damaged

    def meanwhile(*arguments: Any) -> tuple[str, ...]:
        victim.unlink()
        return check(*arguments)

    monkeypatch.setattr(shared_files, "_damaged", meanwhile)
    made = Savepoint.open(snapshot).backup(onto, check=True)
    assert (made.damaged, made.copied_files) == ((victim.name,), 1)
    assert Savepoint.open(made.path).verify_replica(snapshot).is_complete


def test_a_file_that_the_disk_cannot_read_is_repaired_and_the_others_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    first = Savepoint.open(snapshot).backup(onto)
    victim, rotten = sorted((onto / "shared").iterdir(), key=lambda path: path.stat().st_size)[-2:]
    data = victim.read_bytes()
    rot(rotten)
    check = shared_files._damaged

    def meanwhile(*arguments: Any) -> tuple[str, ...]:
        victim.unlink()
        victim.symlink_to("/proc/self/mem")  # its first byte can't be read: EIO
        return check(*arguments)

    monkeypatch.setattr(shared_files, "_damaged", meanwhile)
    made = Savepoint.open(snapshot).backup(onto, check=True)
    assert {*made.damaged} == {*made.repaired} == {victim.name, rotten.name}
    assert (victim.is_symlink(), victim.read_bytes()) == (False, data)
    for path in (first.path, made.path):
        assert Savepoint.open(path).verify_replica(snapshot).is_complete


def test_a_cut_file_is_repaired_if_files_are_checked(tmp_path: Path) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    first = Savepoint.open(snapshot).backup(onto)
    victim = max((onto / "shared").iterdir(), key=lambda path: path.stat().st_size)
    data = victim.read_bytes()
    victim.write_bytes(data[:-1])
    made = Savepoint.open(snapshot).backup(onto, check=True)
    assert (made.damaged, made.repaired, made.copied_files) == ((victim.name,), (victim.name,), 1)
    assert victim.read_bytes() == data
    assert Savepoint.open(first.path).verify_replica(snapshot).is_complete
    assert Savepoint.open(snapshot).backup(onto, check=True).damaged == ()


def test_a_file_that_cannot_be_repaired_leaves_a_complete_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    Savepoint.open(snapshot).backup(onto)
    victim, rotten = sorted((onto / "shared").iterdir(), key=lambda path: path.stat().st_size)[-2:]
    rot(victim)
    rot(rotten)
    check = shared_files._damaged

    def meanwhile(*arguments: Any) -> tuple[str, ...]:
        damaged = check(*arguments)
        victim.unlink()
        (victim / "inner").mkdir(parents=True)  # no file can take its place
        return damaged

    monkeypatch.setattr(shared_files, "_damaged", meanwhile)
    made = Savepoint.open(snapshot).backup(onto, check=True)
    assert {*made.damaged} == {victim.name, rotten.name}
    assert made.repaired == (rotten.name,)
    assert Savepoint.open(made.path).verify_replica(snapshot).is_complete
    assert [path.name for path in (onto / "writes").iterdir() if "part" in path.name] == []


def test_a_rotten_file_that_the_snapshot_lacks_is_named_with_the_exit_code_of_damage(
    tmp_path: Path,
) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    Savepoint.open(snapshot).backup(onto)
    table = tmp_path / "job" / "shared" / Path(tables_of(snapshot)[0].path).name
    data = table.read_bytes()
    table.write_bytes(data[:9] + bytes([data[9] ^ 1]) + data[10:])
    (victim,) = (path for path in (onto / "shared").iterdir() if path.read_bytes() == data)
    rot(victim)
    code, text = run("backup", snapshot, onto, "--check", "--output", "json")
    made = json.loads(text)
    assert (code, made["damaged"], made["repaired"]) == (1, [victim.name], [])
    assert Savepoint.open(made["path"]).verify_replica(snapshot).is_complete


def test_files_that_earlier_backups_lack_are_repaired_or_named(tmp_path: Path) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    first = Savepoint.open(snapshot).backup(onto)
    snapshot, _ = next_checkpoint(snapshot, 2)
    later = Savepoint.open(snapshot).backup(onto)
    metadata = [Path(path) / "_metadata" for path in (first.path, later.path)]
    old, new = ({Path(it.path).name for it in handles_of(path.parent)} for path in metadata)
    gone, cut = (onto / "shared" / name for name in sorted(old - new))
    shared = onto / "shared" / min(old & new)
    data = shared.read_bytes()
    gone.unlink()
    shared.unlink()
    cut.write_bytes(cut.read_bytes()[:-1])
    code, text = run("backup", snapshot, onto, "--check", "--output", "json")
    made = json.loads(text)
    assert (code, made["copied_files"], made["repaired"]) == (1, 1, [shared.name])
    assert {*made["damaged"]} == {gone.name, cut.name, shared.name}
    assert shared.read_bytes() == data
    assert Savepoint.open(later.path).verify_replica(snapshot).is_complete
    metadata[0].write_bytes(metadata[0].read_bytes()[:-1])
    made_again = Savepoint.open(snapshot).backup(onto, check=True)
    assert f"{metadata[0].parent.name}/_metadata" in made_again.damaged


def test_backups_without_metadata_are_noted_and_a_directory_in_its_place_is_damage(
    tmp_path: Path,
) -> None:
    """A write that was killed leaves a directory without ``_metadata``, too, so that is no damage."""
    snapshot, onto = job_at(tmp_path / "job", "currency-2.2.1-rocksdb-native"), tmp_path / "onto"
    first, second = (Path(Savepoint.open(snapshot).backup(onto).path) for _ in range(2))
    (first / "_metadata").unlink()
    result = result_of("backup", snapshot, onto, "--check", "--output", "json")
    made = json.loads(result.stdout)
    assert (result.exit_code, made["damaged"], made["incomplete"]) == (0, [], [first.name])
    assert f"{first.name} has no _metadata" in result.stderr
    (second / "_metadata").unlink()
    (second / "_metadata").mkdir()
    code, text = run("backup", snapshot, onto, "--check", "--output", "json")
    assert (code, f"{second.name}/_metadata" in text) == (1, True)
    with pytest.raises(RefusedError, match="_metadata is a directory, expected a file"):
        prune_backups(onto, "1d")


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("option", [pytest.param("", marks=nightly), "&allow_delayed_open=true"])
def test_objects_of_a_store_are_repaired(s3_server: S3Server, tmp_path: Path, option: str) -> None:
    snapshot = job_at(tmp_path / "job", "currency-2.2.1-rocksdb-native")
    bucket = s3_server.bucket(f"repairs-{len(option)}")
    onto = s3_server.uri(bucket, "orders") + option
    first = Savepoint.open(snapshot).backup(onto)
    keys = damaged_objects(s3_server, bucket)
    assert len(broken(onto)) == len(keys) == 4
    made = Savepoint.open(snapshot).backup(onto, check=True)
    assert {*made.damaged} == {*made.repaired} == {Path(key).name for key in keys}
    assert made.copied_files == 4
    assert broken(onto) == spare(onto) == []
    again = Savepoint.open(snapshot).backup(onto, check=True)
    assert (again.copied_files, again.damaged) == (0, ())
    for backup in (first, made, again):
        assert Savepoint.open(backup.path).verify_replica(snapshot).is_complete


def rot(file: Path) -> None:
    """Turns a bit of a file, whose times stay."""
    stat, data = file.stat(), file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
