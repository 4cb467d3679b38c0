"""Turns: one write to a directory at a time checks ``_metadata`` and replaces it.

On a local disk the kernel locks the directory, and unlocks it if the process dies.

Elsewhere a write raises a flag, which is a small file in the directory, and looks for flags of
other writes. It continues when no other flag is up. If two are up, the one with the smaller id
stays up and waits, while the other is taken down until the first is done. This is the one-bit
algorithm of Burns and Lynch. It needs no clock, but a store with immediately consistent files and
listings, such as S3, Google Cloud Storage and Azure.

A write that dies leaves its flag up. Another write that finds this flag without a claim
(``signs_of_life``) first removes the file that would become the ``_metadata`` of the dead write, then
the flag. That does no harm if the write only slept: it can't complete without this file.
"""

from __future__ import annotations

import os
import posixpath
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pyarrow import fs

from savepoint_formats.errors import SavepointError
from savepoint_formats.locations.file_io import METADATA_FILE
from savepoint_formats.new_snapshot.signs_of_life import claims, lock, unused_name, write_of

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

    Raises ``SavepointError`` if another write does not end its turn.
    """
    descriptor = _lock(folder.path) if folder.is_local else None
    if descriptor is None:
        with raised_flag(write_id, folder, _PATIENCE):
            yield
        return
    try:
        yield
    finally:
        os.close(descriptor)


def _lock(path: str) -> int | None:
    """A descriptor that locks a directory until it is closed; None if there are no locks."""
    if os.name == "nt":
        return None  # Windows opens no directories
    descriptor = os.open(path, os.O_RDONLY)
    try:
        lock(descriptor)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


@contextmanager
def raised_flag(write_id: str, folder: Location, patience: float = _PATIENCE) -> Iterator[None]:
    """A turn in a directory without locks; waits ``patience`` seconds for other writes."""
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
        # The write has ended already; a flag that stays goes with its claim.
        with suppress(OSError):
            folder.filesystem.delete_file(flag)


def _wait(folder: Location, hindering: Callable[[], list[Flag]], deadline: float) -> None:
    while flags := hindering():
        if time.monotonic() > deadline:
            raise SavepointError(
                f"{flags[0].name} in {folder.path} is the turn of another write {flags[0].claim}"
            )
        time.sleep(_PAUSE)


class Flag(NamedTuple):
    """The file of another write's flag, and the claim of that write."""

    name: str
    claim: Claim


class _Flags(NamedTuple):
    """Flags of writes with smaller and with larger ids."""

    smaller: list[Flag]
    larger: list[Flag]


def _others(folder: Location, write_id: str) -> _Flags:
    """Flags of other writes that are up; takes down the flags of dead writes."""
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
    """Removes the ``_metadata`` that a dead write has prepared, and then its flag."""
    names = [info.base_name for info in infos if write_of(info.base_name) == write_id]
    for purpose in (METADATA_FILE, FLAG):
        for name in names:
            if name.startswith(f"{purpose}-"):
                with suppress(FileNotFoundError):
                    folder.filesystem.delete_file(posixpath.join(folder.path, name))
