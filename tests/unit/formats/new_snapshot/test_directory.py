"""Writing the directory of a snapshot: it is whole, or not there."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import two_writers
from support.two_writers import file_of, metadata_of, read, write

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import (
    NotASavepointError,
    SavepointError,
    SavepointExistsError,
    StateFileNotFoundError,
)
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.locations.location import Location
from savepoint_formats.metadata import (
    CheckpointMetadata,
    RelativeFile,
)
from savepoint_formats.new_snapshot.directory import NewSnapshot, WriteMode

if TYPE_CHECKING:
    from support.s3_server import S3Server

OVERWRITE = WriteMode.OVERWRITE


def bytes_of(metadata: CheckpointMetadata) -> bytes:
    view = DataOutputView()
    metadata.write(view)
    return view.to_bytes()


def fail(target: NewSnapshot, *written: bytes, commits: bool = False) -> None:
    """Begins to write, and gives up."""
    with target.begun():
        files = [file_of(target, data) for data in written]
        if commits:
            target.commit(metadata_of(*files))
        raise RuntimeError


def names(path: Path) -> set[str]:
    return {file.name for file in path.iterdir()}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "jobs/savepoint-1"


def test_a_committed_snapshot_is_a_savepoint(out: Path) -> None:
    sizes = write(str(out), b"first", b"second")
    assert read(str(out)) == [b"first", b"second"]
    assert sizes == {file.name: file.stat().st_size for file in out.iterdir()}


@pytest.mark.parametrize("prefix", ["file:", "file://"])
def test_a_path_may_be_a_uri(out: Path, prefix: str) -> None:
    write(f"{prefix}{out}/", b"data")
    assert read(str(out)) == [b"data"]


def test_a_savepoint_may_have_no_files(out: Path) -> None:
    assert set(write(str(out))) == {"_metadata"}
    assert read(str(out)) == []


def test_nothing_is_written_until_a_file_is_begun(out: Path) -> None:
    NewSnapshot.at(str(out))
    assert not out.parent.exists()


def test_a_file_knows_its_size_and_position(out: Path) -> None:
    with NewSnapshot.at(str(out)).create("state") as file:
        file.write(b"abc")
        file.write(memoryview(b"de"))
        assert (file.tell(), file.size) == (5, 5)
    assert (out / file.path).read_bytes() == b"abcde"
    assert file.handle == RelativeFile(file.path, 5)


def test_names_tell_what_a_file_is_for_and_never_meet(out: Path) -> None:
    target = NewSnapshot.at(str(out))
    paths = set()
    for _ in range(3):
        with target.create("keyed state/of: Ünal") as file:
            paths.add(file.path)
    assert len(paths) == 3
    assert all(path.startswith("keyed-state-of-nal-") for path in paths)


def test_a_task_writes_into_the_snapshot_of_its_driver(out: Path) -> None:
    target = NewSnapshot.at(str(out))
    handle = file_of(pickle.loads(pickle.dumps(target)), b"from a task")
    target.commit(metadata_of(handle))
    assert read(str(out)) == [b"from a task"]


def test_files_of_failed_attempts_are_removed(out: Path) -> None:
    target = NewSnapshot.at(str(out))
    file_of(target, b"half of it")
    handle = file_of(target, b"all of it")
    target.commit(metadata_of(handle))
    assert names(out) == {"_metadata", handle.path}


def test_a_file_whose_writer_fails_is_gone(out: Path) -> None:
    with pytest.raises(TypeError), NewSnapshot.at(str(out)).create("state") as file:
        file.write("no bytes")
    assert names(out) == set()


def test_a_snapshot_whose_writer_fails_leaves_no_file(out: Path) -> None:
    with pytest.raises(RuntimeError):
        fail(NewSnapshot.at(str(out)), b"data")
    assert names(out) == set()
    write(str(out), b"again")
    assert read(str(out)) == [b"again"]


def test_what_fails_after_the_commit_does_no_harm(out: Path) -> None:
    with pytest.raises(RuntimeError):
        fail(NewSnapshot.at(str(out)), b"data", commits=True)
    assert read(str(out)) == [b"data"]


def test_a_complete_savepoint_whose_metadata_can_not_be_read_loses_no_file(out: Path) -> None:
    target, kept = NewSnapshot.at(str(out)), out.with_name("kept")

    def fail_unreadable() -> None:
        with target.begun():
            target.commit(metadata_of(file_of(target, b"data")))
            (out / "_metadata").rename(kept)
            (out / "_metadata").write_bytes(b"damaged")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_unreadable()
    kept.replace(out / "_metadata")
    assert read(str(out)) == [b"data"]


def test_a_failed_write_over_damaged_metadata_leaves_no_file(out: Path) -> None:
    write(str(out), b"old")
    (out / "_metadata").write_bytes(b"damaged")
    before = names(out)
    with pytest.raises(RuntimeError):
        fail(NewSnapshot.at(str(out), OVERWRITE), b"new")
    assert names(out) == before


def test_a_savepoint_that_lacks_a_file_is_not_committed(out: Path) -> None:
    target = NewSnapshot.at(str(out))
    handle = file_of(target, b"data")
    (out / handle.path).unlink()
    with pytest.raises(StateFileNotFoundError, match=handle.path):
        target.commit(metadata_of(handle))
    assert names(out) == set()


def test_files_and_directories_are_on_disk_before_metadata(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []

    def seen(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink()
        synced.append((name, (out / "_metadata").exists()))
        fsync(descriptor)

    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", seen)
    (copied := out.parent / "copied").parent.mkdir()
    copied.write_bytes(b"copied")
    target = NewSnapshot.at(str(out))
    with target.create("scratch", is_lasting=False) as file:
        file.write(b"for this write alone")
    copy = target.copy_of(Location.of(str(copied)), "copy")
    handles = [file_of(target, b"made"), RelativeFile(copy, 6)]
    target.commit(metadata_of(*handles))
    before = [path for path, is_committed in synced if not is_committed]
    assert {out / handle.path for handle in handles} | {out, out.parent} <= set(before)
    assert out / file.path not in before
    assert any(path.name.startswith("_metadata-") for path in before)
    assert synced[-1] == (out, True)


class TestWhereSomethingLies:
    @pytest.fixture
    def old(self, out: Path) -> Path:
        write(str(out), b"old", b"older")
        return out

    def test_a_savepoint_is_not_replaced_by_mistake(self, old: Path) -> None:
        with pytest.raises(SavepointExistsError, match="is a savepoint already"):
            NewSnapshot.at(str(old))

    def test_nor_one_that_came_meanwhile(self, out: Path) -> None:
        target = NewSnapshot.at(str(out))
        handle = file_of(target, b"late")
        write(f"{out}-other")
        (Path(f"{out}-other") / "_metadata").rename(out / "_metadata")
        with pytest.raises(SavepointExistsError):
            target.commit(metadata_of(handle))
        assert read(str(out)) == []

    def test_an_unknown_mode_is_a_wrong_call(self, out: Path) -> None:
        with pytest.raises(ValueError, match="append"):
            NewSnapshot.at(str(out), "append")

    def test_overwriting_removes_the_files_of_the_old_savepoint(self, old: Path) -> None:
        before = names(old)
        sizes = write(str(old), b"new", mode="overwrite")
        assert read(str(old)) == [b"new"]
        assert names(old) == set(sizes)
        assert names(old) & before == {"_metadata"}

    def test_overwriting_removes_no_file_that_no_savepoint_has(self, old: Path) -> None:
        (old / "notes.txt").write_text("mine")
        write(str(old), b"new", mode="overwrite")
        assert (old / "notes.txt").read_text() == "mine"

    def test_overwriting_removes_what_a_killed_write_left(self, old: Path) -> None:
        left = file_of(NewSnapshot.at(str(old), OVERWRITE), b"left")
        write(str(old), b"new", mode="overwrite")
        assert left.path not in names(old)

    def test_the_old_savepoint_is_whole_until_the_new_one_is(self, old: Path) -> None:
        target = NewSnapshot.at(str(old), OVERWRITE)
        file_of(target, b"new")
        assert read(str(old)) == [b"old", b"older"]
        with pytest.raises(RuntimeError):
            fail(target, b"newer")
        assert read(str(old)) == [b"old", b"older"]
        assert len(names(old)) == 3

    def test_files_of_the_old_savepoint_may_be_kept(self, old: Path) -> None:
        kept = next(name for name in names(old) if name != "_metadata")
        data = (old / kept).read_bytes()
        NewSnapshot.at(str(old), OVERWRITE).commit(metadata_of(RelativeFile(kept, len(data))))
        assert names(old) == {"_metadata", kept}

    @pytest.mark.parametrize("below", ["sub", "sub/savepoint-1"])
    def test_overwriting_removes_nothing_of_a_savepoint_below(self, old: Path, below: str) -> None:
        write(str(old / below), b"another's")
        write(str(old), b"new", mode="overwrite")
        assert read(str(old)) == [b"new"]
        assert read(str(old / below)) == [b"another's"]

    def test_nor_does_a_savepoint_that_refers_to_files_there(self, old: Path) -> None:
        write(str(old / "sub"), b"another's")
        (below,) = names(old / "sub") - {"_metadata"}
        kept = RelativeFile(f"sub/{below}", 9)
        (old / "_metadata").write_bytes(bytes_of(metadata_of(kept)))
        write(str(old), b"new", mode="overwrite")
        assert read(str(old / "sub")) == [b"another's"]

    def test_a_damaged_savepoint_can_be_replaced(self, old: Path) -> None:
        (old / "_metadata").write_bytes(b"damaged")
        write(str(old), b"new", mode="overwrite")
        assert read(str(old)) == [b"new"]

    @pytest.mark.parametrize("mode", WriteMode)
    def test_a_directory_of_something_else_is_never_written_to(
        self, out: Path, mode: WriteMode
    ) -> None:
        (out / "photos").mkdir(parents=True)
        (out / "photos/cat.jpg").write_bytes(b"cat")
        with pytest.raises(NotASavepointError, match="but photos: it is no savepoint"):
            NewSnapshot.at(str(out), mode)

    def test_what_a_killed_write_left_is_called_so_and_goes_when_overwritten(
        self, out: Path
    ) -> None:
        left = file_of(NewSnapshot.at(str(out)), b"left")
        with pytest.raises(NotASavepointError, match="did not complete; overwrite it"):
            NewSnapshot.at(str(out))
        write(str(out), b"new", mode="overwrite")
        assert read(str(out)) == [b"new"]
        assert left.path not in names(out)

    def test_a_file_is_no_directory(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(NotASavepointError, match="is a file; name a directory"):
            NewSnapshot.at(str(tmp_path / "file"))

    def test_an_empty_directory_will_do(self, out: Path) -> None:
        out.mkdir(parents=True)
        write(str(out), b"data")
        assert read(str(out)) == [b"data"]


def test_a_place_that_takes_no_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SavepointError, match="can't be written"):
        write(str(tmp_path / "file/savepoint"), b"data")


KILLED = """
import os, signal, sys
sys.path.insert(0, {folder!r})
from support.two_writers import NewSnapshot, file_of, metadata_of

