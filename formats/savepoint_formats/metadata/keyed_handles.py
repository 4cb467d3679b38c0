"""Keyed state handles: the places of an operator's key groups.

``KeyedHandleType`` has a table of their types.

Flink: ``MetadataV2V3SerializerBase.serializeKeyedStateHandle``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

from savepoint_formats.bytes.codecs import BYTES, INT, LONG, UTF, Codec, Record, list_codec
from savepoint_formats.metadata.records import KeyedHandleType, TypedRecord
from savepoint_formats.metadata.stream_handles import (
    GROUPS,
    KEY_GROUPS,
    NO_HANDLE,
    PLAIN_STREAM,
    STREAM,
    KeyGroupRangeOffsets,
    PlainStream,
    StreamHandle,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
    from savepoint_formats.key_groups import KeyGroupRange


@dataclass(frozen=True, slots=True)
class StateChange(Record):
    """Changes in memory: i32 key group (-1 = metadata), i32 size, bytes."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (INT, BYTES)
    key_group: int
    data: bytes


@dataclass(frozen=True, slots=True)
class InMemoryChanges(TypedRecord):
    """Changes in ``_metadata`` itself.

    | bytes  | field           | meaning                                     |
    |--------|-----------------|---------------------------------------------|
    | i32 ×2 | key_groups      | start and count                             |
    | i64 ×2 | start, end      | sequence numbers of the changes             |
    | …      | changes         | i32 count, then each                        |
    | utf    | handle_id       | unique name                                 |
    """

    FIELDS: ClassVar[tuple[Codec, ...]] = (KEY_GROUPS, LONG, LONG, list_codec(StateChange, 8), UTF)
    type: KeyedHandleType
    key_groups: KeyGroupRange
    start: int
    end: int
    changes: tuple[StateChange, ...]
    handle_id: str


@dataclass(frozen=True, slots=True)
class ChangeSetStream(Record):
    """A change set: i64 offset in the uncompressed content of a file, and the file."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (LONG, PLAIN_STREAM)
    offset: int
    stream: PlainStream


@dataclass(frozen=True, slots=True)
class FileChanges(TypedRecord):
    """Changes in files.

    | bytes  | field             | meaning                                   |
    |--------|-------------------|-------------------------------------------|
    | i32 ×2 | key_groups        | start and count                           |
    | …      | streams           | i32 count, then each                      |
    | i64    | size              | uncompressed bytes                        |
    | i64    | checkpointed_size | bytes this snapshot added                 |
    | utf    | handle_id         | unique name                               |
    | utf    | storage           | e.g. ``filesystem``; type 13 only         |
    """

    FIELDS: ClassVar[tuple[Codec, ...]] = (
        *(KEY_GROUPS, list_codec(ChangeSetStream, 9), LONG, LONG, UTF),
        UTF.only(KeyedHandleType.FILE_CHANGES),
    )
    type: KeyedHandleType
    key_groups: KeyGroupRange
    streams: tuple[ChangeSetStream, ...]
    size: int
    checkpointed_size: int
    handle_id: str
    storage: str | None


ChangesHandle = InMemoryChanges | FileChanges


@dataclass(frozen=True, slots=True)
class KeyGroupsHandle(TypedRecord):
    """A file with a section per key group.

    | bytes  | field     | meaning                                       |
    |--------|-----------|-----------------------------------------------|
    | …      | groups    | the range and the offset of each section      |
    | …      | stream    | the file                                      |
    | utf    | handle_id | unique name; type 12 only                     |
    """

    FIELDS: ClassVar[tuple[Codec, ...]] = (
        *(GROUPS, PLAIN_STREAM),
        UTF.only(KeyedHandleType.KEY_GROUPS),
    )
    type: KeyedHandleType
    groups: KeyGroupRangeOffsets
    stream: PlainStream
    handle_id: str | None = None

    @property
    def key_groups(self) -> KeyGroupRange:
        """The key groups in the file."""
        return self.groups.key_groups


@dataclass(frozen=True, slots=True)
class LocalFile(Record):
    """A file of a RocksDB directory: its name there, and the stream with its bytes."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (UTF, STREAM)
    name: str
    stream: StreamHandle


