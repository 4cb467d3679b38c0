"""Handles of operator state and of in-flight data (channel state).

Flink: ``MetadataV2V3SerializerBase.serializeOperatorStateHandle``,
``ChannelStateHandleSerializerV2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Self

from savepoint_formats.bytes.codecs import (
    BOOL,
    BYTES,
    INT,
    LONG,
    LONGS,
    UTF,
    Codec,
    Record,
    list_codec,
    tuple_codec,
)
from savepoint_formats.metadata.records import TypedRecord
from savepoint_formats.metadata.stream_handles import (
    NO_HANDLE,
    STREAM,
    PlainStream,
    StreamHandle,
    read_plain_stream,
    write_stream,
)

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView

_NORMAL = 4
_FILE_MERGING = 17


class DistributionMode(IntEnum):
    """How a restore spreads the elements of an operator state over subtasks."""

    SPLIT_DISTRIBUTE = 0
    UNION = 1
    BROADCAST = 2


@dataclass(frozen=True, slots=True)
class OperatorStateOffsets:
    """One state of the handle: utf name, u8 mode, i32 count, i64 offset of each element."""

    name: str
    mode: DistributionMode
    offsets: tuple[int, ...]

    @classmethod
    def read(cls, view: DataInputView) -> Self:
        """Raises ``FormatError`` for an unknown mode."""
        name, mode = view.read_utf(), view.read_unsigned_byte()
        if mode not in DistributionMode.__members__.values():
            raise view.error(f"distribution mode {mode} of state {name!r}, expected 0, 1 or 2")
        return cls(name, DistributionMode(mode), LONGS.read(view))

    def write(self, view: DataOutputView) -> None:
        view.write_utf(self.name)
        view.write_byte(self.mode)
        LONGS.write(view, self.offsets)


_STATES = list_codec(Codec(OperatorStateOffsets.read, lambda view, state: state.write(view)), 7)


@dataclass(frozen=True, slots=True)
class MergedDirectories(Record):
    """Fields that file merging adds to an operator handle."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (UTF, UTF, BOOL)
    task_owned: str
    shared: str
    is_empty: bool


@dataclass(frozen=True, slots=True)
class OperatorStateHandle:
    """A file with operator states.

    | bytes    | field       | meaning                                                  |
    |----------|-------------|----------------------------------------------------------|
    | u8       | type        | 0 none, 4 normal, 17 file merging                        |
    | i32, …   | states      | count, then each                                         |
    | utf ×2,  | directories | task-owned and shared directory, is-empty; type 17 only  |
    | bool     |             |                                                          |
    | …        | stream      | the file                                                 |
    """

    states: tuple[OperatorStateOffsets, ...]
    stream: PlainStream
    directories: MergedDirectories | None = None

    @classmethod
    def read(cls, view: DataInputView) -> Self | None:
        """None if there is no handle. Raises ``FormatError`` for an unknown type."""
        tag = view.read_unsigned_byte()
        if tag == NO_HANDLE:
            return None
        if tag not in (_NORMAL, _FILE_MERGING):
            view.position -= 1
            raise view.error(f"an operator state handle of type {tag}, expected 4 or 17")
        states = _STATES.read(view)
        directories = MergedDirectories.read(view) if tag == _FILE_MERGING else None
        return cls(states, read_plain_stream(view), directories)

    @property
    def header_end(self) -> int | None:
        """Offset of the first element; None if there are no elements."""
        return min((offset for state in self.states for offset in state.offsets), default=None)

    def write(self, view: DataOutputView) -> None:
        view.write_byte(_NORMAL if self.directories is None else _FILE_MERGING)
        _STATES.write(view, self.states)
        if self.directories is not None:
            self.directories.write(view)
        write_stream(self.stream, view)


class ChannelDirection(IntEnum):
    """The byte in front of a channel handle, from version 6 on."""

    INPUT = 1
    OUTPUT = 2
    MERGED_INPUT = 3
    MERGED_OUTPUT = 4


@dataclass(frozen=True, slots=True)
class ChannelStateHandle(TypedRecord):
    """In-flight data of one channel.

    | bytes    | field     | meaning                                                     |
    |----------|-----------|-------------------------------------------------------------|
    | u8       | direction | version 6 and later only                                    |
    | i32      | subtask   |                                                             |
    | i32 ×2   | channel   | gate and channel, or partition and subpartition             |
    | i32, i64 | offsets   | count, then each                                            |
    | i64      | size      | bytes of this channel                                       |
    | …        | stream    | the file, shared by many channels                           |
    """

    FIELDS: ClassVar[tuple[Codec, ...]] = (INT, tuple_codec(INT, INT), LONGS, LONG, STREAM)
    direction: ChannelDirection | None
    subtask: int
    channel: tuple[int, int]
    offsets: tuple[int, ...]
    size: int
    stream: StreamHandle


@dataclass(frozen=True, slots=True)
class MergedChannelStateHandle(TypedRecord):
    """In-flight data of all channels of a subtask.

    | bytes    | field     | meaning                                                     |
    |----------|-----------|-------------------------------------------------------------|
    | u8       | direction | 3 or 4                                                      |
    | i32      | subtask   |                                                             |
    | i64      | size      |                                                             |
    | …        | stream    | the file                                                    |
    | i32, …   | channels  | size in bytes, then the offsets of each channel, unread     |
    """

    FIELDS: ClassVar[tuple[Codec, ...]] = (INT, LONG, STREAM, BYTES)
    direction: ChannelDirection
    subtask: int
    size: int
    stream: StreamHandle
    channels: bytes


ChannelHandle = ChannelStateHandle | MergedChannelStateHandle


def read_channel_handles(view: DataInputView, *, has_direction: bool) -> tuple[ChannelHandle, ...]:
    """An i32 count, then each handle; a direction byte is in front from version 6 on."""
    count = view.read_count(element_size=8)
    return tuple(_read_channel_handle(view, has_direction=has_direction) for _ in range(count))


def write_channel_handles(handles: tuple[ChannelHandle, ...], view: DataOutputView) -> None:
    """The mirror of ``read_channel_handles``."""
    view.write_int(len(handles))
    for handle in handles:
        if handle.direction is not None:
            view.write_byte(handle.direction)
        handle.write(view)


def _read_channel_handle(view: DataInputView, *, has_direction: bool) -> ChannelHandle:
    if not has_direction:
        return ChannelStateHandle.read(view, None)
    tag = view.read_unsigned_byte()
    if tag not in ChannelDirection.__members__.values():
        view.position -= 1
        raise view.error(f"a channel state handle of type {tag}, expected 1 to 4")
    direction = ChannelDirection(tag)
    if direction in (ChannelDirection.INPUT, ChannelDirection.OUTPUT):
        return ChannelStateHandle.read(view, direction)
    return MergedChannelStateHandle.read(view, direction)
