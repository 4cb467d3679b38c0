"""Ways to damage a sample, for ``verify`` to tell."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from support.hand_made import encoded

from faults.planted.editing import (
    Entries,
    Entry,
    edited,
    file_of,
    first_of,
    with_bytes,
    with_first_handle,
    with_headers,
    with_subtasks,
)
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.layout import Long, Struct
from savepoint_formats.metadata import InlineStream, KeyGroupRangeOffsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# --- entries of canonical files


def of_summarize(change: Callable[[Entry], Entry | None], state: str = "total") -> Any:
    return edited("summarize", first_of(state, change))


def of_stateful(state: str, change: Callable[[Entry], Entry | None]) -> Any:
    return edited("stateful", first_of(state, change))


def again(entries: Entries, *, value: bytes | None = None) -> Iterator[Entry]:
    """The first entry twice."""
    first, *others = entries
    yield first
    yield first if value is None else replace(first, value=value)
    yield from others


def again_behind(entries: Entries) -> Iterator[Entry]:
    """The first entry once more, in another run of its state."""
    first = entries[0]
    own = [entry for entry in entries if entry.group == first.group]
    yield from own
    yield from (entry for entry in own if entry.state != first.state)
    yield first
    yield from (entry for entry in entries if entry.group != first.group)


def in_other_group(entries: Entries) -> Iterator[Entry]:
    """The first entry among those of the next key group of its subtask."""
    first, *others = entries
    group = next(e.group for e in others if e.group != first.group and e.subtask == first.subtask)
    return iter([*others, replace(first, group=group)])


def without_group(entries: Entries) -> Entries:
    return [entry for entry in entries if entry.group != entries[0].group]


def twice(state: str) -> Callable[[Entries], Entries]:
    def change(entries: Entries) -> Entries:
        index = next(i for i, entry in enumerate(entries) if entry.state == state)
        return [*entries[:index], entries[index], *entries[index:]]

    return change


def swapped(entries: Entries) -> Entries:
    """Two entries of a state in the other order."""
    for index, (one, other) in enumerate(pairwise(entries)):
        if (one.group, one.state) == (other.group, other.state):
            return [*entries[:index], other, one, *entries[index + 2 :]]
    raise AssertionError


# --- bytes of files


def cut(name: Callable[[Path], Path], size: int = 1) -> Callable[[Path], object]:
    return lambda savepoint: with_bytes(
        name(savepoint), lambda data: data.__delitem__(slice(-size, None))
    )


def flipped(
    find: Callable[[Path], Path], offset: int, mask: int = 0xFF
) -> Callable[[Path], object]:
    def change(data: bytearray) -> None:
        data[offset] ^= mask

    return lambda savepoint: with_bytes(find(savepoint), change)


def keyed_file(savepoint: Path) -> Path:
    return file_of(savepoint, "summarize")


def elements_file(savepoint: Path) -> Path:
    return file_of(savepoint, "currency_converter", "operator")


def removed(find: Callable[[Path], Path]) -> Callable[[Path], object]:
    return lambda savepoint: find(savepoint).unlink()


def exchanged_files(savepoint: Path) -> None:
    """The file of keyed state and that of operator state have each other's bytes."""
    one, other = keyed_file(savepoint), elements_file(savepoint)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def with_offsets(change: Callable[[list[int]], None]) -> Callable[[Path], None]:
    """Other offsets of the key groups of the first subtask."""

    def changed(handle: Any) -> Any:
        offsets = list(handle.groups.offsets)
        change(offsets)
        return replace(handle, groups=KeyGroupRangeOffsets(handle.key_groups, tuple(offsets)))

    return lambda savepoint: with_first_handle(savepoint, "summarize", changed)


def with_entries_at(offsets: list[int]) -> list[int]:
    """Indexes of the key groups with entries."""
    return [index for index, offset in enumerate(offsets) if offset]


def exchange_two(offsets: list[int]) -> None:
    one, other = with_entries_at(offsets)[:2]
    offsets[one], offsets[other] = offsets[other], offsets[one]


def at_one_offset(offsets: list[int]) -> None:
    one, other = with_entries_at(offsets)[:2]
    offsets[other] = offsets[one]


def beyond_the_file(offsets: list[int]) -> None:
    offsets[with_entries_at(offsets)[-1]] = 1 << 40


def negative_one(offsets: list[int]) -> None:
    offsets[with_entries_at(offsets)[-1]] = -5


def lose_one(offsets: list[int]) -> None:
    offsets[with_entries_at(offsets)[0]] = 0


def in_a_section(offsets: list[int]) -> None:
    offsets[with_entries_at(offsets)[0]] += 3


def with_group_range(savepoint: Path, start: int, end: int) -> None:
    def changed(handle: Any) -> Any:
        groups = KeyGroupRange(start, end)
        offsets = (*handle.groups.offsets, *([0] * len(groups)))[: len(groups)]
        return replace(handle, groups=KeyGroupRangeOffsets(groups, offsets))

    with_first_handle(savepoint, "summarize", changed)


def with_first_subtask(savepoint: Path, **changes: Any) -> None:
    with_subtasks(savepoint, "summarize", lambda one: one if one.index else replace(one, **changes))


def with_other_size(savepoint: Path, more: int) -> None:
    def changed(handle: Any) -> Any:
        return replace(handle, stream=replace(handle.stream, size=handle.stream.size + more))

    with_first_handle(savepoint, "summarize", changed)


