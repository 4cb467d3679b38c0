"""Which bytes of a file are structure: of these alone is promised that no change goes unseen.

It is told by the formats, without the readers that are tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.metadata import InlineStream
from savepoint_formats.metadata.references import stream_references

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.metadata import CheckpointMetadata, KeyGroupsHandle

HEAP_HEAD = 10
"""Key group, id and count of the first state of a section of a heap file."""

_CONTENT = ("key and namespace", "value")
_LAST = 0x80
_END = 0xFFFF


def canonical_entries(
    data: bytes, handle: KeyGroupsHandle, prefix_size: int
) -> Iterator[tuple[str, int, int]]:
    """Class, begin and end of all bytes behind the header of a canonical file."""
    for start in handle.groups.offsets:
        position = start
        while start:
            is_end = int.from_bytes(data[position : position + 2], "big") == _END
            yield "end mark" if is_end else "state id", position, position + 2
            if is_end:
                break
            position += 2
            is_last = False
            while not is_last:
                size = int.from_bytes(data[position : position + 4], "big")
                prefix = position + 4 + prefix_size
                yield "size of a key", position, position + 4
                yield "key group, and mark of the last entry", position + 4, prefix
                is_last = bool(data[position + 4] & _LAST)
                position += 4 + size
                yield "key and namespace", prefix, position
                size = int.from_bytes(data[position : position + 4], "big")
                yield "size of a value", position, position + 4
                position += 4 + size
                yield "value", position - size, position


def canonical_places(data: bytes, handle: KeyGroupsHandle, prefix_size: int) -> Iterator[int]:
    """Ids of states, sizes, key groups and end marks of a canonical file."""
    for name, start, end in canonical_entries(data, handle, prefix_size):
        if name not in _CONTENT:
            yield from range(start, end)


def heap_places(handle: KeyGroupsHandle) -> Iterator[int]:
    """The key group at the begin of each section of a heap file, its first state, and its count."""
    for start in handle.groups.offsets:
        yield from range(start, start + HEAP_HEAD)


def metadata_places(data: bytes, metadata: CheckpointMetadata) -> tuple[int, ...]:
    """All of ``_metadata`` but the state that lies in it."""
    places = set(range(len(data)))
    for operator in metadata.operators:
        for reference in stream_references(operator):
            if isinstance(reference.stream, InlineStream):
                view = DataOutputView()
                reference.stream.write(view)
                end = data.index(view.to_bytes()) + view.position
                places -= set(range(end - reference.stream.size, end))
    return tuple(sorted(places))
