"""New checkpoints below a directory: only folders are listed, and ``_metadata`` is looked for in new ones.

Flink makes ``<job>/chk-<n>``. The directory may be that of a job, or the one above, in which each
restart makes a folder. Everything else in it is passed over: shared files, savepoints, other folders.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyarrow import fs

from savepoint_formats.errors import SavepointNotFoundError
from savepoint_formats.locations import METADATA_FILE, Location, reading_errors, uri_below

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHECKPOINT = re.compile(r"chk-(\d+)")
_OTHERS = ("shared", "taskowned", "lost+found")
"""Folders that are no job's; only the superuser may list that of a volume."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A completed checkpoint, ordered by time.

    Attributes:
        seconds: When its ``_metadata`` was written, in seconds since the epoch; the latest time at
            which it can have been written if that is in the future.
        id: Its number.
        job: Its job's directory.
        path: Path that opens it.
        future: The time of its ``_metadata`` if it was in the future when it was first seen.
    """

    seconds: float
    id: int
    job: str
    path: str
    future: float | None = field(default=None, compare=False)


@dataclass(slots=True)
class RetainedCheckpoints:
    """Lists the completed checkpoints below a directory, those of a job or of its restarts."""

    uri: str
    _times: dict[str, float] = field(default_factory=dict)

    def __call__(self) -> list[Place]:
        """All of them, the oldest first.

        Raises:
            SavepointNotFoundError: There is no such directory.
            UnreachableError: Its file system is unknown, refuses, or does not answer.
        """
        location = Location.of(self.uri.rstrip("/") or "/")
        with reading_errors(self.uri):
            info = location.filesystem.get_file_info(location.path)
            if info.type != fs.FileType.Directory:
                raise SavepointNotFoundError(
                    f"{self.uri} is not a directory, expected one with checkpoints"
                )
            places = sorted(self._places(location))
        self._times = {place.path: place.seconds for place in places}
        return places

    def _places(self, location: Location) -> Iterator[Place]:
        folders = _folders(location, "")
        yield from self._checkpoints(location, "", folders)
        for folder in folders:
            if folder not in _OTHERS and not _CHECKPOINT.fullmatch(folder):
                yield from self._checkpoints(location, folder, _folders(location, folder))

    def _checkpoints(self, location: Location, job: str, folders: list[str]) -> Iterator[Place]:
        for folder in folders:
            named = _CHECKPOINT.fullmatch(folder)
            if named is None:
                continue
            path = self._uri_of(posixpath.join(job, folder))
            time = self._times.get(path) or self._time(location, posixpath.join(job, folder))
            if time is not None:
                yield Place(time, int(named[1]), self._uri_of(job), path)

    def _time(self, location: Location, below: str) -> float | None:
        """When a checkpoint was completed; None if it is under way, or was deleted."""
        path = posixpath.join(location.path, below, METADATA_FILE)
        info = location.filesystem.get_file_info(path)
        if info.type != fs.FileType.File or not info.size:
            return None
        return float(info.mtime_ns / 1e9)

    def _uri_of(self, below: str) -> str:
        return uri_below(self.uri, below)


def _folders(location: Location, below: str) -> list[str]:
    selector = fs.FileSelector(posixpath.join(location.path, below), allow_not_found=True)
    return [
        info.base_name
        for info in location.filesystem.get_file_info(selector)
        if info.type == fs.FileType.Directory
    ]
