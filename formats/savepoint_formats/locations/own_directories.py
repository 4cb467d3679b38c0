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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from savepoint_formats.locations.location import Location

_CHECKPOINT = re.compile(r"chk-\d+")
_SHARED = ("shared", "taskowned")

# If Flink spreads files over prefixes of an object store, only <job>/chk-<n> is the same.
_SPREAD = 2


def is_own(file: Location, directory: Location) -> bool:
    """Whether a file lies in the directories of the snapshot whose ``_metadata`` is in ``directory``."""
    if not file.filesystem.equals(directory.filesystem):
        return False
    path, own = real_path(file), real_path(directory)
    if is_below(path, own):
        return True
    job, name = posixpath.split(own)
    if _CHECKPOINT.fullmatch(name) is None:
        return False
    return any(is_below(path, posixpath.join(job, shared)) for shared in _SHARED) or (
        not file.is_local and _is_spread(path, own)
    )


def _is_spread(path: str, own: str) -> bool:
    """Whether an object is where Flink adds an entropy to the path of the checkpoint."""
    directory, parts = own.split("/"), posixpath.dirname(path).split("/")
    return parts[0] == directory[0] and parts[-_SPREAD:] == directory[-_SPREAD:]


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