@dataclass(frozen=True, slots=True)
class IncrementalHandle(TypedRecord):
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

    FIELDS: ClassVar[tuple[Codec, ...]] = (
        *(LONG, UTF, KEY_GROUPS, LONG.only(KeyedHandleType.INCREMENTAL), PLAIN_STREAM),
        *(list_codec(LocalFile, 3), list_codec(LocalFile, 3)),
        UTF.only(KeyedHandleType.INCREMENTAL),
    )
    type: KeyedHandleType
    checkpoint_id: int
    backend_id: str
    key_groups: KeyGroupRange
    checkpointed_size: int | None
    meta: PlainStream
    shared: tuple[LocalFile, ...]
    private: tuple[LocalFile, ...]
    handle_id: str | None


BaseHandle = KeyGroupsHandle | IncrementalHandle


def header_of(handle: BaseHandle) -> tuple[StreamHandle, int | None]:
    """The stream of the header of keyed state, and the header's end; None for the whole stream."""
    if isinstance(handle, IncrementalHandle):
        return handle.meta, None
    # 0 means that the key group is empty.
    starts = [offset for offset in handle.groups.offsets if offset > 0]
    return handle.stream, min(starts, default=None)


@dataclass(frozen=True, slots=True)
class ChangelogHandle(TypedRecord):
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

    FIELDS: ClassVar[tuple[Codec, ...]] = (
        *(KEY_GROUPS, LONG),
        list_codec(
            Codec(lambda view: _read_typed(view, _BASE), lambda v, h: write_keyed_handle(h, v))
        ),
        list_codec(
            Codec(lambda view: _read_typed(view, _CHANGES), lambda v, h: write_keyed_handle(h, v))
        ),
        *(LONG, LONG.only(KeyedHandleType.CHANGELOG), UTF),
    )
    type: KeyedHandleType
    key_groups: KeyGroupRange
    checkpointed_size: int
    base: tuple[BaseHandle, ...]
    changes: tuple[ChangesHandle, ...]
    materialization_id: int
    checkpoint_id: int | None
    handle_id: str


KeyedStateHandle = BaseHandle | ChangelogHandle
HandleT = TypeVar("HandleT", bound=TypedRecord)

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


def read_keyed_handle(view: DataInputView) -> KeyedStateHandle | None:
    """The next keyed handle of a subtask; None if there is none."""
    start = view.position
    if view.read_unsigned_byte() == NO_HANDLE:
        return None
    view.position = start
    handle = _read_typed(view, _KEYED)
    if isinstance(handle, ChangelogHandle):
        # After rescaling, handles may have more key groups than the changelog, but some in common.
        for part in (*handle.base, *handle.changes):
            if not part.key_groups.intersection(handle.key_groups):
                view.position = start
                raise view.error(
                    f"a handle of key groups {part.key_groups.start} to {part.key_groups.end} in a"
                    f" changelog of {handle.key_groups.start} to {handle.key_groups.end}"
                )
    return handle


def write_keyed_handle(
    handle: KeyedStateHandle | ChangesHandle | None, view: DataOutputView
) -> None:
    """Raises ``RefusedError`` if the handle has a field too many or too few for its type."""
    if handle is None:
        view.write_byte(NO_HANDLE)
        return
    view.write_byte(handle.type)
    handle.write(view)


def _read_typed(view: DataInputView, kinds: Mapping[int, type[HandleT]]) -> HandleT:
    tag = view.read_unsigned_byte()
    if tag not in kinds:
        view.position -= 1
        raise view.error(f"a keyed state handle of type {tag}, expected one of {sorted(kinds)}")
    return kinds[tag].read(view, KeyedHandleType(tag))
