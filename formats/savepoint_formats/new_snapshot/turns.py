"""Turns: of all writes to one directory, one at a time looks at ``_metadata`` and replaces it.

On a disk of this machine the kernel locks the directory, and unlocks it if the process dies.

Elsewhere a write raises a flag, which is a small file in the directory, and looks at the flags of
the others. It goes on alone once no other is up. Where two are up, that of the smaller id stays and
waits; the other is taken down until that one is done. This is the one-bit algorithm of Burns and
Lynch. It needs a store that shows at once what was written, in listings too, as S3, Google Cloud
Storage and Azure do; and no clock. A write that dies with its flag up leaves it: the error of the
next ones names its file.
"""

from __future__ import annotations

import fcntl
import os
import posixpath
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pyarrow import fs

from savepoint_formats.errors import SavepointError
from savepoint_formats.new_snapshot.written_names import unused_name, write_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.locations.location import Location

FLAG = "turn"

_PATIENCE = 60.0
_PAUSE = 0.05


@contextmanager
def turn_of(write_id: str, folder: Location) -> Iterator[None]:
    """Waits for a write's turn, which lasts as long as the context.

    Args:
        write_id: The write.
        folder: The directory, which is there where the file system has directories.

    Raises:
        SavepointError: Another write does not end its turn.
        OSError: The file system refuses something.
    """
    lock = _lock(folder.path) if folder.is_local else None
    if lock is None:
        with raised_flag(write_id, folder):
            yield
        return
    try:
        yield
    finally:
        os.close(lock)


def _lock(path: str) -> int | None:
    """What holds the lock of a directory until it is closed; None where there are no locks."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


@contextmanager
def raised_flag(write_id: str, folder: Location, patience: float = _PATIENCE) -> Iterator[None]:
    """A turn where nothing locks a directory.

    Args:
        write_id: The write.
        folder: The directory.
        patience: How long it waits for the other writes, in seconds.

    Raises:
        SavepointError: The flag of another write stays up.
        OSError: The file system refuses something.
    """
    deadline = time.monotonic() + patience
    flag = posixpath.join(folder.path, unused_name(FLAG, write_id))
    try:
        while True:
            _wait(folder, lambda other: other < write_id, deadline)
            with folder.filesystem.open_output_stream(flag, compression=None):
                pass
            if not any(other < write_id for other, _ in _flags(folder)):
                break
            folder.filesystem.delete_file(flag)
        _wait(folder, lambda other: other > write_id, deadline)
        yield
    finally:
        with suppress(FileNotFoundError):
            folder.filesystem.delete_file(flag)


def _wait(folder: Location, hinders: Callable[[str], bool], deadline: float) -> None:
    """Waits until no flag is up of a write that ``hinders``."""
    while flags := [name for write, name in _flags(folder) if hinders(write)]:
        if time.monotonic() > deadline:
            raise SavepointError(
                f"{flags[0]} in {folder.path} says that another write completes a savepoint there;"
                " if none does, it has died: remove this file, and write again"
            )
        time.sleep(_PAUSE)


def _flags(folder: Location) -> list[tuple[str, str]]:
    """The flags that are up: the id of the write, the name of the file."""
    infos = folder.filesystem.get_file_info(fs.FileSelector(folder.path, allow_not_found=True))
    names = (info.base_name for info in infos if info.base_name.startswith(f"{FLAG}-"))
    return [(write, name) for name in names if (write := write_of(name)) is not None]
