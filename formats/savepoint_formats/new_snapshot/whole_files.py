"""Files that appear only when they are complete.

A file is written under another name in its directory. If several writes that may not overwrite
write the same file, one completes on a disk; on an object store, the last one wins.

On a disk the other name is locked by the process that writes; elsewhere a process is dead if its file is
a day old by the clock of the store. Files of dead processes are removed by the next one that completes
the same file.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from pyarrow import fs

from savepoint_formats.errors import TableFileError
from savepoint_formats.locations.location import Location
from savepoint_formats.new_snapshot.new_file import (
    LARGEST_COPY_SIZE,
    name_unused,
    renames_files,
    sync,
    writing_errors,
)
from savepoint_formats.new_snapshot.signs_of_life import is_locked, locked

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

_CHUNK_SIZE = 8 << 20
_DEAD_AFTER_NS = 24 * 3600 * 10**9


@contextmanager
def whole_file(path: str, *, is_overwritten: bool) -> Iterator[pa.NativeFile]:
    """A file that appears when the context ends without an exception.

    Raises ``TableFileError`` if something exists at the path that may not be replaced.
    """
    expect_free(path, is_overwritten=is_overwritten)
    location = Location.of(path)
    with writing_errors(path), _beside(location) as aside:
        with aside.filesystem.open_output_stream(aside.path, compression=None) as file:
            yield file
        if aside.is_local:
            sync(aside.path)
        expect_free(path, is_overwritten=is_overwritten)
        try:
            _move(aside, location, is_overwritten=is_overwritten)
        except FileExistsError as error:
            raise _exists(path) from error
        _remove_remains(location)


def expect_free(path: str, *, is_overwritten: bool) -> None:
    """Raises ``TableFileError`` if something exists at the path that may not be replaced."""
    file_type = Location.of(path).info().type
    if file_type == fs.FileType.Directory:
        raise TableFileError(f"{path} is a directory; name a file to write to")
    if file_type != fs.FileType.NotFound and not is_overwritten:
        raise _exists(path)


def _exists(path: str) -> TableFileError:
    return TableFileError(f"{path} exists already; write to another file, or overwrite it")


@contextmanager
def _beside(location: Location) -> Iterator[Location]:
    """A temporary file in the same directory."""
    folder, name = posixpath.split(location.path)
    aside = posixpath.join(folder, f".{name}-{uuid4().hex}")
    with ExitStack() as lock:
        try:
            if location.is_local:
                lock.enter_context(locked(aside))
            yield Location(location.filesystem, aside)
        finally:
            with suppress(OSError):
                location.filesystem.delete_file(aside)


def _remove_remains(location: Location) -> None:
    """Removes temporary files of dead processes that wrote the same file."""
    folder, name = posixpath.split(location.path)
    is_aside = re.compile(rf"\.{re.escape(name)}-[0-9a-f]{{32}}").fullmatch
    # The file is complete, even if something can't be removed.
    with suppress(OSError):
        infos = location.filesystem.get_file_info(fs.FileSelector(folder))
        now_ns = max((info.mtime_ns or 0 for info in infos), default=0)
        for info in infos:
            if is_aside(info.base_name) and _is_dead(info, now_ns, is_local=location.is_local):
                location.filesystem.delete_file(info.path)


def _is_dead(aside: fs.FileInfo, now_ns: int, *, is_local: bool) -> bool:
    if is_local:
        return not is_locked(aside.path)
    return now_ns - (aside.mtime_ns or now_ns) > _DEAD_AFTER_NS


def _move(aside: Location, location: Location, *, is_overwritten: bool) -> None:
    """Gives a complete file its name. Raises ``FileExistsError`` if it may not replace another."""
    filesystem, source, target = location.filesystem, aside.path, location.path
    if location.is_local and not is_overwritten:
        name_unused(source, target)
    elif renames_files(filesystem):
        filesystem.move(source, target)
    elif (aside.file_size() or 0) <= LARGEST_COPY_SIZE:
        filesystem.copy_file(source, target)
    else:
        with (
            filesystem.open_input_stream(source, compression=None) as written,
            filesystem.open_output_stream(target, compression=None) as file,
        ):
            shutil.copyfileobj(written, file, _CHUNK_SIZE)
