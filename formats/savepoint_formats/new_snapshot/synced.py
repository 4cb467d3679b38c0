"""Files of this machine: that they outlive a loss of power, and that the system copies their bytes."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_CHUNK_SIZE = 8 << 20


def sync(path: str) -> None:
    """Has a file or directory of this machine reach its disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directories(path: str) -> None:
    """Has a directory reach its disk, with those above it, which may be as new."""
    sync(path)
    for above in Path(path).parents:
        # Not all of them are for this user to read; those are not new.
        with suppress(PermissionError):
            sync(str(above))


def begin_writing(file: int, start: int, size: int) -> None:
    """Has the system begin to write bytes of a file to its disk, and does not wait for it.

    Args:
        file: The descriptor of the file.
        start: The first byte.
        size: How many.
    """
    # The system writes what it is told that nobody needs. Not every system has this call.
    with suppress(AttributeError, OSError):
        os.posix_fadvise(file, start, size, os.POSIX_FADV_DONTNEED)


def copy_range(source: int, target: int, start: int, size: int) -> int:
    """Appends bytes of a file to another one; the system copies them, where it can.

    Args:
        source: The descriptor of the file.
        target: That of the other one, at its end.
        start: The first byte.
        size: How many.

    Returns:
        How many there were.

    Raises:
        OSError: The system refuses it.
    """
    copied = 0
    while copied < size and (more := _copied(source, target, start + copied, size - copied)):
        copied += more
    return copied


def _copied(source: int, target: int, start: int, size: int) -> int:
    """Copies some bytes; returns how many, and 0 at the end of the file."""
    # Not every system has this call, nor does it lead from each file system to each other one.
    with suppress(AttributeError, OSError):
        return os.copy_file_range(source, target, size, offset_src=start)
    return os.write(target, os.pread(source, min(size, _CHUNK_SIZE), start))