target = NewSnapshot.at({out!r}, "overwrite")
with target.begun(), target.create("state") as file:
    file_of(target, b"new")
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(out: Path) -> None:
    """A write in a process that is killed in the middle of it."""
    program = KILLED.format(folder=str(Path(two_writers.__file__).parents[1]), out=str(out))
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.usefixtures("slow")
def test_a_killed_write_leaves_no_savepoint(out: Path) -> None:
    killed(out)
    assert names(out)
    assert "_metadata" not in names(out)


def test_a_killed_write_leaves_the_old_savepoint_whole(out: Path) -> None:
    write(str(out), b"old")
    killed(out)
    assert read(str(out)) == [b"old"]
    write(str(out), b"new", mode="overwrite")
    assert read(str(out)) == [b"new"]
    assert len(names(out)) == 2


class TestObjectStore:
    def test_a_savepoint_in_s3(self, s3_server: S3Server) -> None:
        bucket = s3_server.bucket("write")
        path = s3_server.uri(bucket, "jobs/savepoint-1")
        with pytest.raises(RuntimeError):
            fail(NewSnapshot.at(path), b"aborted")
        assert s3_server.keys(bucket) == set()
        target = pickle.loads(pickle.dumps(NewSnapshot.at(path)))
        file_of(target, b"failed")
        handle = file_of(target, b"data")
        target.commit(metadata_of(handle))
        assert read(path) == [b"data"]
        expected = {f"jobs/savepoint-1/{name}" for name in ("_metadata", handle.path)}
        assert s3_server.keys(bucket) == expected

    def test_a_savepoint_in_s3_is_replaced_when_told_so(self, s3_server: S3Server) -> None:
        bucket = s3_server.bucket("overwrite")
        path = s3_server.uri(bucket, "savepoint-1")
        write(path, b"old")
        with pytest.raises(SavepointExistsError):
            NewSnapshot.at(path)
        write(path, b"new", mode="overwrite")
        assert read(path) == [b"new"]
        assert len(s3_server.keys(bucket)) == 2

    def test_objects_of_something_else_are_left_alone(self, s3_server: S3Server) -> None:
        bucket = s3_server.bucket("else")
        s3_server.put(bucket, "photos/cat.jpg", b"cat")
        with pytest.raises(NotASavepointError, match=r"cat.jpg"):
            NewSnapshot.at(s3_server.uri(bucket, "photos"), OVERWRITE)

    def test_a_bucket_that_is_not_there_is_named(self, s3_server: S3Server) -> None:
        with pytest.raises(SavepointError, match="nowhere"):
            write(s3_server.uri("nowhere", "savepoint-1"), b"data")


def test_the_properties_of_a_newer_version_are_written_too(out: Path, samples: Path) -> None:
    path = str(samples / "currency-2.2.1-hashmap-canonical")
    view = DataInputView(SnapshotDirectory.of(path).read_metadata())
    source = CheckpointMetadata.read(view)
    NewSnapshot.at(str(out)).commit(replace(source, operators=()))
    written = CheckpointMetadata.read(DataInputView((out / "_metadata").read_bytes()))
    assert (written.version, written.properties) == (6, source.properties)
