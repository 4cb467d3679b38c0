"""Files of a store that stay open.

Whoever opens a file of a store asks how long it is: a request, and a wait, before the first byte. A
state file is read piece by piece, so it is opened once in a process. To open it is also how an object
store is asked whether it is there: it answers that and the size at once, and where boto3 is installed
an S3 store gives the first bytes that are wanted besides.
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

    Args:
        first: Which bytes of it are wanted first, if any are known to be: an S3 store gives them with
            its answer whether the file is there.
    """

    def __init__(self, first: tuple[int, int] | None = None) -> None:
        self._first = first
        self._file: pa.NativeFile | None = None
        self._object: StoredObject | None = None
        self.head: bytes | None = None
        """The first bytes, if they were read and are few: a header is read by more than one."""
        self.head_limit = 0
        """How many of them were asked for."""

    def __reduce__(self) -> tuple[type[OpenedFile], tuple[tuple[int, int] | None]]:
        return OpenedFile, (self._first,)

    def size_of(self, location: Location) -> int | None:
        """The bytes of the file; None if there is none.

        Raises:
            UnreachableError: The file system does not tell.
            FileReplacedError: It has become another file since it was first read.
        """
        if location.filesystem.type_name != "s3" or "\0" in location.path:
            return location.file_size()
        try:
            size = self._size_of(location)
        except FileNotFoundError:
            return None
        except OSError:
            size = 0
        # Objects without bytes may stand for directories; and a bucket is no file.
        return size or location.file_size()

    def has_bytes(self, location: Location) -> bool:
        """Whether there is such a file in a store, and it is not empty.

        Raises:
            OSError: The store does not tell.
        """
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
        """The bytes between two positions, or as many as there are; to the end by default.

        Raises:
            FileNotFoundError: The file is gone.
            FileReplacedError: It has become another one since it was first read.
            OSError: It can't be read.
        """
        if (stored := self._stored(location)) is not None:
            return stored.read(start, end)
        with self.reading(location) as file:
            # A damaged handle may lead anywhere, and memory is taken for all that is asked for.
            end = file.size() if end is None else min(end, file.size())
            return bytes(file.read_at(max(end - start, 0), min(start, end)))

    def _stored(self, location: Location) -> StoredObject | None:
        if self._object is None:
            self._object = StoredObject.at(location, self._first)
        return self._object

    @contextmanager
    def reading(self, location: Location) -> Iterator[pa.NativeFile]:
        """The file, for reads that say where they begin.

        Raises:
            FileNotFoundError: It is gone.
            OSError: It can't be read.
        """
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
            # It may have gone, or be another one, since it was opened.
            self._file = None
            if location.file_size() is None:
                raise FileNotFoundError(path) from error
            raise
