"""Keyed state handles: the places of an operator's key groups.

``keyed_handle_types`` has a table of their types, ``changes_handles`` the handles of changes.

Flink: ``MetadataV2V3SerializerBase.serializeKeyedStateHandle``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

from savepoint_formats.errors import RefusedError
from savepoint_formats.metadata.changes_handles import ChangesHandle, FileChanges, InMemoryChanges
from savepoint_formats.metadata.keyed_handle_types import KeyedHandleType
from savepoint_formats.metadata.stream_handles import (
    NO_HANDLE,
    KeyGroupRangeOffsets,
    PlainStream,
    StreamHandle,
    read_key_groups,
    read_plain_stream,
    read_required_stream,
    write_key_groups,
    write_stream,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
    from savepoint_formats.key_groups.ranges import KeyGroupRange


@dataclass(frozen=True, slots=True)
class KeyGroupsHandle:
    """A file with a section per key group.

    | bytes  | field     | meaning                                       |
    |--------|-----------|-----------------------------------------------|
    | …      | groups    | the range and the offset of each section      |
    | …      | stream    | the file                                      |
    | utf    | handle_id | unique name; type 12 only                     |
    """

    type: KeyedHandleType
    groups: KeyGroupRangeOffsets
    stream: PlainStream
    handle_id: str | None = None

    @property
    def key_groups(self) -> KeyGroupRange:
        """The key groups in the file."""
        return self.groups.key_groups

    @classmethod
    def read(cls, view: DataInputView, handle_type: KeyedHandleType) -> Self:
        groups, stream = KeyGroupRangeOffsets.read(view), read_plain_stream(view)
        has_id = handle_type is KeyedHandleType.KEY_GROUPS
        return cls(handle_type, groups, stream, view.read_utf() if has_id else None)

    def write(self, view: DataOutputView) -> None:
        self.groups.write(view)
        write_stream(self.stream, view)
        _write_handle_id(self.handle_id, view)


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of a RocksDB directory: its name there, and the stream with its bytes."""

    name: str
    stream: StreamHandle

    @classmethod
    def read_list(cls, view: DataInputView) -> tuple[Self, ...]:
        """An i32 count, then each name and handle."""
        count = view.read_count(element_size=3)
        return tuple(cls(view.read_utf(), read_required_stream(view)) for _ in range(count))

    @staticmethod
    def write_list(files: tuple[LocalFile, ...], view: DataOutputView) -> None:
        view.write_int(len(files))
        for file in files:
            view.write_utf(file.name)
            write_stream(file.stream, view)


@dataclass(frozen=True, slots=True)
class IncrementalHandle:
    """The files of a RocksDB (or ForSt) directory.

    | bytes  | field             | meaning                                            |
    |--------|-------------------|----------------------------------------------------|
    | i64    | checkpoint_id     | of the snapshot that made the handle               |
    | utf    | backend_id        | of the backend instance                            |
    | i32 ×2 | key_groups        | start and count                                    |
    | i64    | checkpointed_size | bytes this snapshot added; type 11 only            |
    | …      | meta              | stream with the backend header                     |
    | …      | shared, private   | lists of local name and stream                     |
    | utf    | handle_id         | unique name; type 11 only                          |
    """

    type: KeyedHandleType
    checkpoint_id: int
    backend_id: str
    key_groups: KeyGroupRange
    checkpointed_size: int | None
    meta: PlainStream
    shared: tuple[LocalFile, ...]
    private: tuple[LocalFile, ...]
    handle_id: str | None

    @classmethod
    def read(cls, view: DataInputView, handle_type: KeyedHandleType) -> Self:
        is_current = handle_type is KeyedHandleType.INCREMENTAL
        return cls(
            handle_type,
            view.read_long(),
            view.read_utf(),
            read_key_groups(view),
            view.read_long() if is_current else None,
            read_plain_stream(view),
            LocalFile.read_list(view),
            LocalFile.read_list(view),
            view.read_utf() if is_current else None,
        )

    def write(self, view: DataOutputView) -> None:
        view.write_long(self.checkpoint_id)
        view.write_utf(self.backend_id)
        write_key_groups(self.key_groups, view)
        if self.checkpointed_size is not None:
            view.write_long(self.checkpointed_size)
        write_stream(self.meta, view)
        LocalFile.write_list(self.shared, view)
        LocalFile.write_list(self.private, view)
        _write_handle_id(self.handle_id, view)


BaseHandle = KeyGroupsHandle | IncrementalHandle


def header_of(handle: BaseHandle) -> tuple[StreamHandle, int | None]:
    """The stream of the header of keyed state, and the header's end; None for the whole stream."""
    if isinstance(handle, IncrementalHandle):
        return handle.meta, None
    # 0 means that the key group is empty.
    starts = [offset for offset in handle.groups.offsets if offset > 0]
    return handle.stream, min(starts, default=None)


