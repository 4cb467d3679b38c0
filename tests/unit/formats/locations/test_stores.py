"""File systems that refuse, or do not answer."""

from __future__ import annotations

import logging
import os
import pickle
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from savepoint_formats.errors import (
    FileReplacedError,
    FormatError,
    NotASavepointError,
    SavepointError,
    StateFileNotFoundError,
    UnreachableError,
)
from savepoint_formats.locations import state_file, stored_object, stores
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.locations.location import Location
from savepoint_formats.locations.stores import scheme_of
from savepoint_formats.metadata import RelativeFile
from savepoint_formats.new_snapshot.directory import NewSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.s3_server import S3Server


@pytest.fixture
def silent_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of what takes connections and never says a word; nobody waits for it long."""
    monkeypatch.setattr(stores, "CONTACT_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


# What is not waited for any more goes on in the library, and holds up other stores for ten seconds.
@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    "uri",
    [
        "gs://anonymous@bucket/savepoint?scheme=http&endpoint_override={}",
        "s3://bucket/savepoint?scheme=http&region=us-east-1&endpoint_override={}",
    ],
)
def test_a_store_that_does_not_answer_is_waited_for_a_limited_time(
    silent_server: str, uri: str
) -> None:
    start = time.monotonic()
    with pytest.raises(UnreachableError, match=r"no answer within 1 s; check the network"):
        SnapshotDirectory.of(uri.format(silent_server))
    with pytest.raises(UnreachableError, match=r"no answer within 1 s"):
        NewSnapshot.at(uri.format(silent_server))
    assert time.monotonic() - start < 30


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("path", ["", "/a/b"])
def test_azure_without_credentials_is_one_line(path: str) -> None:
    # In a process of its own, for a library that has none ends the process if it is asked to read.
    options = "&".join(
        f"{kind}_storage_{what}"
        for kind in ("blob", "dfs")
        for what in ("authority=127.0.0.1:9", "scheme=http")
    )
    call = "from savepoint_cli.main import main; main()"
    uri = f"abfs://container@account{path}?{options}"
    found = subprocess.run(
        [sys.executable, "-c", call, "describe", uri], capture_output=True, text=True, check=False
    )
    (line,) = [one for one in found.stderr.splitlines() if not one.startswith("/bin/sh")]
    assert found.returncode == 1
    assert line.startswith("Error: abfs://container@account")
    assert "can't be read" in line


@pytest.mark.parametrize("uri", ["oss://bucket/a", "gs://", "abfs://container/a"])
def test_a_file_system_that_is_not_there_is_one_line(uri: str) -> None:
    with pytest.raises(UnreachableError) as raised:
        Location.of(uri)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["a" * 5000, "\ud800"])
def test_a_name_that_no_file_has_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(SavepointError) as raised:
        SnapshotDirectory.of(f"{tmp_path}/{name}")
    assert len(str(raised.value).splitlines()) == 1


def test_a_file_that_becomes_a_directory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"state")
    file = SnapshotDirectory.of(str(tmp_path)).file(RelativeFile("state", 5))
    (tmp_path / "state").unlink()
    (tmp_path / "state").mkdir()
    with pytest.raises(UnreachableError, match="state can't be read"):
        file.read()


def test_a_metadata_file_of_100_gb_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "_metadata").open("wb") as file:
        file.write(bytes.fromhex("4960672d 00000003"))
        os.truncate(file.fileno(), 100 << 30)
    with pytest.raises(NotASavepointError, match=r"has 107,374,182,400 bytes, and 1,073,741,824"):
        SnapshotDirectory.of(str(tmp_path)).read_metadata()


def test_a_store_is_asked_by_the_path_that_is_meant(s3_server: S3Server) -> None:
    bucket = s3_server.bucket("stores")
    s3_server.put(bucket, "a?b#c %/file", b"content")
    location = Location.of(s3_server.uri(bucket, "a"))
    assert location.path == f"{bucket}/a"
    assert Location.of(s3_server.uri(bucket, "")).path == bucket
    odd = Location(location.filesystem, f"{bucket}/a?b#c %/file")
    assert odd.file_size() == 7


@pytest.mark.parametrize(
    ("uri", "scheme"),
    [
        ("/a", "file"),
        ("c:/a", "file"),
        ("file:///a", "file"),
        ("s3a://b", "s3"),
        ("abfss://b", "abfs"),
        ("GS://b", "gs"),
    ],
)
def test_schemes_of_the_same_store_are_the_same(uri: str, scheme: str) -> None:
    assert scheme_of(uri) == scheme


@pytest.fixture(params=["boto3", "pyarrow"])
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Client of the store: boto3, or pyarrow where that is not installed."""
    if request.param != "boto3":
        monkeypatch.setattr(stores, "find_spec", lambda _: None)
    return str(request.param)


