"""Reads ranges of a stored file by large requests, and the next one while one is decoded.

A request takes as long as some megabytes do. So a range that is read in order, some megabytes at a
time, is requested in few large parts. Memory holds the parts that a read needs, and one more.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

REQUEST_SIZE = 12 << 20
"""Limit per request; a larger range is divided evenly."""


@dataclass(frozen=True, slots=True)
class _Request:
    start: int
    end: int
    data: Future[bytes]


class ReadAhead:
    """Reads ranges (start, end) of a file in this order, by a function of start and end."""

    def __init__(
        self, ranges: Iterable[tuple[int, int]], read: Callable[[int, int], bytes]
    ) -> None:
        self._waiting = deque(place for start, end in ranges for place in _divided(start, end))
        self._read = read
        self._requests: list[_Request] = []

    def begin(self) -> None:
        """Begins to read before anybody asks."""
        if self._waiting:
            self._begin_from(0)

    def read(self, start: int, end: int) -> bytes | None:
        """The bytes between two positions, or as many as there are; None if they are in no range."""
        self._requests = [each for each in self._requests if each.end > start]
        while self._waiting and (not self._requests or self._requests[-1].end < end):
            self._begin_from(start)
        if not self._requests or not (
            self._requests[0].start <= start < end <= self._requests[-1].end
        ):
            return None
        needed = [each for each in self._requests if each.start < end]
        if any(each.end != following.start for each, following in pairwise(needed)):
            return None  # bytes between two ranges are not read ahead
        data = [
            each.data.result()[max(start - each.start, 0) : end - each.start] for each in needed
        ]
        last = needed[-1]
        # Few rows are there before half of a request is used up.
        if last is self._requests[-1] and 2 * end > last.start + last.end and self._waiting:
            self._begin_from(start)
        return data[0] if len(data) == 1 else b"".join(data)

    def _begin_from(self, start: int) -> None:
        """Begins the next request, unless it ends before ``start``."""
        first, end = self._waiting.popleft()
        if end > start:
            thread = ThreadPoolExecutor(1)
            self._requests.append(_Request(first, end, thread.submit(self._read, first, end)))
            thread.shutdown(wait=False)


def _divided(start: int, end: int) -> Iterator[tuple[int, int]]:
    count = -((start - end) // REQUEST_SIZE)
    size = -((start - end) // max(count, 1))
    for position in range(start, end, max(size, 1)):
        yield position, min(position + size, end)
