"""Finding the files of a snapshot: local, moved, and in an object store."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import boto3
import pytest
from moto.server import ThreadedMotoServer

from savepoint_formats.errors import (
    NotASavepointError,
    SavepointError,
    SavepointNotFoundError,
    StateFileNotFoundError,
)
from savepoint_formats.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    EmptySegment,
    FileStream,
    InlineStream,
    RelativeFile,
    SegmentStream,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The URI parameters that lead pyarrow to an S3 server on this machine."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1")
        client.create_bucket(Bucket="jobs")
        for name in ("chk-1/_metadata", "chk-1/a b", "shared/sst"):
            client.put_object(Bucket="jobs", Key=f"job-1/{name}", Body=name.encode())
        yield f"scheme=http&endpoint_override={host}:{port}&region=us-east-1"
    server.stop()


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3p"])
def test_a_checkpoint_in_s3(s3: str, scheme: str) -> None:
    directory = SnapshotDirectory.of(f"{scheme}://jobs/job-1/chk-1?{s3}")
    assert directory.read_metadata() == b"chk-1/_metadata"
    assert directory.file(RelativeFile("a b", 1)).read() == b"chk-1/a b"
    assert directory.file(FileStream(1, "s3://jobs/job-1/shared/sst")).read(0, 6) == b"shared"
    assert directory.list_files() == {"_metadata": 15, "a b": 9}
