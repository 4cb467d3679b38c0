"""Faults of a savepoint are named, in every structure; whole savepoints have none."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.changed_metadata import with_operators
from support.slow_cases import slow_unless

from savepoint_formats.checks.faults import Check, Severity
from savepoint_formats.checks.rocksdb_faults import rocksdb_faults
from savepoint_formats.errors import SavepointError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.metadata import IncrementalHandle, KeyGroupsHandle
from savepoint_formats.state_files.canonical_file import sections_of
from state_processor import Savepoint

if TYPE_CHECKING:
    from savepoint_database.checks.verification import Verification
    from savepoint_formats.checks.faults import Fault
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import OperatorState

CANONICAL = "currency-1.20.5-hashmap-canonical"
HEAP = "states-1.20.5-hashmap-native"
ROCKSDB = "currency-2.2.1-rocksdb-native"
CHANGELOG = "states-1.20.5-hashmap-changelog/chk-2"
INCREMENTAL = "states-2.2.1-rocksdb-incremental/chk-2"
MERGED = "states-2.2.1-rocksdb-filemerging/chk-2"

Change = Callable[[bytearray], None]


def snapshots(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.rglob("_metadata"))


def copied(samples: Path, name: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(samples / name, tmp_path / "savepoint"))


def changed(path: Path, change: Change) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def flipped(offset: int, mask: int = 0xFF) -> Change:
    def change(data: bytearray) -> None:
        data[offset] ^= mask

    return change


def damage(found: Verification) -> list[Fault]:
    assert (found.result == "damaged") == any(fault.is_damage for fault in found.faults)
    return [fault for fault in found.faults if fault.severity is Severity.DAMAGE]


def only_damage(found: Verification) -> Fault:
    (fault,) = damage(found)
    return fault


def keyed_file(savepoint: Path, uid: str) -> tuple[Path, KeyGroupsHandle]:
    """The file of the first subtask of an operator that has any keys."""
    opened = Savepoint.open(str(savepoint))
    for subtask in opened.operator(uid).record.subtasks:
        handle = subtask.managed_keyed_state
        if isinstance(handle, KeyGroupsHandle):
            file = opened.directory.file(handle.stream)
            if sections_of(handle.groups, file, handle.key_groups) and file.location:
                return Path(file.location.path), handle
    raise AssertionError(uid)


def test_no_sample_is_damaged(samples: Path, slow: None) -> None:
    counts: dict[str, set[int]] = {}
    for path in snapshots(samples):
        found = Savepoint.open(str(path)).verify()
        # Some have objects of classes that nobody described, which are not read.
        assert damage(found) == [], path
        job = path.relative_to(samples).parts[0].split("-")[0]
        counts.setdefault(job, set()).add(found.entries)
    # All backends and formats have the same entries of a job, but for those of its last state.
    assert counts["currency"] == {58}


@pytest.mark.parametrize("name", [CANONICAL, HEAP, ROCKSDB, CHANGELOG, INCREMENTAL, MERGED])
def test_a_sample_of_each_format_is_whole(samples: Path, name: str) -> None:
    found = Savepoint.open(str(samples / name)).verify()
    assert (found.is_whole, found.faults) == (True, ())
    assert found.entries > 50
    assert found.file_size > 1000


def test_the_corpus_is_whole(corpus: Path, slow: None) -> None:
    paths = snapshots(corpus)
    assert len(paths) > 50
    for path in paths:
        try:
            savepoint = Savepoint.open(str(path))
        except SavepointError:
            continue  # what cannot be opened at all has tests of its own
        assert damage(savepoint.verify()) == [], path


@pytest.mark.parametrize(
    ("name", "depth"),
    slow_unless(
        lambda case: case in ((CANONICAL, "deep"), (ROCKSDB, "quick")),
        product((CANONICAL, HEAP, ROCKSDB), ("quick", "deep")),
    ),
)
def test_each_missing_cut_or_longer_file_is_named(
    samples: Path, tmp_path: Path, name: str, depth: str
) -> None:
    savepoint = copied(samples, name, tmp_path)
    opened = Savepoint.open(str(savepoint))
    files = [Path(file.path).name for file in opened.files() if file.references][1:]
    assert len(files) > 2
    for file in files if depth == "quick" else files[:2]:
        whole = (savepoint / file).read_bytes()
        for data in (None, whole[:-1], whole + b"\0"):
            (savepoint / file).unlink()
            if data is not None:
                (savepoint / file).write_bytes(data)
            found = Savepoint.open(str(savepoint)).verify(depth)  # type: ignore[arg-type]
            first = damage(found)[0]
            assert first.check in (Check.FILES, Check.HEADERS)
            assert first.file.endswith(file)
            assert first.lost_bytes == len(whole)
            assert str(first.lost_bytes) in first.cost.replace(",", "")
            (savepoint / file).write_bytes(whole)
    assert Savepoint.open(str(savepoint)).verify().is_whole


def test_a_header_of_another_version_is_named(samples: Path, tmp_path: Path) -> None:
    savepoint = copied(samples, CANONICAL, tmp_path)
    path, _ = keyed_file(savepoint, "summarize")
    changed(path, flipped(3))
    fault = only_damage(Savepoint.open(str(savepoint), uids=["summarize"]).verify("quick"))
    assert (fault.check, fault.operator) == (Check.HEADERS, "summarize")
    assert fault.file.endswith(path.name)


def test_an_offset_beyond_the_file_is_named(samples: Path, tmp_path: Path) -> None:
    def beyond(operator: OperatorState) -> OperatorState:
        subtasks = []
        for subtask in operator.subtasks:
            handle = subtask.managed_keyed_state
            if isinstance(handle, KeyGroupsHandle):
                offsets = (*handle.groups.offsets[:-1], 1 << 40)
                groups = replace(handle.groups, offsets=offsets)
                subtask = replace(subtask, managed_keyed_state=replace(handle, groups=groups))  # noqa: PLW2901
            subtasks.append(subtask)
        return replace(operator, subtasks=tuple(subtasks))

    savepoint = with_operators(samples / CANONICAL, tmp_path / "savepoint", beyond)
    found = damage(Savepoint.open(str(savepoint)).verify("quick"))
    assert {fault.check for fault in found} == {Check.OFFSETS}
    assert {fault.subtask for fault in found} == {0, 1}
    assert "1099511627776" in found[0].problem


def test_an_end_mark_is_missed_and_other_key_groups_are_checked(
    samples: Path, tmp_path: Path
) -> None:
    savepoint = copied(samples, CANONICAL, tmp_path)
    path, handle = keyed_file(savepoint, "summarize")
    opened = Savepoint.open(str(savepoint), uids=["summarize"])
    before = opened.verify().entries
    file = opened.directory.file(handle.stream)
    one, *_, other = sections_of(handle.groups, file, handle.key_groups)
    for section in (one, other):
        changed(path, flipped(section.end - 1))
    found = Savepoint.open(str(savepoint), uids=["summarize"]).verify()
    faults = damage(found)
    assert {fault.key_group for fault in faults} == {str(one.key_group), str(other.key_group)}
    assert {fault.check for fault in faults} == {Check.SECTIONS}
    assert all(fault.file.endswith(path.name) and fault.offset for fault in faults)
    assert before - 8 < found.entries < before


def test_a_key_in_a_foreign_key_group_is_named(samples: Path, tmp_path: Path) -> None:
    savepoint = copied(samples, CANONICAL, tmp_path)
    path, handle = keyed_file(savepoint, "summarize")
    file = Savepoint.open(str(savepoint)).directory.file(handle.stream)
    section = sections_of(handle.groups, file, handle.key_groups)[0]
    # u16 state, i32 size, a byte of the key group, then the key.
    changed(path, flipped(section.start + 7, 0x10))
    fault = only_damage(Savepoint.open(str(savepoint), uids=["summarize"]).verify())
    assert (fault.check, fault.operator) == (Check.KEY_GROUPS, "summarize")
    assert fault.key_group == str(section.key_group)
    assert fault.lost_entries == 1
    assert fault.state in ("total", "count")


def test_a_value_of_too_few_bytes_is_named_with_its_state(samples: Path, tmp_path: Path) -> None:
    savepoint = copied(samples, CANONICAL, tmp_path)
    path, handle = keyed_file(savepoint, "summarize")
    file = Savepoint.open(str(savepoint)).directory.file(handle.stream)
    section = sections_of(handle.groups, file, handle.key_groups)[0]

    def moved_border(data: bytearray) -> None:
        # The key takes a byte of the value: sizes still fill the section.
        key_size = section.start + 2
        size = int.from_bytes(data[key_size : key_size + 4], "big")
        value_size = key_size + 4 + size
        length = int.from_bytes(data[value_size : value_size + 4], "big")
        value = data[value_size + 4 : value_size + 4 + length]
        key = data[key_size + 4 : value_size]
        data[key_size : value_size + 4 + length] = (
            (size + 1).to_bytes(4, "big")
            + key
            + b"\0"
            + (length - 1).to_bytes(4, "big")
            + value[1:]
        )

    changed(path, moved_border)
    fault = only_damage(Savepoint.open(str(savepoint), uids=["summarize"]).verify())
    assert (fault.check, fault.key_group) == (Check.VALUES, str(section.key_group))
    assert (fault.state in ("total", "count"), fault.lost_entries) == (True, 1)


def test_a_heap_section_of_another_key_group_is_named(samples: Path, tmp_path: Path) -> None:
    savepoint = copied(samples, HEAP, tmp_path)
    path, handle = keyed_file(savepoint, "stateful")
    file = Savepoint.open(str(savepoint)).directory.file(handle.stream)
    section = sections_of(handle.groups, file, handle.key_groups)[5]
    changed(path, flipped(section.start + 3, 1))
    fault = only_damage(Savepoint.open(str(savepoint)).verify())
    assert (fault.check, fault.key_group) == (Check.SECTIONS, str(section.key_group))
    assert fault.offset == section.start


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


@pytest.mark.usefixtures("slow")
def test_what_no_reader_reads_is_damage(samples: Path, tmp_path: Path) -> None:
    """Bytes are flipped all over a savepoint: whenever a table can't be read, that is found."""
    savepoint = copied(samples, CANONICAL, tmp_path)
    opened = Savepoint.open(str(savepoint))
    files = [Path(file.path).name for file in opened.files() if file.references][1:]
    unreadable = 0
    for name in files:
        path = savepoint / name
        whole = path.read_bytes()
        for offset in range(5, len(whole), 41):
            changed(path, flipped(offset))
            found = Savepoint.open(str(savepoint)).verify()
            if not is_readable(savepoint):
                unreadable += 1
                assert found.faults, (name, offset)
            path.write_bytes(whole)
    assert unreadable > 10


def is_readable(path: Path) -> bool:
    savepoint = Savepoint.open(str(path))
    try:
        for operator in savepoint.operators():
            if operator.problems:
                return False
            for table in operator.readable_tables:
                scan = savepoint.scan(f"{operator.name}.{table.name}")
                for split in scan.splits():
                    for _ in scan.read(split):
                        pass
    except SavepointError:
        return False
    return True


def test_a_depth_that_there_is_not(samples: Path) -> None:
    with pytest.raises(ValueError, match="'shallow'"):
        Savepoint.open(str(samples / CANONICAL)).verify("shallow")  # type: ignore[arg-type]
