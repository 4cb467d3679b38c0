"""Rules about the paths of a savepoint's files, because the author of ``_metadata`` chose them.

By default they are followed on the savepoint's own store, as Flink does: changelogs and prefixes
of an object store lie outside of the savepoint's directory. A store is a scheme and a host, or a
bucket. Nothing is requested from another store unless the user allows it.
"""

from __future__ import annotations

import os
import posixpath
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.locations.location import path_text
from savepoint_formats.locations.stores import path_of, store_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.locations.location import Location, PathText


# A backup is beside ``shared``, as a checkpoint is.
_CHECKPOINT = re.compile(r"chk-\d+|backup-\d{8}T\d{6}Z-.+")
_SHARED = ("shared", "taskowned")

# If Flink spreads files over prefixes of an object store, only <job>/chk-<n> is the same.
_SPREAD = 2


def is_own(file: Location, directory: Location) -> bool:
    """Whether a file lies in the directories of the snapshot whose ``_metadata`` is in ``directory``.

    A savepoint has its directory. A checkpoint is ``<job>/chk-<n>``, and shares ``<job>/shared``
    and ``<job>/taskowned`` with others; so does a backup. Links count as their targets. Otherwise a link in the
    directory would make any file of the machine the savepoint's own.
    """
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
    """Whether an object's path is the checkpoint's, with the entropy that Flink adds."""
    directory, parts = own.split("/"), posixpath.dirname(path).split("/")
    return parts[0] == directory[0] and parts[-_SPREAD:] == directory[-_SPREAD:]


def is_below(path: str, directory: str) -> bool:
    """Whether a path is the directory, or something in it."""
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def real_path(location: Location) -> str:
    """A path without links and without ``..``; object stores have neither."""
    if location.is_local:
        # A damaged handle may have a NUL or half a character in its path: then nothing is there.
        with suppress(ValueError):
            return os.path.realpath(location.path)
    return posixpath.normpath(location.path)


@dataclass(frozen=True, slots=True)
class PathRules:
    """Which paths of handles are followed.

    Files below ``allowed`` (local directories and URIs) always are. With strict rules, only the
    snapshot's own directories are followed as well.
    """

    allowed: tuple[str, ...] = ()
    is_strict: bool = False

    @classmethod
    def of(cls, allowed: Iterable[PathText] = (), *, is_strict: bool = False) -> Self:
        """Checks the user's arguments.

        Raises:
            TypeError: ``allowed`` is a single text instead of a list.
            ValueError: A path is empty.
        """
        if isinstance(allowed, str | os.PathLike):
            raise TypeError(f"allow_paths is {allowed!r}, expected a list of directories and URIs")
        given = tuple(allowed)
        if not all(given):
            raise ValueError("allow_paths has an empty path; name a directory or a URI")
        return cls(tuple(_absolute(path_text(path)) for path in given), is_strict)

    def prefix_of(self, path: str) -> tuple[str, str] | None:
        """The allowed directory that a path lies in, and the path relative to it."""
        normal = posixpath.normpath(path_of(path) or "/")
        for prefix in self.allowed:
            directory = posixpath.normpath(path_of(prefix.partition("?")[0]) or "/")
            if store_of(prefix) == store_of(path) and is_below(normal, directory):
                return prefix, posixpath.relpath(normal, directory)
        return None


def _absolute(prefix: str) -> str:
    is_local = store_of(prefix) == store_of("/")
    return os.path.realpath(path_of(prefix)) if is_local else prefix
