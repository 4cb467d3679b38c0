"""Canonical files: those of a real Flink written anew, new ones read back, and wrong calls."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from support.hand_made import EVERYTHING, canonical_base, encoded, group_of, operator_of, rows
from support.sample_rows import Sample, samples

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.layout import Long, Text
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    CheckpointMetadata,
    InlineStream,
    KeyedHandleType,
    KeyGroupsHandle,
    SubtaskState,
)
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files.canonical_file import (
    END_OF_SECTION,
    CanonicalFile,
    read_sections,
    sections_of,
)
from savepoint_formats.state_files.header import (
    KEYED_STATE_TYPE,
    NAMESPACE_SERIALIZER,
    VALUE_SERIALIZER,
    BackendStateType,
    HeaderBytes,
    KeyedBackendHeader,
    KeyedStateType,
    StateMetaInfo,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LONG, STRING, VOID = constructed.long(), constructed.string(), constructed.void_namespace()
VALUE = StateMetaInfo.of_keys("value", KeyedStateType.VALUE, VOID, LONG)
HEADER = KeyedBackendHeader.of(STRING, (VALUE,))
RUN = bytes.fromhex("0000 00000004 80026100 00000008 0000000000000007")


def canonical_files(path: str) -> Iterator[tuple[SnapshotDirectory, KeyGroupsHandle]]:
    """The canonical files of a savepoint that are not compressed."""
    directory = SnapshotDirectory.of(path)
    metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata()))
    for operator in metadata.operators:
        for subtask in operator.subtasks:
            handle = subtask.managed_keyed_state
            if (
                isinstance(handle, KeyGroupsHandle)
                and handle.type is KeyedHandleType.CANONICAL_SAVEPOINT
                and not header_of(directory, handle).is_compressed
            ):
                yield directory, handle


def header_of(directory: SnapshotDirectory, handle: KeyGroupsHandle) -> KeyedBackendHeader:
    return KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, handle))


def sections(
    directory: SnapshotDirectory, handle: KeyGroupsHandle
) -> Iterator[tuple[int, list[bytes]]]:
    """Each key group of a file and its runs, which are but one piece of bytes."""
    file = directory.file(handle.stream)
    for section in sections_of(handle.groups, file, handle.key_groups):
        data = read_sections(file, (section,))
        assert data.endswith(END_OF_SECTION)
        yield section.key_group, [data.removesuffix(END_OF_SECTION)]


def rewritten(directory: SnapshotDirectory, handle: KeyGroupsHandle) -> tuple[bytes, CanonicalFile]:
    output = io.BytesIO()
    written = CanonicalFile.write(
        output, header_of(directory, handle), handle.key_groups, sections(directory, handle)
    )
    return output.getvalue(), written


def written_bytes(
    found: Iterable[tuple[int, Iterable[Any]]], header: KeyedBackendHeader = HEADER
) -> tuple[bytes, CanonicalFile]:
    output = io.BytesIO()
    written = CanonicalFile.write(output, header, EVERYTHING, found)
    return output.getvalue(), written


def made(info: StateMetaInfo) -> StateMetaInfo:
    """The state, by the functions that describe new ones."""
    value, namespace = info.serializer(VALUE_SERIALIZER), info.serializer(NAMESPACE_SERIALIZER)
    assert value is not None
    if info.type is BackendStateType.PRIORITY_QUEUE:
        return StateMetaInfo.of_timers(info.name, value)
    assert namespace is not None
    state_type = KeyedStateType(info.option(KEYED_STATE_TYPE))
    return StateMetaInfo.of_keys(info.name, state_type, namespace, value)


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_a_file_of_flink_is_the_same_when_it_is_written_anew(sample: Sample) -> None:
    for directory, handle in canonical_files(sample.path):
        data, written = rewritten(directory, handle)
        assert data == directory.file(handle.stream).read()
        assert written.handle(handle.stream) == handle
        assert written.size == handle.stream.size


def test_files_of_older_flinks_are_the_same_too(corpus: Path) -> None:
    count = 0
    for folder in sorted((corpus / "savepoints").iterdir()):
        for directory, handle in canonical_files(str(folder)):
            data, written = rewritten(directory, handle)
            assert data == directory.file(handle.stream).read()
            assert written.handle(handle.stream) == handle
            count += 1
    assert count > 20


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_a_new_state_is_described_as_flink_describes_it(sample: Sample) -> None:
    for directory, handle in canonical_files(sample.path):
        header = header_of(directory, handle)
        states = tuple(map(made, header.states))
        assert KeyedBackendHeader.of(header.key_serializer, states) == header


def test_the_samples_have_states_of_every_type() -> None:
    types = {
        info.option(KEYED_STATE_TYPE) or info.type.name
        for sample in samples()
        for directory, handle in canonical_files(sample.path)
        for info in header_of(directory, handle).states
    }
    assert types == {*KeyedStateType, "PRIORITY_QUEUE"}


def test_runs_of_a_key_group_become_one_section() -> None:
    runs = [RUN, memoryview(RUN), pa.py_buffer(RUN)]
    data, written = written_bytes([(2, runs), (0, [RUN])])
    header = DataOutputView()
    HEADER.write(header)
    section = RUN * 3 + END_OF_SECTION
    assert data == header.to_bytes() + section + RUN + END_OF_SECTION
    assert written.offsets == (header.position + len(section), 0, header.position, 0)
    assert written.size == len(data)


def test_a_key_group_without_runs_has_no_section() -> None:
    header = DataOutputView()
    HEADER.write(header)
    data, written = written_bytes([(1, []), (3, iter(()))])
    assert data == header.to_bytes()
    assert written.offsets == (0, 0, 0, 0)


def test_what_is_written_is_what_is_read() -> None:
    keys = ["a", "b", "ключ", "😀"]
    entries = [
        (group_of(key), 0, encoded(Text(), key) + b"\0", encoded(Long(), index))
        for index, key in enumerate(keys)
    ]
    output = io.BytesIO()
    # The entries as a file made by hand has them, but not in its order.
    by_hand = canonical_base(b"\0", entries)
    assert isinstance(by_hand.stream, InlineStream)
    found = sections(SnapshotDirectory.of("/"), by_hand)
    written = CanonicalFile.write(output, HEADER, EVERYTHING, reversed(list(found)))
    handle = written.handle(InlineStream("new", output.getvalue()))
    operator = operator_of(SubtaskState(0, managed_keyed_state=handle))
    expected = [{"key": key, "value": index} for index, key in enumerate(keys)]
    assert sorted(rows(operator, "keyed_state"), key=lambda row: row["value"]) == expected


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([(4, [RUN])], "key group 4 is not in 0 to 3"),
        ([(-1, [RUN])], "key group -1 is not in 0 to 3"),
        ([(1, [RUN]), (1, [RUN])], "key group 1 comes twice"),
        ([(1, [b""])], "a run of 0 bytes in key group 1"),
        ([(1, [RUN, RUN[:10]])], "a run of 10 bytes in key group 1"),
        ([(1, [b"\0\1" + RUN[2:]])], "a run of state 1 in key group 1, expected 0 to 0"),
        ([(1, [END_OF_SECTION + RUN])], "a run of state 65535"),
    ],
)
def test_what_no_restore_would_find_is_not_written(found: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        written_bytes(found)


def test_a_header_of_compressed_key_groups_is_refused() -> None:
    header = KeyedBackendHeader(True, HEADER.key_serializer, HEADER.states)
    with pytest.raises(ValueError, match="compressed"):
        written_bytes([], header)


def test_the_key_groups_of_a_subtask_may_begin_anywhere() -> None:
    written = CanonicalFile.write(io.BytesIO(), HEADER, KeyGroupRange(5, 7), [(6, [RUN])])
    assert written.groups.key_groups == KeyGroupRange(5, 7)
    assert [offset > 0 for offset in written.offsets] == [False, True, False]


def test_metadata_of_a_new_savepoint_refers_to_the_file() -> None:
    data, written = written_bytes([(2, [RUN])])
    subtask = SubtaskState(0, managed_keyed_state=written.handle(InlineStream("new", data)))
    metadata = CheckpointMetadata.new((replace(operator_of(subtask), uid=""),), checkpoint_id=7)
    view = DataOutputView()
    metadata.write(view)
    assert (metadata.version, metadata.checkpoint_id) == (3, 7)
    assert CheckpointMetadata.read(DataInputView(view.to_bytes())) == metadata
