"""Files that are, and are not, what the savepoint says that they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from support.changed_metadata import with_operators
from support.sample_rows import SAMPLES

from savepoint_cli.main import main
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import FormatError, WrongFileError
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.locations.location import Location
from savepoint_formats.locations.path_rules import is_own
from savepoint_formats.locations.state_file import StateFile
from savepoint_formats.metadata import (
    CheckpointMetadata,
    FileStream,
    IncrementalHandle,
    RelativeFile,
)
from savepoint_formats.metadata.references import FileKind, stream_references, with_streams
from savepoint_formats.state_files.header import MAX_HEADER_SIZE, HeaderBytes
from savepoint_formats.state_files.recognition import expect_kind

if TYPE_CHECKING:
    from pathlib import Path

    from support.s3_server import S3Server

    from savepoint_formats.metadata import OperatorState, PlainStream

SECRET = b"root:x:0:0:root:/root:/bin/bash\n" * 100

# Each of Flink's, in hexadecimal: in-flight data of 2 bytes; changelogs, plain and compressed.
MADE = {
    (FileKind.CHANNEL_STATE, ""): "00000000 00000002 6162",
    (FileKind.CHANGELOG, "plain"): "00 00000001 00000001 ffffffff 00000000",
    (FileKind.CHANGELOG, "compressed"): "01 ff060000 734e61507059",
    (FileKind.ROCKSDB, "000009.blob"): "378f2400 01000000",
    (FileKind.ROCKSDB, "000009.log"): "",
}


def real_files() -> dict[tuple[FileKind, str], bytes]:
    """A file of each kind and name, as Flink or RocksDB wrote it."""
    found = {key: bytes.fromhex(data) for key, data in MADE.items()}
    for sample in ("states-2.2.1-rocksdb-native", "states-2.2.1-hashmap-native"):
        directory = SnapshotDirectory.of(str(SAMPLES / sample))
        metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata()))
        for operator in metadata.operators:
            for one in stream_references(operator):
                if isinstance(one.stream, RelativeFile):
                    name = one.role if one.kind is FileKind.ROCKSDB else ""
                    found.setdefault((one.kind, name), directory.file(one.stream).read())
    return found


FILES = real_files()
# One may pass for the other by its first fields.
STATE = {FileKind.KEYED_STATE, FileKind.OPERATOR_STATE}
NAMED = [(kind, name) for kind, name in FILES if kind is FileKind.ROCKSDB]


def file_of(data: bytes, folder: Path) -> StateFile:
    path = folder / "file"
    path.write_bytes(data)
    return StateFile(str(path), location=Location.of(str(path)))


@pytest.mark.parametrize(("kind", "name"), list(FILES))
def test_a_file_of_flink_is_what_its_handle_says(kind: FileKind, name: str, tmp_path: Path) -> None:
    expect_kind(file_of(FILES[kind, name], tmp_path), kind, name)


def form(kind: FileKind, name: str) -> str:
    """Files of the same form can't be told apart: a MANIFEST is a log."""
    names = {"sst": "sst", "blob": "blob", "log": "log", "MANIFEST": "log"}
    return names.get(name.rpartition(".")[2].partition("-")[0], f"{kind} {name}".rstrip(" -09"))


@pytest.mark.parametrize(("kind", "name"), list(FILES))
def test_no_file_is_taken_for_another(kind: FileKind, name: str, tmp_path: Path) -> None:
    for (other, other_name), data in FILES.items():
        is_flinks = {kind, other} in ({FileKind.CHANGELOG}, STATE)
        if not is_flinks and form(kind, name) != form(other, other_name):
            with pytest.raises(WrongFileError, match="it is not what the savepoint says"):
                expect_kind(file_of(data, tmp_path), kind, name)


@pytest.mark.parametrize(
    "data", [SECRET, b"", b"\x00", b"\x7fELF\x02\x01\x01" + bytes(100), b"a" * 3], ids=len
)
@pytest.mark.parametrize(("kind", "name"), list(FILES))
def test_a_strangers_file_is_refused(
    kind: FileKind, name: str, data: bytes, tmp_path: Path
) -> None:
    if name.endswith(".log") and not data:
        pytest.skip("a log that nothing was written to")
    with pytest.raises(WrongFileError):
        expect_kind(file_of(data, tmp_path), kind, name)


@pytest.mark.parametrize("name", ["passwd", "LOCK", "x.sst.txt", "../CURRENT", ""])
def test_rocksdb_has_no_file_of_another_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(WrongFileError, match="RocksDB has no file of such a name"):
        expect_kind(file_of(SECRET, tmp_path), FileKind.ROCKSDB, name)


def test_every_flipped_byte_of_a_manifest_record_is_noticed(tmp_path: Path) -> None:
    name = next(name for _, name in NAMED if name.startswith("MANIFEST"))
    data = FILES[FileKind.ROCKSDB, name]
    for position in range(7 + int.from_bytes(data[4:6], "little")):
        flipped = bytearray(data)
        flipped[position] ^= 0xFF
        with pytest.raises(WrongFileError):
            expect_kind(file_of(bytes(flipped), tmp_path), FileKind.ROCKSDB, name)


