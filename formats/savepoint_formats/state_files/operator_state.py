"""Elements of operator state: where each lies in its file, and their bytes in bulk.

The handle tells where each element of a list begins, and where the one map of a broadcast state
does. An element ends where the next begins. In a compressed file each offset is that of a chunk
of the snappy-framed stream, at which decompression can begin.

Flink: ``OperatorStateRestoreOperation``, ``PartitionableListState``.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.errors import FormatError, TruncatedError
from savepoint_formats.state_files.snappy import decompress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_formats.file_io import StateFile
    from savepoint_formats.metadata import OperatorStateHandle


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """Elements of a state in one buffer.

    Attributes:
        data: Their bytes.
        starts: Where each begins.
        ends: Where each ends.
        base: The offset of the buffer's first byte in the file; 0 for decompressed bytes.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    base: int

    def __len__(self) -> int:
        return len(self.starts)


def read_elements(
    file: StateFile, handle: OperatorStateHandle, state: str, *, is_compressed: bool, size: int
) -> Iterator[Elements]:
    """The elements of a state, in pieces of about ``size`` bytes of the file.

    Raises:
        StateFileNotFoundError: The file is gone.
        TruncatedError: The file ends before its elements do.
        FormatError: An offset lies outside the file, or compressed bytes are damaged.
    """
    for spans in _pieces(_spans(file, handle, state), size):
        base, end = spans[0][0], spans[-1][1]
        data = file.read(base, end)
        if len(data) != end - base:
            message = f"{len(data)} bytes of the {end - base} that elements have"
            raise TruncatedError(message, file.path, base + len(data))
        if is_compressed:
            yield _decompressed(data, spans, file)
        else:
            starts = np.array([start - base for start, _ in spans], np.int64)
            ends = np.array([stop - base for _, stop in spans], np.int64)
            yield Elements(np.frombuffer(data, np.uint8), starts, ends, base)


def _spans(file: StateFile, handle: OperatorStateHandle, state: str) -> list[tuple[int, int]]:
    """Where each element begins and ends, in the order of the handle."""
    wanted = next((entry.offsets for entry in handle.states if entry.name == state), ())
    if not wanted:
        return []
    length = file.length()
    borders = sorted({offset for entry in handle.states for offset in entry.offsets})
    if borders[0] < 0 or borders[-1] > length:
        raise FormatError(
            f"an element of an operator state at {borders[-1]}, expected 0 to {length}",
            file.path,
            min(max(borders[0], 0), length),
        )
    borders.append(length)
    return [
        (offset, borders[bisect_right(borders, offset)]) for offset in wanted if offset < length
    ]


def _pieces(spans: list[tuple[int, int]], size: int) -> Iterator[list[tuple[int, int]]]:
    """Runs of elements that follow each other in the file, of about ``size`` bytes."""
    piece: list[tuple[int, int]] = []
    for start, end in spans:
        if piece and (start != piece[-1][1] or end - piece[0][0] > size):
            yield piece
            piece = []
        piece.append((start, end))
    if piece:
        yield piece


def _decompressed(data: bytes, spans: list[tuple[int, int]], file: StateFile) -> Elements:
    base = spans[0][0]
    parts = [decompress(data[start - base : end - base], file.path, start) for start, end in spans]
    ends = np.fromiter(accumulate(map(len, parts)), np.int64, len(parts))
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    return Elements(np.frombuffer(b"".join(parts), np.uint8), starts, ends, 0)
