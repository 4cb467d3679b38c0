"""The directory of a snapshot that is being written.

Data files come first, each under a unique name, and ``_metadata`` last, in a single step. So a
directory with ``_metadata`` is always complete, even if a write to it dies.

Of several writes to one directory, one completes: each checks in its turn that ``_metadata`` is
unchanged since it began. Then files of other writes are in no savepoint; those of dead ones go.

A task may outlive its write because Spark does not wait for all attempts. So a task that begins or
completes a file removes it if its write has no sign of life. A write removes spare files after it
took down its sign.
"""

from __future__ import annotations

import os
import posixpath
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Self

from pyarrow import fs

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import (
    NotASavepointError,
    SavepointError,
    SavepointExistsError,
    StateFileNotFoundError,
)
from savepoint_formats.locations.file_io import METADATA_FILE, SnapshotDirectory
from savepoint_formats.locations.location import Location
from savepoint_formats.metadata import CheckpointMetadata, RelativeFile
from savepoint_formats.metadata.references import streams_of
from savepoint_formats.new_snapshot.multipart_file import are_copied_by_store, assemble
from savepoint_formats.new_snapshot.new_file import (
    NewFile,
    name_unused,
    renames_files,
    sync,
    sync_directories,
    writing_errors,
)
from savepoint_formats.new_snapshot.signs_of_life import (
    claims,
    is_sign,
    remains_of,
    sign_of,
    sign_of_life,
    unused_id,
    unused_name,
    write_of,
)
from savepoint_formats.new_snapshot.turns import turn_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from savepoint_formats.new_snapshot.new_file import StoredRange

_REFUSALS = 2


