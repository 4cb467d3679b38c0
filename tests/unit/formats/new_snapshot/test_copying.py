"""Copies of operators: the same bytes, in files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.sample_rows import SAMPLES

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import StateFileNotFoundError, TruncatedError
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    CheckpointMetadata,
    DistributionMode,
    EmptySegment,
    FileStream,
    IncrementalHandle,
    InlineStream,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsStream,
    LocalFile,
    OperatorState,
    OperatorStateHandle,
    OperatorStateOffsets,
    RelativeFile,
    SegmentStream,
    SubtaskState,
)
from savepoint_formats.metadata.operator_handles import MergedDirectories
from savepoint_formats.metadata.references import stream_references
from savepoint_formats.new_snapshot.copying import CopyPlan, copied
from savepoint_formats.new_snapshot.directory import NewSnapshot

if TYPE_CHECKING:
    from support.s3_server import S3Server

    from savepoint_formats.metadata import StreamHandle

ALL = KeyGroupRange(0, 127)


def snapshots() -> list[Path]:
    """The folders of all sample savepoints."""
    return sorted(path.parent for path in SAMPLES.glob("**/_metadata"))


def metadata_in(directory: SnapshotDirectory) -> CheckpointMetadata:
    return CheckpointMetadata.read(DataInputView(directory.read_metadata()))


def streams(operator: OperatorState) -> list[tuple[int, str, StreamHandle]]:
    """The streams that hold anything, with what they are for."""
    return [
        (reference.subtask, reference.role, reference.stream)
        for reference in stream_references(operator)
        if not isinstance(reference.stream, EmptySegment)
    ]


def same_bytes(folder: Path, out: Path) -> int:
    """Copies a savepoint, compares each stream; gives how many files the copy has."""
    source, target = SnapshotDirectory.of(str(folder)), NewSnapshot.at(str(out))
    metadata = metadata_in(source)
    plan = CopyPlan.of(metadata.operators, source)
    copies = plan.write(target)
    written = SnapshotDirectory(target.location, target.uri)
    for operator, copy in zip(metadata.operators, copies, strict=True):
        for was, now in zip(streams(operator), streams(copy), strict=True):
            assert was[:2] == now[:2]
            assert isinstance(now[2], InlineStream | RelativeFile)
            assert source.file(was[2]).read() == written.file(now[2]).read()
    assert sorted(plan.sizes) == sorted(written.list_files().values())
    return len(plan.sizes)


@pytest.mark.parametrize("folder", snapshots(), ids=lambda path: str(path.relative_to(SAMPLES)))
def test_a_copy_of_a_sample_has_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    same_bytes(folder, tmp_path / "out")


@pytest.mark.usefixtures("slow")
def test_a_copy_of_any_savepoint_of_flink_has_the_same_bytes(corpus: Path, tmp_path: Path) -> None:
    folders = [path.parent for path in sorted((corpus / "savepoints").glob("*/_metadata"))]
    assert folders
    assert sum(same_bytes(folder, tmp_path / folder.name) for folder in folders) > len(folders)


@pytest.fixture
def source(tmp_path: Path) -> SnapshotDirectory:
    """A checkpoint with a file of its own, and one that it shares with others."""
    job = tmp_path / "base/job-1"
    for name in ("chk-1/_metadata", "chk-1/state", "shared/merged"):
        file = job / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(name.encode())
    return SnapshotDirectory.of(str(job / "chk-1"))


def shared(source: SnapshotDirectory) -> str:
    return f"file:{Path(source.uri).parent / 'shared/merged'}"


@pytest.fixture
def target(tmp_path: Path) -> NewSnapshot:
    return NewSnapshot.at(str(tmp_path / "out"))


def files(target: NewSnapshot) -> list[bytes]:
    """The content of all files that were written."""
    folder = Path(target.location.path)
    return sorted(file.read_bytes() for file in folder.iterdir()) if folder.exists() else []


def operator_of(*handles: OperatorStateHandle) -> OperatorState:
    # Raw state, which has no form that is looked for.
    subtasks = tuple(
        SubtaskState(index, raw_operator_state=handle) for index, handle in enumerate(handles)
    )
    return OperatorState(OperatorId.from_uid("buffer"), len(subtasks), 128, subtasks)


def handle_of(stream: RelativeFile | FileStream | SegmentStream) -> OperatorStateHandle:
    state = OperatorStateOffsets("elements", DistributionMode.SPLIT_DISTRIBUTE, (0, 4))
    return OperatorStateHandle((state,), stream)


def test_a_file_that_two_handles_name_is_copied_once(
    source: SnapshotDirectory, target: NewSnapshot
) -> None:
    relative, absolute = RelativeFile("state", 11), FileStream(0, f"file:{source.uri}/state")
    copy = copied(operator_of(handle_of(relative), handle_of(absolute)), source, target)
    assert files(target) == [b"chk-1/state"]
    first, second = (stream for _, _, stream in streams(copy))
    assert isinstance(first, RelativeFile)
    assert isinstance(second, RelativeFile)
    assert first.path == second.path


def test_operators_share_copies_too(source: SnapshotDirectory, target: NewSnapshot) -> None:
    operators = [operator_of(handle_of(FileStream(1, shared(source)))) for _ in range(3)]
    CopyPlan.of(operators, source).write(target)
    assert files(target) == [b"shared/merged"]


def test_the_size_that_a_handle_tells_is_kept(
    source: SnapshotDirectory, target: NewSnapshot
) -> None:
    copy = copied(operator_of(handle_of(FileStream(12345, shared(source)))), source, target)
    ((_, _, stream),) = streams(copy)
    assert stream.size == 12345


def test_a_segment_becomes_a_file_of_just_its_bytes(
    source: SnapshotDirectory, target: NewSnapshot
) -> None:
    directories = MergedDirectories("file:/taskowned", "file:/shared", is_empty=False)
    handles = [
        OperatorStateHandle((), SegmentStream(start, 6, 0, shared(source), "id"), directories)
        for start in (0, 7, 7)
    ]
    copy = copied(operator_of(*handles), source, target)
    assert files(target) == [b"merged", b"shared"]
    found = [subtask.raw_operator_state for subtask in copy.subtasks]
    assert all(handle and handle.directories is None for handle in found)


def test_an_empty_segment_leaves_no_handle(source: SnapshotDirectory, target: NewSnapshot) -> None:
    directories = MergedDirectories("file:/taskowned", "file:/shared", is_empty=True)
    copy = copied(operator_of(OperatorStateHandle((), EmptySegment(), directories)), source, target)
    assert copy.subtasks == (SubtaskState(0),)


def test_a_segment_beyond_the_end_of_its_file_is_noticed(
    source: SnapshotDirectory, target: NewSnapshot
) -> None:
    handle = handle_of(SegmentStream(10, 6, 0, shared(source), "id"))
    with pytest.raises(TruncatedError, match=r"at byte 13: .* expected 6 bytes from 10 on"):
        copied(operator_of(handle), source, target)
    assert files(target) == []


def test_missing_files_are_named_before_anything_is_written(
    source: SnapshotDirectory, target: NewSnapshot
) -> None:
    gone = [handle_of(RelativeFile(f"gone-{number}", 1)) for number in range(5)]
    operator = operator_of(handle_of(RelativeFile("state", 11)), *gone)
    with pytest.raises(StateFileNotFoundError, match="gone-0, gone-1, gone-2 and 2 more"):
        copied(operator, source, target)
    assert files(target) == []


def test_every_file_of_a_rocksdb_handle_is_copied(
    source: SnapshotDirectory, target: NewSnapshot
) -> None:
    contents = [b"MANIFEST-000001\n", b"table" + bytes.fromhex("f7cff485b741e288")]
    for name, content in zip(("state", "../shared/merged"), contents, strict=True):
        (Path(source.uri) / name).write_bytes(content)
    groups = KeyGroupsStream(
        KeyGroupRangeOffsets(KeyGroupRange(0, 0), (0,)), RelativeFile("state", len(contents[0]))
    )
    handle = IncrementalHandle(
        KeyedHandleType.INCREMENTAL,
        checkpoint_id=1,
        backend_id="backend",
        key_groups=ALL,
        checkpointed_size=1,
        meta=InlineStream("meta", b"meta"),
        shared=(LocalFile("1.sst", FileStream(len(contents[1]), shared(source))),),
        private=(LocalFile("CURRENT", groups),),
        handle_id="handle",
    )
    operator = OperatorState(
        OperatorId.from_uid("sum"), 1, 128, (SubtaskState(0, managed_keyed_state=handle),)
    )
    copy = copied(operator, source, target).subtasks[0].managed_keyed_state
    assert isinstance(copy, IncrementalHandle)
    assert files(target) == contents
    assert copy.meta == handle.meta
    assert copy.shared[0].name == "1.sst"
    assert copy.shared[0].stream != handle.shared[0].stream
    assert isinstance(copy.private[0].stream, KeyGroupsStream)
    assert copy.private[0].stream.groups == groups.groups


def test_a_coordinator_keeps_its_bytes(source: SnapshotDirectory, target: NewSnapshot) -> None:
    coordinator = InlineStream("coordinator", b"splits")
    operator = OperatorState(OperatorId.from_uid("source"), 1, 128, (), coordinator)
    assert copied(operator, source, target) == operator


def test_progress_is_told_byte_for_byte(source: SnapshotDirectory, target: NewSnapshot) -> None:
    segment = SegmentStream(0, 6, 0, shared(source), "id")
    operator = operator_of(handle_of(RelativeFile("state", 11)), handle_of(segment))
    plan, told = CopyPlan.of([operator], source), list[int]()
    plan.write(target, told.append)
    assert sorted(told) == [6, 11]
    assert sorted(plan.sizes_of(operator)) == [6, 11]


@pytest.mark.usefixtures("slow")
def test_copies_go_into_an_object_store_and_out_of_it(
    source: SnapshotDirectory, tmp_path: Path, s3_server: S3Server
) -> None:
    bucket = s3_server.bucket("copies")
    segment = SegmentStream(7, 6, 0, shared(source), "id")
    operator = operator_of(handle_of(RelativeFile("state", 11)), handle_of(segment))
    directory = source
    for path in (
        s3_server.uri(bucket, "first"),
        s3_server.uri(bucket, "second"),
        str(tmp_path / "back"),
    ):
        target = NewSnapshot.at(path)
        operator = copied(operator, directory, target)
        target.commit(CheckpointMetadata(3, 1, (operator,)))
        directory = SnapshotDirectory.of(path)
    found = [directory.file(stream).read() for _, _, stream in streams(operator)]
    assert found == [b"chk-1/state", b"merged"]
