"""A file of a snapshot that is being written, on any file system of pyarrow.

One of this machine is written by its own calls: so it takes ranges of other files without their bytes
coming into this process.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from savepoint_formats.errors import SavepointError, TruncatedError
from savepoint_formats.metadata import RelativeFile
from savepoint_formats.new_snapshot.synced import begin_writing, copy_range, sync

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedWriter

    from savepoint_formats.locations.location import Location
    from savepoint_formats.new_snapshot.stored_range import StoredRange

LARGEST_COPY_SIZE = 5 << 30
"""An object store copies a file of its own by itself, but S3 none of more bytes."""

_BUFFER_SIZE = 1 << 20
_LOCAL_BUFFER_SIZE = 128 << 10
_WRITTEN_AT_ONCE = 8 << 20


class NewFile:
    """A data file that is being written: a stream for ``with``, and gone if that fails.

    Attributes:
        path: Its path below the directory, as a handle is to name it.
        size: The bytes that were written so far.
        is_lasting: Whether it is on its disk once it is closed, if that is one of this machine.
    """

    __slots__ = ("_begun", "_location", "_stream", "is_lasting", "path", "size")

    def __init__(self, path: str, location: Location, *, is_lasting: bool = True) -> None:
        self.path = path
        self.size = 0
        self.is_lasting = is_lasting
        self._begun = 0
        self._location = location
        with writing_errors(location.path):
            self._stream = _opened(location)

    @property
    def handle(self) -> RelativeFile:
        """What refers to the file, once it is written."""
        return RelativeFile(self.path, self.size)

    def write(self, data: bytes | bytearray | memoryview | pa.Buffer) -> None:
        """Appends bytes.

        Raises:
            SavepointError: The file system does not take them.
        """
        with writing_errors(self._location.path):
            self._stream.write(data)
        self.size += memoryview(data).nbytes
        self._begin_writing()

    def copy(self, stored: StoredRange) -> None:
        """Appends bytes of another file, if both are of this machine.

        Raises:
            SavepointError: The file system does not take them.
            TruncatedError: The other file has become shorter.
        """
        path, done = stored.location.path, 0
        with writing_errors(self._location.path), open(path, "rb", buffering=0) as source:
            self._stream.flush()
            while done < stored.size:
                size = min(_WRITTEN_AT_ONCE, stored.size - done)
                start = stored.start + done
                copied = copy_range(source.fileno(), self._stream.fileno(), start, size)
                self.size += copied
                done += copied
                self._begin_writing()
                if copied < size:
                    message = f"the file ends here, expected {stored.size - done} bytes more"
                    raise TruncatedError(message, path, stored.start + done)

    def _begin_writing(self) -> None:
        """Has the disk begin with what is there already, so that less is left when the file ends."""
        is_due = self.is_lasting and self.size - self._begun >= _WRITTEN_AT_ONCE
        if is_due and self._location.is_local:
            begin_writing(self._stream.fileno(), self._begun, self.size - self._begun)
            self._begun = self.size

    def tell(self) -> int:
        """The position of the next byte."""
        return self.size

    def close(self) -> None:
        """Ends the file.

        Raises:
            SavepointError: The file system does not take what is left.
        """
        with writing_errors(self._location.path):
            self._stream.close()
            if self.is_lasting and self._location.is_local:
                sync(self._location.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        with suppress(OSError):
            self._stream.close()
        with suppress(OSError):
            self._location.filesystem.delete_file(self._location.path)


def _opened(location: Location) -> BufferedWriter | pa.NativeFile:
    """A stream to a new file."""
    if location.is_local:
        return open(location.path, "wb", buffering=_LOCAL_BUFFER_SIZE)  # NewFile closes it
    return location.filesystem.open_output_stream(
        location.path, compression=None, buffer_size=_BUFFER_SIZE
    )


@contextmanager
def writing_errors(path: str) -> Iterator[None]:
    """Says where it is that a file system refuses something."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise SavepointError(f"{path} can't be written: {error}") from error