class WriteMode(StrEnum):
    """Treatment of a savepoint that exists at the path."""

    ERROR = "error"
    OVERWRITE = "overwrite"


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """The directory of a snapshot that is being written; small and picklable.

    Attributes:
        uri: The path as the user wrote it.
        location: The directory.
        replaced: Identifies the ``_metadata`` that is replaced; None if there is none.
        write_id: Appears in the names of this write's files, and only there.
        is_begun: Whether the write has a sign of life, without which it makes no files.
    """

    uri: str
    location: Location
    replaced: str | None
    write_id: str = field(default_factory=unused_id)
    is_begun: bool = False
    _needed: list[frozenset[str]] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def at(cls, path: str, mode: WriteMode | str = WriteMode.ERROR) -> Self:
        """A snapshot that will be written at ``path``; nothing is written yet.

        Args:
            path: A directory that is empty or does not exist; a local path or a URI of pyarrow.
            mode: ``overwrite`` replaces a savepoint, or files that dead writes have left.

        Raises:
            SavepointExistsError: A savepoint exists and may not be replaced.
            NotASavepointError: Something else is there.
        """
        mode, uri = WriteMode(mode), path.rstrip("/") or "/"
        location = Location.of(uri)
        with writing_errors(path):
            if location.filesystem.get_file_info(location.path).type == fs.FileType.File:
                raise NotASavepointError(f"{path} is a file; name a directory to write to")
            snapshot = cls(uri, location, _version(location))
            if snapshot.replaced is None:
                snapshot._expect_empty(mode)
            elif mode is WriteMode.ERROR:
                raise _exists(path)
        return snapshot

    def _expect_empty(self, mode: WriteMode) -> None:
        present = self._present()
        living = claims(present.values(), is_local=self.is_local, now_ns=time.time_ns())
        remains = remains_of(present.values(), living)
        # Foreign files come first: they are the reason to leave the directory alone.
        names = sorted((write_of(name) is not None, name) for name in present.keys() - remains)
        if names:
            name, what = names[0][1], "no savepoint"
            way_out = "name another directory, or remove this one first"
            if claim := living.get(write_of(name) or ""):
                what, way_out = f"of a write {claim}", "or name another directory"
        elif remains and mode is WriteMode.ERROR:
            name, what = min(remains), "left over from a write that did not complete"
            way_out = "overwrite it, or name another directory"
        else:
            return
        raise NotASavepointError(
            f"{self.uri} has no {METADATA_FILE}, but {name}: it is {what}; {way_out}"
        )

    @contextmanager
    def begun(self) -> Iterator[Self]:
        """The snapshot while others see that its write is alive; an exception removes its files."""
        self._make_directory()
        with ExitStack() as sign:
            with writing_errors(self.uri):
                sign.enter_context(sign_of_life(self.write_id, self.location))
            try:
                yield replace(self, is_begun=True)
            except BaseException:
                sign.close()
                # The user needs the first error.
                with suppress(SavepointError):
                    self.abort()
                raise
        with suppress(OSError):
            for needed in self._needed:
                self._remove(path for path in self._present() if self._is_spare(path, needed))

    def create(self, name: str, *, is_lasting: bool = True) -> NewFile:
        """Begins a data file, on the driver or in a task.

        Its name is ``name`` and a unique end. A lasting file survives a loss of power.
        """
        self._make_directory()
        path = unused_name(name, self.write_id)
        done = partial(self._expect_alive, path)
        file = NewFile(path, self.below(path), is_lasting=is_lasting, on_close=done)
        if renames_files(self.location.filesystem):
            # Its name is there from now on, and a task that is killed would leave it.
            try:
                done()
            except SavepointError:
                file.discard()
                raise
        return file

    def _expect_alive(self, path: str) -> None:
        """Removes a file and raises ``SavepointError`` if the write has ended meanwhile."""
        if not self.is_begun:
            return
        with writing_errors(self.uri):
            sign = self.below(sign_of(self.write_id))
            if sign.filesystem.get_file_info(sign.path).type == fs.FileType.NotFound:
                self._remove([path])
                raise SavepointError(f"{self.uri}: {path} is too late, because its write has ended")

    @property
    def is_local(self) -> bool:
        """Whether it is in a directory of this machine, perhaps a mounted one."""
        return self.location.is_local

    def open(self, path: str) -> pa.NativeFile:
        """A file of this write, by its path below the directory."""
        return self.location.filesystem.open_input_file(self.below(path).path)

    def copy_of(self, file: Location, name: str) -> str:
        """Copies a file of the same file system, and returns its path below the directory."""
        self._make_directory()
        path = unused_name(name, self.write_id)
        copy = self.below(path).path
        with writing_errors(copy):
            self.location.filesystem.copy_file(file.path, copy)
            if self.is_local:
                sync(copy)
        self._expect_alive(path)
        return path

    def copies_from(self, files: Iterable[Location]) -> bool:
        """Whether ``assembled`` takes ranges of all of these files."""
        if self.is_local:
            return all(file.is_local for file in files)
        return are_copied_by_store((file.filesystem for file in files), self.location.filesystem)

    def assembled(self, name: str, head: bytes, ranges: Sequence[StoredRange]) -> str:
        """Writes ``head`` and ranges that the file system copies; returns the path below.

        ``copies_from`` must be true for the files. Raises ``TruncatedError`` if one is shorter now.
        """
        if not self.is_local:
            path = unused_name(name, self.write_id)
            assemble(self.below(path), head, ranges)
            self._expect_alive(path)
            return path
        with self.create(name) as file:
            file.write(head)
            for stored in ranges:
                file.copy(stored)
        return file.path

    def commit(self, metadata: CheckpointMetadata) -> dict[str, int]:
        """Writes ``_metadata`` after all data files, and returns path and size of the files.

        Files of this write that ``metadata`` does not refer to come from failed attempts and are
        removed. Files of a replaced savepoint are removed last.

        Raises:
            StateFileNotFoundError: ``metadata`` refers to files that do not exist.
            SavepointExistsError: Another savepoint has been written there meanwhile.
        """
        view = DataOutputView()
        metadata.write(view)
        streams = streams_of(metadata)
        needed = frozenset(file.path for file in streams if isinstance(file, RelativeFile))
        with writing_errors(self.uri):
            self._make_directory()
            self._expect_unchanged()
            present = self._present()
            self._expect_all(needed, present)
            self._remove(path for path in present if self._is_spare(path, needed))
            # A damaged ``_metadata`` may be the reason to replace it.
            referred = self._referred(present) or frozenset()
            self._write_metadata(view.to_bytes())
        self._needed.append(needed)
        # The savepoint is complete, even if something can't be removed.
        with suppress(OSError):
            self._remove(referred - needed)
        with suppress(OSError):
            living = {self.write_id, *claims(self._present().values(), is_local=self.is_local)}
            self._remove(remains_of(present.values(), living) - referred - needed)
        return {METADATA_FILE: view.position, **{path: present[path].size for path in needed}}

    def abort(self) -> None:
        """Removes all files of this write, unless ``_metadata`` refers to them, or may do so."""
        with writing_errors(self.uri):
            present = self._present()
            # The ``_metadata`` of before this write refers to none of its files.
            is_before = _version(self.location) == self.replaced
            referred = frozenset() if is_before else self._referred(present)
            if referred is not None:
                self._remove(path for path in present if self._is_spare(path, referred))

    def _expect_unchanged(self) -> str | None:
        """The version of ``_metadata``. Raises ``SavepointExistsError`` if it has changed."""
        present = _version(self.location)
        if present is None or present == self.replaced:
            return present
        if self.replaced is None:
            raise _exists(self.uri)
        raise SavepointExistsError(
            f"{self.uri} is not the savepoint that this write began with, because another write has"
            " replaced it meanwhile; overwrite it again, or write to another directory"
        )

    def below(self, path: str) -> Location:
        """The location of a file of the directory."""
        return Location(self.location.filesystem, posixpath.join(self.location.path, path))

    def _is_spare(self, path: str, needed: frozenset[str]) -> bool:
        """Whether it is a file of this write that is not needed, except its sign of life."""
        return write_of(path) == self.write_id and path not in needed and not is_sign(path)

    def _present(self) -> dict[str, fs.FileInfo]:
        """Files directly in the directory, by name."""
        selector = fs.FileSelector(self.location.path, allow_not_found=True)
        return {info.base_name: info for info in self.location.filesystem.get_file_info(selector)}

    def _make_directory(self) -> None:
        # An object store has no directories; pyarrow would leave an empty object instead.
        if renames_files(self.location.filesystem):
            with writing_errors(self.uri):
                self.location.filesystem.create_dir(self.location.path, recursive=True)

    def _expect_all(self, needed: Iterable[str], present: Iterable[str]) -> None:
        if missing := sorted(set(needed) - set(present)):
            raise StateFileNotFoundError(
                f"{self.uri} lacks {len(missing)} files that were written to it, e.g. {missing[0]};"
                " something else removes files there"
            )

    def _referred(self, present: Mapping[str, fs.FileInfo]) -> frozenset[str] | None:
        """Files that ``_metadata`` refers to; None if it can't be read."""
        if METADATA_FILE not in present:
            return frozenset()
        # Made anew each time, because it caches the places of files.
        directory = SnapshotDirectory(self.location, self.uri)
        try:
            view = DataInputView(directory.read_metadata(), directory.metadata_path)
            files = map(directory.file, streams_of(CheckpointMetadata.read(view)))
            paths = {directory.relative(file.location) for file in files if file.location}
        except SavepointError:
            return None
        return frozenset(paths & present.keys())

    def _remove(self, paths: Iterable[str]) -> None:
        """Removes files; if one can't be removed, the next ones still are."""
        errors: list[OSError] = []
        for path in paths:
            try:
                # Another attempt may have removed it.
                with suppress(FileNotFoundError):
                    self.location.filesystem.delete_file(self.below(path).path)
            except OSError as error:
                errors.append(error)
                # Each error of a store that is gone takes seconds.
                if len(errors) == _REFUSALS:
                    break
        if errors:
            raise errors[0]

    def _write_metadata(self, data: bytes) -> None:
        with self.create(METADATA_FILE) as file:
            file.write(data)
        written, final = self.below(file.path).path, self.below(METADATA_FILE).path
        if self.is_local:
            sync_directories(self.location.path)
        with turn_of(self.write_id, self.location):
            if self._expect_unchanged() is None and self.is_local:
                try:
                    name_unused(written, final)
                except FileExistsError as error:
                    raise _exists(self.uri) from error
            else:
                self._put(written, final)
        if self.is_local:
            self._sync_name()
        with suppress(OSError):
            self._remove([file.path])

    def _sync_name(self) -> None:
        try:
            sync(self.location.path)
        except OSError as error:
            # Files of a replaced savepoint stay, because a loss of power may bring it back.
            raise SavepointError(
                f"{self.uri} is complete, but a loss of power may undo it, because its directory"
                f" can't be written to disk: {error}; overwrite it, or write to another directory"
            ) from error

    def _put(self, written: str, final: str) -> None:
        """Renames a file to ``_metadata`` as one step, unless another write has removed it."""
        filesystem = self.location.filesystem
        move = filesystem.move if renames_files(filesystem) else filesystem.copy_file
        try:
            move(written, final)
        except OSError as error:
            if filesystem.get_file_info(written).type != fs.FileType.NotFound:
                raise
            raise SavepointExistsError(
                f"{self.uri} was taken by another write, because this one gave no sign of life for"
                " minutes: write again"
            ) from error


def _version(folder: Location) -> str | None:
    """Identifies the content of ``_metadata``; None if there is none."""
    path = posixpath.join(folder.path, METADATA_FILE)
    info = folder.filesystem.get_file_info(path)
    if info.type != fs.FileType.File:
        return None
    if folder.is_local:
        stat = os.stat(path)
        return f"{stat.st_ino} {stat.st_mtime_ns} {stat.st_size}"
    # The clock of a store may be coarse, but its headers differ for different contents.
    with folder.filesystem.open_input_file(path) as file:
        return f"{info.mtime_ns} {info.size} {sorted(file.metadata().items())}"


def _exists(path: str) -> SavepointExistsError:
    return SavepointExistsError(
        f"{path} is a savepoint already; write to another directory, or overwrite it"
    )
