"""Rules for where files of a savepoint lie: its own store, other stores, and strict paths."""

from __future__ import annotations

import json
import pickle
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from support.changed_metadata import with_operators
from support.sample_rows import SAMPLES

from savepoint_cli.main import main
from savepoint_formats.errors import StateFileNotFoundError, UnreachableError
from savepoint_formats.locations import stores
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.locations.path_rules import PathRules
from savepoint_formats.metadata import FileStream, RelativeFile
from savepoint_formats.metadata.references import with_streams
from savepoint_spark.reading.data_source import SavepointDataSource
from savepoint_spark.reading.source_options import path_options
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from support.s3_server import S3Server

    from savepoint_formats.metadata import OperatorState, PlainStream

STRICT = PathRules.of(is_strict=True)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint that shares files with others, and has its changelog somewhere else."""
    for name in ("job/chk-1/_metadata", "job/chk-1/a", "job/shared/b", "dstl/c", "d/secret"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    (tmp_path / "dstl/link").symlink_to(tmp_path / "d/secret")
    (tmp_path / "job/chk-1/link").symlink_to(tmp_path / "d/secret")
    return tmp_path / "job/chk-1"


def found(directory: SnapshotDirectory, path: str) -> bytes | None:
    file = directory.file(FileStream(1, path))
    return None if file.location is None else file.read()


class TestStrictPaths:
    def test_without_them_the_own_file_system_is_followed(self, checkpoint: Path) -> None:
        directory = SnapshotDirectory.of(str(checkpoint))
        for name in ("a", "../shared/b", "../../dstl/c", "../../dstl/link"):
            assert found(directory, f"file:{checkpoint}/{name}") is not None

    def test_they_keep_to_the_directories_of_the_checkpoint(self, checkpoint: Path) -> None:
        directory = SnapshotDirectory.of(str(checkpoint), STRICT)
        base = checkpoint.parents[1]
        assert found(directory, f"file:{checkpoint}/a") == b"job/chk-1/a"
        assert found(directory, f"file:{base}/job/shared/b") == b"job/shared/b"
        for name in ("dstl/c", "job/chk-1/link", "job/chk-1/../../d/secret"):
            file = directory.file(FileStream(1, f"file:{base}/{name}"))
            with pytest.raises(StateFileNotFoundError, match="strict paths follow nothing out of"):
                file.read()
        for name in ("link", "../../dstl/c"):
            assert directory.file(RelativeFile(name, 1)).location is None

    def test_what_is_allowed_is_followed_but_no_link_out_of_it(self, checkpoint: Path) -> None:
        base = checkpoint.parents[1]
        rules = PathRules.of([f"{base}/dstl"], is_strict=True)
        directory = SnapshotDirectory.of(str(checkpoint), rules)
        assert found(directory, f"file:{base}/dstl/c") == b"dstl/c"
        assert directory.file(FileStream(1, f"file:{base}/dstl/c")).is_own
        for name in ("dstl/link", "dstl/../d/secret", "d/secret"):
            assert found(directory, f"file:{base}/{name}") is None

    @pytest.mark.parametrize("name", ["a\0", "\0/no", "a\ud800", "../\ud800/no", "a" * 5000])
    def test_a_path_that_nothing_can_have_leads_nowhere(self, checkpoint: Path, name: str) -> None:
        allowing = PathRules.of([str(checkpoint.parent), "s3://other"], is_strict=True)
        for rules in (STRICT, allowing, PathRules.of()):
            directory = SnapshotDirectory.of(str(checkpoint), rules)
            for handle in (RelativeFile(name, 1), FileStream(1, f"file:{checkpoint}/{name}")):
                with pytest.raises(StateFileNotFoundError, match=r"does not exist|is not read"):
                    directory.file(handle).read()

    def test_on_an_object_store(self, s3_server: S3Server) -> None:
        bucket = s3_server.bucket("strict")
        for name in ("job/chk-1/_metadata", "job/chk-1/a", "job/shared/b", "dstl/c"):
            s3_server.put(bucket, name, name.encode())
        uri = s3_server.uri(bucket, "job/chk-1")
        strict = SnapshotDirectory.of(uri, STRICT)
        allowed = SnapshotDirectory.of(uri, PathRules.of([f"s3a://{bucket}/dstl"], is_strict=True))
        for directory in (strict, allowed):
            assert found(directory, f"s3://{bucket}/job/chk-1/a") == b"job/chk-1/a"
            assert found(directory, f"s3p://{bucket}/job/shared/b") == b"job/shared/b"
        assert found(strict, f"s3://{bucket}/dstl/c") is None
        assert found(allowed, f"s3://{bucket}/dstl/c") == b"dstl/c"


class TestOtherStores:
    @pytest.mark.parametrize(
        ("path", "prefix"),
        [
            ("gs://bucket/x/y", "gs://bucket"),
            ("s3://bucket/x", "s3://bucket"),
            ("hdfs://host:8020/x", "hdfs://host:8020"),
            ("abfss://container@account/x", "abfs://container@account"),
            ("file://host/x/y", "/x"),
            ("s3://[bucket/x", "s3://[bucket"),
        ],
    )
    def test_they_are_not_asked(self, checkpoint: Path, path: str, prefix: str) -> None:
        start = time.monotonic()
        file = SnapshotDirectory.of(str(checkpoint)).file(FileStream(1, path))
        assert time.monotonic() - start < stores.CONTACT_SECONDS / 2
        with pytest.raises(StateFileNotFoundError, match="on another store") as raised:
            file.read()
        assert f"--allow-path {prefix}, allow_paths" in str(raised.value)

    def test_they_are_asked_where_it_is_allowed(
        self, checkpoint: Path, s3_server: S3Server
    ) -> None:
        bucket = s3_server.bucket("allowed")
        for name in ("a/c", "ab/c", "b/c"):
            s3_server.put(bucket, name, name.encode())
        prefix = s3_server.uri(bucket, "a")
        directory = SnapshotDirectory.of(str(checkpoint), PathRules.of([prefix]))
        assert found(directory, f"s3a://{bucket}/a/c") == b"a/c"
        for path in ("ab/c", "b/c", "a/../b/c", ""):
            assert found(directory, f"s3://{bucket}/{path}") is None

    def test_another_bucket_is_another_store(self, s3_server: S3Server) -> None:
        own, other = s3_server.bucket("own-bucket"), s3_server.bucket("other-bucket")
        s3_server.put(own, "chk-1/_metadata", b"")
        s3_server.put(other, "x", b"content")
        uri = s3_server.uri(own, "chk-1")
        assert found(SnapshotDirectory.of(uri), f"s3://{other}/x") is None
        allowed = SnapshotDirectory.of(uri, PathRules.of([f"s3://{other}"]))
        assert found(allowed, f"s3://{other}/x") == b"content"
        assert found(pickle.loads(pickle.dumps(allowed)), f"s3://{other}/x") == b"content"

    def test_a_path_has_no_options(self, checkpoint: Path, s3_server: S3Server) -> None:
        bucket = s3_server.bucket("options")
        s3_server.put(bucket, "x", b"content")
        path = s3_server.uri(bucket, "x")
        directory = SnapshotDirectory.of(str(checkpoint), PathRules.of([s3_server.uri(bucket, "")]))
        assert found(directory, f"s3://{bucket}/x") == b"content"
        assert found(directory, path) is None

    def test_one_that_does_not_answer_is_asked_once(
        self, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stores, "CONTACT_SECONDS", 1.0)
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"127.0.0.1:{server.getsockname()[1]}"
            prefix = f"gs://anonymous@bucket/?scheme=http&endpoint_override={address}"
            directory = SnapshotDirectory.of(str(checkpoint), PathRules.of([prefix]))
            start = time.monotonic()
            files = [directory.file(FileStream(1, f"gs://bucket/{one}")) for one in range(20)]
        assert time.monotonic() - start < len(files) / 2
        for file in files:
            with pytest.raises(StateFileNotFoundError, match="no answer within 1 s"):
                file.read()


def test_prefixes_are_a_list_of_paths() -> None:
    with pytest.raises(TypeError, match="expected a list of directories and URIs"):
        PathRules.of("/data")
    with pytest.raises(ValueError, match="an empty path"):
        PathRules.of(["/data", ""])


def test_the_data_source_takes_the_same_rules() -> None:
    sample = str(SAMPLES / "states-2.2.1-rocksdb-native")
    rules = PathRules.of(["/data", "s3://bucket,a"], is_strict=True)
    options = {"path": sample, "table": "stateful.keyed_state", "uids": "stateful"}
    source = SavepointDataSource({**options, **path_options(rules)})
    assert source._scan().directory.rules == rules
    assert SavepointDataSource(options)._scan().directory.rules == PathRules()
    opened = Savepoint.open(sample, allow_paths=rules.allowed, strict_paths=True)
    assert opened.directory.rules == rules


@pytest.fixture
def scattered(tmp_path: Path) -> Path:
    """A savepoint whose files lie in another directory of the machine."""
    sample = SAMPLES / "states-2.2.1-hashmap-native"

    def named(stream: PlainStream) -> PlainStream:
        if not isinstance(stream, RelativeFile):
            return stream
        return FileStream(stream.size, f"file:{tmp_path}/files/{stream.path}")

    def change(operator: OperatorState) -> OperatorState:
        return with_streams(operator, named)

    out = with_operators(sample, tmp_path / "savepoint", change)
    (tmp_path / "files").mkdir()
    for file in out.iterdir():
        if file.name != "_metadata":
            file.rename(tmp_path / "files" / file.name)
    return out


def run(*arguments: object) -> tuple[int, list[str]]:
    result = CliRunner().invoke(main, [str(one) for one in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output.splitlines()


def test_the_command_line_takes_the_same_rules(scattered: Path, tmp_path: Path) -> None:
    files = tmp_path / "files"
    assert run("copy", scattered, tmp_path / "default")[0] == 0
    code, lines = run("copy", scattered, tmp_path / "strict", "--strict-paths")
    assert (code, len(lines)) == (1, 1)
    assert "strict paths follow nothing out of the savepoint's own directories" in lines[0]
    assert not (tmp_path / "strict").exists()
    allowed = ("--strict-paths", "--allow-path", files)
    assert run("copy", scattered, tmp_path / "allowed", *allowed)[0] == 0


def test_files_tells_why_one_was_not_followed(scattered: Path) -> None:
    code, lines = run("files", scattered, "--strict-paths", "--output", "json")
    told: list[dict[str, Any]] = [json.loads(line) for line in lines]
    missing = [one for one in told if one["is_missing"]]
    assert code == 0
    assert missing
    assert all(one["problem"].startswith("strict paths follow nothing") for one in missing)


def test_an_unreachable_store_is_the_savepoints_own_error(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="gopher"):
        SnapshotDirectory.of("gopher://host/savepoint", PathRules.of([str(tmp_path)]))
