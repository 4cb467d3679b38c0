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

_HEAP_HEAD = 10
_LAST = 0x80
_END = 0xFFFF


def canonical_places(data: bytes, handle: KeyGroupsHandle, prefix_size: int) -> Iterator[int]:
    """Ids of states, sizes, key groups and end marks of a canonical file."""
    for start in handle.groups.offsets:
        position = start
        while start:
            yield from (position, position + 1)
            if int.from_bytes(data[position : position + 2], "big") == _END:
                break
            position += 2
            is_last = False
            while not is_last:
                size = int.from_bytes(data[position : position + 4], "big")
                yield from range(position, position + 4 + prefix_size)
                is_last = bool(data[position + 4] & _LAST)
                position += 4 + size
                size = int.from_bytes(data[position : position + 4], "big")
                yield from range(position, position + 4)
                position += 4 + size


def heap_places(handle: KeyGroupsHandle) -> Iterator[int]:
    """The key group at the begin of each section of a heap file, its first state, and its count."""
    for start in handle.groups.offsets:
        yield from range(start, start + _HEAP_HEAD)


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
