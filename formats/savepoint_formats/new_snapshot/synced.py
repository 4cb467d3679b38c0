"""System calls for local files, and the ways of file systems to rename a file."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow import fs

_CHUNK_SIZE = 8 << 20


def renames_files(filesystem: fs.FileSystem) -> bool:
    """Whether a file system has directories, and renames a file as a single step.

    The others are object stores. There a copy by the store appears as a whole.
    """
    return filesystem.type_name in ("local", "hdfs")


def name_unused(written: str, name: str) -> None:
    """Names a local file. Raises ``FileExistsError`` if another file has this name already."""
    try:
        os.link(written, name)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no links.
        os.rename(written, name)


def sync(path: str) -> None:
    """Waits until a file or directory is on its disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directories(path: str) -> None:
    """Waits until a directory is on its disk, with those above it, which may be new too."""
    sync(path)
    for above in Path(path).parents:
        # Directories that this user can't read are not new.
        with suppress(PermissionError):
            sync(str(above))


def begin_writing(file: int, start: int, size: int) -> None:
    """Makes the system start writing a range of a file to disk, and does not wait."""
    # The system writes ranges that nobody needs in memory. Not every system has this call.
    with suppress(AttributeError, OSError):
        os.posix_fadvise(file, start, size, os.POSIX_FADV_DONTNEED)


def copy_range(source: int, target: int, start: int, size: int) -> int:
    """Appends a range of ``source`` to ``target``, and returns the number of bytes in it.

    Both are descriptors. The system copies by itself if it can.
    """
    copied = 0
    while copied < size and (more := _copied(source, target, start + copied, size - copied)):
        copied += more
    return copied


def _copied(source: int, target: int, start: int, size: int) -> int:
    # Not every system has this call, nor does it work between all file systems.
    with suppress(AttributeError, OSError):
        return os.copy_file_range(source, target, size, offset_src=start)
    return os.write(target, os.pread(source, min(size, _CHUNK_SIZE), start))
