"""Edits of samples: entries of canonical files, records of ``_metadata``, and bytes of files."""

from __future__ import annotations

import shutil
import struct
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.changed_headers import with_infos
from support.sample_rows import SAMPLES

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.locations.file_io import METADATA_FILE, SnapshotDirectory
from savepoint_formats.metadata import (
    CheckpointMetadata,
    InlineStream,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
)
from savepoint_formats.state_files.canonical_file import sections_of
from savepoint_formats.state_files.header import VALUE_SERIALIZER, HeaderBytes, KeyedBackendHeader
from savepoint_formats.values.value_writer import write_value
from savepoint_formats.values.values import read_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from savepoint_formats.layout import Layout
    from savepoint_formats.metadata import OperatorState, SubtaskState
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files.header import StateMetaInfo

_END = 0xFFFF


@dataclass(frozen=True)
class Entry:
    """An entry of a canonical file; ``key`` is what lies behind the prefix of the key group."""

    subtask: int
    group: int
    state: str
    key: bytes
    value: bytes
    prefix: int | None = None
    """The key group that its key names; that of its section by default."""


Entries = list[Entry]


def copied(sample: str, folder: Path) -> Path:
    """A copy of a sample; the checkpoint in it, if the name has two parts."""
    job, _, below = sample.partition("/")
    return Path(shutil.copytree(SAMPLES / job, folder / "copy")) / below


def with_operator(
    savepoint: Path, uid: str, change: Callable[[OperatorState], OperatorState]
) -> None:
    """Writes ``_metadata`` with another record of an operator; of all for an empty uid."""
    wanted = OperatorId.from_uid(uid) if uid else None

    def changed(metadata: CheckpointMetadata) -> CheckpointMetadata:
        operators = [
            change(record) if wanted in (None, record.operator_id) else record
            for record in metadata.operators
        ]
        return replace(metadata, operators=tuple(operators))

    with_metadata(savepoint, changed)


def with_metadata(
    savepoint: Path, change: Callable[[CheckpointMetadata], CheckpointMetadata]
) -> None:
    """Writes ``_metadata`` with other records."""
    path = savepoint / METADATA_FILE
    view = DataOutputView()
    change(CheckpointMetadata.read(DataInputView(path.read_bytes()))).write(view)
    path.write_bytes(view.to_bytes())


def with_subtasks(
    savepoint: Path, uid: str, change: Callable[[SubtaskState], SubtaskState]
) -> None:
    """Writes ``_metadata`` with other records of the subtasks of an operator."""
    with_operator(
        savepoint, uid, lambda one: replace(one, subtasks=tuple(map(change, one.subtasks)))
    )


def with_first_handle(savepoint: Path, uid: str, change: Callable[[Any], Any]) -> None:
    """Changes the handle of keyed state of the first subtask that has one."""
    done: list[int] = []

    def changed(subtask: SubtaskState) -> SubtaskState:
        if subtask.managed_keyed_state is None or done:
            return subtask
        done.append(subtask.index)
        return replace(subtask, managed_keyed_state=change(subtask.managed_keyed_state))

    with_subtasks(savepoint, uid, changed)


def with_entries(savepoint: Path, uid: str, change: Callable[[Entries], Iterable[Entry]]) -> None:
    """Writes the canonical files of an operator anew, with other entries; files become inline."""
    directory = SnapshotDirectory.of(str(savepoint))
    heads: dict[int, tuple[bytes, list[str]]] = {}
    entries: Entries = []
    width: list[int] = []

    def look(record: OperatorState) -> OperatorState:
        width.append(prefix_size(record.max_parallelism))
        return replace(record, subtasks=tuple(map(read, record.subtasks)))

    def read(subtask: SubtaskState) -> SubtaskState:
        handle = subtask.managed_keyed_state
        if isinstance(handle, KeyGroupsHandle):
            file = directory.file(handle.stream)
            head = HeaderBytes.of_keyed_state(directory, handle)
            names = [state.name for state in KeyedBackendHeader.parse(head).states]
            sections = sections_of(handle.groups, file, handle.key_groups)
            first = min((section.start for section in sections), default=file.length())
            heads[subtask.index] = bytes(file.read(0, first)), names
            for section in sections:
                data = bytes(file.read(section.start, section.end))
                entries.extend(_entries(data, subtask.index, section.key_group, names, width[0]))
        return subtask

    with_operator(savepoint, uid, look)
    changed = list(change(entries))

    def written(subtask: SubtaskState) -> SubtaskState:
        if subtask.index not in heads:
            return subtask
        head, names = heads[subtask.index]
        own = [entry for entry in changed if entry.subtask == subtask.index]
        assert subtask.managed_keyed_state is not None
        groups = subtask.managed_keyed_state.key_groups
        data, starts = bytearray(head), {}
        for group in dict.fromkeys(entry.group for entry in own):
            starts[group] = len(data)
            data += _section([entry for entry in own if entry.group == group], names, width[0])
        offsets = KeyGroupRangeOffsets(groups, tuple(starts.get(group, 0) for group in groups))
        handle = KeyGroupsHandle(
            KeyedHandleType.CANONICAL_SAVEPOINT, offsets, InlineStream("file", bytes(data))
        )
        return replace(subtask, managed_keyed_state=handle)

    with_subtasks(savepoint, uid, written)


