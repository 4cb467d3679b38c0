"""Finding the files of a snapshot: local, moved, and in an object store."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.sample_rows import Sample, copy_of

from savepoint_formats.errors import (
    NotASavepointError,
    SavepointError,
    SavepointNotFoundError,
    StateFileNotFoundError,
    TruncatedError,
)
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.locations.location import absolute
from savepoint_formats.metadata import (
    EmptySegment,
    FileStream,
    InlineStream,
    RelativeFile,
    SegmentStream,
)
from savepoint_formats.metadata.references import FileKind, stream_references

if TYPE_CHECKING:
    from support.s3_server import S3Server


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A retained checkpoint as Flink lays it out: <base>/<job>/{chk-1,shared}, and a changelog."""
    job = tmp_path / "base/job-1"
    for name in ("chk-1/_metadata", "chk-1/state", "shared/sst", "dstl/change"):
        file = job / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(name.encode())
    return job / "chk-1"


def test_a_directory_and_its_metadata_file_are_the_same(checkpoint: Path) -> None:
    for path in (checkpoint, checkpoint / "_metadata"):
        directory = SnapshotDirectory.of(str(path))
        assert directory.read_metadata() == b"chk-1/_metadata"
        assert directory.metadata_path == f"{checkpoint}/_metadata"


@pytest.mark.parametrize("prefix", ["file:", "file://", ""])
def test_a_local_path_may_be_a_uri(checkpoint: Path, prefix: str) -> None:
    directory = SnapshotDirectory.of(f"{prefix}{checkpoint}")
    assert directory.file(RelativeFile("state", 11)).read() == b"chk-1/state"


def test_inline_bytes_need_no_file(checkpoint: Path) -> None:
    directory = SnapshotDirectory.of(str(checkpoint))
    assert directory.file(InlineStream("name", b"abc")).read(1) == b"bc"
    assert directory.file(EmptySegment()).read() == b""


def test_a_range_of_a_file_ends_where_the_file_does(checkpoint: Path) -> None:
    file = SnapshotDirectory.of(str(checkpoint)).file(RelativeFile("state", 11))
    assert file.read(4, 6) == b"1/"
    assert file.read(4, 100) == b"1/state"


def test_a_segment_is_a_piece_of_its_file(checkpoint: Path) -> None:
    handle = SegmentStream(4, 3, 0, f"file:{checkpoint}/state", "id")
    file = SnapshotDirectory.of(str(checkpoint)).file(handle)
    assert file.read() == b"1/s"
    assert file.read(1) == b"/s"
    assert file.read(0, 100) == b"1/s"


def test_a_file_is_passed_on_in_chunks(checkpoint: Path) -> None:
    directory = SnapshotDirectory.of(str(checkpoint))
    chunks = directory.file(RelativeFile("state", 11)).chunks(4)
    assert [chunk.to_pybytes() for chunk in chunks] == [b"chk-", b"1/st", b"ate"]
    segment = directory.file(SegmentStream(4, 3, 0, f"file:{checkpoint}/state", "id"))
    assert [chunk.to_pybytes() for chunk in segment.chunks(2)] == [b"1/", b"s"]


def test_a_file_that_ends_while_it_is_passed_on_is_named(checkpoint: Path) -> None:
    directory = SnapshotDirectory.of(str(checkpoint))
    segment = directory.file(SegmentStream(4, 100, 0, f"file:{checkpoint}/state", "id"))
    with pytest.raises(TruncatedError, match="state at byte 11: the file ends here"):
        list(segment.chunks(4))
    file = directory.file(RelativeFile("state", 11))
    (checkpoint / "state").unlink()
    with pytest.raises(StateFileNotFoundError, match="state does not exist any more: it was del"):
        list(file.chunks(4))


@pytest.mark.parametrize("name", ["chk-1/state", "shared/sst", "dstl/change"])
def test_an_absolute_path_is_found_after_a_move(checkpoint: Path, name: str) -> None:
    written = f"file:{checkpoint.parent}/{name}"
    moved = checkpoint.parents[2] / "elsewhere"
    shutil.move(checkpoint.parent, moved)
    directory = SnapshotDirectory.of(str(moved / "chk-1"))
    assert directory.file(FileStream(1, written)).read() == name.encode()


def test_a_path_of_another_store_is_found_beside_the_copy(checkpoint: Path) -> None:
    directory = SnapshotDirectory.of(str(checkpoint))
    handle = FileStream(1, "hdfs://name-node:8020/flink/job-1/shared/sst")
    assert directory.file(handle).read() == b"shared/sst"


