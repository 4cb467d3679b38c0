"""Files of a store that stay open.

Whoever opens a file of a store asks how long it is: a request, and a wait, before the first byte. A
state file is read piece by piece, so it is opened once in a process. To open it is also how an object
store is asked whether it is there: it answers that and the size at once.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyarrow import fs

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from savepoint_formats.locations.location import Location


class OpenedFile:
    """A file that stays open in this process if it is in a store; another process opens it anew."""

    def __init__(self) -> None:
        self._file: pa.NativeFile | None = None
        self.head: bytes | None = None
        """The first bytes, if they were read and are few: a header is read by more than one."""
        self.head_limit = 0
        """How many of them were asked for."""

    def __reduce__(self) -> tuple[type[OpenedFile], tuple[()]]:
        return OpenedFile, ()

    def size_of(self, location: Location) -> int | None:
        """The bytes of the file; None if there is none.

        Raises:
            UnreachableError: The file system does not tell.
        """
        if location.filesystem.type_name != "s3" or "\0" in location.path:
            return location.file_size()
        try:
            with self.reading(location) as file:
                size = int(file.size())
        except FileNotFoundError:
            return None
        except OSError:
            size = 0
        # Objects without bytes may stand for directories; and a bucket is no file.
        return size or location.file_size()

    @contextmanager
    def reading(self, location: Location) -> Iterator[pa.NativeFile]:
        """The file, for reads that say where they begin.

        Raises:
            FileNotFoundError: It is gone.
            OSError: It can't be read.
        """
        filesystem, path = location.filesystem, location.path
        if isinstance(filesystem, fs.LocalFileSystem):
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
