"""Where the files of a savepoint may lie: whoever wrote ``_metadata`` chose the paths in it.

By default they are followed on the savepoint's own store, as Flink does: changelogs and prefixes
of an object store lie outside of the savepoint's directory. A store is a scheme and a host, or a
bucket. Another store is asked for nothing unless the user allows it.
"""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.locations.location import path_text
from savepoint_formats.locations.own_directories import is_below
from savepoint_formats.locations.stores import path_of, store_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.locations.location import PathText


@dataclass(frozen=True, slots=True)
class PathRules:
    """Which paths of handles are followed.

    Files below ``allowed`` (local directories and URIs) always are. If the rules are strict, only the
    snapshot's own directories are followed besides.
    """

    allowed: tuple[str, ...] = ()
    is_strict: bool = False

    @classmethod
    def of(cls, allowed: Iterable[PathText] = (), *, is_strict: bool = False) -> Self:
        """Checks what a user gives.

        Raises:
            TypeError: ``allowed`` is one text, whose letters would be directories.
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
