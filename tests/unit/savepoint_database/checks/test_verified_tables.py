"""Faults of files of RocksDB are named, once each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.changed_metadata import with_operators
from support.damaged_copies import INCREMENTAL, MERGED, ROCKSDB, changed, copied, damage, flipped

from savepoint_formats.checks.faults import Check
from savepoint_formats.checks.rocksdb_faults import rocksdb_faults
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.metadata import IncrementalHandle
from savepoint_formats.state_files.rocksdb.sst import Sst
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import OperatorState

NATIVE = "states-2.2.1-rocksdb-native"


def rocksdb_files(savepoint: Path) -> list[tuple[str, Path, StateFile, int]]:
    """The files that have checksums: name to RocksDB, path, how they are read, and size."""
    opened = Savepoint.open(str(savepoint))
    subtasks = opened.operator("summarize").record.subtasks
    (handle, *_) = (one.managed_keyed_state for one in subtasks if one.managed_keyed_state)
    assert isinstance(handle, IncrementalHandle)
    found = []
    for one in (*handle.shared, *handle.private):
        if one.name.endswith(".sst") or one.name.startswith("MANIFEST"):
            file = opened.directory.file(one.stream)
            assert file.location is not None
            found.append((one.name, Path(file.location.path), file, one.stream.size))
    return found


def test_every_flipped_byte_of_a_table_of_rocksdb_is_told(samples: Path, tmp_path: Path) -> None:
    savepoint = copied(samples, ROCKSDB, tmp_path)
    for name, path, file, size in rocksdb_files(savepoint):
        assert list(rocksdb_faults(file, name, size)) == []
        whole = path.read_bytes()
        # Of the footer, zeros fill up what the places of two blocks leave.
        end = len(whole) - 53 if name.endswith(".sst") else len(whole)
        for offset in (*range(0, end, max(1, end // 100)), len(whole) - 1):
            changed(path, flipped(offset))
            faults = list(rocksdb_faults(file, name, size))
            assert faults, (name, offset)
            assert {(fault.check, fault.is_damage) for fault in faults} == {(Check.CHECKSUMS, True)}
            path.write_bytes(whole)


def test_damaged_files_of_rocksdb_are_named_once_each(samples: Path, tmp_path: Path) -> None:
    savepoint = copied(samples, ROCKSDB, tmp_path)
    files = rocksdb_files(savepoint)
    for _, path, _, _ in files:
        changed(path, flipped(10))
    faults = damage(Savepoint.open(str(savepoint), uids=["summarize"]).verify())
    checksums = [fault.file for fault in faults if fault.check is Check.CHECKSUMS]
    assert len(checksums) == len(set(checksums)) == len(files)
    assert {fault.operator for fault in faults} == {"summarize"}
    sections = [fault for fault in faults if fault.check is Check.SECTIONS]
    assert {fault.state for fault in sections} == {"total", "count"}
    # What is wrong with a table is one fault, and not one of each key group.
    places = [(fault.subtask, fault.state, fault.file, fault.offset) for fault in sections]
    assert len(places) == len(set(places))


def with_handles(
    samples: Path, out: Path, name: str, change: Callable[[IncrementalHandle], IncrementalHandle]
) -> Path:
    """A copy of a sample with other handles of the files of RocksDB."""

    def changed(operator: OperatorState) -> OperatorState:
        subtasks = [
            replace(one, managed_keyed_state=change(one.managed_keyed_state))
            if isinstance(one.managed_keyed_state, IncrementalHandle)
            else one
            for one in operator.subtasks
        ]
        return replace(operator, subtasks=tuple(subtasks))

    job, _, below = name.partition("/")
    return with_operators(samples / job, out, changed, below)


def test_key_groups_beyond_the_last_one(samples: Path, tmp_path: Path) -> None:
    def beyond(handle: IncrementalHandle) -> IncrementalHandle:
        return replace(handle, key_groups=KeyGroupRange(handle.key_groups.start, 255))

    savepoint = with_handles(samples, tmp_path / "changed", ROCKSDB, beyond)
    faults = damage(Savepoint.open(str(savepoint)).verify())
    assert Check.METADATA in {fault.check for fault in faults}


@pytest.mark.parametrize("name", [ROCKSDB, INCREMENTAL, MERGED])
def test_tables_are_those_that_the_manifest_lists(samples: Path, tmp_path: Path, name: str) -> None:
    lost: list[str] = []

    def without(handle: IncrementalHandle) -> IncrementalHandle:
        kept, last = list(handle.shared), list(handle.private)
        tables = kept if any(one.name.endswith(".sst") for one in kept) else last
        one = next(one for one in tables if one.name.endswith(".sst"))
        tables.remove(one)
        lost.append(one.name)
        return replace(handle, shared=tuple(kept), private=tuple(last))

    savepoint = with_handles(samples, tmp_path / "without", name, without)
    faults = damage(Savepoint.open(str(savepoint)).verify())
    assert sorted(fault.problem for fault in faults) == sorted(
        f"the manifest lists {table}, which the handle does not have" for table in lost
    )
    assert {(one.check, one.cost) for one in faults} == {
        (Check.FILES, "all keyed state of the subtask: RocksDB does not open")
    }

    def foreign(handle: IncrementalHandle) -> IncrementalHandle:
        files = (*handle.shared, *handle.private)
        one = next(one for one in files if one.name.endswith(".sst"))
        return replace(handle, shared=(*handle.shared, replace(one, name="900000.sst")))

    savepoint = with_handles(samples, tmp_path / "foreign", name, foreign)
    faults = damage(Savepoint.open(str(savepoint)).verify())
    told = {one.problem for one in faults if one.check is Check.FILES}
    assert told == {"the handle has 900000.sst, which the manifest does not list"}
    assert len({(one.operator, one.subtask) for one in faults}) == len(lost)


# The last entries of the first subtask are in key group 122.
@pytest.mark.parametrize("start", [0, 123])
def test_a_block_with_a_right_checksum_must_be_unpackable(
    samples: Path, tmp_path: Path, start: int
) -> None:
    """RocksDB reads blocks of other key groups, too: after a rescale, or when it compacts tables."""

    def behind(handle: IncrementalHandle) -> IncrementalHandle:
        groups = handle.key_groups
        return replace(handle, key_groups=KeyGroupRange(max(start, groups.start), groups.end))

    savepoint = with_handles(samples, tmp_path / "savepoint", NATIVE, behind)
    opened = Savepoint.open(str(savepoint))
    handle = opened.operator("stateful").record.subtasks[0].managed_keyed_state
    assert isinstance(handle, IncrementalHandle)
    tables = [one for one in handle.shared + handle.private if one.name.endswith(".sst")]
    files = [opened.directory.file(one.stream) for one in tables]
    paths = [Path(file.location.path) for file in files if file.location]
    table = Sst.open(files[0], tables[0].stream.size)
    (end,) = table.read_index().sizes.tolist()

    def of_unknown_compression(data: bytearray) -> None:
        data[end] = 6
        checksum = table.footer.checksum.of(memoryview(bytes(data[: end + 1])), 0)
        data[end + 1 : end + 5] = checksum.to_bytes(4, "little")

    def told() -> list[str]:
        faults = Savepoint.open(str(savepoint)).verify().faults
        own = [one for one in faults if one.file == files[0].path]
        return [one.problem for one in own if one.check is Check.CHECKSUMS]

    problem = "a block of compression 6; a canonical savepoint of the job can be read"
    assert told() == []
    changed(paths[0], of_unknown_compression)
    assert told() == [problem]
    # The entries of a handle with a missing file are not checked.
    paths[1].unlink()
    assert told() == [problem]


def test_each_piece_of_a_file_of_rocksdb_is_looked_at(samples: Path, tmp_path: Path) -> None:
    """A manifest lies behind tables in the same file if Flink merges small files."""
    job, _, below = MERGED.partition("/")
    savepoint = copied(samples, job, tmp_path) / below
    opened, manifests = Savepoint.open(str(savepoint)), []
    for subtask in opened.operator("stateful").record.subtasks:
        handle = subtask.managed_keyed_state
        assert isinstance(handle, IncrementalHandle)
        (stream,) = (one.stream for one in handle.private if one.name.startswith("MANIFEST"))
        file = opened.directory.file(stream)
        assert file.start
        assert file.location
        manifests.append(file.path)
        changed(Path(file.location.path), flipped(file.start + stream.size - 1))
    faults = damage(Savepoint.open(str(savepoint)).verify())
    assert {one.check for one in faults} == {Check.CHECKSUMS}
    assert [one.file for one in faults] == manifests
