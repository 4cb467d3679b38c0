"""Keys that occur twice, or in a foreign key group, are named in any order of entries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.hand_made import (
    EVERYTHING,
    LONG,
    MAX_PARALLELISM,
    STRING,
    TIME_WINDOW,
    canonical_base,
    encoded,
    group_of,
    header,
    heap_base,
    i32,
    map_of,
    meta_info,
    savepoint_of,
)
from support.rocksdb_databases import STATE, make, put
from support.serializer_snapshots import pojo

from savepoint_formats.checks.entry_faults import EntryChecks, key_group_faults
from savepoint_formats.layout import Long, Text
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import InlineStream, KeyGroupsHandle, SubtaskState
from savepoint_formats.sources.entry_source import RocksDbSource, SourceSettings
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_formats.state_files.state import State, StateKind
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from savepoint_formats.checks.entry_faults import CheckedEntries
    from savepoint_formats.checks.faults import Fault

    Named = tuple[str, str, str, str, int | None]

KEYS = sorted(f"key {number:02}" for number in range(40))
GROUPS = {group: [key for key in KEYS if group_of(key) == group] for group in EVERYTHING}
TOTAL = header(meta_info("total", "VALUE", LONG))
TWICE = "1 keys occur more than once"
ONE = encoded(Long(), 1)


def entry(
    key: str, group: int | None = None, behind: bytes = b"\0"
) -> tuple[int, int, bytes, bytes]:
    return group_of(key) if group is None else group, 0, encoded(Text(), key) + behind, ONE


def entries_of(orders: Iterable[Sequence[str]]) -> list[tuple[int, int, bytes, bytes]]:
    return [entry(key) for keys in orders for key in keys]


def named(faults: Iterable[Fault]) -> list[Named]:
    """Check, problem up to its details, state, key group and lost entries of each fault."""
    return sorted(
        (
            fault.check.value,
            fault.problem.partition(";")[0],
            fault.state,
            fault.key_group,
            fault.lost_entries,
        )
        for fault in faults
    )


def verified(handle: KeyGroupsHandle, folder: Path) -> tuple[int, list[Named]]:
    verification = Savepoint.open(savepoint_of(handle, folder)).verify()
    return verification.entries, named(verification.faults)


def repeated(count: int = 1, groups: str = "0 to 3") -> Named:
    return "unique keys", f"{count} keys occur more than once", "total", groups, count


def foreign(group: int, count: int = 1) -> Named:
    problem = f"{count} keys belong to another key group"
    return "key groups", problem, "total", str(group), count


ORDERS = {
    "ascending": GROUPS.values(),
    "descending": [keys[::-1] for keys in GROUPS.values()],
    "one pair in another order": [[keys[1], keys[0], *keys[2:]] for keys in GROUPS.values()],
    "two key groups are empty": [GROUPS[1], GROUPS[3]],
}


@pytest.mark.parametrize("order", ORDERS)
def test_entries_in_any_order_are_whole(order: str, tmp_path: Path) -> None:
    entries = entries_of(ORDERS[order])
    assert verified(canonical_base(TOTAL, entries), tmp_path) == (len(entries), [])


def test_key_groups_in_any_order_are_whole(tmp_path: Path) -> None:
    handle = canonical_base(TOTAL, entries_of(GROUPS.values()), (2, 0, 3, 1))
    assert verified(handle, tmp_path) == (len(KEYS), [])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("again", ["beside it", "at the end", "twice at the end"])
def test_a_repeated_key_is_named(order: str, again: str, tmp_path: Path) -> None:
    entries = entries_of(ORDERS[order])
    copy = entries[1]
    if again == "beside it":
        entries.insert(1, copy)
    else:
        entries += [copy] * (2 if again == "twice at the end" else 1)
    count = 2 if again == "twice at the end" else 1
    expected = [repeated(count)]
    assert verified(canonical_base(TOTAL, entries), tmp_path) == (len(entries), expected)


def test_a_key_in_a_foreign_key_group_is_named(tmp_path: Path) -> None:
    moved = GROUPS[0][3]
    entries = [entry(key, 1 if key == moved else None) for key in KEYS]
    assert verified(canonical_base(TOTAL, entries), tmp_path) == (len(KEYS), [foreign(1)])


def test_a_key_in_its_own_and_in_a_foreign_key_group_has_both_faults(tmp_path: Path) -> None:
    entries = [*entries_of(GROUPS.values()), entry(GROUPS[3][0], 0)]
    ascending = sorted(entries, key=lambda each: (each[0], each[2]))
    for number, order in enumerate((entries, ascending)):
        folder = tmp_path / str(number)
        folder.mkdir()
        expected = [foreign(0), repeated()]
        assert verified(canonical_base(TOTAL, order), folder) == (len(KEYS) + 1, expected)


def test_keys_without_known_hash_codes_are_compared_in_all_key_groups(tmp_path: Path) -> None:
    """Key groups of such keys can't be checked, so a copy may lie in any of them."""
    head = header(meta_info("total", "VALUE", LONG), key=pojo("com.acme.Key", {"id": LONG}))
    keys = [b"\2\0" + encoded(Long(), number) + b"\0" for number in range(12)]
    entries = [(number // 4, 0, key, ONE) for number, key in enumerate(keys)]
    handle = canonical_base(head, [*entries, (3, 0, keys[0], ONE)])
    count, faults = verified(handle, tmp_path)
    assert count == 13
    assert repeated() in faults
    assert {fault[0] for fault in faults} == {"unique keys", "key groups"}


BEHIND = {
    "windows": (
        header(meta_info("total", "VALUE", LONG, TIME_WINDOW)),
        [encoded(Long(), start) + encoded(Long(), 99) for start in range(5)],
    ),
    "user keys": (
        header(meta_info("total", "MAP", map_of(STRING, LONG))),
        [b"\0" + encoded(Text(), f"user {number}") for number in range(5)],
    ),
}


@pytest.mark.parametrize("kind", BEHIND)
@pytest.mark.parametrize("is_ascending", [True, False])
def test_equal_keys_with_other_windows_or_user_keys_are_other_keys(
    kind: str, *, is_ascending: bool, tmp_path: Path
) -> None:
    head, parts = BEHIND[kind]
    if not is_ascending:
        parts = parts[::-1]
    entries = [
        (group, state, key, b"\0" + value if kind == "user keys" else value)
        for name in KEYS
        for part in parts
        for group, state, key, value in [entry(name, behind=part)]
    ]
    (tmp_path / "whole").mkdir()
    assert verified(canonical_base(head, entries), tmp_path / "whole") == (len(entries), [])
    entries.append(entries[7])
    assert verified(canonical_base(head, entries), tmp_path) == (len(entries), [repeated()])


def in_blocks(handle: KeyGroupsHandle, size: int, folder: Path) -> CheckedEntries:
    """Checks entries that come in several blocks of about ``size`` bytes."""
    settings = SourceSettings(MAX_PARALLELISM, chunk_size=size)
    (stored,) = keyed_handles(SubtaskState(0, managed_keyed_state=handle))
    source = stored.source(SnapshotDirectory.of(savepoint_of(handle, folder)), Text(), settings)
    return EntryChecks(settings).check(source, frozenset(["total"]), EVERYTHING, "")


@pytest.mark.parametrize("size", [30, 100, 400, 1 << 20])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("place", [0, 7, -1])
def test_keys_are_compared_across_blocks(order: str, size: int, place: int, tmp_path: Path) -> None:
    """An ascending block is not remembered: it is read again if a later one has other keys."""
    entries = entries_of(ORDERS[order])
    assert in_blocks(canonical_base(TOTAL, entries), size, tmp_path).faults == []
    group = entries[place][0]
    last = max(index for index, each in enumerate(entries) if each[0] == group)
    entries.insert(last + 1, entries[place])
    checked = in_blocks(canonical_base(TOTAL, entries), size, tmp_path)
    assert named(checked.faults) == [repeated()]
    assert checked.entries == {"total": len(entries)}


@pytest.mark.parametrize("size", [30, 1 << 20])
def test_a_late_key_of_a_foreign_key_group_is_compared_with_all_others(
    size: int, tmp_path: Path
) -> None:
    ascending = [entry(key) for keys in GROUPS.values() for key in keys]
    behind = f"{GROUPS[0][2]}"
    handle = canonical_base(TOTAL, [*ascending, entry(behind, 3)])
    checked = in_blocks(handle, size, tmp_path)
    assert named(checked.faults) == [repeated()]
    assert {name: tally.wrong for name, tally in checked.expected.items()} == {"total": {3: 1}}


def heap_entry(key: str, group: int | None = None) -> tuple[int, int, bytes]:
    """Namespace, key and value."""
    return group_of(key) if group is None else group, 0, b"\0" + encoded(Text(), key) + ONE


def heap_file(entries: Iterable[tuple[int, int, bytes]]) -> KeyGroupsHandle:
    return replace(heap_base(TOTAL, 1, entries), handle_id="base")


@pytest.mark.parametrize("order", [KEYS, KEYS[::-1]], ids=["ascending", "descending"])
def test_faults_of_heap_files_are_named(order: list[str], tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("whole", "repeated", "foreign", "both")]
    for folder in folders:
        folder.mkdir()
    entries = [heap_entry(key) for key in order]
    assert verified(heap_file(entries), folders[0]) == (40, [])
    copied = [*entries, entries[5]]
    assert verified(heap_file(copied), folders[1]) == (41, [repeated()])
    moved = GROUPS[2][0]
    others = [each for each, key in zip(entries, order, strict=True) if key != moved]
    handle = heap_file([*others, heap_entry(moved, 1)])
    assert verified(handle, folders[2]) == (40, [foreign(1)])
    handle = heap_file([*entries, heap_entry(moved, 1)])
    assert verified(handle, folders[3]) == (41, [foreign(1), repeated()])


def test_cut_files_and_counts_that_lie_are_named(tmp_path: Path) -> None:
    cut, lying = tmp_path / "cut", tmp_path / "lying"
    for folder in (cut, lying):
        folder.mkdir()
    handle = canonical_base(TOTAL, entries_of(GROUPS.values()))
    assert isinstance(handle.stream, InlineStream)
    shorter = replace(handle, stream=InlineStream("base", handle.stream.data[:-3]))
    entries, (fault,) = verified(shorter, cut)
    assert fault[:1] + fault[3:] == ("sections", "3", None)
    assert entries == len(KEYS) - len(GROUPS[3])
    handle = heap_file([heap_entry(key) for key in KEYS])
    assert isinstance(handle.stream, InlineStream)
    start = handle.groups.offsets[3] + 6
    data = handle.stream.data
    count = i32(len(GROUPS[3]) + 1)
    longer = InlineStream("base", data[:start] + count + data[start + 4 :])
    entries, (fault,) = verified(replace(handle, stream=longer), lying)
    assert fault[:1] + fault[3:] == ("sections", "3", None)
    assert entries == len(KEYS) - len(GROUPS[3])


def test_a_key_of_a_foreign_key_group_in_rocksdb_is_named(tmp_path: Path) -> None:
    keys = [bytes([group]) + key for group, _, key, _ in entries_of(GROUPS.values())]
    stray = bytes([0]) + encoded(Text(), GROUPS[1][0]) + b"\0"
    files = make(tmp_path / "db", put(dict.fromkeys([*keys, stray], ONE)))
    state = State(STATE, StateKind.VALUE, Long(), Text())
    settings = SourceSettings(MAX_PARALLELISM)
    source = RocksDbSource(files.directory, files.handle, [state], settings)
    checked = EntryChecks(settings).check(source, frozenset([STATE]), EVERYTHING, "")
    faults = named([*checked.faults, *key_group_faults([state], checked, MAX_PARALLELISM)])
    assert [fault[:2] + fault[3:] for fault in faults] == [
        foreign(0)[:2] + foreign(0)[3:],
        repeated()[:2] + repeated()[3:],
    ]
