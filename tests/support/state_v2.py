"""Samples as asynchronous operators with ForSt would have written them: entries are the same there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    IncrementalHandle,
    InlineStream,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
)
from savepoint_formats.snapshots import SerializerEntry
from savepoint_formats.state_files.header import (
    KEYED_STATE_TYPE,
    NAMESPACE_SERIALIZER,
    USER_KEY_SERIALIZER,
    VALUE_SERIALIZER,
    BackendStateType,
    HeaderBytes,
    KeyedBackendHeader,
    StateMetaInfo,
)
from support.changed_metadata import with_operators

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_formats.metadata import OperatorState, SubtaskState

_TTL = "ttl.TtlStateFactory$"


def as_v2(info: StateMetaInfo, *, is_of_2_2: bool = True) -> StateMetaInfo:
    """A state of keys as state V2; before Flink 2.2 it names no serializer of user keys."""
    value, namespace = info.serializer(VALUE_SERIALIZER), info.serializer(NAMESPACE_SERIALIZER)
    if info.type is not BackendStateType.KEY_VALUE or value is None or namespace is None:
        return info
    parts = {NAMESPACE_SERIALIZER: namespace, VALUE_SERIALIZER: value}
    match info.option(KEYED_STATE_TYPE):
        case "LIST":
            (parts[VALUE_SERIALIZER],) = value.nested
        case "MAP" if is_of_2_2:
            parts[USER_KEY_SERIALIZER], parts[VALUE_SERIALIZER] = value.nested
        case "MAP":
            _, parts[VALUE_SERIALIZER] = value.nested
    stored = parts[VALUE_SERIALIZER]
    if _TTL in stored.class_name:
        class_name = stored.class_name.replace(_TTL, f"v2.{_TTL}")
        parts[VALUE_SERIALIZER] = replace(stored, class_name=class_name)
    serializers = tuple((role, SerializerEntry(part)) for role, part in parts.items())
    return replace(info, type=BackendStateType.KEY_VALUE_V2, serializers=serializers)


def savepoint_v2(sample: Path, out: Path, *, is_of_2_2: bool = True) -> Path:
    """A copy of a sample, native or canonical, all of whose states of keys are state V2."""
    directory = SnapshotDirectory.of(str(sample))

    def changed(subtask: SubtaskState) -> SubtaskState:
        handle = subtask.managed_keyed_state
        if not isinstance(handle, IncrementalHandle | KeyGroupsHandle):
            return subtask
        data = HeaderBytes.of_keyed_state(directory, handle)
        header = KeyedBackendHeader.parse(data)
        states = tuple(as_v2(info, is_of_2_2=is_of_2_2) for info in header.states)
        view = DataOutputView()
        replace(header, states=states).write(view)
        new = view.to_bytes()
        if isinstance(handle, IncrementalHandle):
            changed = replace(handle, meta=InlineStream("header", new))
            return replace(subtask, managed_keyed_state=changed)
        start = min(offset for offset in handle.groups.offsets if offset)
        whole = new + directory.file(handle.stream).read(start)
        shift = len(new) - start
        offsets = tuple(offset and offset + shift for offset in handle.groups.offsets)
        groups = KeyGroupRangeOffsets(handle.key_groups, offsets)
        moved = replace(handle, groups=groups, stream=InlineStream("file", whole))
        return replace(subtask, managed_keyed_state=moved)

    def changed_operator(operator: OperatorState) -> OperatorState:
        return replace(operator, subtasks=tuple(map(changed, operator.subtasks)))

    return with_operators(sample, out, changed_operator)
