"""Finds the files of a snapshot on any file system of pyarrow.

A handle names a file relative to the directory of ``_metadata``, by an absolute path, or holds
the bytes itself. An absolute path breaks when a directory is moved: then the file is looked for
beside the directory and above it, by ever shorter ends of its path.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from pyarrow import fs

from savepoint_formats.errors import NotASavepointError, SavepointNotFoundError, UnreachableError
from savepoint_formats.locations.location import Location, is_local
from savepoint_formats.locations.path_rules import PathRules, is_below, is_own, real_path
from savepoint_formats.locations.state_file import OpenedFile, StateFile
from savepoint_formats.locations.stored_object import MAX_KEPT_SIZE
from savepoint_formats.locations.stores import (
    path_in_store,
    path_of,
    reading_errors,
    scheme_of,
    store_of,
)
from savepoint_formats.metadata.stream_handles import (
    EmptySegment,
    InlineStream,
    KeyGroupsStream,
    RelativeFile,
    SegmentStream,
    StreamHandle,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    _Range = tuple[int, int] | None

METADATA_FILE = "_metadata"

MAX_METADATA_SIZE = 1 << 30
"""More than any job manager wrote: handles have at most 1 MiB of state inline each."""

# The first request, when the size is not known yet: the whole file, except for the largest jobs.
_FIRST_METADATA = 8 << 20

# A checkpoint is <base>/<job>/chk-<n>; its files lie in <job>/shared, <job>/taskowned, or in a
# sibling of <job>. Higher up, a file of the same tail would be another job's.
_ANCESTORS = 3


@dataclass(slots=True)
class SnapshotDirectory:
    """The directory that holds ``_metadata``, and how handles lead from it to files.

    ``uri`` is the user's name for it.
    """

    location: Location
    uri: str
    rules: PathRules = field(default_factory=PathRules)
    _metadata: OpenedFile = field(default_factory=OpenedFile)
    _files: dict[str, StateFile] = field(default_factory=dict)
    _folders: dict[str, bool] = field(default_factory=dict)
    _unreachable: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, path: str, rules: PathRules | None = None) -> Self:
        """The directory at ``path``, which may name the ``_metadata`` file itself.

        Raises:
            SavepointNotFoundError: There is nothing.
            NotASavepointError: It is a file of another name.
            UnreachableError: Its file system is unknown, refuses, or does not answer.
        """
        uri, rules = path.rstrip("/") or "/", rules or PathRules()
        metadata = OpenedFile((0, _FIRST_METADATA))

        def has_metadata(filesystem: fs.FileSystem, path: str) -> bool:
            # In S3, a directory exists if its ``_metadata`` does.
            if filesystem.type_name != "s3" or posixpath.basename(path) == METADATA_FILE:
                return False
            return metadata.has_bytes(Location(filesystem, posixpath.join(path, METADATA_FILE)))

        location = Location.of(uri, has_metadata)
        with reading_errors(path):
            if has_metadata(location.filesystem, location.path):
                return cls(location, uri, rules, metadata)
            info = location.filesystem.get_file_info(location.path)
        if info.type == fs.FileType.NotFound:
            raise SavepointNotFoundError(f"{path} does not exist")
        if info.type == fs.FileType.Directory:
            return cls(location, uri, rules)
        if posixpath.basename(location.path) != METADATA_FILE:
            raise NotASavepointError(
                f"{path} is a file; expected a savepoint's directory or its {METADATA_FILE} file"
            )
        parent = Location(location.filesystem, posixpath.dirname(location.path))
        return cls(parent, posixpath.dirname(uri) or ".", rules)

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, which answers at once."""
        return self.location.is_local

    @property
    def absolute_uri(self) -> str:
        """A path or URI that doesn't depend on the working directory."""
        return self.location.path if is_local(self.uri) else self.uri

    @property
    def metadata_path(self) -> str:
        """The path of ``_metadata`` in errors."""
        return posixpath.join(self.uri, METADATA_FILE)

    def read_metadata(self) -> bytes:
        """The bytes of ``_metadata``; ``SavepointNotFoundError`` if the directory has none."""
        location = self._below(METADATA_FILE)
        opened, self._metadata = self._metadata, OpenedFile()
        size = opened.size_of(location)
        if size is None:
            raise SavepointNotFoundError(
                f"{self.uri} has no {METADATA_FILE} file: it is not a savepoint or checkpoint,"
                " or did not complete"
            )
        if size > MAX_METADATA_SIZE:
            raise NotASavepointError(
                f"{self.metadata_path} has {size:,} bytes, and {MAX_METADATA_SIZE:,} are read at most:"
                " Flink keeps all of it in memory, so the file is damaged or not Flink's"
            )
        file = StateFile(self.metadata_path, location=location, opened=opened)
        return file.read(0, MAX_METADATA_SIZE)

    @property
    def is_deleted(self) -> bool:
        """Whether ``_metadata``, which was read, is gone by now."""
        return self._below(METADATA_FILE).file_size() is None

    def list_files(self) -> dict[str, int]:
        """Maps the path of each file below the directory to its size in bytes."""
        selector = fs.FileSelector(self.location.path, allow_not_found=True, recursive=True)
        with reading_errors(self.uri):
            infos = self.location.filesystem.get_file_info(selector)
        return {
            posixpath.relpath(info.path, self.location.path): info.size
            for info in infos
            if info.type == fs.FileType.File
        }

    def relative(self, location: Location) -> str:
        """The path of a file relative to the directory, or its whole path if it lies elsewhere."""
        below = posixpath.relpath(location.path, self.location.path)
        return location.path if below.startswith("..") else below

    def file(self, handle: StreamHandle, *, head: int = 0, tail: int = 0) -> StateFile:
        """The file of a handle; its ``location`` is None if the file is missing.

        ``head`` and ``tail`` are the numbers of first or last bytes that the caller is going to read.
        """
        if isinstance(handle, InlineStream):
            return StateFile(handle.name, data=handle.data)
        if isinstance(handle, EmptySegment):
            return StateFile("(empty)", data=b"")
        if isinstance(handle, KeyGroupsStream):
            return self.file(handle.stream, head=head, tail=tail)
        start = handle.start if isinstance(handle, SegmentStream) else 0
        first = _first_range(start, handle.size, head, tail)
        path = handle.path
        if path not in self._files:
            is_relative = isinstance(handle, RelativeFile)
            candidates = [self._below(path)] if is_relative else self._candidates(path)
            self._files[path] = self._first_of(candidates, path, first)
        whole = self._files[path]
        if isinstance(handle, SegmentStream):
            return replace(whole, start=start, size=handle.size)
        return replace(whole, declared_size=handle.size)

    def _below(self, path: str) -> Location:
        # As Flink does: the path may begin with "..", which object stores take for a name.
        below = posixpath.normpath(posixpath.join(self.location.path, path))
        return Location(self.location.filesystem, below)

    def _first_of(self, candidates: Iterable[Location], path: str, first: _Range) -> StateFile:
        """The first of the candidates that is a file and may be followed."""
        problem = ""
        for candidate in candidates:
            if self.rules.is_strict and not self._is_own(candidate):
                problem = problem or _STRICT
                continue
            opened = OpenedFile(first)
            try:
                size = self._size_of(candidate, opened)
            except UnreachableError as error:
                problem = problem or str(error)
                continue
            if size is not None:
                return StateFile(
                    self._path_of(candidate, path),
                    location=candidate,
                    is_own=self._is_own(candidate),
                    opened=opened,
                    named=path,
                )
        try:
            allowed = self._allowed(path)
        except UnreachableError as error:
            return StateFile(path, problem=str(error))
        if allowed is not None and allowed.file_size() is not None:
            return StateFile(path, location=allowed)
        if store_of(path) != store_of(self.uri):
            problem = problem or _elsewhere(path)
        return StateFile(path, problem=problem, is_deleted=not problem and self.is_deleted)

    def _path_of(self, file: Location, named: str) -> str:
        """The path of a file for errors; a handle may name where it was before a move."""
        scheme = scheme_of(self.uri)
        is_there = store_of(named) == store_of(self.uri) and path_in_store(named) == file.path
        if is_there or file == self._below(named) or scheme not in _PATHS:
            return named
        return _PATHS[scheme] + file.path

    def _size_of(self, candidate: Location, opened: OpenedFile) -> int | None:
        folder = Location(candidate.filesystem, posixpath.dirname(candidate.path))
        if not self._folders.get(folder.path, True):
            return None
        size = opened.size_of(candidate)
        if size is None and folder.path not in self._folders:
            # A moved savepoint has many files from few folders.
            self._folders[folder.path] = folder.is_directory()
        return size

    def _is_own(self, file: Location) -> bool:
        """Whether a file of the savepoint's store lies in its directories or in allowed ones."""
        allowed = (
            Location(self.location.filesystem, path_in_store(prefix.partition("?")[0]))
            for prefix in self.rules.allowed
            if store_of(prefix) == store_of(self.uri)
        )
        path = real_path(file)
        return is_own(file, self.location) or any(
            is_below(path, real_path(location)) for location in allowed
        )

    def _allowed(self, path: str) -> Location | None:
        """Location of a file of another store, if the user allows that store.

        Raises ``UnreachableError`` if the store does not answer; then it is not asked again.
        """
        prefix_and_rest, store = self.rules.prefix_of(path), store_of(path)
        if prefix_and_rest is None or store == store_of(self.uri):
            return None
        if store in self._unreachable:
            raise UnreachableError(self._unreachable[store])
        prefix, rest = prefix_and_rest
        try:
            file = self._through(prefix, rest)
            file.file_size()
        except UnreachableError as error:
            self._unreachable[store] = str(error)
            raise
        is_inside = is_below(real_path(file), real_path(self._through(prefix, ".")))
        return file if is_inside else None

    def _through(self, prefix: str, rest: str) -> Location:
        """A file below an allowed prefix, which may contain options of its store."""
        if "?" not in prefix and scheme_of(prefix) == scheme_of(self.uri) == "s3":
            # The directory's file system carries the endpoint and the credentials.
            directory = Location(self.location.filesystem, path_in_store(prefix))
        else:
            directory = Location.of(prefix)
        path = posixpath.normpath(posixpath.join(directory.path, rest))
        return Location(directory.filesystem, path)

    def _candidates(self, path: str) -> Iterator[Location]:
        """Locations that a file with an absolute path may have: the path, and below moved directories."""
        if store_of(path) == store_of(self.uri):
            yield Location(self.location.filesystem, path_in_store(path))
        parts = [part for part in path_of(path).split("/") if part]
        ancestor = self.location.path
        for _ in range(_ANCESTORS):
            for start in range(len(parts)):
                yield Location(self.location.filesystem, posixpath.join(ancestor, *parts[start:]))
            ancestor = posixpath.dirname(ancestor)


def _first_range(start: int, size: int, head: int, tail: int) -> _Range:
    """The range of a handle's bytes that is requested first: all of them if they are few."""
    if max(head, tail) <= 0 or size <= 0:
        return None
    if size <= max(tail, MAX_KEPT_SIZE):
        return start, start + size
    if not head:
        return start + size - tail, start + size
    # A longer header takes a second request.
    return start, start + min(head, MAX_KEPT_SIZE)


_STRICT = (
    "strict paths follow nothing out of the savepoint's own directories except into allowed ones"
    " (--allow-path, allow_paths)"
)


_PATHS = {"file": "", "s3": "s3://", "gs": "gs://"}
"""Scheme -> the text in front of a path on a store, where that makes a URI."""


def _elsewhere(path: str) -> str:
    scheme, host = store_of(path)
    prefix = posixpath.dirname(path_of(path)) if scheme == "file" else f"{scheme}://{host}"
    return (
        "it is on another store than the savepoint, which is read only if you allow it"
        f" (--allow-path {prefix}, allow_paths)"
    )