def _entries(
    data: bytes, subtask: int, group: int, names: Sequence[str], width: int
) -> Iterable[Entry]:
    at = 0
    while (state := int.from_bytes(data[at : at + 2], "big")) != _END:
        at += 2
        is_last = False
        while not is_last:
            key, at = _sized(data, at)
            value, at = _sized(data, at)
            is_last = bool(key[0] & 0x80)
            yield Entry(subtask, group, names[state], key[width:], value)


def _sized(data: bytes, at: int) -> tuple[bytes, int]:
    end = at + 4 + int.from_bytes(data[at : at + 4], "big")
    return data[at + 4 : end], end


def _section(entries: Sequence[Entry], names: Sequence[str], width: int) -> bytes:
    data = bytearray()
    for state, run in groupby(entries, lambda entry: entry.state):
        data += struct.pack(">H", names.index(state))
        own = list(run)
        for left, entry in enumerate(own, 1 - len(own)):
            prefix = entry.group if entry.prefix is None else entry.prefix
            mark = 0 if left else 0x80 << 8 * (width - 1)
            key = (prefix | mark).to_bytes(width, "big") + entry.key
            data += struct.pack(">i", len(key)) + key
            data += struct.pack(">i", len(entry.value)) + entry.value
    return bytes(data + b"\xff\xff")


def changed_value(
    state: str, layout: Layout, change: Callable[[Any], Any], *, front: int = 0
) -> Callable[[Entries], Entries]:
    """Changes the value of the first entry of a state; ``front`` bytes before it stay."""

    def changed(entry: Entry) -> Entry:
        value = read_value(layout, DataInputView(entry.value[front:]))
        view = DataOutputView()
        write_value(layout, change(value), view)
        return replace(entry, value=entry.value[:front] + view.to_bytes())

    return first_of(state, changed)


def first_of(state: str, change: Callable[[Entry], Entry | None]) -> Callable[[Entries], Entries]:
    """Changes, or removes, the first entry of a state."""

    def changed(entries: Entries) -> Entries:
        index = next(i for i, entry in enumerate(entries) if entry.state == state)
        new = change(entries[index])
        return entries[:index] + ([] if new is None else [new]) + entries[index + 1 :]

    return changed


def edited(uid: str, change: Callable[[Entries], Iterable[Entry]]) -> Callable[[Path], None]:
    """Plants other entries."""
    return lambda savepoint: with_entries(savepoint, uid, change)


def file_of(savepoint: Path, uid: str, role: str = "keyed", subtask: int = 0) -> Path:
    """Path of the file with keyed state, or operator state, of a subtask."""
    directory = SnapshotDirectory.of(str(savepoint))
    metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata()))
    wanted = OperatorId.from_uid(uid)
    (record,) = (one for one in metadata.operators if one.operator_id == wanted)
    one = record.subtasks[subtask]
    handle: Any = one.managed_keyed_state if role == "keyed" else one.managed_operator_state
    location = directory.file(handle.stream).location
    assert location is not None
    return Path(location.path)


def with_bytes(path: Path, change: Callable[[bytearray], object]) -> None:
    """Changes the bytes of a file."""
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def with_headers(savepoint: Path, change: Callable[[StateMetaInfo], StateMetaInfo]) -> None:
    """Writes the headers of all states anew; entries and elements stay."""
    other = with_infos(savepoint, savepoint.parent / "headers", change)
    shutil.copy(other / METADATA_FILE, savepoint / METADATA_FILE)
    shutil.rmtree(other)


def with_serializer(state: str, snapshot: TypeSerializerSnapshot) -> Callable[[Path], None]:
    """Plants another serializer of a state's values in headers."""

    def change(info: StateMetaInfo) -> StateMetaInfo:
        return info if info.name != state else info.with_serializer(VALUE_SERIALIZER, snapshot)

    return lambda savepoint: with_headers(savepoint, change)
