"""State files and changelogs made by hand, field by field as the formats say."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange, key_group
from savepoint_formats.layout import Layout, Text
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    ChangelogHandle,
    CheckpointMetadata,
    FileChanges,
    InlineStream,
    InMemoryChanges,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
    OperatorState,
    SubtaskState,
)
from savepoint_formats.metadata.keyed_handles import ChangeSetStream, StateChange
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_formats.scan.scan import TableScan
from savepoint_formats.tables.catalog import OperatorCatalog
from savepoint_formats.tables.tables import tables_of
from savepoint_formats.values.state_entries import EntryWriter, entry_key
from savepoint_formats.values.value_writer import write_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from savepoint_formats.metadata.keyed_handles import BaseHandle, ChangesHandle

MAX_PARALLELISM = 4
EVERYTHING = KeyGroupRange(0, MAX_PARALLELISM - 1)
EVERYTHING_IN_ORDER = tuple(EVERYTHING)

BASE = "org.apache.flink.api.common.typeutils.base."
STATE = "org.apache.flink.runtime.state."


def utf(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return struct.pack(">H", len(data)) + data


def i32(number: int) -> bytes:
    return struct.pack(">i", number)


def snapshot(class_name: str, body: bytes = b"", version: int = 3) -> bytes:
    return utf(class_name) + i32(version) + body


def composite(class_name: str, *parts: bytes) -> bytes:
    body = bytes.fromhex("000de704 00000002 001457fd 00000001") + i32(len(parts))
    return snapshot(class_name, body + b"".join(parts))


LONG = snapshot(f"{BASE}LongSerializer$LongSerializerSnapshot")
STRING = snapshot(f"{BASE}StringSerializer$StringSerializerSnapshot")
VOID = snapshot(f"{STATE}VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot")
UNKNOWN = snapshot("com.acme.UnknownSnapshot", b"whatever it says")


def kryo_of(class_name: str) -> bytes:
    """The snapshot of Kryo for a class that is registered, so that its number is 85."""
    registration = utf(class_name) + i32(0)
    entry = utf(class_name) + b"\0\1" + i32(len(registration)) + registration
    magic = bytes.fromhex("000004f2c69a3d70")
    maps = magic + i32(1) + entry + 2 * (magic + i32(0))
    name = "org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializerSnapshot"
    return snapshot(name, utf(class_name) + maps, 2)


def list_of(element: bytes) -> bytes:
    return composite(f"{BASE}ListSerializerSnapshot", element)


STREAMING = "org.apache.flink.streaming."
_WINDOW = f"{STREAMING}api.windowing.windows.TimeWindow$Serializer"
TIME_WINDOW = snapshot(f"{_WINDOW}$TimeWindowSerializerSnapshot")


def stream_elements_of(value: bytes) -> bytes:
    name = f"{STREAMING}runtime.streamrecord.StreamElementSerializer"
    return composite(f"{name}$StreamElementSerializerSnapshot", value)


def map_of(key: bytes, value: bytes) -> bytes:
    return composite(f"{BASE}MapSerializerSnapshot", key, value)


def with_ttl(value: bytes) -> bytes:
    return composite(f"{STATE}ttl.TtlStateFactory$TtlSerializerSnapshot", LONG, value)


def timers_of(key: bytes, namespace: bytes) -> bytes:
    name = "org.apache.flink.streaming.api.operators.TimerSerializerSnapshot"
    return composite(name, key, namespace)


def meta_info(name: str, state_type: str, value: bytes, namespace: bytes = VOID) -> bytes:
    """The meta info of a state of keys; ``TIMERS`` is a priority queue."""
    if state_type == "TIMERS":
        serializers, options = {"VALUE_SERIALIZER": value}, {}
    else:
        serializers = {"VALUE_SERIALIZER": value, "NAMESPACE_SERIALIZER": namespace}
        options = {"KEYED_STATE_TYPE": state_type}
    data = utf(name) + i32(kind_of(state_type)) + i32(len(options))
    data += b"".join(utf(key) + utf(option) for key, option in options.items())
    data += i32(len(serializers))
    return data + b"".join(utf(role) + i32(2) + snapshot for role, snapshot in serializers.items())


def kind_of(state_type: str) -> int:
    return 3 if state_type == "TIMERS" else 0


def header(*states: bytes, key: bytes = STRING) -> bytes:
    """The header of a file of keyed state."""
    count = struct.pack(">H", len(states))
    return bytes.fromhex("00000006 00 00000002") + key + count + b"".join(states)


def encoded(layout: Layout, value: Any) -> bytes:
    view = DataOutputView()
    write_value(layout, value, view)
    return view.to_bytes()


def group_of(key: str) -> int:
    return key_group(java_hash(Text(), key), MAX_PARALLELISM)


def base_handle(data: bytes, starts: Mapping[int, int], handle_type: int) -> KeyGroupsHandle:
    """A file of which each key group begins somewhere, or nowhere."""
    offsets = tuple(starts.get(group, 0) for group in EVERYTHING)
    groups = KeyGroupRangeOffsets(EVERYTHING, offsets)
    return KeyGroupsHandle(KeyedHandleType(handle_type), groups, InlineStream("base", data))


def canonical_base(
    head: bytes,
    entries: Iterable[tuple[int, int, bytes, bytes]],
    order: Sequence[int] = EVERYTHING_IN_ORDER,
) -> KeyGroupsHandle:
    """A canonical file of entries: key group, state, key behind the prefix, value."""
    data, starts = bytearray(head), {}
    groups: dict[int, list[tuple[int, bytes, bytes]]] = {}
    for group, state, key, value in entries:
        groups.setdefault(group, []).append((state, bytes([group]) + key, value))
    for group in order:
        if group not in groups:
            continue
        own, starts[group] = groups[group], len(data)
        own.sort(key=lambda entry: entry[0])
        data += struct.pack(">H", own[0][0])
        for index, (state, key, value) in enumerate(own):
            following = own[index + 1][0] if index + 1 < len(own) else 0xFFFF
            is_last = following != state
            first = key[0] | 0x80 if is_last else key[0]
            data += i32(len(key)) + bytes([first]) + key[1:] + i32(len(value)) + value
            data += struct.pack(">H", following) if is_last else b""
    return base_handle(bytes(data), starts, KeyedHandleType.CANONICAL_SAVEPOINT)


def heap_base(
    head: bytes, states: int, entries: Iterable[tuple[int, int, bytes]]
) -> KeyGroupsHandle:
    """A heap file of entries: key group, state, all bytes."""
    all_entries = list(entries)
    data, starts = bytearray(head), {}
    for group in EVERYTHING:
        starts[group] = len(data)
        data += i32(group)
        for state in range(states):
            mine = [
                entry
                for entry_group, number, entry in all_entries
                if (entry_group, number) == (group, state)
            ]
            data += struct.pack(">H", state) + i32(len(mine)) + b"".join(mine)
    return base_handle(bytes(data), starts, KeyedHandleType.KEY_GROUPS)


def savepoint_of(handle: KeyGroupsHandle, folder: Path) -> str:
    """A savepoint of Flink 1.x whose one operator, ``a``, has this file."""
    view = DataOutputView()
    operator = operator_of(SubtaskState(0, managed_keyed_state=handle))
    CheckpointMetadata.new((operator,)).write(view)
    (folder / "_metadata").write_bytes(view.to_bytes())
    return str(folder)


def entry_identity(key: Any, namespace: Any, layouts: tuple[Layout, Layout]) -> bytes:
    """Key and namespace of an entry, without a prefix."""
    view = DataOutputView()
    parts = {"prefix": None, "key": key, "namespace": namespace}
    EntryWriter(view).write(entry_key(0, *layouts), parts)
    return view.to_bytes()


def registration(number: int, name: str, state_type: str, *serializers: bytes) -> bytes:
    """A change that registers a state, without TTL and default value."""
    data = b"\x08" + i32(7) + meta_info(name, state_type, *serializers)
    data += b"" if state_type == "TIMERS" else b"\0\0"
    return data + struct.pack(">HB", number, kind_of(state_type))


def change(operation: int, number: int, *parts: bytes) -> bytes:
    return struct.pack(">BH", operation, number) + b"".join(parts)


Record = tuple[int, bytes]
"""Key group and bytes of a change."""


def change_set(records: Sequence[Record]) -> bytes:
    """A change set as Flink writes it: a group per key group, registrations first."""
    groups: dict[int, list[bytes]] = {}
    for group, data in sorted(records, key=lambda record: record[0]):
        groups.setdefault(group, []).append(data)
    data = i32(len(groups))
    for group, changes in groups.items():
        data += i32(len(changes)) + i32(group)
        data += b"".join(i32(len(change)) + change for change in changes)
    return data


def in_memory(records: Sequence[Record], key_groups: KeyGroupRange = EVERYTHING) -> InMemoryChanges:
    changes = tuple(StateChange(group, data) for group, data in records)
    kind = KeyedHandleType.IN_MEMORY_CHANGES
    return InMemoryChanges(kind, key_groups, 0, len(changes), changes, "changes")


def in_file(data: bytes, *offsets: int, key_groups: KeyGroupRange = EVERYTHING) -> FileChanges:
    """Change sets of a file; the offsets do not count its first byte."""
    streams = tuple(ChangeSetStream(offset, InlineStream("log", data)) for offset in offsets)
    kind = KeyedHandleType.FILE_CHANGES
    return FileChanges(kind, key_groups, streams, len(data), len(data), "changes", "filesystem")


def changelog(
    *changes: ChangesHandle,
    base: tuple[BaseHandle, ...] = (),
    key_groups: KeyGroupRange = EVERYTHING,
) -> ChangelogHandle:
    kind = KeyedHandleType.CHANGELOG
    return ChangelogHandle(kind, key_groups, 0, base, changes, 1, 1, "changelog")


def operator_of(*subtasks: SubtaskState) -> OperatorState:
    return OperatorState(
        OperatorId.from_uid("a"), max(len(subtasks), 1), MAX_PARALLELISM, subtasks, uid="a"
    )


def operator_with(*handles: ChangelogHandle) -> OperatorState:
    subtasks = [SubtaskState(i, managed_keyed_state=handle) for i, handle in enumerate(handles)]
    return operator_of(*subtasks)


def rows(operator: OperatorState, table: str, **options: Any) -> list[dict[str, Any]]:
    """All rows of a table."""
    directory = SnapshotDirectory.of("/")
    catalog = OperatorCatalog.of(directory, operator)
    assert catalog.problems == ()
    tables = {known.name: known for known in tables_of(catalog.states)}
    scan = TableScan(directory, operator, tables[table], ReadOptions.of(options))
    return [
        row for split in scan.splits() for batch in scan.read(split) for row in batch.to_pylist()
    ]
