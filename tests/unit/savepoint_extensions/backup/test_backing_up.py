"""Backups are complete, share files, and copy nothing twice; on disk and in a store."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.backed_up import (
    aged,
    broken,
    complete,
    job_at,
    metadata_of,
    next_checkpoint,
    put_metadata,
    spare,
    tables_of,
)
from support.nightly import nightly
from support.sample_rows import SAMPLES

from savepoint_extensions.backup import shared_files
from savepoint_extensions.backup.backing_up import back_up
from savepoint_formats.errors import (
    FormatError,
    NotASavepointError,
    StateFileNotFoundError,
    TruncatedError,
    WrongFileError,
)
from savepoint_formats.savepoint_warnings import NewestSnapshotWarning
from state_processor import Savepoint

if TYPE_CHECKING:
    from support.s3_server import S3Server

KINDS = [
    "states-2.2.1-rocksdb-incremental",
    "states-2.2.1-rocksdb-filemerging",
    pytest.param("states-1.20.5-hashmap-changelog", marks=pytest.mark.slow),
    "states-2.2.1-hashmap-canonical",
    "currency-2.2.1-rocksdb-native",
    "currency-1.20.5-hashmap-inline",
]

DELAYED = "&allow_delayed_open=true"


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", KINDS)
def test_a_backup_has_all_of_it_after_the_snapshot_is_gone(tmp_path: Path, name: str) -> None:
    snapshot = job_at(tmp_path / "job", name)
    backup = Savepoint.open(snapshot).backup(tmp_path / "onto")
    shutil.rmtree(tmp_path / "job")
    moved = (tmp_path / "onto").rename(tmp_path / "moved") / Path(backup.path).name
    opened = Savepoint.open(moved, strict_paths=True)
    original = Savepoint.open(SAMPLES / name / snapshot.relative_to(tmp_path / "job"))
    verification, expected = opened.verify(), original.verify()
    assert verification.is_whole
    assert verification.entries == expected.entries
    assert name not in KINDS[-2:] or opened.diff(original).is_equal
    assert broken(tmp_path / "moved") == spare(tmp_path / "moved") == []


def test_bytes_copied_are_those_of_new_files(tmp_path: Path) -> None:
    onto, snapshot = tmp_path / "onto", job_at(tmp_path / "job")
    first = Savepoint.open(snapshot).backup(onto)
    assert first.copied_size == first.file_size == size_of(onto / "shared")
    for changed in (0, 1, 3, 0):
        before = size_of(onto)
        snapshot, new = next_checkpoint(snapshot, changed)
        backup = Savepoint.open(snapshot).backup(onto)
        assert (backup.copied_files, backup.copied_size) == (changed, new)
        assert size_of(onto) - before == new + backup.metadata_size
    assert len(complete(onto)) == 5
    assert broken(onto) == []


def test_a_file_that_is_there_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = job_at(tmp_path / "job", "states-2.2.1-hashmap-canonical")
    first = Savepoint.open(snapshot).backup(tmp_path / "onto")
    assert first.read_size == first.copied_size > 0
    monkeypatch.setattr("savepoint_extensions.backup.originals.expect_kind", None)
    second = Savepoint.open(snapshot).backup(tmp_path / "onto")
    assert (second.read_size, second.copied_size) == (0, 0)


def test_a_moved_snapshot_is_read_and_not_copied(tmp_path: Path) -> None:
    first = Savepoint.open(job_at(tmp_path / "a")).backup(tmp_path / "onto")
    shutil.copytree(tmp_path / "a", tmp_path / "b", copy_function=shutil.copy)
    shutil.rmtree(tmp_path / "a")
    second = Savepoint.open(tmp_path / "b" / "chk-2").backup(tmp_path / "onto")
    assert (second.copied_files, second.files) == (0, first.files)
    assert second.read_size >= first.file_size


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_damaged_file_of_earlier_backups_is_copied_anew(tmp_path: Path, damage: str) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    first = Savepoint.open(snapshot).backup(onto)
    victim = max((onto / "shared").iterdir(), key=lambda path: path.stat().st_size)
    size = victim.stat().st_size
    if damage == "missing":
        victim.unlink()
    else:
        victim.write_bytes(victim.read_bytes()[:-1])
    second = Savepoint.open(snapshot).backup(onto)
    assert (second.copied_files, second.copied_size) == (1, size)
    assert Savepoint.open(second.path).verify_replica(snapshot).is_complete
    assert not Savepoint.open(first.path).verify_replica(snapshot).is_complete


def test_a_file_that_was_replaced_by_another_of_its_size_is_copied(tmp_path: Path) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    Savepoint.open(snapshot).backup(onto)
    path = tmp_path / "job" / "shared" / Path(tables_of(snapshot)[0].path).name
    data = bytearray(path.read_bytes())
    data[9] ^= 1
    path.write_bytes(data)
    second = Savepoint.open(snapshot).backup(onto)
    assert (second.copied_files, second.copied_size) == (1, len(data))
    assert Savepoint.open(second.path).verify_replica(snapshot).is_complete


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        ("missing", StateFileNotFoundError),
        ("cut", TruncatedError),
        ("longer", FormatError),
        ("another", WrongFileError),
    ],
)
def test_a_damaged_snapshot_is_refused_and_leaves_nothing(
    tmp_path: Path, damage: str, error: type[Exception]
) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    path = tmp_path / "job" / "shared" / Path(tables_of(snapshot)[0].path).name
    data = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(
            {"cut": data[:-1], "longer": data + b"x", "another": bytes(len(data))}[damage]
        )
    with pytest.raises(error):
        Savepoint.open(snapshot).backup(onto)
    assert complete(onto) == []
    assert spare(onto) == []


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_snapshot_that_its_job_deletes_meanwhile_leaves_nothing(
    tmp_path: Path, when: str
) -> None:
    """Flink deletes _metadata first, and then the files of state."""
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    savepoint = Savepoint.open(snapshot)

    def delete(_: int) -> None:
        (snapshot / "_metadata").unlink(missing_ok=True)
        shutil.rmtree(tmp_path / "job", ignore_errors=True)

    if when == "before":
        delete(0)
    with pytest.raises(StateFileNotFoundError, match=r"was deleted (while|meanwhile)"):
        back_up(savepoint, onto, on_progress=delete)
    assert complete(onto) == spare(onto) == []


def test_what_is_no_directory_of_backups_is_refused(tmp_path: Path) -> None:
    snapshot = job_at(tmp_path / "job")
    savepoint = Savepoint.open(snapshot)
    (tmp_path / "file").touch()
    for onto in (snapshot, tmp_path / "file"):
        with pytest.raises(NotASavepointError, match="expected a directory of backups"):
            savepoint.backup(onto)
    (tmp_path / "link").symlink_to(snapshot)
    for onto in (snapshot / "backups", tmp_path / "link" / "a" / "b"):
        for is_dry in (True, False):
            with pytest.raises(NotASavepointError, match="expected a directory of backups"):
                savepoint.backup(onto, dry_run=is_dry)
    assert not (snapshot / "backups").exists()
    with pytest.raises(TypeError, match=r"^the path "):
        savepoint.backup(None)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(ValueError, match="expected such as 7d,4w"):
        savepoint.backup(tmp_path / "onto", keep="7")
    assert not (tmp_path / "onto").exists()


def test_an_old_rule_is_applied_after_the_backup(tmp_path: Path) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    first = Savepoint.open(snapshot).backup(onto)
    old = aged(onto, Path(first.path).name, "20200101T000000Z")
    snapshot, _ = next_checkpoint(snapshot, 2)
    backup = Savepoint.open(snapshot).backup(onto, keep="7d,4w")
    assert backup.pruned is not None
    rows = {Path(row.path).name: row for row in backup.pruned.backups}
    assert (rows[old].kept, rows[old].is_deleted) == ("", True)
    assert rows[Path(backup.path).name].kept == "the newest"
    assert backup.pruned.deleted_files == 2
    assert complete(onto) == [Path(backup.path).name]
    assert not (onto / old).exists()
    assert broken(onto) == spare(onto) == []


def test_a_dry_run_tells_what_a_backup_does_and_writes_nothing(tmp_path: Path) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    planned = Savepoint.open(snapshot).backup(onto, keep="7d", dry_run=True)
    assert (planned.path, planned.pruned, onto.exists()) == ("", None, False)
    assert planned.copied_files == planned.files > 0
    first = Savepoint.open(snapshot).backup(onto)
    aged(onto, Path(first.path).name, "20200101T000000Z")
    snapshot, new = next_checkpoint(snapshot, 3)
    before = sorted(onto.rglob("*"))
    planned = Savepoint.open(snapshot).backup(onto, keep="7d", dry_run=True)
    assert sorted(onto.rglob("*")) == before
    # Three new tables, and files whose content is there already: that is known when they are read.
    assert 3 < planned.copied_files < planned.files
    assert new < planned.copied_size < planned.file_size
    assert planned.pruned is not None
    assert [row.kept for row in planned.pruned.backups] == ["the newest"]
    made = Savepoint.open(snapshot).backup(onto)
    assert (made.copied_files, made.copied_size) == (3, new)
    with pytest.raises(ValueError, match="expected such as 7d,4w"):
        Savepoint.open(snapshot).backup(onto, keep="7", dry_run=True)


def test_metadata_of_version_2_becomes_3(tmp_path: Path) -> None:
    snapshot = job_at(tmp_path / "job", "currency-2.2.1-rocksdb-native")
    metadata = metadata_of(snapshot)
    operators = tuple(
        replace(it, name="", uid="", coordinator_state=None) for it in metadata.operators
    )
    old = replace(metadata, version=2, operators=operators, properties=None)
    put_metadata(snapshot, old)
    backup = Savepoint.open(snapshot).backup(tmp_path / "onto")
    assert Savepoint.open(backup.path).metadata.version == 3
    assert Savepoint.open(backup.path).verify_replica(snapshot).is_complete


@pytest.mark.usefixtures("slow")
class TestStores:
    @pytest.mark.parametrize(
        ("name", "changed"), [(KINDS[-2], 0), pytest.param(KINDS[0], 2, marks=nightly)]
    )
    def test_backups_in_a_store_share_files_and_move_with_it(
        self, s3_server: S3Server, tmp_path: Path, name: str, changed: int
    ) -> None:
        bucket = s3_server.bucket(f"backups-{changed}")
        # Opened files take three requests otherwise.
        onto = s3_server.uri(bucket, "orders") + DELAYED
        snapshot = job_at(tmp_path / "job", name)
        first = Savepoint.open(snapshot).backup(onto)
        snapshot, new = next_checkpoint(snapshot, changed)
        second = Savepoint.open(snapshot).backup(onto)
        assert (second.copied_files, second.copied_size) == (changed, new)
        assert first.path.startswith(f"s3://{bucket}/orders/backup-")
        assert Savepoint.open(second.path).verify_replica(snapshot).is_complete
        assert broken(onto) == spare(onto) == []
        # Moved as a whole: all keys begin otherwise, and the older backup has the younger object.
        other = s3_server.bucket(f"moved-{changed}")
        for key in sorted(s3_server.keys(bucket), reverse=True):
            data = s3_server.client.get_object(Bucket=bucket, Key=key)["Body"].read()
            s3_server.put(other, f"far/{key}", data)
            s3_server.client.delete_object(Bucket=bucket, Key=key)
        with pytest.warns(NewestSnapshotWarning, match=r"chk-\d+-.* the newest complete .* of 2"):
            moved = Savepoint.open(s3_server.uri(other, "far/orders"))
        assert moved.verify_replica(snapshot).is_complete

    def test_a_snapshot_of_a_store_is_backed_up_on_disk(
        self, s3_server: S3Server, tmp_path: Path
    ) -> None:
        bucket, job = s3_server.bucket("jobs"), SAMPLES / "currency-2.2.1-rocksdb-native"
        for path in job.iterdir():
            s3_server.put(bucket, f"orders/{path.name}", path.read_bytes())
        savepoint = Savepoint.open(s3_server.uri(bucket, "orders"))
        backup = savepoint.backup(tmp_path / "onto")
        assert Savepoint.open(backup.path).verify_replica(job).is_complete
        assert savepoint.backup(tmp_path / "onto").copied_files == 0
        # Another option makes another client, and no other store.
        uri = s3_server.uri(bucket, "orders")
        assert not savepoint.verify_replica(f"{uri}{DELAYED}").is_complete
        with pytest.raises(NotASavepointError, match="lies in the snapshot"):
            savepoint.backup(s3_server.uri(bucket, "orders/backups") + DELAYED)

    @pytest.mark.parametrize(
        "largest",
        [
            pytest.param(1000, id="read twice"),
            pytest.param(5 << 30, id="by parts", marks=pytest.mark.slow),
        ],
    )
    def test_large_files_in_a_store(
        self, s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, largest: int
    ) -> None:
        monkeypatch.setattr(shared_files, "_IN_MEMORY", 0)
        monkeypatch.setattr(shared_files, "LARGEST_COPY_SIZE", largest)
        sample = SAMPLES / "currency-2.2.1-rocksdb-native"
        onto = s3_server.uri(s3_server.bucket(f"large-{largest}"), "orders")
        backup = back_up(Savepoint.open(sample), onto)
        assert Savepoint.open(backup.path).verify_replica(sample).is_complete
        assert broken(onto) == spare(onto) == []


def test_of_backups_of_one_second_the_last_one_stays(tmp_path: Path) -> None:
    snapshot, onto = job_at(tmp_path / "job"), tmp_path / "onto"
    for _ in range(6):
        made = Savepoint.open(snapshot).backup(onto, keep="7d,4w")
        assert Path(made.path).is_dir()
        assert made.pruned is not None
        assert [it.is_deleted for it in made.pruned.backups][-1:] == [False]
