"""A file that is being written: it is there when it is whole, or not at all.

It is written under another name beside its place. Of writes to one place at the same time that may
not overwrite one completes, on a disk; on an object store, which gives a name to whoever comes last,
the file is that of one of them.
"""

from __future__ import annotations

import os
import posixpath
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from pyarrow import fs

from savepoint_formats.errors import TableFileError
from savepoint_formats.locations.location import Location
from savepoint_formats.new_snapshot.new_file import LARGEST_COPY_SIZE, writing_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

# These file systems rename a file as a single step; object stores copy it, which is one as well.
_RENAMES = {"local", "hdfs"}

_CHUNK_SIZE = 8 << 20


@contextmanager
def whole_file(path: str, *, is_overwritten: bool) -> Iterator[pa.NativeFile]:
    """A file that is there once the context is left, if that is not by an exception.

    Args:
        path: A local path, or a URI of a file system that pyarrow knows.
        is_overwritten: Whether a file that lies there is replaced.

    Raises:
        TableFileError: Something lies there that is not to be replaced, or came to lie there
            meanwhile.
        SavepointError: The file system does not take it.
    """
    expect_free(path, is_overwritten=is_overwritten)
    location = Location.of(path)
    with writing_errors(path), _beside(location) as aside:
        with aside.filesystem.open_output_stream(aside.path, compression=None) as file:
            yield file
        expect_free(path, is_overwritten=is_overwritten)
        try:
            _move(aside, location, is_overwritten=is_overwritten)
        except FileExistsError as error:
            raise _exists(path) from error


def expect_free(path: str, *, is_overwritten: bool) -> None:
    """Raises ``TableFileError`` if something lies there that is not to be replaced."""
    location = Location.of(path)
    file_type = location.filesystem.get_file_info(location.path).type
    if file_type == fs.FileType.Directory:
        raise TableFileError(f"{path} is a directory; name a file to write to")
    if file_type != fs.FileType.NotFound and not is_overwritten:
        raise _exists(path)


def _exists(path: str) -> TableFileError:
    return TableFileError(f"{path} exists already; write to another file, or overwrite it")


@contextmanager
def _beside(location: Location) -> Iterator[Location]:
    """A place for a file in the same directory, which is free again at the end."""
    folder, name = posixpath.split(location.path)
    aside = posixpath.join(folder, f".{name}-{uuid4().hex}")
    try:
        yield Location(location.filesystem, aside)
    finally:
        with suppress(OSError):
            location.filesystem.delete_file(aside)


def _move(aside: Location, location: Location, *, is_overwritten: bool) -> None:
    """Gives a file its name, under which it appears as a whole.

    Raises:
        FileExistsError: Another file has it since, which is not to be replaced.
        OSError: The file system refuses it.
    """
    filesystem, source, target = location.filesystem, aside.path, location.path
    if location.is_local and not is_overwritten:
        _link(source, target)
    elif filesystem.type_name in _RENAMES:
        filesystem.move(source, target)
    elif (aside.file_size() or 0) <= LARGEST_COPY_SIZE:
        filesystem.copy_file(source, target)
    else:
        with (
            filesystem.open_input_stream(source, compression=None) as written,
            filesystem.open_output_stream(target, compression=None) as file,
        ):
            shutil.copyfileobj(written, file, _CHUNK_SIZE)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no links.
        os.rename(source, target)
