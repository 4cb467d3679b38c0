"""Where the files of a snapshot are, on any file system of pyarrow.

A handle names a file relative to the directory of ``_metadata``, by an absolute path, or holds
the bytes itself. An absolute path breaks when a directory is moved: then the file is looked for
where the same tail of its path lies beside, or above, the directory.
"""

from __future__ import annotations

import os
import posixpath
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from savepoint_formats.errors import (
    NotASavepointError,
    SavepointNotFoundError,
    StateFileNotFoundError,
    TruncatedError,
)
from savepoint_formats.metadata.stream_handles import (
    EmptySegment,
    FileStream,
    InlineStream,
    KeyGroupsStream,
    RelativeFile,
    SegmentStream,
    StreamHandle,
)
from savepoint_formats.own_directories import OwnDirectories
from savepoint_formats.stores import failures_told, remote_file_system, scheme_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

METADATA_FILE = "_metadata"

MAX_METADATA_SIZE = 1 << 30
"""More than any job manager wrote: it has state inline of at most 1 MiB for each handle."""

# A checkpoint is <base>/<job>/chk-<n>; its files lie in <job>/shared, <job>/taskowned, or in a
# sibling of <job>. Higher up, a file of the same tail would be another job's.
_ANCESTORS = 3


@dataclass(frozen=True, slots=True)
class Location:
    """A path on a file system; small and picklable."""

    filesystem: fs.FileSystem
    path: str

    @classmethod
    def of(cls, uri: str) -> Self:
        """The location of a local path or a URI (``file:``, ``s3:``, ``hdfs:``, ``gs:``...).

        Raises:
            UnreachableError: The file system of this scheme is not known, or does not answer.
        """
        if scheme_of(uri) == "file":
            path = urlsplit(uri).path if uri.startswith("file:") else uri
            return cls(fs.LocalFileSystem(), os.path.abspath(path))
        return cls(*remote_file_system(uri))

    def file_size(self) -> int | None:
        """The size in bytes of the file that is there; None if there is none.

        Raises:
            UnreachableError: The file system does not tell.
        """
        if "\0" in self.path:
            # No file has such a path; it comes from a damaged handle.
            return None
        with failures_told(self.path):
            info = self.filesystem.get_file_info(self.path)
        return int(info.size) if info.type == fs.FileType.File else None


@dataclass(frozen=True, slots=True)
class StateFile:
    """A file, or a piece of one, that a handle leads to.

    Attributes:
        path: Its path, or the name of inline bytes; what errors and listings show.
        data: The bytes, if they lie in ``_metadata``.
        location: Where it is, if it is a file that is there.
        start: First byte of the piece.
        size: Bytes of the piece; None = to the end of the file.
        is_own: Whether it lies in a directory of the savepoint's own.
    """

    path: str
    data: bytes | None = None
    location: Location | None = None
    start: int = 0
    size: int | None = None
    is_own: bool = True

    def length(self) -> int:
        """The number of bytes.

        Raises:
            StateFileNotFoundError: The file is gone.
        """
        if self.data is not None:
            return len(self.data)
        if self.size is not None:
            return self.size
        size = None if self.location is None else self.location.file_size()
        if size is None:
            raise self._missing()
        return size

    def read(self, start: int = 0, end: int | None = None) -> bytes:
        """The bytes from ``start`` to ``end``, or as many as there are.

        Raises:
            StateFileNotFoundError: The file is gone.
            UnreachableError: It can't be read.
        """
        if self.data is not None:
            return self.data[start:end]
        limit = self.size if end is None else end if self.size is None else min(end, self.size)
        with self._opened() as file:
            # A damaged handle may lead anywhere.
            file.seek(min(self.start + start, file.size()))
            return bytes(file.read(None if limit is None else max(limit - start, 0)))

    def chunks(self, size: int) -> Iterator[pa.Buffer]:
        """The bytes of a file, so many at a time, for who is to pass them on.

        Raises:
            StateFileNotFoundError: The file is gone.
            UnreachableError: It can't be read.
            TruncatedError: It ends before the piece does.
        """
        with self._opened() as file:
            end = file.size() if self.size is None else self.start + self.size
            file.seek(self.start)
            while file.tell() < end:
                chunk = file.read_buffer(min(size, end - file.tell()))
                if not chunk.size:
                    raise TruncatedError("the file ends here", self.path, file.tell())
                yield chunk

    @contextmanager
    def _opened(self) -> Iterator[pa.NativeFile]:
        """The whole file, whatever piece of it is meant."""
        if self.location is None:
            raise self._missing()
        with failures_told(self.path):
            try:
                with self.location.filesystem.open_input_file(self.location.path) as file:
                    yield file
            except FileNotFoundError as error:
                raise self._missing() from error

    def _missing(self) -> StateFileNotFoundError:
        return StateFileNotFoundError(
            f"{self.path} does not exist, nor does a file of its name beside _metadata;"
            " copy it there, or restore it where it was"
        )


