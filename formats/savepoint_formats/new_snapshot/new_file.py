"""A file of a snapshot that is being written, on any file system of pyarrow.

Local files are written by system calls, which copy ranges of other files outside of this process.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from savepoint_formats.errors import SavepointError, TruncatedError
from savepoint_formats.metadata import RelativeFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedWriter

    from pyarrow import fs

    from savepoint_formats.locations.location import Location


_CHUNK_SIZE = 8 << 20


def renames_files(filesystem: fs.FileSystem) -> bool:
    """Whether a file system has directories, and renames a file as a single step.

    Other file systems are object stores, where a copy by the store appears as a whole.
    """
    return filesystem.type_name in ("local", "hdfs")


def name_unused(written: str, name: str) -> None:
    """Names a local file. Raises ``FileExistsError`` if another file has this name already."""
    try:
        os.link(written, name)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no links.
        os.rename(written, name)


def sync(path: str) -> None:
    """Waits until a file or directory is on its disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directories(path: str) -> None:
    """Waits until a directory is on its disk, with those above it, which may be new too."""
    sync(path)
    for above in Path(path).parents:
        # Directories that this user can't read are not new.
        with suppress(PermissionError):
            sync(str(above))


def begin_writing(file: int, start: int, size: int) -> None:
    """Makes the system start writing a range of a file to disk, and does not wait."""
    # Linux writes ranges that aren't needed in memory. Not every system has this call.
    with suppress(AttributeError, OSError):
        os.posix_fadvise(file, start, size, os.POSIX_FADV_DONTNEED)


def copy_range(source: int, target: int, start: int, size: int) -> int:
    """Appends a range of ``source`` to ``target``, and returns the number of bytes in it.

    Both are descriptors. The system copies by itself if it can.
    """
    copied = 0
    while copied < size and (more := _copied(source, target, start + copied, size - copied)):
        copied += more
    return copied


def _copied(source: int, target: int, start: int, size: int) -> int:
    # Not every system has this call, nor does it work between all file systems.
    with suppress(AttributeError, OSError):
        return os.copy_file_range(source, target, size, offset_src=start)
    return os.write(target, os.pread(source, min(size, _CHUNK_SIZE), start))


@dataclass(frozen=True, slots=True)
class StoredRange:
    """A range of bytes of a file."""

    location: Location
    start: int
    size: int

    def is_followed_by(self, other: StoredRange) -> bool:
        """Whether the other range begins where this one ends."""
        return self.location == other.location and self.start + self.size == other.start

    def first(self, size: int) -> StoredRange:
        """Its first ``size`` bytes."""
        return StoredRange(self.location, self.start, size)

    def behind(self, size: int) -> StoredRange:
        """The range without its first ``size`` bytes."""
        return StoredRange(self.location, self.start + size, self.size - size)


LARGEST_COPY_SIZE = 5 << 30
"""The largest file that S3 copies in one request."""

_BUFFER_SIZE = 1 << 20
_LOCAL_BUFFER_SIZE = 128 << 10
_WRITTEN_AT_ONCE = 8 << 20


class NewFile:
    """A data file that is being written; an exception in ``with`` removes it.

    ``path`` is relative to the directory, as in a handle. ``size`` counts bytes written so far. A local
    file with ``is_lasting`` has reached its disk when it is closed. ``on_close`` is called then.
    """

    __slots__ = ("_begun", "_location", "_on_close", "_stream", "is_lasting", "path", "size")

    def __init__(
        self,
        path: str,
        location: Location,
        *,
        is_lasting: bool = True,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.path = path
        self.size = 0
        self.is_lasting = is_lasting
        self._on_close = on_close
        self._begun = 0
        self._location = location
        with writing_errors(location.path):
            self._stream = _opened(location)

    @property
    def handle(self) -> RelativeFile:
        return RelativeFile(self.path, self.size)

    def write(self, data: bytes | bytearray | memoryview | pa.Buffer) -> None:
        """Appends bytes. Raises ``SavepointError`` if the file system refuses them."""
        with writing_errors(self._location.path):
            self._stream.write(data)
        self.size += memoryview(data).nbytes
        self._begin_writing()

    def copy(self, stored: StoredRange) -> None:
        """Appends bytes of a local file to a local file. Raises ``TruncatedError``."""
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
        """Starts writing to disk, so less remains when the file is closed."""
        is_due = self.is_lasting and self.size - self._begun >= _WRITTEN_AT_ONCE
        if is_due and self._location.is_local:
            begin_writing(self._stream.fileno(), self._begun, self.size - self._begun)
            self._begun = self.size

    def tell(self) -> int:
        """The position of the next byte."""
        return self.size

    def close(self) -> None:
        """Writes the rest. Raises ``SavepointError`` if the file system refuses it."""
        with writing_errors(self._location.path):
            self._stream.close()
            if self.is_lasting and self._location.is_local:
                sync(self._location.path)
        if self._on_close is not None:
            self._on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        self.discard()

    def discard(self) -> None:
        """Closes and removes the file, as far as the file system lets it."""
        with suppress(OSError):
            self._stream.close()
        with suppress(OSError):
            self._location.filesystem.delete_file(self._location.path)


def _opened(location: Location) -> BufferedWriter | pa.NativeFile:
    if location.is_local:
        return open(location.path, "wb", buffering=_LOCAL_BUFFER_SIZE)  # NewFile closes it
    return location.filesystem.open_output_stream(
        location.path, compression=None, buffer_size=_BUFFER_SIZE
    )


@contextmanager
def writing_errors(path: str) -> Iterator[None]:
    """Turns errors of a file system into a ``SavepointError`` with the path."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise SavepointError(f"{path} can't be written: {error}") from error