# --- handles of RocksDB


def rocksdb_file(kind: str, uid: str = "summarize") -> Callable[[Path], Path]:
    """Path of the first file of a kind: ``.sst``, ``MANIFEST``, ``CURRENT``, ``OPTIONS``."""

    def find(savepoint: Path) -> Path:
        found: list[str] = []

        def look(handle: Any) -> Any:
            files = (*handle.shared, *handle.private)
            found.extend(str(one.stream.path) for one in files if kind in one.name)
            return handle

        with_first_handle(savepoint, uid, look)
        return savepoint / found[0]

    return find


def without_file(kind: str) -> Callable[[Path], None]:
    def changed(handle: Any) -> Any:
        lost = next(one for one in (*handle.shared, *handle.private) if kind in one.name)
        parts = {
            name: tuple(one for one in getattr(handle, name) if one is not lost)
            for name in ("shared", "private")
        }
        return replace(handle, **parts)

    return lambda savepoint: with_first_handle(savepoint, "summarize", changed)


def with_exchanged_tables(handle: Any) -> Any:
    """Two tables have each other's names."""
    one, other = (file for file in handle.shared or handle.private if ".sst" in file.name)
    others = [f for f in (*handle.shared, *handle.private) if f not in (one, other)]
    swapped = replace(one, stream=other.stream), replace(other, stream=one.stream)
    return replace(handle, shared=swapped, private=tuple(others))


# --- elements of operator state


def with_element_offsets(change: Callable[[tuple[int, ...]], tuple[int, ...]], uid: str) -> Any:
    def changed(subtask: Any) -> Any:
        handle = subtask.managed_operator_state
        if subtask.index or handle is None:
            return subtask
        states = tuple(
            replace(state, offsets=change(state.offsets)) if state.offsets else state
            for state in handle.states
        )
        return replace(subtask, managed_operator_state=replace(handle, states=states))

    return lambda savepoint: with_subtasks(savepoint, uid, changed)


def with_value(data: bytes) -> Callable[[Entry], Entry]:
    return lambda entry: replace(entry, value=data)


def without_serializer(savepoint: Path) -> None:
    with_headers(
        savepoint,
        lambda info: (
            info if info.name != "total" else replace(info, serializers=info.serializers[1:])
        ),
    )


def with_type(savepoint: Path, text: str) -> None:
    with_headers(
        savepoint,
        lambda info: (
            info if info.name != "total" else replace(info, options=(("KEYED_STATE_TYPE", text),))
        ),
    )


_WINDOW = Struct(("start", "end"), (Long(), Long()))


def in_window(entry: Entry, start: int, end: int) -> Entry:
    """The entry in another window; a key of four bytes lies before it."""
    window = encoded(_WINDOW, {"start": start, "end": end})
    return replace(entry, key=entry.key[:-16] + window)


DOUBLE = struct.pack(">d", 1.5)


def first_section(savepoint: Path) -> tuple[Path, int]:
    """The file of the first subtask, and where its first key group begins."""
    found: list[int] = []

    def look(handle: Any) -> Any:
        found.append(min(offset for offset in handle.groups.offsets if offset))
        return handle

    with_first_handle(savepoint, "summarize", look)
    return keyed_file(savepoint), found[0]


def in_first_section(savepoint: Path, offset: int, data: bytes) -> None:
    path, start = first_section(savepoint)
    place = slice(start + offset, start + offset + len(data))
    with_bytes(path, lambda whole: whole.__setitem__(place, data))


def with_other_count(savepoint: Path, more: int) -> None:
    """Another number of entries of the first state: behind the key group and the state."""
    path, start = first_section(savepoint)

    def change(data: bytearray) -> None:
        place = slice(start + 6, start + 10)
        count = int.from_bytes(data[place], "big", signed=True) + more
        data[place] = struct.pack(">i", count)

    with_bytes(path, change)


def in_broadcast(savepoint: Path, data: bytes) -> None:
    """Other bytes where the first element of operator state begins."""
    found: list[int] = []

    def look(subtask: Any) -> Any:
        handle = subtask.managed_operator_state
        if handle is not None and not subtask.index:
            found.extend(state.offsets[0] for state in handle.states if state.offsets)
        return subtask

    with_subtasks(savepoint, "currency_converter", look)
    place = slice(found[0], found[0] + len(data))
    with_bytes(elements_file(savepoint), lambda whole: whole.__setitem__(place, data))


def with_broadcast_value(savepoint: Path) -> None:
    """Other bits in the last value of the broadcast map of each subtask."""
    for subtask in range(2):
        path = file_of(savepoint, "currency_converter", "operator", subtask)
        with_bytes(path, lambda data: data.__setitem__(-1, data[-1] ^ 1))


def with_other_coordinator(record: Any) -> Any:
    stream = record.coordinator_state
    return replace(record, coordinator_state=InlineStream(stream.name, b"!" * len(stream.data)))


def change_file(savepoint: Path) -> Path:
    """A file with changes; handles name it by the path that it had where Flink wrote it."""
    names: list[str] = []

    def look(handle: Any) -> Any:
        names.extend(
            one.stream.path.rpartition("/")[2]
            for changes in handle.changes
            for one in getattr(changes, "streams", ())
        )
        return handle

    with_first_handle(savepoint, "stateful", look)
    return next(savepoint.parent.rglob(names[0]))
