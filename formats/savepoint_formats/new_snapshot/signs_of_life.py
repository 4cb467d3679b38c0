"""Signs of life show which writes to a directory are still alive.

A write has a file there, its sign, from beginning to end. A local sign is locked; the lock ends with
the process. Elsewhere the sign is renewed every minute, and a write is dead if its sign is ten minutes
old. A write without a sign is dead.

The age of a sign is measured by the clock of the store, from the newest file of the directory. A write
that has no files there yet uses its own clock too. Otherwise no write could ever take over a directory
in which nothing happens any more.

A wrong guess does no harm to a savepoint: a write that removes files of another one has completed a
savepoint, or removes the file that would become the other's ``_metadata``.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING
from uuid import uuid4

from pyarrow.fs import FileType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyarrow import fs

    from savepoint_formats.locations.location import Location


_ID_SIZE = 16
_LONGEST_NAME = 100
_WRITTEN = re.compile(rf"-([0-9a-f]{{{_ID_SIZE}}})-[0-9a-f]{{{_ID_SIZE}}}$")


def unused_id() -> str:
    """A new id."""
    return uuid4().hex[:_ID_SIZE]


def unused_name(purpose: str, write_id: str) -> str:
    """The name of a new file: ``<purpose>-<id of the write>-<id of the attempt>``.

    So two attempts never use the same file, and files of writes differ from any other files.
    """
    plain = re.sub(r"[^A-Za-z0-9_.]+", "-", purpose)[:_LONGEST_NAME]
    return f"{plain}-{write_id}-{unused_id()}"


def write_of(name: str) -> str | None:
    """The id of the write that made a file; None for other files."""
    match = _WRITTEN.search(name)
    return None if match is None else match[1]


_SIGN = "write"

_RENEWED_EVERY = 60.0
_DEAD_AFTER_NS = 600 * 10**9


def sign_of(write_id: str) -> str:
    """The name of the sign of a write, by which its tasks find it."""
    return f"{_SIGN}-{write_id}-{write_id}"


@contextmanager
def sign_of_life(write_id: str, folder: Location) -> Iterator[None]:
    """Shows that a write is alive."""
    path = posixpath.join(folder.path, sign_of(write_id))
    try:
        with _locked_sign(path, write_id) if folder.is_local else _renewed(folder.filesystem, path):
            yield
    finally:
        with suppress(OSError):
            folder.filesystem.delete_file(path)


def is_sign(name: str) -> bool:
    """Whether a file of this name is the sign of a write."""
    return name.startswith(f"{_SIGN}-") and write_of(name) is not None


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of a write to a directory: its sign, and the seconds until the claim ends.

    ``seconds`` is None if a lock shows that the write is alive.
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
    """Claims by the ids of writes; a write without a claim is dead.

    ``infos`` has all files of the directory. ``now_ns`` is the least current time, in ns since 1970.
    """
    infos = list(infos)
    now_ns = max([now_ns, *(info.mtime_ns for info in infos if info.mtime_ns is not None)])
    claims = {}
    for info in infos:
        write_id = write_of(info.base_name)
        if write_id is None or not is_sign(info.base_name):
            continue
        if is_local:
            if is_locked(info.path):
                claims[write_id] = Claim(info.base_name, None)
            continue
        left_ns = _DEAD_AFTER_NS - (now_ns - (now_ns if info.mtime_ns is None else info.mtime_ns))
        if left_ns >= 0:
            claims[write_id] = Claim(info.base_name, 1 + left_ns // 10**9)
    return claims


def remains_of(infos: Iterable[fs.FileInfo], living: Iterable[str]) -> set[str]:
    """Names of files of dead writes; ``living`` has the ids of the others."""
    not_dead = {None, *living}
    files = (info.base_name for info in infos if info.type == FileType.File)
    return {name for name in files if write_of(name) not in not_dead}


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Makes a local file if there is none, and locks it; the lock ends with the process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        # Without locks, other writes assume that this one is alive.
        with suppress(OSError):
            lock(descriptor)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _locked_sign(path: str, write_id: str) -> Iterator[None]:
    """Makes a local sign. It has a lock before it has its name: a sign without one would be dead."""
    if sys.platform == "win32":
        # It has no such locks, and renames no open file.
        with locked(path):
            yield
        return
    while True:
        unnamed = posixpath.join(posixpath.dirname(path), unused_name("unnamed", write_id))
        with locked(unnamed):
            try:
                os.rename(unnamed, path)
            except FileNotFoundError:
                continue  # another write took it for the rest of a dead one
            yield
            return


def is_locked(path: str) -> bool:
    """Whether a process has locked a file; true if that is unknown."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        expect_unlocked(descriptor)
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
            # The next attempt may succeed; if none does, the savepoint is not harmed.
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


def lock(descriptor: int) -> None:
    """Waits until no other process has a lock, and takes it; closing the descriptor ends it.

    ``OSError`` stands for a file system, or a system such as Windows, that has no such locks.
    """
    _flock(descriptor, "LOCK_EX")


def expect_unlocked(descriptor: int) -> None:
    """Raises ``OSError`` if another process has the lock."""
    _flock(descriptor, "LOCK_SH", "LOCK_NB")


def _flock(descriptor: int, *flags: str) -> None:
    try:
        import fcntl  # noqa: PLC0415  # Windows doesn't have it
    except ImportError:
        raise OSError(errno.ENOLCK, "this system has no locks of files") from None
    fcntl.flock(descriptor, sum(getattr(fcntl, flag) for flag in flags))
