"""Checkpoints and savepoints below a directory, complete or not.

| place                               | meaning                                                     |
|-------------------------------------|-------------------------------------------------------------|
| a directory with ``_metadata``      | a snapshot; complete if all files that it needs exist       |
| ``chk-7``, ``savepoint-…`` without  | never completed, or under way                               |
| ``shared``, ``taskowned``           | files of several checkpoints; contains no snapshots         |

The newest snapshot of a job is the one with the highest id, because copies have other times. With
several jobs, it is the one that was written last.
"""

from __future__ import annotations

import posixpath
import re
import warnings
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pyarrow import fs

from savepoint_database.snapshot.description import kind_of
from savepoint_database.types.records import record_table
from savepoint_formats.bytes import DataInputView
from savepoint_formats.errors import SavepointError, SavepointNotFoundError
from savepoint_formats.locations import (
    METADATA_FILE,
    Location,
    PathRules,
    SnapshotDirectory,
    path_in_store,
    path_of,
    path_text,
    reading_errors,
    store_of,
    uri_below,
)
from savepoint_formats.metadata import (
    CheckpointMetadata,
    FileStream,
    RelativeFile,
    SegmentStream,
    size_of,
    stream_references,
)
from savepoint_formats.printable import html_records, without_secrets
from savepoint_formats.savepoint_warnings import NewestSnapshotWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from savepoint_formats.locations import PathText
    from savepoint_formats.metadata import StreamHandle

_SHARED = ("shared", "taskowned")
_UNFINISHED = re.compile(r"chk-\d+|savepoint-[0-9a-f]{6}-[0-9a-f]{12}")
_OF_JOB = re.compile(r"(chk)-\d+|(savepoint-[0-9a-f]{6})-[0-9a-f]{12}")

# A backup has its time in its name, since copies of it have other times.
_BACKUP = re.compile(r"backup-(\d{8}T\d{6})Z-.+")

_JOBS_DEPTH = 2

_SEARCHES = 3
_MOST_PLACES = 3
_MOST_FOLDERS = 100

DEPTH = 8
"""Levels of directories to search."""


@dataclass(frozen=True, slots=True)
class RetainedSnapshot:
    """A checkpoint or savepoint below a directory.

    Attributes:
        path: Path that opens it.
        id: Its checkpoint id; None without a readable ``_metadata``.
        time: Time in UTC at which its ``_metadata`` was written; None if there is none.
        kind: Kind as in ``describe``.
        size: Bytes of ``_metadata`` and of all files that it refers to, each once, shared ones included.
        own_size: Bytes of the files in its own directory.
        operators: Number of operators.
        is_complete: Whether its ``_metadata`` can be read, and all its files exist.
        problem: Why it is not complete.
    """

    path: str
    id: int | None
    time: str | None
    kind: str
    size: int
    own_size: int
    operators: int
    is_complete: bool
    problem: str

    def __repr__(self) -> str:
        return f"RetainedSnapshot({without_secrets(self.path)!r}, {self.kind}, {self.size} bytes)"