class TestRawState:
    """Nothing tells raw state from any other file but where it lies."""

    @pytest.fixture
    def checkpoint(self, tmp_path: Path) -> Path:
        for name in ("secret", "job/chk-1/_metadata", "job/chk-1/raw", "job/shared/raw"):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(SECRET)
        (tmp_path / "job/chk-1/link").symlink_to(tmp_path / "secret")
        (tmp_path / "job/taskowned").symlink_to(tmp_path)
        return tmp_path / "job/chk-1"

    @pytest.mark.parametrize("path", ["raw", "../shared/raw"])
    def test_it_is_read_in_directories_of_the_checkpoint(self, checkpoint: Path, path: str) -> None:
        directory = SnapshotDirectory.of(str(checkpoint))
        for stream in (RelativeFile(path, 1), FileStream(1, f"file:{checkpoint}/{path}")):
            expect_kind(directory.file(stream), FileKind.RAW)

    @pytest.mark.parametrize("path", ["../../secret", "link", "../taskowned/secret"])
    def test_it_is_refused_elsewhere(self, checkpoint: Path, path: str) -> None:
        directory = SnapshotDirectory.of(str(checkpoint))
        for stream in (RelativeFile(path, 1), FileStream(1, f"file:{checkpoint}/{path}")):
            with pytest.raises(WrongFileError, match="in no directory of the savepoint's own"):
                expect_kind(directory.file(stream), FileKind.RAW)

    def test_a_savepoint_has_no_siblings(self, checkpoint: Path) -> None:
        savepoint = checkpoint.rename(checkpoint.with_name("savepoint-1"))
        file = SnapshotDirectory.of(str(savepoint)).file(RelativeFile("../shared/raw", 1))
        with pytest.raises(WrongFileError):
            expect_kind(file, FileKind.RAW)

    @pytest.mark.usefixtures("slow")
    def test_prefixes_that_flink_puts_into_a_path_are_the_checkpoints(
        self, s3_server: S3Server
    ) -> None:
        bucket = s3_server.bucket("entropy")
        s3_server.put(bucket, "flink/job/chk-1/_metadata", b"")
        location = Location.of(s3_server.uri(bucket, "flink/job/chk-1"))
        for path, expected in {
            "flink/job/chk-1/a": True,
            "flink/job/shared/a": True,
            "x7/flink/job/chk-1/a": True,
            "x7/flink/job/chk-2/a": False,
            "flink/other/shared/a": False,
            "a": False,
        }.items():
            assert is_own(Location(location.filesystem, f"{bucket}/{path}"), location) == expected
        assert not is_own(Location(location.filesystem, "other/flink/job/chk-1/a"), location)


def stolen(sample: str, kind: FileKind, secret: Path, out: Path) -> Path:
    """A savepoint that names a file of the machine where one of some kind should be."""

    def change(operator: OperatorState) -> OperatorState:
        wanted = {one.stream for one in stream_references(operator) if one.kind is kind}

        def named(stream: PlainStream) -> PlainStream:
            is_wanted = stream in wanted and isinstance(stream, RelativeFile)
            return FileStream(len(SECRET), f"file:{secret}") if is_wanted else stream

        changed = with_streams(operator, named)
        if kind is FileKind.RAW:
            subtasks = tuple(
                replace(
                    one,
                    raw_operator_state=one.managed_operator_state
                    and replace(
                        one.managed_operator_state,
                        stream=FileStream(len(SECRET), f"file:{secret}"),
                    ),
                )
                for one in changed.subtasks
            )
            changed = replace(changed, subtasks=subtasks)
        return changed

    return with_operators(SAMPLES / sample, out, change)


@pytest.mark.parametrize("is_link", [False, True])
@pytest.mark.parametrize(
    ("sample", "kind"),
    [
        ("states-2.2.1-rocksdb-native", FileKind.ROCKSDB),
        ("states-2.2.1-rocksdb-native", FileKind.KEYED_STATE),
        ("states-2.2.1-hashmap-native", FileKind.OPERATOR_STATE),
        ("states-2.2.1-hashmap-native", FileKind.RAW),
    ],
)
def test_a_copy_takes_no_file_of_the_machine_along(
    sample: str, kind: FileKind, is_link: bool, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    named = tmp_path / "stolen/link" if is_link else secret
    path = stolen(sample, kind, named, tmp_path / "stolen")
    if is_link:
        named.symlink_to(secret)
    out = tmp_path / "out"
    result = CliRunner().invoke(main, ["copy", str(path), str(out)])
    assert result.exit_code == 1, result.output
    (line,) = result.output.splitlines()
    assert line.startswith("Error: ")
    assert f"{named} at byte" in line
    assert "it is not what the savepoint says" in line
    assert not any(SECRET[:30] in one.read_bytes() for one in out.rglob("*") if one.is_file())


def test_raw_state_of_the_machine_is_not_shown(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    path = stolen("states-2.2.1-hashmap-native", FileKind.RAW, secret, tmp_path / "stolen")
    listed = CliRunner().invoke(main, ["list", str(path)]).output
    table = next(one for one in listed.split() if one.endswith(".raw_operator_state"))
    result = CliRunner().invoke(main, ["show", str(path), table])
    assert result.exit_code == 1
    assert "it is neither read nor copied" in result.output
    assert SECRET[:10].hex() not in result.output


def test_a_header_is_read_up_to_a_limit(tmp_path: Path) -> None:
    directory = SnapshotDirectory.of(str(SAMPLES / "states-2.2.1-rocksdb-native"))
    metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata()))
    handles = (one.managed_keyed_state for two in metadata.operators for one in two.subtasks)
    handle = next(one for one in handles if isinstance(one, IncrementalHandle))
    with (tmp_path / "endless").open("wb") as file:
        file.truncate(100 << 30)
    large = replace(handle, meta=FileStream(1, f"file:{tmp_path}/endless"))
    with pytest.raises(FormatError, match=f"a header of more than {MAX_HEADER_SIZE:,} bytes"):
        HeaderBytes.of_keyed_state(directory, large)
