"""Ranges of a file of a store, read in large pieces, and the next of them while one is decoded.

Each request takes as long as some megabytes do. So those who read a range from its beginning to its
end, some megabytes at a time, are given them out of a piece that is read at once. Those pieces are in
memory that a read needs, and one more.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from itertools import pairwise
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PIECE_SIZE = 12 << 20
"""At most, of a range that is larger; all of them have as many bytes."""


@dataclass(slots=True)
class _Piece:
    start: int
    end: int
    data: Future[bytes]


class ReadAhead:
    """What is read of a file in order.

    Args:
        ranges: First byte and end of each range, in the order in which they are read.
        read: Gives the bytes between two positions, or as many as there are.
    """

    def __init__(
        self, ranges: Iterable[tuple[int, int]], read: Callable[[int, int], bytes]
    ) -> None:
        self._places = [place for start, end in ranges for place in _divided(start, end)]
        self._read = read
        self._pieces: list[_Piece] = []

    def begin(self) -> None:
        """Begins to read, before anybody asks."""
        if self._places:
            self._begin_from(0)

    def read(self, start: int, end: int) -> bytes | None:
        """The bytes between two positions, or as many as there are; None if nobody reads them ahead.

        Raises:
            StateFileNotFoundError: The file is gone.
            UnreachableError: It can't be read.
        """
        self._pieces = [piece for piece in self._pieces if piece.end > start]
        while self._places and (not self._pieces or self._pieces[-1].end < end):
            self._begin_from(start)
        if not self._pieces or not self._pieces[0].start <= start < end <= self._pieces[-1].end:
            return None
        needed = [piece for piece in self._pieces if piece.start < end]
        if any(piece.end != following.start for piece, following in pairwise(needed)):
            return None  # nobody reads the bytes between two ranges ahead
        parts = [
            piece.data.result()[max(start - piece.start, 0) : end - piece.start] for piece in needed
        ]
        last = needed[-1]
        # Who asks for few rows has them before half of a piece is read.
        if last is self._pieces[-1] and 2 * end > last.start + last.end and self._places:
            self._begin_from(start)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _begin_from(self, start: int) -> None:
        """Begins to read the next place, if it does not end before ``start``."""
        first, end = self._places.pop(0)
        if end <= start:
            return
        piece = _Piece(first, end, Future())
        self._pieces.append(piece)

        def read() -> None:
            try:
                piece.data.set_result(self._read(first, end))
            except BaseException as error:  # it is raised where it is waited for
                piece.data.set_exception(error)

        Thread(target=read).start()


def _divided(start: int, end: int) -> Iterator[tuple[int, int]]:
    """A range in pieces of about the same size."""
    count = -((start - end) // PIECE_SIZE)
    size = -((start - end) // max(count, 1))
    for position in range(start, end, max(size, 1)):
        yield position, min(position + size, end)
