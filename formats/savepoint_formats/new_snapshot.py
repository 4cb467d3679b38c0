"""The directory of a snapshot that is being written.

Data files come first, each under a name that no other attempt at it has; ``_metadata`` comes last
and all at once. So a directory with a ``_metadata`` is whole, whenever the writer dies; and where a
savepoint is replaced, it stays whole until the new one is.
"""

from __future__ import annotations

import os
import posixpath
import re
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from pyarrow import fs

from savepoint_formats.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import (
    NotASavepointError,
    SavepointError,
    SavepointExistsError,
    StateFileNotFoundError,
)
from savepoint_formats.file_io import METADATA_FILE, Location, SnapshotDirectory
from savepoint_formats.metadata import CheckpointMetadata, KeyGroupsStream, RelativeFile
from savepoint_formats.metadata.references import stream_references
from savepoint_formats.new_file import NewFile, refusals_told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from savepoint_formats.metadata import StreamHandle

_LONGEST_NAME = 100

# What the file systems of this name show is what was written so far; the others show a file once
# it is closed. Both replace one file by another as a single step.
_SHOWS_UNFINISHED = {"local", "hdfs"}

# <what it is for>-<id of the write>-<id of the attempt>
_ID_SIZE = 16
_OF_A_WRITE = re.compile(rf"-([0-9a-f]{{{_ID_SIZE}}})-[0-9a-f]{{{_ID_SIZE}}}$")


def _unique() -> str:
    return uuid4().hex[:_ID_SIZE]


