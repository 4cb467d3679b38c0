"""Files below a directory of checkpoints that no retained snapshot needs.

A file is needed if any snapshot refers to its path, or only to its name, so moved directories are
judged correctly, too. Only Flink's own files in Flink's own directories are ever removed. Files
younger than the newest snapshot stay, because a checkpoint under way may need them.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import stat
import warnings
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from pyarrow import fs

from savepoint_database.snapshot import Snapshot
from savepoint_formats.errors import RefusedError, SavepointError, SavepointNotFoundError
from savepoint_formats.locations import (
    METADATA_FILE,
    Location,
    is_below,
    path_of,
    path_text,
    reading_errors,
    real_path,
)
from savepoint_formats.metadata import (
    FileStream,
    KeyGroupsStream,
    RelativeFile,
    SegmentStream,
    stream_references,
)
from savepoint_formats.printable import html_records, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.locations import PathText
    from savepoint_formats.metadata import StreamHandle

    OnError = Callable[[OSError], None]

_FLINK_NAME = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
_CHECKPOINT = re.compile(r"chk-\d+")
_SAVEPOINT = re.compile(r"savepoint-.+")

# A broken or circular link, or a file that has just disappeared.
_LEADS_NOWHERE = {errno.ENOENT, errno.ELOOP, errno.ENOTDIR}


class GarbageKind(StrEnum):
    """Place of a file.

    | value     | place                                                                      |
    |-----------|----------------------------------------------------------------------------|
    | shared    | below ``shared``: of incremental checkpoints                               |
    | taskowned | below ``taskowned`` or ``dstl``: of task managers, and of changelogs       |
    | exclusive | in the directory of a retained snapshot, which does not refer to it        |
    | left over | in the directory of a checkpoint or savepoint that has no ``_metadata``    |
    | unknown   | anywhere else, or with a name that Flink does not use; it is never removed |
    """

    SHARED = "shared"
    TASKOWNED = "taskowned"
    EXCLUSIVE = "exclusive"
    LEFT_OVER = "left over"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GarbageFile:
    """A file that no snapshot needs.

    Attributes:
        path: Path below the directory.
        kind: Place of the file.
        size: In bytes.
        modified: Time of writing in UTC, as ISO 8601.
        age_seconds: Time since then.
        kept: Why the file is not removed; empty if it may be.
        is_deleted: Whether the file was removed.
    """

    path: str
    kind: GarbageKind
    size: int
    modified: str
    age_seconds: int
    kept: str = ""
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class _File:
    location: Location
    size: int
    modified: datetime


@dataclass(frozen=True)
class Garbage:
    """Files below a directory of checkpoints.

    Attributes:
        path: The directory.
        snapshots: Paths of the snapshots whose files are needed.
        newest: Time in UTC at which the newest of these was completed; empty if there is none.
        problems: Snapshots that can't be read; nothing is removed while there are any.
        needed_files: Number of needed files.
        needed_size: Bytes of the needed files.
        garbage_files: Number of other files.
        garbage_size: Bytes of the other files.
        deleted_files: Number of removed files.
        deleted_size: Bytes of the removed files.
        files: The files that no snapshot needs.
    """

    path: str
    snapshots: tuple[str, ...]
    newest: str
    problems: tuple[str, ...]
    needed_files: int
    needed_size: int
    garbage_files: int
    garbage_size: int
    deleted_files: int
    deleted_size: int
    files: tuple[GarbageFile, ...]

    def __repr__(self) -> str:
        return f"Garbage({without_secrets(self.path)!r}, {self.garbage_files} files, {self.garbage_size} bytes)"

    def _repr_html_(self) -> str:
        names = ("path", "kind", "size", "modified", "kept", "is_deleted")
        return html_records(repr(self), self.files, names)

    @classmethod
    def below(
        cls, path: PathText, *, older_than: timedelta | None = None, also: Iterable[PathText] = ()
    ) -> Garbage:
        """Looks below a directory; removes nothing.

        Args:
            path: The directory of a job, or one above; local or on an object store.
            older_than: Minimum time since a file was written before it may be removed.
            also: Directories elsewhere whose snapshots may need files below this one, such as native
                savepoints, or checkpoints of a job that began with one of these.

        Raises:
            SavepointNotFoundError: There is no such directory.
            UnreachableError: Its file system does not answer.

        Example:
            >>> for file in Garbage.below("s3://jobs/checkpoints").files:
            ...     print(file.kind, file.size, file.path)
        """
        return _Search(path, tuple(also), older_than).run()

    @classmethod
    def delete(
        cls, path: PathText, *, older_than: timedelta, also: Iterable[PathText] = ()
    ) -> Garbage:
        """Removes old files that no snapshot needs; see ``below``.

        Raises:
            RefusedError: A snapshot below can't be read, there is none at all, or one was
                completed meanwhile.
            ValueError: The time is negative.
        """
        if older_than < timedelta():
            raise ValueError(f"older_than is {older_than}, expected no negative time")
        search = _Search(path, tuple(also), older_than)
        garbage = search.run()
        if garbage.problems:
            raise RefusedError(
                f"nothing is removed below {path}, because the files of a snapshot that can't be"
                f" read are unknown: {garbage.problems[0]}"
            )
        if not garbage.snapshots:
            raise RefusedError(
                f"nothing is removed below {path}, because it has no snapshot that tells which"
                " files are needed"
            )
        if search.snapshots() != search.seen:
            raise RefusedError(f"a snapshot was completed below {path} meanwhile: run it again")
        files = tuple(file if file.kept else search.deleted(file) for file in garbage.files)
        deleted = [file for file in files if file.is_deleted]
        return replace(
            garbage,
            files=files,
            deleted_files=len(deleted),
            deleted_size=sum(file.size for file in deleted),
        )


class _Search:
    def __init__(
        self, given: PathText, also: tuple[PathText, ...], older_than: timedelta | None
    ) -> None:
        path, others = path_text(given), map(path_text, also)
        location = Location.of(path.rstrip("/") or "/")
        with reading_errors(path):
            info = location.filesystem.get_file_info(location.path)
        if info.type != fs.FileType.Directory:
            raise SavepointNotFoundError(f"{path} is not a directory")
        self.path = path
        self.root = Location(location.filesystem, real_path(location))
        self.roots = ((path, self.root), *((other, Location.of(other)) for other in others))
        self.older_than = older_than
        self.now = datetime.now(UTC)
        self.seen: dict[str, datetime] = {}
        self.unread: dict[str, str] = {}

    def run(self) -> Garbage:
        self.seen = self.snapshots()
        paths, names, problems = self._needed()
        newest = max(self.seen.values(), default=None)
        needed, garbage = [], []
        for file in _files(self.root, self._note):
            name = posixpath.basename(file.location.path)
            if name == METADATA_FILE or real_path(file.location) in paths or name in names:
                needed.append(file)
            else:
                garbage.append(self._garbage(file, newest))
        return Garbage(
            path=self.path,
            snapshots=tuple(sorted(self.seen)),
            newest="" if newest is None else _text(newest),
            problems=(*self.unread.values(), *problems),
            needed_files=len(needed),
            needed_size=sum(file.size for file in needed),
            garbage_files=len(garbage),
            garbage_size=sum(file.size for file in garbage),
            deleted_files=0,
            deleted_size=0,
            files=tuple(sorted(garbage, key=lambda file: file.path)),
        )

    def snapshots(self) -> dict[str, datetime]:
        """Directories of all snapshots, also behind links, and when each was completed."""
        snapshots = {}
        for path, root in self.roots:
            for file in _files(root, self._note, follow=True):
                if posixpath.basename(file.location.path) == METADATA_FILE:
                    folder = replace(root, path=posixpath.dirname(file.location.path))
                    snapshots[_uri(path, folder)] = file.modified
        return snapshots

    def _note(self, error: OSError) -> None:
        """Notes an error that may hide a snapshot."""
        if error.errno not in _LEADS_NOWHERE:
            path = str(error.filename)
            self.unread[path] = f"{path} can't be listed: {error.strerror}"

    def _needed(self) -> tuple[set[str], set[str], list[str]]:
        """Paths and names of files that snapshots refer to, and snapshots that can't be read."""
        paths: set[str] = set()
        names: set[str] = set()
        problems = []
        for path in self.seen:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    snapshot = Snapshot.open(path)
            except SavepointError as error:
                problems.append(f"{path}: {error}")
                continue
            for operator in snapshot.operators():
                for reference in stream_references(operator.record):
                    if not (stored_path := _path(reference.stream)):
                        continue
                    names.add(posixpath.basename(path_of(stored_path)))
                    file = snapshot.directory.file(reference.stream)
                    if file.location is not None:
                        paths.add(real_path(file.location))
        return paths, names, problems

    def _garbage(self, file: _File, newest: datetime | None) -> GarbageFile:
        path = posixpath.relpath(file.location.path, self.root.path)
        age = self.now - file.modified
        kind = self._kind(path)
        kept = ""
        if kind is GarbageKind.UNKNOWN:
            kept = "Flink has no such file there"
        elif newest is None or file.modified >= newest:
            kept = "it is younger than the newest snapshot"
        elif self.older_than is not None and age <= self.older_than:
            kept = f"it is younger than {self.older_than}"
        return GarbageFile(
            path, kind, file.size, _text(file.modified), int(age.total_seconds()), kept
        )

    def _kind(self, path: str) -> GarbageKind:
        *folders, name = path.split("/")
        if not _FLINK_NAME.fullmatch(name):
            return GarbageKind.UNKNOWN
        for depth in range(len(folders), 0, -1):
            folder = folders[depth - 1]
            if folder == "shared":
                return GarbageKind.SHARED
            if folder in ("taskowned", "dstl"):
                return GarbageKind.TASKOWNED
            if _CHECKPOINT.fullmatch(folder) or _SAVEPOINT.fullmatch(folder):
                here = replace(self.root, path=posixpath.join(self.root.path, *folders[:depth]))
                is_snapshot = _uri(self.path, here) in self.seen
                return GarbageKind.EXCLUSIVE if is_snapshot else GarbageKind.LEFT_OVER
        return GarbageKind.UNKNOWN

    def deleted(self, file: GarbageFile) -> GarbageFile:
        """Removes the file, unless another file has replaced it."""
        location = Location(self.root.filesystem, posixpath.join(self.root.path, file.path))
        if not is_below(real_path(location), self.root.path):
            return replace(file, kept="it leads out of the directory")
        with reading_errors(location.path):
            try:
                return _removed(location, file)
            except FileNotFoundError:
                return replace(file, kept="it was gone already")