def test_a_missing_file_is_named(checkpoint: Path) -> None:
    file = SnapshotDirectory.of(str(checkpoint)).file(FileStream(1, "file:/gone/for/good"))
    assert file.location is None
    with pytest.raises(StateFileNotFoundError, match="/gone/for/good does not exist"):
        file.read()


def test_a_file_of_a_deleted_checkpoint_tells_what_to_read_instead(checkpoint: Path) -> None:
    directory = SnapshotDirectory.of(str(checkpoint))
    directory.read_metadata()
    (checkpoint / "state").unlink()
    with pytest.raises(StateFileNotFoundError, match="state does not exist, and no file"):
        directory.file(RelativeFile("state", 11)).read()
    shutil.rmtree(checkpoint)
    with pytest.raises(
        StateFileNotFoundError, match=r"any more: it was deleted .*read a newer one"
    ):
        SnapshotDirectory(directory.location, directory.uri).file(RelativeFile("state", 11)).read()


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(SavepointNotFoundError, match="nowhere does not exist"):
        SnapshotDirectory.of(str(tmp_path / "nowhere"))


def test_an_empty_directory_is_no_savepoint(tmp_path: Path) -> None:
    with pytest.raises(SavepointNotFoundError, match="has no _metadata file"):
        SnapshotDirectory.of(str(tmp_path)).read_metadata()


def test_a_file_of_another_name_is_no_savepoint(checkpoint: Path) -> None:
    with pytest.raises(NotASavepointError, match="state is a file"):
        SnapshotDirectory.of(str(checkpoint / "state"))


def test_an_unknown_file_system_is_named() -> None:
    with pytest.raises(SavepointError, match="gopher://host/savepoint"):
        SnapshotDirectory.of("gopher://host/savepoint")


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3p"])
def test_a_checkpoint_in_s3(s3_server: S3Server, scheme: str) -> None:
    bucket = s3_server.bucket(f"read-{scheme}")
    for name in ("chk-1/_metadata", "chk-1/a b", "shared/sst"):
        s3_server.put(bucket, f"job-1/{name}", name.encode())
    directory = SnapshotDirectory.of(s3_server.uri(bucket, "job-1/chk-1", scheme))
    assert directory.read_metadata() == b"chk-1/_metadata"
    assert directory.file(RelativeFile("a b", 1)).read() == b"chk-1/a b"
    assert directory.file(FileStream(1, f"s3://{bucket}/job-1/shared/sst")).read(0, 6) == b"shared"
    assert directory.list_files() == {"_metadata": 15, "a b": 9}


@pytest.mark.usefixtures("slow")
def test_a_folder_that_is_not_there_is_asked_for_once(
    s3_server: S3Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, each file of a moved checkpoint was looked for at every place again."""
    caplog.set_level(logging.INFO, "werkzeug")
    bucket, names = s3_server.bucket("moved"), [f"file-{number}" for number in range(30)]
    for name in ("_metadata", *names):
        s3_server.put(bucket, f"copies/new/chk-7/{name}", name.encode())
    directory = SnapshotDirectory.of(s3_server.uri(bucket, "copies/new/chk-7"))
    handles = [FileStream(6, f"s3://{bucket}/a/b/job/chk-7/{name}") for name in names]
    assert directory.file(handles[0]).read() == b"file-0"
    caplog.clear()
    files = [directory.file(handle) for handle in handles[1:]]
    assert len(caplog.records) <= 2 * len(files)
    assert [directory.relative(file.location) for file in files if file.location] == names[1:]
    gone = directory.file(FileStream(6, f"s3://{bucket}/a/b/job/chk-7/gone"))
    assert gone.location is None


def test_a_relative_path_is_that_of_the_moment_when_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "savepoint").mkdir()
    monkeypatch.chdir(tmp_path)
    directory = SnapshotDirectory.of("savepoint")
    monkeypatch.chdir("/")
    assert directory.uri == "savepoint"
    assert directory.absolute_uri == str(tmp_path / "savepoint")


@pytest.mark.parametrize("uri", ["s3://jobs/a", "file:/jobs/a", "/jobs/a"])
def test_what_is_absolute_stays_as_it_is(uri: str) -> None:
    assert absolute(uri) == uri


def test_errors_of_a_moved_savepoint_name_the_file_that_was_read(tmp_path: Path) -> None:
    opened = copy_of(Sample("states-1.20.5-hashmap-changelog"), tmp_path)
    streams = [
        reference.stream
        for operator in opened.metadata.operators
        for reference in stream_references(operator)
        if reference.kind is FileKind.CHANGELOG
    ]
    assert streams
    for stream in streams:
        file = opened.directory.file(stream)
        assert Path(file.path).is_file()
        assert file.path.startswith(str(tmp_path))
        assert file.named != file.path