@dataclass(slots=True)
class SnapshotDirectory:
    """The directory that holds ``_metadata``, and how handles lead from it to files.

    Attributes:
        location: The directory.
        uri: What the user called it.
    """

    location: Location
    uri: str
    _found: dict[str, StateFile] = field(default_factory=dict)

    @classmethod
    def of(cls, path: str) -> Self:
        """The directory at ``path``, which may name the ``_metadata`` file itself.

        Raises:
            SavepointNotFoundError: There is nothing, or no ``_metadata`` in it.
            NotASavepointError: It is a file of another name.
            UnreachableError: Its file system is not known, refuses, or does not answer.
        """
        uri = path.rstrip("/") or "/"
        location = Location.of(uri)
        with failures_told(path):
            info = location.filesystem.get_file_info(location.path)
        if info.type == fs.FileType.NotFound:
            raise SavepointNotFoundError(f"{path} does not exist")
        if info.type == fs.FileType.Directory:
            return cls(location, uri)
        if posixpath.basename(location.path) != METADATA_FILE:
            raise NotASavepointError(
                f"{path} is a file; expected a savepoint's directory or its {METADATA_FILE} file"
            )
        parent = Location(location.filesystem, posixpath.dirname(location.path))
        return cls(parent, posixpath.dirname(uri) or ".")

    @property
    def metadata_path(self) -> str:
        """What errors call the ``_metadata`` file."""
        return posixpath.join(self.uri, METADATA_FILE)

    def read_metadata(self) -> bytes:
        """The bytes of ``_metadata``.

        Raises:
            SavepointNotFoundError: The directory has none.
            NotASavepointError: It is larger than any that Flink writes.
        """
        location = self._below(METADATA_FILE)
        size = location.file_size()
        if size is None:
            raise SavepointNotFoundError(
                f"{self.uri} has no {METADATA_FILE} file: it is no savepoint or checkpoint,"
                f" or one that did not complete{self._hint()}"
            )
        if size > MAX_METADATA_SIZE:
            raise NotASavepointError(
                f"{self.metadata_path} has {size:,} bytes, and {MAX_METADATA_SIZE:,} are read at most:"
                " Flink keeps all of it in memory, so that this is damaged or none of Flink's"
            )
        return StateFile(self.metadata_path, location=location).read(0, MAX_METADATA_SIZE)

    def _hint(self) -> str:
        """Where a ``_metadata`` file is one level below, as in the folder of a job."""
        with failures_told(self.uri):
            infos = self.location.filesystem.get_file_info(fs.FileSelector(self.location.path))
        found = [
            info.base_name
            for info in infos
            if self._below(f"{info.base_name}/{METADATA_FILE}").file_size() is not None
        ]
        return f"; {', '.join(sorted(found))} in it has one" if found else ""

    def list_files(self) -> dict[str, int]:
        """Path below the directory -> size in bytes, of all files in it."""
        selector = fs.FileSelector(self.location.path, allow_not_found=True, recursive=True)
        with failures_told(self.uri):
            infos = self.location.filesystem.get_file_info(selector)
        return {
            posixpath.relpath(info.path, self.location.path): info.size
            for info in infos
            if info.type == fs.FileType.File
        }

    def relative(self, location: Location) -> str:
        """The path of a file as seen from the directory, or its whole path if it is not in it."""
        below = posixpath.relpath(location.path, self.location.path)
        return location.path if below.startswith("..") else below

    def file(self, handle: StreamHandle) -> StateFile:
        """What ``handle`` leads to; its ``location`` is None if that file is missing."""
        match handle:
            case InlineStream(name, data):
                return StateFile(name, data=data)
            case EmptySegment():
                return StateFile("(empty)", data=b"")
            case KeyGroupsStream(_, stream):
                return self.file(stream)
            case RelativeFile(path):
                return self._existing(path, [self._below(path)])
            case FileStream(_, path):
                return self._existing(path, self._candidates(path))
            case SegmentStream(start, size, _, path):
                whole = self._existing(path, self._candidates(path))
                return replace(whole, start=start, size=size)

    def _below(self, path: str) -> Location:
        return Location(self.location.filesystem, posixpath.join(self.location.path, path))

    def _existing(self, path: str, candidates: Iterable[Location]) -> StateFile:
        """The first of the candidates that is a file."""
        if path not in self._found:
            found = (candidate for candidate in candidates if candidate.file_size() is not None)
            location = next(found, None)
            is_own = location is not None and OwnDirectories.of(self.location).has(location)
            self._found[path] = StateFile(path, location=location, is_own=is_own)
        return self._found[path]

    def _candidates(self, path: str) -> Iterator[Location]:
        """Where a file of an absolute path may be: there, or where its directory was moved to.

        A path on another file system is tried last: it may well be one that this machine can't
        reach, and takes minutes to find that out.
        """
        is_same_kind = scheme_of(path) == scheme_of(self.uri)
        if is_same_kind:
            yield self._absolute(path)
        parts = [part for part in urlsplit(path).path.split("/") if part]
        ancestor = self.location.path
        for _ in range(_ANCESTORS):
            for start in range(len(parts)):
                yield Location(self.location.filesystem, posixpath.join(ancestor, *parts[start:]))
            ancestor = posixpath.dirname(ancestor)
        if not is_same_kind:
            yield Location.of(path)

    def _absolute(self, path: str) -> Location:
        """The location of an absolute path that has the directory's own scheme."""
        if scheme_of(path) != "s3":
            return Location.of(path)
        # The directory's file system carries the endpoint and the credentials.
        parts = urlsplit(path)
        return Location(self.location.filesystem, parts.netloc + parts.path)