class WriteMode(StrEnum):
    """What is done where a savepoint lies already."""

    ERROR = "error"
    OVERWRITE = "overwrite"


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """The directory of a snapshot that is being written; small and picklable.

    As a context it removes what it wrote if it is left by an exception.

    Attributes:
        uri: What the user called it.
        location: The directory.
        mode: What is done where a savepoint lies already.
        write_id: Part of the name of each file of this write, and of no other's.
    """

    uri: str
    location: Location
    mode: WriteMode
    write_id: str = field(default_factory=_unique)

    @classmethod
    def at(cls, path: str, mode: WriteMode | str = WriteMode.ERROR) -> Self:
        """A snapshot that is to be written at ``path``. Writes nothing yet.

        Args:
            path: A directory that is empty, or not there yet; a local path, or a URI of a file
                system that pyarrow knows.
            mode: ``overwrite`` if a savepoint that lies there is to be replaced.

        Raises:
            SavepointExistsError: A savepoint lies there, and it is not to be replaced.
            NotASavepointError: Something lies there that is no savepoint.
        """
        mode, uri = WriteMode(mode), path.rstrip("/") or "/"
        snapshot = cls(uri, Location.of(uri), mode)
        with refusals_told(path):
            info = snapshot.location.filesystem.get_file_info(snapshot.location.path)
            if info.type == fs.FileType.File:
                raise NotASavepointError(f"{path} is a file; name a directory to write to")
            if not snapshot.has_metadata():
                snapshot._expect_empty()
            elif mode is WriteMode.ERROR:
                raise _exists(path)
        return snapshot

    def _expect_empty(self) -> None:
        selector = fs.FileSelector(self.location.path, allow_not_found=True)
        infos = self.location.filesystem.get_file_info(selector)
        # What is not ours comes first: it is the reason to leave the directory alone.
        found = sorted(
            (info.base_name for info in infos), key=lambda one: (_is_of_a_write(one), one)
        )
        if found:
            is_ours = _is_of_a_write(found[0])
            raise NotASavepointError(
                f"{self.uri} has no {METADATA_FILE}, but {found[0]}: it is "
                + ("what a write that did not complete has left" if is_ours else "no savepoint")
                + "; name another directory, or remove this one first"
            )

    @property
    def _directory(self) -> SnapshotDirectory:
        # Not kept: it remembers where files are, and here they come and go.
        return SnapshotDirectory(self.location, self.uri)

    def has_metadata(self) -> bool:
        """Whether a savepoint lies there now."""
        return self._below(METADATA_FILE).file_size() is not None

    def create(self, name: str) -> NewFile:
        """Begins a data file, on the driver or in a task.

        Args:
            name: What the file is for; what is behind it in the file's name makes that unique.

        Raises:
            SavepointError: The file system does not let it.
        """
        self._make_directory()
        path = self._unused_path(name)
        return NewFile(path, self._below(path))

    @property
    def is_local(self) -> bool:
        """Whether it is in a directory of the machine, or one that is mounted there."""
        return bool(self.location.filesystem.type_name == "local")

    def open(self, path: str) -> pa.NativeFile:
        """Opens a file of this write again.

        Args:
            path: Its path below the directory.

        Raises:
            OSError: It is not there, or can't be read.
        """
        return self.location.filesystem.open_input_file(self._below(path).path)

    def copy_of(self, file: Location, name: str) -> str:
        """Copies a whole file of the same file system; an object store does that by itself.

        Args:
            file: Where it is.
            name: As for ``create``.

        Returns:
            The path of the copy below the directory.

        Raises:
            SavepointError: The file system does not let it.
        """
        self._make_directory()
        path = self._unused_path(name)
        with refusals_told(self._below(path).path):
            self.location.filesystem.copy_file(file.path, self._below(path).path)
        return path

    def _unused_path(self, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_.]+", "-", name)[:_LONGEST_NAME]
        return f"{plain}-{self.write_id}-{_unique()}"

    def commit(self, metadata: CheckpointMetadata) -> dict[str, int]:
        """Makes the directory a savepoint: writes ``_metadata``, after all data files.

        Files of this write that ``metadata`` does not refer to are removed, for they come from
        attempts that failed. The files of a savepoint that is replaced are removed at the end.

        Returns:
            Path below the directory -> size in bytes, of the files of the savepoint.

        Raises:
            StateFileNotFoundError: ``metadata`` refers to files that are not there.
            SavepointExistsError: A savepoint came to lie there meanwhile.
        """
        view = DataOutputView()
        metadata.write(view)
        needed = _relative_files(metadata)
        with refusals_told(self.uri):
            self._make_directory()
            present = self._directory.list_files()
            self._expect_all(needed, present)
            if METADATA_FILE in present and self.mode is WriteMode.ERROR:
                raise _exists(self.uri)
            replaced = self._replaced(present)
            self._remove(path for path in present.keys() - needed if self._is_mine(path))
            self._write_metadata(view.to_bytes())
        # The savepoint is there: what can't be removed now is no reason to say it is not.
        with suppress(OSError):
            self._remove(replaced - needed)
        return {METADATA_FILE: view.position, **{path: present[path] for path in needed}}

    def abort(self) -> None:
        """Removes all files of this write, but those of a ``_metadata`` that it wrote."""
        with refusals_told(self.uri):
            present = self._directory.list_files().keys()
            self._remove(path for path in present - self._referred() if self._is_mine(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # What went wrong first is what the user is to hear of.
            with suppress(SavepointError):
                self.abort()

    def _below(self, path: str) -> Location:
        return Location(self.location.filesystem, posixpath.join(self.location.path, path))

    def _is_mine(self, path: str) -> bool:
        found = _OF_A_WRITE.search(path)
        return found is not None and found[1] == self.write_id

    def _make_directory(self) -> None:
        # An object store has no directories; pyarrow would leave an empty object in their place.
        if self.location.filesystem.type_name in _SHOWS_UNFINISHED:
            with refusals_told(self.uri):
                self.location.filesystem.create_dir(self.location.path, recursive=True)

    def _expect_all(self, needed: Iterable[str], present: Iterable[str]) -> None:
        missing = sorted(set(needed) - set(present))
        if missing:
            raise StateFileNotFoundError(
                f"{self.uri} lacks {len(missing)} files that were written to it, e.g. {missing[0]};"
                " something else removes files there"
            )

    def _referred(self) -> frozenset[str]:
        """The files that the present ``_metadata`` refers to; none if it can't be read."""
        if not self.has_metadata():
            return frozenset()
        directory = self._directory
        try:
            view = DataInputView(directory.read_metadata(), directory.metadata_path)
            files = map(directory.file, _streams(CheckpointMetadata.read(view)))
            return frozenset(directory.relative(file.location) for file in files if file.location)
        except SavepointError:
            # It is damaged, and perhaps to be replaced for that.
            return frozenset()

    def _replaced(self, present: Iterable[str]) -> frozenset[str]:
        """The files that nobody needs once ``_metadata`` is replaced.

        Of those that no ``_metadata`` refers to, only the remains of writes that did not complete:
        whatever else lies there was put there by somebody.
        """
        remains = {path for path in present if _is_of_a_write(path) and not self._is_mine(path)}
        return (self._referred() & set(present)) | remains

    def _remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            # Another attempt may remove it too.
            with suppress(FileNotFoundError):
                self.location.filesystem.delete_file(self._below(path).path)

    def _write_metadata(self, data: bytes) -> None:
        filesystem, final = self.location.filesystem, self._below(METADATA_FILE)
        if filesystem.type_name not in _SHOWS_UNFINISHED:
            with NewFile(METADATA_FILE, final) as file:
                file.write(data)
            return
        with self.create(METADATA_FILE) as file:
            file.write(data)
        written = self._below(file.path)
        if self.is_local:
            _sync(written.path)
        filesystem.move(written.path, final.path)
        if self.is_local:
            _sync(self.location.path)


def _is_of_a_write(path: str) -> bool:
    return _OF_A_WRITE.search(path) is not None


def _streams(metadata: CheckpointMetadata) -> Iterator[StreamHandle]:
    """The streams that ``metadata`` refers to."""
    for operator in metadata.operators:
        for reference in stream_references(operator):
            stream = reference.stream
            yield stream.stream if isinstance(stream, KeyGroupsStream) else stream


def _relative_files(metadata: CheckpointMetadata) -> frozenset[str]:
    streams = _streams(metadata)
    return frozenset(stream.path for stream in streams if isinstance(stream, RelativeFile))


def _exists(path: str) -> SavepointExistsError:
    return SavepointExistsError(
        f"{path} is a savepoint already; write to another directory, or overwrite it"
    )


def _sync(path: str) -> None:
    """Has a file or directory of this machine reach its disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
