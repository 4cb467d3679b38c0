"""A file, or a range of one, that a handle of a snapshot leads to."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from savepoint_formats.errors import (
    FormatError,
    StateFileNotFoundError,
    TruncatedError,
    UnreachableError,
)
from savepoint_formats.locations.stored_object import MAX_KEPT_SIZE, StoredObject
from savepoint_formats.locations.stores import reading_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    import pyarrow as pa

    from savepoint_formats.locations.location import Location


DELETED = (
    "it was deleted while the snapshot was read. A running job deletes its older checkpoints: read a"
    " newer one; or a savepoint or a copy, which no job deletes"
)


class StateFileElsewhereError(StateFileNotFoundError, UnreachableError):
    """A file that may be whole, in a place that the user does not allow or that does not answer."""


class OpenedFile:
    """A file that stays open in this process if it is in a store; another process opens it anew.

    Opening a file of a store asks for its size: a request, and a wait, before the first byte. With
    boto3, S3 returns the size and the first wanted bytes in one request. ``first`` is their range,
    if it is known.
    """

    def __init__(self, first: tuple[int, int] | None = None) -> None:
        self._first = first
        self._file: pa.NativeFile | None = None
        self._object: StoredObject | None = None
        self.head: bytes | None = None
        """The first bytes, if they are few, because several readers want the header."""
        self.head_limit = 0
        """Size of the request for ``head``."""

    def __reduce__(self) -> tuple[type[OpenedFile], tuple[tuple[int, int] | None]]:
        return OpenedFile, (self._first,)

    def size_of(self, location: Location) -> int | None:
        """The number of bytes; None if there is no file, ``UnreachableError`` if that is unknown."""
        if location.filesystem.type_name != "s3" or "\0" in location.path:
            return location.file_size()
        try:
            size = self._size_of(location)
        except FileNotFoundError:
            return None
        except OSError:
            size = 0
        # Objects without bytes may stand for directories, and a bucket is no file.
        return size or location.file_size()

    def has_bytes(self, location: Location) -> bool:
        """Whether a store has the file, and it is not empty; ``OSError`` if the store refuses."""
        try:
            return bool(self._size_of(location))
        except FileNotFoundError:
            return False

    def _size_of(self, location: Location) -> int:
        if (stored := self._stored(location)) is not None:
            return stored.size()
        with self.reading(location) as file:
            return int(file.size())

    def read(self, location: Location, start: int, end: int | None) -> bytes:
        """The bytes between two positions, or as many as there are; to the end if ``end`` is None."""
        if (stored := self._stored(location)) is not None:
            return stored.read(start, end)
        with self.reading(location) as file:
            # A damaged handle may lead anywhere, and pyarrow allocates the whole range.
            end = file.size() if end is None else min(end, file.size())
            return bytes(file.read_at(max(end - start, 0), min(start, end)))

    def _stored(self, location: Location) -> StoredObject | None:
        if self._object is None:
            self._object = StoredObject.at(location, self._first)
        return self._object

    @contextmanager
    def reading(self, location: Location) -> Iterator[pa.NativeFile]:
        """The file, for reads at given positions."""
        filesystem, path = location.filesystem, location.path
        if location.is_local:
            with filesystem.open_input_file(path) as file:
                yield file
            return
        if self._file is None:
            self._file = filesystem.open_input_file(path)
        try:
            yield self._file
        except OSError as error:
            # The file may be gone, or be another one, since it was opened.
            self._file = None
            if location.file_size() is None:
                raise FileNotFoundError(path) from error
            raise


REQUEST_SIZE = 12 << 20
"""Limit per request; a larger range is divided evenly."""


@dataclass(frozen=True, slots=True)
class _Request:
    start: int
    end: int
    data: Future[bytes]


class ReadAhead:
    """Reads ranges (start, end) of a file in this order, by a function of start and end.

    A request takes as long as some megabytes do. So ranges are combined into a few large requests.
    Memory holds the requests that a read needs, and one more.
    """

    def __init__(
        self, ranges: Iterable[tuple[int, int]], read: Callable[[int, int], bytes]
    ) -> None:
        self._waiting = deque(place for start, end in ranges for place in _divided(start, end))
        self._read = read
        self._requests: list[_Request] = []

    def begin(self) -> None:
        """Begins to read in advance."""
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
        # A reader of few rows stops before half of a request is used up.
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


@dataclass(frozen=True, slots=True)
class StateFile:
    """A file, or a range of one, that a handle leads to.

    Methods that read raise ``StateFileNotFoundError`` if the file is gone, ``UnreachableError`` if it
    can't be read, and ``FileReplacedError`` if it was replaced since the first read.

    Attributes:
        path: Its path, or the name of inline bytes, for errors and listings.
        data: The bytes, if they lie in ``_metadata``.
        location: Where it is; None if it is missing.
        start: First byte of the range.
        size: Bytes of the range; None = to the end of the file.
        is_own: Whether it lies in one of the savepoint's own directories, or in an allowed one.
        problem: Why the path was not followed, if that is why there is no location.
        is_deleted: Whether it is missing because its snapshot was deleted after it was opened.
        named: Its path by the handle, if that is not ``path``: it may have been moved.
        declared_size: Size of the whole file by its handle; None if the handle has none.
        opened: Reads it.
        ahead: Reads it by large requests, before the bytes are needed.
    """

    path: str
    data: bytes | None = None
    location: Location | None = None
    start: int = 0
    size: int | None = None
    is_own: bool = True
    problem: str = ""
    is_deleted: bool = False
    named: str = ""
    declared_size: int | None = None
    opened: OpenedFile = field(default_factory=OpenedFile, compare=False, repr=False)
    ahead: ReadAhead | None = field(default=None, compare=False, repr=False)

    @property
    def local_path(self) -> str | None:
        """The path on this machine, if it is a whole file there."""
        if self.location is None or self.start or self.data is not None:
            return None
        return self.location.path if self.location.is_local else None

    def length(self) -> int:
        """The expected number of bytes; ``FormatError`` if the file has more.

        Reads report a file that has fewer.
        """
        if self.data is not None:
            return len(self.data)
        if self.size is not None:
            return self.size
        size = None if self.location is None else self.opened.size_of(self.location)
        if size is None:
            raise self._missing()
        if self.declared_size is None:
            return size
        if size > self.declared_size:
            message = f"{size} bytes in the file, expected {self.declared_size} as its handle says"
            raise FormatError(message, self.path, self.declared_size)
        return self.declared_size

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from ``start`` to ``end``, or as many as there are."""
        if self.data is not None:
            return self.data[start:end]
        if self.ahead is not None and end is not None:
            ready = self.ahead.read(start, end)
            if ready is not None:
                return ready
        limit = self.size if end is None else end if self.size is None else min(end, self.size)
        last = None if limit is None else self.start + max(limit, start)
        with self._reading() as location:
            return self.opened.read(location, self.start + start, last)

    def read_ahead(self, ranges: Iterable[tuple[int, int]]) -> StateFile:
        """The file for a reader of these ranges (start, end) in this order.

        A store gets large requests, and sends the next bytes while some are decoded.
        """
        if self.location is None or self.location.is_local:
            return self
        return replace(self, ahead=ReadAhead(ranges, replace(self, ahead=None).read))

    def read_soon(self, start: int, end: int) -> StateFile:
        """The file for a reader of this range; a store is asked for it at once."""
        file = self.read_ahead([(start, end)])
        if file.ahead is not None:
            file.ahead.begin()
        return file

    def head(self, limit: int) -> bytes:
        """The bytes before ``limit``, or as many as there are; a store is asked for them once."""
        is_range = self.start or self.size is not None
        if self.location is None or self.local_path or is_range:
            return self.read(0, limit)
        if self.opened.head is None or self.opened.head_limit < limit:
            data = self.read(0, limit)
            if len(data) > MAX_KEPT_SIZE:
                return data
            self.opened.head, self.opened.head_limit = data, limit
        return self.opened.head[:limit]

    def chunks(self, size: int) -> Iterator[pa.Buffer]:
        """The bytes of a file in buffers of ``size``; ``TruncatedError`` if the file ends too early."""
        with self._reading() as location, OpenedFile().reading(location) as file:
            end = file.size() if self.size is None else self.start + self.size
            file.seek(self.start)
            while file.tell() < end:
                chunk = file.read_buffer(min(size, end - file.tell()))
                if not chunk.size:
                    raise TruncatedError("the file ends here", self.path, file.tell())
                yield chunk

    @contextmanager
    def _reading(self) -> Iterator[Location]:
        """The location of the whole file; errors of reading it name ``path``."""
        if self.location is None:
            raise self._missing()
        with reading_errors(self.path):
            try:
                yield self.location
            except FileNotFoundError as error:
                raise self._missing() from error

    def _missing(self) -> StateFileNotFoundError:
        if self.problem:
            message = f"{self.path} is not read: {self.problem}; or copy it beside _metadata"
            return StateFileElsewhereError(message)
        # A file with a location was there when its handle was followed.
        if self.is_deleted or self.location is not None:
            return StateFileNotFoundError(f"{self.path} does not exist any more: {DELETED}")
        return StateFileNotFoundError(
            f"{self.path} does not exist, and no file of its name is beside _metadata;"
            " copy it there, or restore it where it was"
        )
