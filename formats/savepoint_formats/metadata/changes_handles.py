"""Handles of changes since state was materialized, inside a ``ChangelogHandle``.

Flink: ``MetadataV2V3SerializerBase``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.metadata.keyed_handle_types import KeyedHandleType
from savepoint_formats.metadata.stream_handles import (
    PlainStream,
    read_key_groups,
    read_plain_stream,
    write_key_groups,
    write_stream,
)

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
    from savepoint_formats.key_groups.ranges import KeyGroupRange


@dataclass(frozen=True, slots=True)
class StateChange:
    """Changes in memory: i32 key group (-1 = metadata), i32 size, bytes."""

    key_group: int
    data: bytes

    @classmethod
    def read(cls, view: DataInputView) -> Self:
        return cls(view.read_int(), view.read_bytes(view.read_count()))

    def write(self, view: DataOutputView) -> None:
        view.write_int(self.key_group)
        view.write_int(len(self.data))
        view.write_bytes(self.data)


@dataclass(frozen=True, slots=True)
class InMemoryChanges:
    """Changes in ``_metadata`` itself.

    | bytes  | field           | meaning                                     |
    |--------|-----------------|---------------------------------------------|
    | i32 ×2 | key_groups      | start and count                             |
    | i64 ×2 | start, end      | sequence numbers of the changes             |
    | …      | changes         | i32 count, then each                        |
    | utf    | handle_id       | unique name                                 |
    """

    type: KeyedHandleType
    key_groups: KeyGroupRange
    start: int
    end: int
    changes: tuple[StateChange, ...]
    handle_id: str

    @classmethod
    def read(cls, view: DataInputView, handle_type: KeyedHandleType) -> Self:
        key_groups, start, end = read_key_groups(view), view.read_long(), view.read_long()
        changes = tuple(StateChange.read(view) for _ in range(view.read_count(element_size=8)))
        return cls(handle_type, key_groups, start, end, changes, view.read_utf())

    def write(self, view: DataOutputView) -> None:
        write_key_groups(self.key_groups, view)
        view.write_long(self.start)
        view.write_long(self.end)
        view.write_int(len(self.changes))
        for change in self.changes:
            change.write(view)
        view.write_utf(self.handle_id)


@dataclass(frozen=True, slots=True)
class ChangeSetStream:
    """A change set: i64 offset in the uncompressed content of a file, and the file."""

    offset: int
    stream: PlainStream

    @classmethod
    def read(cls, view: DataInputView) -> Self:
        return cls(view.read_long(), read_plain_stream(view))

    def write(self, view: DataOutputView) -> None:
        view.write_long(self.offset)
        write_stream(self.stream, view)


@dataclass(frozen=True, slots=True)
class FileChanges:
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

    type: KeyedHandleType
    key_groups: KeyGroupRange
    streams: tuple[ChangeSetStream, ...]
    size: int
    checkpointed_size: int
    handle_id: str
    storage: str | None

    @classmethod
    def read(cls, view: DataInputView, handle_type: KeyedHandleType) -> Self:
        key_groups = read_key_groups(view)
        streams = tuple(ChangeSetStream.read(view) for _ in range(view.read_count(element_size=9)))
        size, checkpointed_size, handle_id = view.read_long(), view.read_long(), view.read_utf()
        storage = view.read_utf() if handle_type is KeyedHandleType.FILE_CHANGES else None
        return cls(handle_type, key_groups, streams, size, checkpointed_size, handle_id, storage)

    def write(self, view: DataOutputView) -> None:
        write_key_groups(self.key_groups, view)
        view.write_int(len(self.streams))
        for stream in self.streams:
            stream.write(view)
        view.write_long(self.size)
        view.write_long(self.checkpointed_size)
        view.write_utf(self.handle_id)
        if self.storage is not None:
            view.write_utf(self.storage)


ChangesHandle = InMemoryChanges | FileChanges
