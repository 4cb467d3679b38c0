"""Signs of life: which of the writes that have left files in a directory are still under way.

A write keeps a file there, its sign, from its begin to its end. On a disk of this machine the sign
is locked, which ends with the process. Elsewhere it is written anew every minute, and a write is
taken for dead if its sign is ten minutes old. A write without a sign is dead.

The age of a sign is told by the clock of the store, from the newest file of the directory. A write
that has put nothing there yet looks at its own clock too: else a directory in which nothing happens
any more would stay that of the dead.

To be wrong in this does no harm to a savepoint: who removes the remains of a write has completed a
savepoint meanwhile, or has taken away what the other one completes its own with.
"""

from __future__ import annotations

import fcntl
import os
import posixpath
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING

from pyarrow.fs import FileType

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


@dataclass(frozen=True, slots=True)
class Claim:
    """What a write that lives, or has died a short time ago, claims of a directory.

    Attributes:
        sign: The name of its sign.
        seconds: How long it lasts if the write gives no other sign; None as long as the write
            lives, which a lock tells.
    """

    sign: str
    seconds: int | None

    def __str__(self) -> str:
        if self.seconds is None:
            return "that is under way"
        return (
            f"that is under way, or has died: then its claim ends in {self.seconds} s, and overwrite"
            f" takes its place; if you know that it is dead, remove {self.sign} to go on at once"
        )


def claims(infos: Iterable[fs.FileInfo], *, is_local: bool, now_ns: int = 0) -> dict[str, Claim]:
    """The claims of writes, by their ids; a write without one is dead.

    Args:
        infos: All that lies in the directory.
        is_local: Whether it is on a disk of this machine.
        now_ns: What time it is at least, in ns since 1970.
    """
    infos = list(infos)
    now_ns = max([now_ns, *(info.mtime_ns for info in infos if info.mtime_ns is not None)])
    claims = {}
    for info in infos:
        write_id = write_of(info.base_name)
        if write_id is None or not is_sign(info.base_name):
            continue
        if is_local:
            if _is_locked(info.path):
                claims[write_id] = Claim(info.base_name, None)
            continue
        left_ns = _DEAD_AFTER_NS - (now_ns - (now_ns if info.mtime_ns is None else info.mtime_ns))
        if left_ns >= 0:
            claims[write_id] = Claim(info.base_name, 1 + left_ns // 10**9)
    return claims


def remains_of(infos: Iterable[fs.FileInfo], living: Iterable[str]) -> set[str]:
    """The names of what writes that are dead have left; whatever else is there is somebody's own.

    Args:
        infos: All that lies in the directory.
        living: The ids of the writes that are not dead.
    """
    not_dead = {None, *living}
    files = (info.base_name for info in infos if info.type == FileType.File)
    return {name for name in files if write_of(name) not in not_dead}


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
