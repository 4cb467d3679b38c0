"""Stream handles: references to files with state, or the bytes themselves.

| type | class             | fields after the type byte                                          |
|------|-------------------|---------------------------------------------------------------------|
| 0    | (``None``)        |                                                                     |
| 1    | InlineStream      | utf name, i32 size, bytes                                           |
| 2    | FileStream        | i64 size, utf path                                                  |
| 3    | KeyGroupsStream   | key-group offsets, stream handle                                    |
| 6    | RelativeFile      | utf path, i64 size                                                  |
| 15   | SegmentStream     | i64 start, i64 size, i32 scope, utf path, utf logical file id       |
| 16   | EmptySegment      |                                                                     |

Flink: ``MetadataV2V3SerializerBase.serializeStreamStateHandle``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from savepoint_formats.bytes.codecs import BYTES, INT, LONG, UTF, Codec, Record
from savepoint_formats.key_groups import MAX_PARALLELISM, KeyGroupRange

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView

NO_HANDLE = 0


@dataclass(frozen=True, slots=True)
class KeyGroupRangeOffsets:
    """The beginning of each key group of a state file.

    | bytes | field   | meaning                                                       |
    |-------|---------|---------------------------------------------------------------|
    | i32   | start   | first key group                                               |
    | i32   | n       | number of key groups                                          |
    | n i64 | offsets | position in the file; canonical files: 0 = nothing written,   |
    |       |         | raw keyed state: -1 = nothing written                         |
    """

    key_groups: KeyGroupRange
    offsets: tuple[int, ...]

    @classmethod
    def read(cls, view: DataInputView) -> Self:
        key_groups = read_key_groups(view)
        return cls(key_groups, view.read_longs(len(key_groups)))

    def write(self, view: DataOutputView) -> None:
        write_key_groups(self.key_groups, view)
        view.write_longs(self.offsets)


def read_key_groups(view: DataInputView) -> KeyGroupRange:
    """A range as first key group and count. Raises ``FormatError`` if it is empty or invalid."""
    start, count = view.read_int(), view.read_int()
    if count <= 0 or not 0 <= start <= MAX_PARALLELISM - count:
        raise view.error(
            f"{count} key groups from {start} on, expected a range within 0 to {MAX_PARALLELISM}"
        )
    return KeyGroupRange(start, start + count - 1)


def write_key_groups(key_groups: KeyGroupRange, view: DataOutputView) -> None:
    """The mirror of ``read_key_groups``."""
    view.write_int(key_groups.start)
    view.write_int(len(key_groups))


@dataclass(frozen=True, slots=True)
class InlineStream(Record):
    """Bytes in ``_metadata`` itself, under a unique name."""

    TYPE: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[Codec, ...]] = (UTF, BYTES)
    name: str
    data: bytes

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.data)


@dataclass(frozen=True, slots=True)
class FileStream(Record):
    """A file by its absolute path: ``file:/a``, ``s3://bucket/a``."""

    TYPE: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[Codec, ...]] = (LONG, UTF)
    size: int
    path: str


@dataclass(frozen=True, slots=True)
class RelativeFile(Record):
    """A file by its path below the directory of ``_metadata``."""

    TYPE: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[Codec, ...]] = (UTF, LONG)
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class SegmentStream(Record):
    """A range of a file that several handles share (file merging)."""

    TYPE: ClassVar[int] = 15
    FIELDS: ClassVar[tuple[Codec, ...]] = (LONG, LONG, INT, UTF, UTF)
    start: int
    size: int
    scope: int
    path: str
    logical_file_id: str

    @classmethod
    def read(cls, view: DataInputView) -> Self:
        start, size = view.read_long(), view.read_long()
        if start < 0 or size < 0:
            raise view.error(f"a segment of {size} bytes at {start}, expected neither below 0")
        return cls(start, size, view.read_int(), view.read_utf(), view.read_utf())


@dataclass(frozen=True, slots=True)
class EmptySegment(Record):
    """No bytes; file merging writes it for a subtask without state."""

    TYPE: ClassVar[int] = 16
    FIELDS: ClassVar[tuple[Codec, ...]] = ()

    @property
    def size(self) -> int:
        """In bytes."""
        return 0


PlainStream = InlineStream | FileStream | RelativeFile | SegmentStream | EmptySegment


_PLAIN_STREAMS: dict[int, type[PlainStream]] = {
    kind.TYPE: kind
    for kind in (InlineStream, FileStream, RelativeFile, SegmentStream, EmptySegment)
}


def read_plain_stream(view: DataInputView) -> PlainStream:
    """The next stream handle. Raises ``FormatError`` if there is none, or not a plain one."""
    return _read_plain(view, view.read_unsigned_byte())


def _read_plain(view: DataInputView, tag: int) -> PlainStream:
    if tag not in _PLAIN_STREAMS:
        view.position -= 1
        raise view.error(f"a stream handle of type {tag}, expected one of {sorted(_PLAIN_STREAMS)}")
    return _PLAIN_STREAMS[tag].read(view)


def write_stream(handle: StreamHandle | None, view: DataOutputView) -> None:
    """The mirror of the functions that read a stream handle."""
    view.write_byte(NO_HANDLE if handle is None else handle.TYPE)
    if handle is not None:
        handle.write(view)


def _write_stream(view: DataOutputView, handle: StreamHandle) -> None:
    write_stream(handle, view)


KEY_GROUPS = Codec(read_key_groups, lambda view, key_groups: write_key_groups(key_groups, view))
GROUPS = Codec(KeyGroupRangeOffsets.read, lambda view, groups: groups.write(view))
PLAIN_STREAM = Codec(read_plain_stream, _write_stream)


@dataclass(frozen=True, slots=True)
class KeyGroupsStream(Record):
    """A stream with key-group offsets, which lists of incremental handles may hold."""

    TYPE: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[Codec, ...]] = (GROUPS, PLAIN_STREAM)
    groups: KeyGroupRangeOffsets
    stream: PlainStream

    @property
    def size(self) -> int:
        """In bytes."""
        return self.stream.size


StreamHandle = PlainStream | KeyGroupsStream


def read_stream(view: DataInputView) -> StreamHandle | None:
    """The next stream handle; None if there is none."""
    tag = view.read_unsigned_byte()
    if tag == NO_HANDLE:
        return None
    return KeyGroupsStream.read(view) if tag == KeyGroupsStream.TYPE else _read_plain(view, tag)


def read_required_stream(view: DataInputView) -> StreamHandle:
    """The next stream handle of any kind. Raises ``FormatError`` if there is none."""
    handle = read_stream(view)
    if handle is None:
        view.position -= 1
        raise view.error("no stream handle, expected one")
    return handle


STREAM = Codec(read_required_stream, _write_stream)