@dataclass(frozen=True, slots=True)
class ChangelogHandle:
    """Materialized state, and the changes since then.

    | bytes  | field              | meaning                                      |
    |--------|--------------------|----------------------------------------------|
    | i32 ×2 | key_groups         | start and count                              |
    | i64    | checkpointed_size  | bytes this snapshot added                    |
    | …      | base               | i32 count, then keyed handles                |
    | …      | changes            | i32 count, then handles of changes, in order |
    | i64    | materialization_id |                                              |
    | i64    | checkpoint_id      | type 14 only                                 |
    | utf    | handle_id          | unique name                                  |
    """

    type: KeyedHandleType
    key_groups: KeyGroupRange
    checkpointed_size: int
    base: tuple[BaseHandle, ...]
    changes: tuple[ChangesHandle, ...]
    materialization_id: int
    checkpoint_id: int | None
    handle_id: str

    @classmethod
    def read(cls, view: DataInputView, handle_type: KeyedHandleType) -> Self:
        key_groups, checkpointed_size = read_key_groups(view), view.read_long()
        base = tuple(_read_part(view, _BASE, key_groups) for _ in range(view.read_count()))
        changes = tuple(_read_part(view, _CHANGES, key_groups) for _ in range(view.read_count()))
        materialization_id = view.read_long()
        checkpoint_id = view.read_long() if handle_type is KeyedHandleType.CHANGELOG else None
        return cls(
            handle_type,
            key_groups,
            checkpointed_size,
            base,
            changes,
            materialization_id,
            checkpoint_id,
            view.read_utf(),
        )

    def write(self, view: DataOutputView) -> None:
        write_key_groups(self.key_groups, view)
        view.write_long(self.checkpointed_size)
        for handles in (self.base, self.changes):
            view.write_int(len(handles))
            for handle in handles:
                write_keyed_handle(handle, view)
        view.write_long(self.materialization_id)
        if self.checkpoint_id is not None:
            view.write_long(self.checkpoint_id)
        view.write_utf(self.handle_id)


KeyedStateHandle = BaseHandle | ChangelogHandle
HandleT = TypeVar("HandleT", bound=KeyedStateHandle | ChangesHandle)

_BASE: dict[int, type[BaseHandle]] = {
    KeyedHandleType.KEY_GROUPS_V1: KeyGroupsHandle,
    KeyedHandleType.CANONICAL_SAVEPOINT: KeyGroupsHandle,
    KeyedHandleType.KEY_GROUPS: KeyGroupsHandle,
    KeyedHandleType.INCREMENTAL_V1: IncrementalHandle,
    KeyedHandleType.INCREMENTAL: IncrementalHandle,
}
_CHANGES: dict[int, type[ChangesHandle]] = {
    KeyedHandleType.IN_MEMORY_CHANGES: InMemoryChanges,
    KeyedHandleType.FILE_CHANGES_V1: FileChanges,
    KeyedHandleType.FILE_CHANGES: FileChanges,
}
_KEYED: dict[int, type[KeyedStateHandle]] = {
    **_BASE,
    KeyedHandleType.CHANGELOG_V1: ChangelogHandle,
    KeyedHandleType.CHANGELOG: ChangelogHandle,
}

# The newest type of each class has fields that older types don't have.
_NEWEST = (
    KeyedHandleType.KEY_GROUPS,
    KeyedHandleType.INCREMENTAL,
    KeyedHandleType.CHANGELOG,
    KeyedHandleType.FILE_CHANGES,
)
_FIELDS_OF_NEWEST: dict[type, tuple[str, ...]] = {
    KeyGroupsHandle: ("handle_id",),
    IncrementalHandle: ("checkpointed_size", "handle_id"),
    ChangelogHandle: ("checkpoint_id",),
    FileChanges: ("storage",),
}


def read_keyed_handle(view: DataInputView) -> KeyedStateHandle | None:
    """The next keyed handle of a subtask; None if there is none."""
    if view.read_unsigned_byte() == NO_HANDLE:
        return None
    view.position -= 1
    return _read_typed(view, _KEYED)


def write_keyed_handle(
    handle: KeyedStateHandle | ChangesHandle | None, view: DataOutputView
) -> None:
    """Raises ``RefusedError`` if the handle has a field too many or too few for its type."""
    if handle is None:
        view.write_byte(NO_HANDLE)
        return
    _check_fields(handle)
    view.write_byte(handle.type)
    handle.write(view)


def _check_fields(handle: KeyedStateHandle | ChangesHandle) -> None:
    is_newest = handle.type in _NEWEST
    for name in _FIELDS_OF_NEWEST.get(type(handle), ()):
        if (getattr(handle, name) is not None) != is_newest:
            raise RefusedError(
                f"a keyed state handle of type {handle.type.value} ({handle.type.name})"
                f" {'without' if is_newest else 'with'} {name}, so that nobody could read it;"
                f" {'set it' if is_newest else 'leave it out'}"
            )


def _read_typed(view: DataInputView, kinds: Mapping[int, type[HandleT]]) -> HandleT:
    tag = view.read_unsigned_byte()
    if tag not in kinds:
        view.position -= 1
        raise view.error(f"a keyed state handle of type {tag}, expected one of {sorted(kinds)}")
    return kinds[tag].read(view, KeyedHandleType(tag))


def _read_part(
    view: DataInputView, kinds: Mapping[int, type[HandleT]], key_groups: KeyGroupRange
) -> HandleT:
    """A handle inside the handle of a changelog.

    After rescaling it may have more key groups than the changelog, but at least one in common.
    """
    start = view.position
    part = _read_typed(view, kinds)
    if not part.key_groups.intersection(key_groups):
        view.position = start
        raise view.error(
            f"a handle of key groups {part.key_groups.start} to {part.key_groups.end} in a"
            f" changelog of {key_groups.start} to {key_groups.end}"
        )
    return part


def _write_handle_id(handle_id: str | None, view: DataOutputView) -> None:
    if handle_id is not None:
        view.write_utf(handle_id)
