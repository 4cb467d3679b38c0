"""Runs of canonical files are taken over as they lie, however much is read at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.hand_made import LONG, STRING, VOID, canonical_base, header, meta_info
from support.passed_state import entries_in
from support.sample_rows import Sample, copy_of

from savepoint_formats.bytes.snappy import decompress
from savepoint_formats.errors import FormatError, TruncatedError
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import InlineStream, KeyGroupsHandle
from savepoint_formats.pass_through.stored_canonical import DROPPED, canonical_runs
from savepoint_formats.sources.entry_source import BATCH_SIZE
from savepoint_formats.state_files.canonical_entries import CanonicalEntries
from savepoint_formats.state_files.header import HeaderBytes, KeyedBackendHeader
from savepoint_formats.state_files.sections import sections_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from state_processor import Savepoint

SAMPLES = [
    Sample("states-1.20.5-hashmap-canonical"),
    Sample("states-1.20.5-hashmap-compressed"),
    Sample("states-2.2.1-rocksdb-canonical"),
    Sample("windows-1.20.5-rocksdb-canonical"),
]


def files_of(savepoint: Savepoint) -> Iterator[tuple[KeyedBackendHeader, KeyGroupsHandle, int]]:
    """The canonical files of a savepoint, and the maximum parallelism of their operators."""
    for operator in savepoint.operators():
        for subtask in operator.record.subtasks:
            handle = subtask.managed_keyed_state
            if isinstance(handle, KeyGroupsHandle):
                data = HeaderBytes.of_keyed_state(savepoint.directory, handle)
                yield KeyedBackendHeader.parse(data), handle, operator.record.max_parallelism


def runs_of(
    directory: SnapshotDirectory,
    header: KeyedBackendHeader,
    handle: KeyGroupsHandle,
    ids: Mapping[str, int],
    max_parallelism: int = 128,
    block_size: int = BATCH_SIZE,
) -> dict[int, bytes]:
    """Key group -> its runs."""
    names = [info.name for info in header.states]
    file, is_compressed = directory.file(handle.stream), header.is_compressed
    entries = CanonicalEntries(file, handle, names, max_parallelism, is_compressed=is_compressed)
    new_ids = np.array([ids.get(name, DROPPED) for name in names], np.int32)
    found: dict[int, bytes] = {}
    for batch in canonical_runs(entries, new_ids, handle.key_groups, block_size):
        batch.validate(full=True)
        for row in batch.to_pylist():
            found[row["key_group"]] = found.get(row["key_group"], b"") + row["run"]
    return found


def sections(
    directory: SnapshotDirectory, header: KeyedBackendHeader, handle: KeyGroupsHandle
) -> dict[int, bytes]:
    """Key group -> what lies in front of the end mark."""
    file = directory.file(handle.stream)
    found = {}
    for section in sections_of(handle.groups, file, handle.key_groups):
        data = file.read(section.start, section.end)
        whole = decompress(data, file.path, section.start) if header.is_compressed else data
        found[section.key_group] = whole.removesuffix(b"\xff\xff")
    return found


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_with_the_same_ids_the_bytes_are_the_same(sample: Sample) -> None:
    savepoint = sample.open()
    for head, handle, max_parallelism in files_of(savepoint):
        ids = {info.name: index for index, info in enumerate(head.states)}
        expected = sections(savepoint.directory, head, handle)
        assert runs_of(savepoint.directory, head, handle, ids, max_parallelism) == expected


@pytest.mark.parametrize("size", [10, 100, 1000])
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_entries_are_the_same_however_few_bytes_are_read_at_once(sample: Sample, size: int) -> None:
    savepoint = sample.open()
    for head, handle, max_parallelism in files_of(savepoint):
        ids = {info.name: index for index, info in enumerate(head.states)}
        found = runs_of(savepoint.directory, head, handle, ids, max_parallelism, size)
        expected = sections(savepoint.directory, head, handle)
        assert found.keys() == expected.keys()
        for group, runs in expected.items():
            assert entries_in(found[group]) == entries_in(runs)


@pytest.mark.parametrize("size", [100, BATCH_SIZE])
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_states_get_new_ids_or_are_left_out(sample: Sample, size: int) -> None:
    savepoint = sample.open()
    for head, handle, max_parallelism in files_of(savepoint):
        new = {index: 1000 - index for index in range(0, len(head.states), 2)}
        ids = {head.states[index].name: number for index, number in new.items()}
        found = runs_of(savepoint.directory, head, handle, ids, max_parallelism, size)
        for group, runs in sections(savepoint.directory, head, handle).items():
            expected = [
                (new[state], key, value) for state, key, value in entries_in(runs) if state in new
            ]
            assert entries_in(found.get(group, b"")) == expected


HEAD = header(meta_info("one", "VALUE", LONG, VOID), meta_info("two", "VALUE", STRING, VOID))


def hand_made() -> KeyGroupsHandle:
    entries = [(group, state, b"key\0", b"value") for group in (0, 2) for state in (0, 1, 1)]
    return canonical_base(HEAD, entries)


def read(data: bytes, size: int) -> dict[int, bytes]:
    """The runs of the hand-made file, if it had these bytes."""
    handle = hand_made()
    changed = KeyGroupsHandle(handle.type, handle.groups, InlineStream("file", data))
    directory = SnapshotDirectory.of("/")
    head = KeyedBackendHeader.parse(HeaderBytes(HEAD, "file"))
    return runs_of(directory, head, changed, {"one": 0, "two": 1}, block_size=size)


@pytest.mark.parametrize("size", [20, BATCH_SIZE])
def test_a_file_that_ends_too_early_is_an_error(size: int) -> None:
    stream = hand_made().stream
    assert isinstance(stream, InlineStream)
    last = hand_made().groups.offsets[2]
    for end in range(last, len(stream.data)):
        with pytest.raises(TruncatedError, match="key group 2"):
            read(stream.data[:end], size)
    assert set(read(stream.data, size)) == {0, 2}


@pytest.mark.parametrize("size", [20, BATCH_SIZE])
def test_an_unknown_state_is_an_error(size: int) -> None:
    stream = hand_made().stream
    assert isinstance(stream, InlineStream)
    start = hand_made().groups.offsets[2]
    data = stream.data[: start + 1] + b"\x02" + stream.data[start + 2 :]
    with pytest.raises(FormatError, match=r"state 2 of 2; in key group 2") as caught:
        read(data, size)
    assert caught.value.offset == start


def test_a_damaged_size_tells_its_state(tmp_path: Path) -> None:
    savepoint = copy_of(Sample("currency-1.20.5-hashmap-canonical"), tmp_path)
    head, handle, max_parallelism = next(files_of(savepoint))
    file = savepoint.directory.file(handle.stream)
    assert file.location is not None
    start = min(offset for offset in handle.groups.offsets if offset)
    with open(file.location.path, "r+b") as target:
        target.seek(start + 2)
        target.write(b"\xff")
    ids = {info.name: index for index, info in enumerate(head.states)}
    with pytest.raises(FormatError, match=r"a key or value of -\d+ bytes; in state '"):
        runs_of(savepoint.directory, head, handle, ids, max_parallelism)
