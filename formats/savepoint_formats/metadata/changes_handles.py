"""Handles of changes since state was materialized, inside a ``ChangelogHandle``.

Flink: ``MetadataV2V3SerializerBase``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from savepoint_formats.metadata.keyed_handle_types import KeyedHandleType
from savepoint_formats.metadata.records import (
    BYTES,
    INT,
    LONG,
    UTF,
    Codec,
    Record,
    TypedRecord,
    list_of,
)
from savepoint_formats.metadata.stream_handles import KEY_GROUPS, PLAIN_STREAM

if TYPE_CHECKING:
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.metadata.stream_handles import PlainStream


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

    FIELDS: ClassVar[tuple[Codec, ...]] = (KEY_GROUPS, LONG, LONG, list_of(StateChange, 8), UTF)
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
        *(KEY_GROUPS, list_of(ChangeSetStream, 9), LONG, LONG, UTF),
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
