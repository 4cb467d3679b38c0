"""Faults of a savepoint are named, in every structure; whole savepoints have none."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.changed_metadata import with_operators
from support.damaged_copies import (
    INCREMENTAL,
    MERGED,
    ROCKSDB,
    changed,
    copied,
    damage,
    flipped,
    only_damage,
)
from support.slow_cases import slow_unless

from savepoint_formats.checks.faults import Check
from savepoint_formats.errors import SavepointError
from savepoint_formats.metadata import KeyGroupsHandle
from savepoint_formats.state_files.canonical_file import sections_of
from state_processor import Savepoint

if TYPE_CHECKING:
    from savepoint_formats.metadata import OperatorState

CANONICAL = "currency-1.20.5-hashmap-canonical"
HEAP = "states-1.20.5-hashmap-native"
CHANGELOG = "states-1.20.5-hashmap-changelog/chk-2"


def snapshots(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.rglob("_metadata"))


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
