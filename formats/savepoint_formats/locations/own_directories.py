"""Which directories are a snapshot's own: where Flink writes the files of one job and one snapshot.

A savepoint has its directory. A checkpoint is ``<job>/chk-<n>``, and what it shares with others lies
in ``<job>/shared`` and ``<job>/taskowned``. Links count as what they lead to, or else a link in the
directory would make any file of the machine the savepoint's own.
"""

from __future__ import annotations

import os
import posixpath
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pyarrow import fs

    from savepoint_formats.locations.location import Location

_CHECKPOINT = re.compile(r"chk-\d+")
_SHARED = ("shared", "taskowned")

# <job>/chk-<n> is the same where Flink spreads files over prefixes of an object store.
_SPREAD = 2


@dataclass(frozen=True, slots=True)
class OwnDirectories:
    """The directories of one snapshot.

    Attributes:
        filesystem: The file system that they are on.
        paths: Their paths; the first is that of ``_metadata``.
    """

    filesystem: fs.FileSystem
    paths: tuple[str, ...]

    @classmethod
    def of(cls, directory: Location) -> Self:
        """Those of the snapshot whose ``_metadata`` lies in a directory."""
        path = real_path(directory)
        job, name = posixpath.split(path)
        shared = _SHARED if _CHECKPOINT.fullmatch(name) else ()
        paths = (path, *(posixpath.join(job, directory) for directory in shared))
        return cls(directory.filesystem, paths)

    def has(self, file: Location) -> bool:
        """Whether a file lies in one of them, or below."""
        if not file.filesystem.equals(self.filesystem):
            return False
        path = real_path(file)
        return any(is_below(path, directory) for directory in self.paths) or self._is_spread(path)

    def _is_spread(self, path: str) -> bool:
        """Whether an object is where Flink puts an entropy into the path of the checkpoint."""
        own = self.paths[0].split("/")
        parts = posixpath.dirname(path).split("/")
        return (
            self.filesystem.type_name != "local"
            and _CHECKPOINT.fullmatch(own[-1]) is not None
            and parts[0] == own[0]
            and parts[-_SPREAD:] == own[-_SPREAD:]
        )


def is_below(path: str, directory: str) -> bool:
    """Whether a path is that of the directory, or of something in it."""
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def real_path(location: Location) -> str:
    """A path without links and without ``..``; objects have neither, only names with dots."""
    if location.is_local:
        # A damaged handle may have a NUL or half a character in its path: then nothing is there.
        with suppress(ValueError):
            return os.path.realpath(location.path)
    return posixpath.normpath(location.path)
