"""Signs of life: which of the writes that have left files in a directory are still under way.

A write keeps a file there, its sign, from its begin to its end. On a disk of this machine the sign
is locked, which ends with the process. Elsewhere it is written anew every minute, and a write is
taken for dead if its sign is ten minutes older than the newest file of the directory, by the clock
of the store. A write without a sign is dead.

To be wrong in this does no harm to a savepoint: who removes the remains of a write has completed a
savepoint meanwhile, after which the other one can't complete its own.
"""

from __future__ import annotations

import fcntl
import os
import posixpath
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from savepoint_formats.new_snapshot.written_names import unused_name, write_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyarrow import fs

    from savepoint_formats.locations.location import Location

_SIGN = "write"

_RENEWED_EVERY = 60.0
_DEAD_AFTER_NS = 600 * 10**9


@contextmanager
def sign_of_life(write_id: str, folder: Location) -> Iterator[None]:
    """Shows that a write is under way.

    Args:
        write_id: The write.
        folder: The directory, which is there where the file system has directories.

    Raises:
        OSError: The file system refuses it.
    """
    path = posixpath.join(folder.path, unused_name(_SIGN, write_id))
    try:
        with _locked(path) if folder.is_local else _renewed(folder.filesystem, path):
            yield
    finally:
        with suppress(OSError):
            folder.filesystem.delete_file(path)


def is_sign(name: str) -> bool:
    """Whether a file of this name is the sign of a write."""
    return name.startswith(f"{_SIGN}-") and write_of(name) is not None


def living(infos: Iterable[fs.FileInfo], *, is_local: bool) -> frozenset[str]:
    """The ids of the writes that are under way.

    Args:
        infos: All that lies in the directory.
        is_local: Whether it is on a disk of this machine.
    """
    infos = list(infos)
    newest = max((info.mtime_ns for info in infos if info.mtime_ns is not None), default=0)
    writes = set()
    for info in infos:
        write_id = write_of(info.base_name)
        if write_id is None or not is_sign(info.base_name):
            continue
        if _is_locked(info.path) if is_local else _is_recent(info, newest):
            writes.add(write_id)
    return frozenset(writes)


@contextmanager
def _locked(path: str) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        # Where there are no locks, others can't tell, and take the write for one that lives.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _is_locked(path: str) -> bool:
    """Whether a process that lives has locked a file; it does so if that is not known."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


@contextmanager
def _renewed(filesystem: fs.FileSystem, path: str) -> Iterator[None]:
    is_over = Event()

    def write() -> None:
        with filesystem.open_output_stream(path, compression=None):
            pass

    def renew() -> None:
        while not is_over.wait(_RENEWED_EVERY):
            # The next time may be better; and if none is, the savepoint comes to no harm.
            with suppress(OSError):
                write()

    write()
    thread = Thread(target=renew, name="sign-of-life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _is_recent(info: fs.FileInfo, newest: int) -> bool:
    return info.mtime_ns is None or newest - info.mtime_ns <= _DEAD_AFTER_NS
