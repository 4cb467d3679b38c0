"""Files of a store that stay open.

To open a file of a store is to ask for its size: a request, and a wait, before the first byte. A state
file is read by many ranges, so it is opened once in a process. Opening also tells whether the file
exists. With boto3 an S3 store answers that, the size, and the first wanted bytes by one request.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from savepoint_formats.locations.stored_object import StoredObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from savepoint_formats.locations.location import Location


class OpenedFile:
    """A file that stays open in this process if it is in a store; another process opens it anew.

    ``first`` is the range that is wanted first, if it is known: S3 sends it with the size.
    """

    def __init__(self, first: tuple[int, int] | None = None) -> None:
        self._first = first
        self._file: pa.NativeFile | None = None
        self._object: StoredObject | None = None
        self.head: bytes | None = None
        """The first bytes, if they are few: several readers want the header."""
        self.head_limit = 0
        """Size of the request for ``head``."""

    def __reduce__(self) -> tuple[type[OpenedFile], tuple[tuple[int, int] | None]]:
        return OpenedFile, (self._first,)

    def size_of(self, location: Location) -> int | None:
        """The number of bytes; None if there is no file, ``UnreachableError`` if nobody knows."""
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
