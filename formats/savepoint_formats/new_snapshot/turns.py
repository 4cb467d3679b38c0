"""Turns: of all writes to one directory, one at a time looks at ``_metadata`` and replaces it.

On a disk of this machine the kernel locks the directory, and unlocks it if the process dies.

Elsewhere a write raises a flag, which is a small file in the directory, and looks at the flags of
the others. It goes on alone once no other is up. Where two are up, that of the smaller id stays and
waits; the other is taken down until that one is done. This is the one-bit algorithm of Burns and
Lynch. It needs a store that shows at once what was written, in listings too, as S3, Google Cloud
Storage and Azure do; and no clock.

A write that dies with its flag up leaves it. Whoever finds such a flag, and no claim of that write any
more (``signs_of_life``), first removes the file that would become its ``_metadata``, then the flag. So
it does no harm if the write only slept: it can't complete without this file.
"""

from __future__ import annotations

import fcntl
import os
import posixpath
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pyarrow import fs

from savepoint_formats.errors import SavepointError
from savepoint_formats.locations.file_io import METADATA_FILE
from savepoint_formats.new_snapshot.signs_of_life import claims
from savepoint_formats.new_snapshot.written_names import unused_name, write_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.locations.location import Location
    from savepoint_formats.new_snapshot.signs_of_life import Claim

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
        with raised_flag(write_id, folder, _PATIENCE):
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
    deadline, others = time.monotonic() + patience, partial(_others, folder, write_id)
    flag = posixpath.join(folder.path, unused_name(FLAG, write_id))
    try:
        while True:
            _wait(folder, lambda: others().smaller, deadline)
            with folder.filesystem.open_output_stream(flag, compression=None):
                pass
            if not others().smaller:
                break
            folder.filesystem.delete_file(flag)
        _wait(folder, lambda: others().larger, deadline)
        yield
    finally:
        with suppress(FileNotFoundError):
            folder.filesystem.delete_file(flag)


def _wait(folder: Location, hindering: Callable[[], list[Flag]], deadline: float) -> None:
    """Waits until no flag is up that hinders."""
    while flags := hindering():
        if time.monotonic() > deadline:
            raise SavepointError(
                f"{flags[0].name} in {folder.path} is the turn of another write {flags[0].claim}"
            )
        time.sleep(_PAUSE)


class Flag(NamedTuple):
    """The flag of another write, which has a claim.

    Attributes:
        name: Its file.
        claim: That of the write.
    """

    name: str
    claim: Claim


class _Flags(NamedTuple):
    """The flags of other writes: of those with smaller ids, and with larger ones."""

    smaller: list[Flag]
    larger: list[Flag]


def _others(folder: Location, write_id: str) -> _Flags:
    """The flags that are up beside that of a write; those of the dead are taken down."""
    selector = fs.FileSelector(folder.path, allow_not_found=True)
    infos = folder.filesystem.get_file_info(selector)
    known = claims(infos, is_local=folder.is_local)
    flags = _Flags([], [])
    for info in infos:
        other = write_of(info.base_name)
        if other in (None, write_id) or not info.base_name.startswith(f"{FLAG}-"):
            continue
        if other in known:
            side = flags.smaller if other < write_id else flags.larger
            side.append(Flag(info.base_name, known[other]))
        else:
            _end(folder, other, infos)
    return flags


def _end(folder: Location, write_id: str, infos: Iterable[fs.FileInfo]) -> None:
    """Takes away what a write completes with, and then its flag."""
    names = [info.base_name for info in infos if write_of(info.base_name) == write_id]
    for purpose in (METADATA_FILE, FLAG):
        for name in names:
            if name.startswith(f"{purpose}-"):
                with suppress(FileNotFoundError):
                    folder.filesystem.delete_file(posixpath.join(folder.path, name))
