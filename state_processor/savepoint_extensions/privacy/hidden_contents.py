"""Contents of files that a search of their bytes does not see.

| file               | why it is hidden                                                             |
|--------------------|------------------------------------------------------------------------------|
| table of RocksDB   | blocks are compressed, and a key lacks the bytes that it shares with the key |
|                    | before it                                                                    |
| any other file     | snappy's framed streams: compressed key groups, changelogs, operator state   |
| all of them        | what a Java object writes by itself has a head before each 1,024 bytes       |

Old versions of values and deleted keys are among the contents: RocksDB keeps them until it compacts
its tables, and a changelog until the state is materialized.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes import IDENTIFIER, decompress
from savepoint_formats.errors import FormatError
from savepoint_formats.state_files import OK, Blocks, Sst
from savepoint_formats.state_files.rocksdb import version_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.locations import StateFile
    from savepoint_formats.state_files import BlockIndex

CHUNK_SIZE = 16 << 20
"""Bytes of a file that are searched at once."""

_BLOCKS_SIZE = 4 << 20
_FRAME_HEAD = 4
_LONG_BLOCK, _BLOCK = 0x7A, 0x77
_FIRST_BLOCK = b"\x7a\0\0\4\0"
"""Java's TC_BLOCKDATALONG with 1,024 bytes, all that it gathers; only the last block of a run has fewer."""
_DATA_FRAMES = (0, 1)


def table_versions(file: StateFile) -> Iterator[tuple[int, bytes]]:
    """Number of entries of some blocks, and key, trailer and value of each.

    Ranges of deleted keys come first. Raises ``FormatError`` for damage, ``RocksDbError`` for a
    feature that is not read here.
    """
    sst = Sst.open(file, file.length())
    for deletion in sst.range_deletions:
        yield 1, deletion.start + b"\0" + deletion.end
    index = sst.read_index()
    for first, last in _slices(index):
        blocks = Blocks.of(sst.read_blocks(index, slice(first, last)))
        place = blocks.data.ctypes.data, blocks.borders.ctypes.data, last - first
        status, number, size = version_kernel.list_versions(version_kernel.DataBlocks(*place, 0))
        if status != OK:
            raise blocks.stored.error(number, "a damaged block")
        target = np.empty(size, np.uint8)
        version_kernel.list_versions(version_kernel.DataBlocks(*place, target.ctypes.data))
        yield number, target.tobytes()


def _slices(index: BlockIndex) -> Iterator[tuple[int, int]]:
    """Neighbouring blocks of about ``_BLOCKS_SIZE`` bytes."""
    numbers = np.cumsum(index.sizes) // _BLOCKS_SIZE
    borders = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1))
    yield from zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)


def framed_contents(file: StateFile) -> Iterator[bytes]:
    """Content of each run of snappy's frames in a file, about ``CHUNK_SIZE`` bytes at a time.

    Bytes that begin like a stream and can't be decompressed are no stream.
    """
    for start in _places(file, IDENTIFIER):
        position = start + len(IDENTIFIER)
        while (frames := _frames(file, position)) is not None:
            try:
                yield decompress(frames, file.path, position)
            except FormatError:
                # The number of a key group behind a stream may look like a frame.
                yield from _first_contents(frames, file.path, position)
                break
            position += len(frames)


def _first_contents(frames: bytes, path: str, position: int) -> Iterator[bytes]:
    """Contents of frames one by one, up to the first that can't be decompressed."""
    start = 0
    while start < len(frames):
        end = start + _frame_size(frames, start)
        try:
            yield decompress(frames[start:end], path, position + start)
        except FormatError:
            return
        start = end


def _frame_size(data: bytes, start: int) -> int:
    return _FRAME_HEAD + int.from_bytes(data[start + 1 : start + _FRAME_HEAD], "little")


def block_contents(file: StateFile) -> Iterator[bytes]:
    """Content of each block of a run that Java's ``ObjectOutputStream`` divided, in order."""
    window, end = _Window(file), 0
    for start in _places(file, _FIRST_BLOCK):
        if start < end:
            continue
        end = start
        while (block := _block(window, end)) is not None:
            begin, end = block
            yield window.read(begin, end)


class _Window:
    """Reads a file forward in large ranges, because a store takes a request for each."""

    def __init__(self, file: StateFile) -> None:
        self._file, self._start, self._data = file, 0, b""

    def read(self, start: int, end: int) -> bytes:
        if start < self._start or end > self._start + len(self._data):
            self._start, self._data = start, bytes(self._file.read(start, start + CHUNK_SIZE))
        return self._data[start - self._start : end - self._start]


def _block(window: _Window, start: int) -> tuple[int, int] | None:
    """Begin and end of the content of the block at a place; None if there is none."""
    head = window.read(start, start + len(_FIRST_BLOCK))
    if head[:1] == bytes([_BLOCK]) and len(head) > 1:
        return start + 2, start + 2 + head[1]
    if head[:1] == bytes([_LONG_BLOCK]) and head <= _FIRST_BLOCK and len(head) == len(_FIRST_BLOCK):
        return start + len(head), start + len(head) + int.from_bytes(head[1:], "big")
    return None


def _places(file: StateFile, sought: bytes) -> Iterator[int]:
    overlap = len(sought) - 1
    for start in count(0, CHUNK_SIZE):
        data = file.read(start, start + CHUNK_SIZE + overlap)
        if not data:
            return
        position = data.find(sought)
        while position >= 0:
            yield start + position
            position = data.find(sought, position + 1)


def _frames(file: StateFile, start: int) -> bytes | None:
    """Whole frames with data from ``start`` on; None if none begins there."""
    data, end = file.read(start, start + CHUNK_SIZE), 0
    while end + _FRAME_HEAD <= len(data) and data[end] in _DATA_FRAMES:
        size = _frame_size(data, end)
        if end + size > len(data):
            break
        end += size
    return data[:end] or None
