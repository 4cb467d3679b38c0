"""A path on a file system: local, or in a store."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

from pyarrow import fs

from savepoint_formats.errors import SavepointNotFoundError
from savepoint_formats.locations.stores import (
    path_in_store,
    reading_errors,
    remote_file_system,
    scheme_of,
)

if TYPE_CHECKING:
    from savepoint_formats.locations.stores import First

# ``Path`` joins slashes; a local directory whose name ends with a colon can be given as text.
_URI_IN_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True, slots=True)
class Location:
    """A path on a file system; small and picklable. Methods that ask it raise ``UnreachableError``."""

    filesystem: fs.FileSystem
    path: str

    @classmethod
    def of(cls, uri: str, first: First | None = None) -> Self:
        """The location of a local path or a URI (``file:``, ``s3:``, ``hdfs:``, ``gs:``...).

        ``first`` asks a store that has not answered yet, as in ``remote_file_system``.
        """
        if scheme_of(uri) == "file":
            return cls(fs.LocalFileSystem(), path_in_store(uri))
        return cls(*remote_file_system(uri, first))

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine, or mounted there."""
        return isinstance(self.filesystem, fs.LocalFileSystem)

    def file_size(self) -> int | None:
        """The size in bytes of the file that is there; None if there is none."""
        info = self.info()
        return int(info.size) if info.type == fs.FileType.File else None

    def is_directory(self) -> bool:
        """Whether a directory is there; on an object store, whether something is below it."""
        return bool(self.info().type == fs.FileType.Directory)

    def info(self) -> fs.FileInfo:
        """Type, size and time of the file or directory that is there."""
        if "\0" in self.path:
            # No file has such a path; it comes from a damaged handle.
            return fs.FileInfo(self.path, fs.FileType.NotFound)
        with reading_errors(self.path):
            return self.filesystem.get_file_info(self.path)

    def infos(self) -> list[fs.FileInfo]:
        """Files and directories in the directory that is there; none if there is none."""
        with reading_errors(self.path):
            selector = fs.FileSelector(self.path, allow_not_found=True)
            return list(self.filesystem.get_file_info(selector))


PathText: TypeAlias = str | os.PathLike[str]
"""A local path, or a URI; a ``Path`` can't be a URI."""


def path_text(path: PathText) -> str:
    """A path that a user gives, as text.

    Raises:
        TypeError: It is neither text nor a ``Path``, or a ``Path`` made of a URI.
        SavepointNotFoundError: It is empty, for example from a variable that is not set.
    """
    example = "such as 's3://jobs/savepoint-1a2b'"
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise TypeError(f"the path is {path!r}, expected a text {example}, or a Path")
    if not isinstance(path, str) and _URI_IN_PATH.match(text):
        raise TypeError(f"the path {text!r} was a URI before Path changed it: give it as text")
    if not text:
        raise SavepointNotFoundError(f"the path is empty, expected one {example}")
    return text


LIVE_SCHEMES = ("flink", "flinks")
"""The schemes of a running cluster, whose jobs know where their snapshots are."""


def is_live(path: str) -> bool:
    """Whether a path names a job of a running cluster: ``flink://host:8081/JOB``."""
    return path.lower().startswith(tuple(f"{scheme}://" for scheme in LIVE_SCHEMES))


def absolute(path: str) -> str:
    """A path or URI that doesn't depend on the working directory."""
    return os.path.abspath(path) if is_local(path) else path


def is_local(path: str) -> bool:
    """Whether it is a local path, absolute or relative, rather than a URI."""
    return scheme_of(path) == "file" and not path.lower().startswith("file:")


def uri_below(uri: str, below: str) -> str:
    """Path of what is below a directory, in the user's spelling of it: options stay at the end."""
    if not below:
        return uri
    if is_local(uri):
        return posixpath.join(uri, below)
    base, mark, options = uri.partition("?")
    return f"{base.rstrip('/')}/{below}{mark}{options}"