def test_a_file_of_a_store_is_opened_once_for_all_of_its_ranges(
    s3_server: S3Server, caplog: pytest.LogCaptureFixture, client: str
) -> None:
    bucket = s3_server.bucket(f"ranges-{client}")
    s3_server.put(bucket, "sp/_metadata", b"")
    s3_server.put(bucket, "sp/state", bytes(range(100)))
    directory = SnapshotDirectory.of(s3_server.uri(bucket, "sp"))
    caplog.clear()
    with caplog.at_level(logging.INFO, "werkzeug"):
        file = directory.file(RelativeFile("state", 100))
        assert file.length() == 100
        assert file.head(2) == file.head(2) == b"\0\1"
        assert [file.read(start, start + 2) for start in (0, 50, 99)] == [b"\0\1", b"23", b"c"]
    assert requests_in(caplog) == ["HEAD", "GET", "GET", "GET", "GET"]
    assert pickle.loads(pickle.dumps(file)).read(98) == b"bc"
    s3_server.client.delete_object(Bucket=bucket, Key="sp/state")
    with pytest.raises(StateFileNotFoundError):
        file.read(0, 2)


def requests_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The methods of all requests."""
    lines = (record.getMessage() for record in caplog.records)
    return ["HEAD" if "HEAD " in line else "GET" for line in lines]


class TestBytesThatAreWantedFirst:
    """A store gives them with its answer whether the file is there."""

    SIZE = 1 << 20

    @pytest.fixture
    def files(self, s3_server: S3Server) -> Files:
        """A file of a megabyte in a store."""
        files = Files(s3_server, s3_server.bucket(f"first-{uuid4()}"))
        files.put(bytes(range(256)) * (self.SIZE // 256))
        return files

    @pytest.mark.parametrize(
        ("wanted", "reads", "requests"),
        [
            ({"head": 100}, [(0, 100), (10, 50)], 1),
            ({"head": 100}, [(0, 100), (50, 200)], 2),
            ({"tail": 100}, [(SIZE - 100, SIZE)], 1),
            ({"tail": 100}, [(SIZE - 100, SIZE), (7, 9)], 2),
            ({"tail": 2 * SIZE}, [(7, 9)], 1),
        ],
    )
    def test_are_asked_for_once(
        self,
        files: Files,
        caplog: pytest.LogCaptureFixture,
        wanted: dict[str, int],
        reads: list[tuple[int, int]],
        requests: int,
    ) -> None:
        directory = SnapshotDirectory.of(files.uri)
        caplog.clear()
        with caplog.at_level(logging.INFO, "werkzeug"):
            file = directory.file(RelativeFile("state", self.SIZE), **wanted)
            assert file.length() == self.SIZE
            assert [file.read(*at) for at in reads] == [files.data[slice(*at)] for at in reads]
        assert requests_in(caplog) == ["GET"] * requests

    @pytest.mark.parametrize(("kept", "requests"), [(2 * SIZE, 2), (SIZE, 4)])
    def test_are_kept_for_who_reads_them_again(
        self,
        files: Files,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
        kept: int,
        requests: int,
    ) -> None:
        monkeypatch.setattr(stored_object, "MAX_KEPT_IN_ALL", kept)
        files.server.put(files.bucket, "sp/other", files.data)
        directory = SnapshotDirectory.of(files.uri)
        caplog.clear()
        with caplog.at_level(logging.INFO, "werkzeug"):
            for name in ("state", "other", "state", "state"):
                file = directory.file(RelativeFile(name, self.SIZE), tail=self.SIZE)
                assert file.read(7, 9) == b"\7\10"
        assert requests_in(caplog) == ["GET"] * requests

    @pytest.mark.parametrize("size", [SIZE, 50])
    def test_of_another_file_are_not_mixed_with_those_of_the_first(
        self, files: Files, size: int
    ) -> None:
        directory = SnapshotDirectory.of(files.uri)
        file = directory.file(RelativeFile("state", self.SIZE), head=100)
        files.put(bytes(size))
        assert file.read(0, 100) == bytes(range(100))
        with pytest.raises(FileReplacedError, match=r"state at byte 200: it was replaced"):
            file.read(200, 300)

    def test_of_a_file_that_is_shorter_than_its_handle_says_are_those_there_are(
        self, files: Files
    ) -> None:
        files.put(b"short")
        directory = SnapshotDirectory.of(files.uri)
        file = directory.file(RelativeFile("state", self.SIZE), tail=100)
        assert file.read(self.SIZE - 100, self.SIZE) == b""
        assert file.read(0, 10) == b"short"

    def test_of_a_file_that_is_longer_than_its_handle_says_tell_so(self, files: Files) -> None:
        file = SnapshotDirectory.of(files.uri).file(RelativeFile("state", 100), head=100)
        with pytest.raises(FormatError, match="1048576 bytes in the file, expected 100"):
            file.length()

    def test_are_not_given_to_everybody(self, files: Files) -> None:
        directory = SnapshotDirectory.of(files.uri)
        file = directory.file(RelativeFile("state", self.SIZE), head=100)
        with files.server.closed():
            with pytest.raises(
                UnreachableError, match=r"state can't be read: .*InvalidAccessKeyId"
            ):
                file.read(200, 300)
            with pytest.raises(StateFileNotFoundError, match=r"_metadata can't be read: .*DENIED"):
                directory.file(RelativeFile("_metadata", 8), head=8).length()

    def test_of_an_empty_file_are_none(self, files: Files) -> None:
        files.put(b"")
        file = SnapshotDirectory.of(files.uri).file(RelativeFile("state", 100), head=100)
        assert file.read() == b""


@dataclass
class Files:
    """A directory of a store with a file ``state``."""

    server: S3Server
    bucket: str
    data: bytes = b""

    def put(self, data: bytes) -> None:
        """Writes the file, or writes another one over it."""
        self.server.put(self.bucket, "sp/_metadata", b"metadata")
        self.server.put(self.bucket, "sp/state", data)
        self.data = data

    @property
    def uri(self) -> str:
        """The directory."""
        return self.server.uri(self.bucket, "sp")


def test_ranges_of_a_store_are_read_in_large_pieces(
    s3_server: S3Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "REQUEST_SIZE", 30)
    bucket, data = s3_server.bucket("pieces"), bytes(range(100))
    s3_server.put(bucket, "sp/_metadata", b"metadata")
    s3_server.put(bucket, "sp/state", data)
    whole = SnapshotDirectory.of(s3_server.uri(bucket, "sp")).file(RelativeFile("state", 100))
    file = whole.read_ahead([(10, 60), (70, 100), (100, 130)])
    caplog.clear()
    with caplog.at_level(logging.INFO, "werkzeug"):
        for start, end in ((10, 20), (18, 50), (50, 60), (70, 90), (90, 100), (100, 130)):
            assert file.read(start, end) == data[start:end]
    # Two halves of the first range, the second range, and nothing of what is behind the file.
    assert requests_in(caplog) == ["GET", "GET", "GET"]
    assert file.read(0, 5) == data[:5]
    s3_server.client.delete_object(Bucket=bucket, Key="sp/state")
    with pytest.raises(StateFileNotFoundError):
        whole.read_ahead([(0, 100)]).read(0, 10)