class RetainedSnapshots(tuple[RetainedSnapshot, ...]):
    """Checkpoints and savepoints below a directory, the newest first."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        names = ("path", "id", "time", "kind", "size", "own_size", "operators", "problem")
        return html_records(f"Snapshots: {len(self):,}, the newest first", self, names)

    def to_arrow(self) -> pa.Table:
        """A row per snapshot, with the attributes of ``RetainedSnapshot`` as columns.

        Example:
            >>> spark.createDataFrame(snapshots("s3://jobs/checkpoints").to_arrow()).show()
        """
        return record_table(RetainedSnapshot, self)


def snapshots(
    path: PathText, *, allow_paths: Iterable[PathText] = (), strict_paths: bool = False
) -> RetainedSnapshots:
    """All checkpoints and savepoints below a directory, the newest first.

    Args:
        path: A directory: a local path, or a URI of a file system.
        allow_paths: As for ``Savepoint.open``.
        strict_paths: As for ``Savepoint.open``.

    Returns:
        A record per snapshot, complete or not. ``to_arrow`` makes a table of them. Data files are
        not read.

    Raises:
        SavepointNotFoundError: There is no such directory.
        UnreachableError: Its file system is unknown, refuses, or does not answer.

    Example:
        >>> [one.id for one in snapshots("s3://jobs/checkpoints") if one.is_complete]
    """
    rules = PathRules.of(allow_paths, is_strict=strict_paths)
    return RetainedSnapshots(_newest_first(_Directory.of(path, rules).retained(DEPTH)))


def read_newest(path: str, rules: PathRules) -> tuple[str, SnapshotDirectory, bytes]:
    """The path of a snapshot, its directory and ``_metadata``; the newest complete one below a directory."""
    directory = SnapshotDirectory.of(path, rules)
    try:
        return path, directory, directory.read_metadata()
    except SavepointNotFoundError as error:
        problem = error
    for _ in range(_SEARCHES):
        newest, count = _newest_complete(path, rules)
        if newest is None:
            break
        # A running job may have deleted the checkpoint since the search; then it has a newer one.
        with suppress(SavepointNotFoundError):
            directory = SnapshotDirectory.of(newest.path, rules)
            data = directory.read_metadata()
            message = f"{path}: {newest.path} is read, the newest complete snapshot of {count}"
            warnings.warn(message, NewestSnapshotWarning, stacklevel=3)
            return newest.path, directory, data
    places = _first_places(path, rules)
    if not places:
        raise problem
    message = (
        f"{problem}; it contains, for instance, {', '.join(places)}: name one of them,"
        " or list all with savepoint snapshots"
    )
    raise SavepointNotFoundError(message)


def _newest_complete(path: str, rules: PathRules) -> tuple[RetainedSnapshot | None, int]:
    """The newest complete snapshot below a job's directory, and the number of snapshots.

    Searches where Flink makes checkpoints: in the directory, or in the directories of jobs in it.
    """
    snapshots = _newest_first(_Directory.of(path, rules).retained(_JOBS_DEPTH))
    return next((snapshot for snapshot in snapshots if snapshot.is_complete), None), len(snapshots)


def _first_places(path: str, rules: PathRules) -> list[str]:
    """Paths of a few snapshots below a directory, the uppermost; none if it is an incomplete one itself."""
    directory = _Directory.of(path, rules)
    folders, places = deque([""]), list[str]()
    for _ in range(_MOST_FOLDERS):
        if not folders or len(places) == _MOST_PLACES:
            break
        below = folders.popleft()
        with suppress(SavepointError):
            inner = directory.folders(below)
            if not below and directory.is_snapshot(below):
                break
            if directory.is_snapshot(below):
                places.append(directory.uri_of(below))
            else:
                folders.extend(
                    folder for folder in inner if posixpath.basename(folder) not in _SHARED
                )
    return places


def _newest_first(snapshots: Sequence[RetainedSnapshot]) -> tuple[RetainedSnapshot, ...]:
    newest: dict[str, tuple[str, int]] = {}
    for snapshot in snapshots:
        rank = (snapshot.time or "", snapshot.id or 0)
        job = _job_of(snapshot)
        newest[job] = max(newest.get(job, ("", 0)), rank)

    def order(snapshot: RetainedSnapshot) -> tuple[tuple[str, int], str, int, str]:
        job = _job_of(snapshot)
        return newest[job], job, snapshot.id or 0, snapshot.time or ""

    return tuple(sorted(snapshots, key=order, reverse=True))


def _job_of(snapshot: RetainedSnapshot) -> str:
    """Common path of the snapshots of one job."""
    parent, name = posixpath.split(snapshot.path.partition("?")[0])
    named = _OF_JOB.fullmatch(name)
    return f"{parent}/{named[1] or named[2]}" if named else f"{parent}/{name}"


@dataclass(slots=True)
class _Directory:
    """A directory to search, and all files seen on the way."""

    location: Location
    uri: str
    rules: PathRules
    sizes: dict[str, int] = field(default_factory=dict)
    times: dict[str, datetime] = field(default_factory=dict)

    @classmethod
    def of(cls, path: PathText, rules: PathRules) -> _Directory:
        path = path_text(path)
        uri = path.rstrip("/") or "/"
        location = Location.of(uri)
        with reading_errors(path):
            info = location.filesystem.get_file_info(location.path)
        if info.type != fs.FileType.Directory:
            raise SavepointNotFoundError(f"{path} is not a directory, expected one with snapshots")
        return cls(location, uri, rules)

    def retained(self, depth: int) -> list[RetainedSnapshot]:
        places = list(self._places("", depth))
        own_sizes = _sizes_of_folders(self.sizes)
        return [self._snapshot(place, own_sizes[self._path(place)]) for place in places]

    def _places(self, below: str, depth: int) -> Iterator[str]:
        """Paths of snapshots below the directory, completed or not."""
        folders = self.folders(below)
        if self.is_snapshot(below):
            for folder in folders:
                self.folders(folder, recursive=True)
            yield below
            return
        for folder in folders:
            if posixpath.basename(folder) in _SHARED:
                self.folders(folder, recursive=True)
            elif depth > 0:
                yield from self._places(folder, depth - 1)

    def is_snapshot(self, below: str) -> bool:
        """Whether a folder whose files were noted is a snapshot, completed or not."""
        name = posixpath.basename(below or self.location.path)
        is_completed = self._path(below, METADATA_FILE) in self.sizes
        return is_completed or _UNFINISHED.fullmatch(name) is not None

    def folders(self, below: str, *, recursive: bool = False) -> list[str]:
        """Folders in a folder; notes its files."""
        selector = fs.FileSelector(self._path(below), allow_not_found=True, recursive=recursive)
        with reading_errors(self.uri):
            infos = self.location.filesystem.get_file_info(selector)
        for info in infos:
            if info.type == fs.FileType.File:
                self.sizes[info.path] = info.size
                self.times[info.path] = info.mtime
        return [
            posixpath.join(below, info.base_name)
            for info in sorted(infos, key=lambda info: info.path)
            if info.type == fs.FileType.Directory
        ]

    def _path(self, *below: str) -> str:
        return posixpath.join(self.location.path, *filter(None, below))

    def uri_of(self, below: str) -> str:
        """Path of a folder in the user's spelling of the directory."""
        return uri_below(self.uri, below)

    def _snapshot(self, below: str, own_size: int) -> RetainedSnapshot:
        path = self.uri_of(below)
        written = self.times.get(self._path(below, METADATA_FILE))
        if written is None:
            problem = f"no {METADATA_FILE}: it was not completed, or is under way"
            return RetainedSnapshot(path, None, None, "", 0, own_size, 0, False, problem)
        if named := _BACKUP.fullmatch(posixpath.basename(below)):
            with suppress(ValueError):
                written = datetime.strptime(f"{named[1]}+0000", "%Y%m%dT%H%M%S%z")
        time = written.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"
        try:
            directory = SnapshotDirectory.of(path, self.rules)
            view = DataInputView(directory.read_metadata(), directory.metadata_path)
            metadata = CheckpointMetadata.read(view)
        except SavepointError as error:
            return RetainedSnapshot(path, None, time, "", 0, own_size, 0, False, str(error))
        streams = [
            reference.stream
            for operator in metadata.operators
            for reference in stream_references(operator)
        ]
        problem = self._missing(directory, streams)
        return RetainedSnapshot(
            path,
            metadata.checkpoint_id,
            time,
            kind_of(metadata),
            len(view.buffer) + size_of(streams, with_inline=False),
            own_size,
            len(metadata.operators),
            not problem,
            problem,
        )

    def _missing(self, directory: SnapshotDirectory, streams: Iterable[StreamHandle]) -> str:
        missing = []
        for stream in streams:
            size = self._listed_size(directory, stream)
            if size is None:
                file = directory.file(stream)
                if file.data is not None:
                    continue
                if file.location is None:
                    missing.append(f"{file.path}: {file.problem}" if file.problem else file.path)
                    continue
                size = file.location.file_size()
            if isinstance(stream, FileStream | RelativeFile) and (size or 0) < stream.size:
                missing.append(f"{stream.path}: {size} bytes of {stream.size}")
        missing = list(dict.fromkeys(missing))
        return (
            f"files are missing or cut: {len(missing)}, the first {missing[0]}" if missing else ""
        )

    def _listed_size(self, directory: SnapshotDirectory, stream: StreamHandle) -> int | None:
        """Size of a file that was listed already; None for others."""
        match stream:
            case _ if self.rules.is_strict:
                return None
            case FileStream(_, path) | SegmentStream(_, _, _, path):
                return self._size_of(directory, path)
            case RelativeFile(path, _):
                below = posixpath.join(directory.location.path, path)
                return self.sizes.get(posixpath.normpath(below))
            case _:
                return None

    def _size_of(self, directory: SnapshotDirectory, path: str) -> int | None:
        """Size of a listed file of an absolute path, even if its directory was moved."""
        there = path_in_store(path)
        if there in self.sizes and store_of(path) == store_of(self.uri):
            return self.sizes[there]
        parts = [part for part in path_of(path).split("/") if part]
        ancestor = directory.location.path
        while True:
            for start in range(len(parts)):
                size = self.sizes.get(posixpath.join(ancestor, *parts[start:]))
                if size is not None:
                    return size
            if ancestor in (self.location.path, posixpath.dirname(ancestor)):
                return None
            ancestor = posixpath.dirname(ancestor)


def _sizes_of_folders(sizes: Mapping[str, int]) -> Counter[str]:
    folders: Counter[str] = Counter()
    for file, size in sizes.items():
        end = file.rfind("/")
        while end > 0:
            folders[file[:end]] += size
            end = file.rfind("/", 0, end)
    return folders