def _removed(location: Location, file: GarbageFile) -> GarbageFile:
    if location.is_local:
        status = os.lstat(location.path)
        if not stat.S_ISREG(status.st_mode) or status.st_size != file.size:
            return replace(file, kept="another file has replaced it")
    location.filesystem.delete_file(location.path)
    return replace(file, is_deleted=True)


def _uri(root: str, folder: Location) -> str:
    """URI of a directory below a root whose URI the user gave."""
    if folder.is_local:
        return folder.path
    address, mark, query = root.partition("?")
    return f"{address.partition('://')[0]}://{folder.path}{mark}{query}"


def _path(stream: StreamHandle) -> str:
    match stream:
        case KeyGroupsStream(_, inner):
            return _path(inner)
        case RelativeFile(path) | FileStream(_, path) | SegmentStream(_, _, _, path):
            return path
        case _:
            return ""


def _files(root: Location, on_error: OnError, *, follow: bool = False) -> Iterator[_File]:
    """All files below a directory; links are followed only where nothing is removed."""
    if root.is_local:
        yield from _local_files(root, on_error, follow=follow)
        return
    with reading_errors(root.path):
        infos = root.filesystem.get_file_info(fs.FileSelector(root.path, recursive=True))
    for info in infos:
        if info.type == fs.FileType.File:
            modified = datetime.fromtimestamp(info.mtime_ns / 1e9, UTC)
            yield _File(Location(root.filesystem, info.path), int(info.size), modified)


def _local_files(root: Location, on_error: OnError, *, follow: bool) -> Iterator[_File]:
    seen: set[str] = set()
    for folder, folders, names in os.walk(root.path, onerror=on_error, followlinks=follow):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()  # a link that leads back
            continue
        seen.add(real)
        for name in names:
            path = os.path.join(folder, name)
            try:
                status = os.stat(path) if follow else os.lstat(path)
            except OSError as error:
                on_error(error)
                continue
            if stat.S_ISREG(status.st_mode):
                modified = datetime.fromtimestamp(status.st_mtime, UTC)
                yield _File(Location(root.filesystem, path), status.st_size, modified)


def _text(time: datetime) -> str:
    return time.isoformat(timespec="seconds")
