"""Writes to a directory of backups that are under way: what they need, and what they are removing.

No file goes that a backup needs, whatever writes, prunes, sleeps or dies at the same time. Files in
``writes`` tell the others:

| name              | its write ...                                                              |
|-------------------|----------------------------------------------------------------------------|
| ``write-<id>-…``  | is alive, see ``signs_of_life``                                            |
| ``reused-<id>-…`` | may refer to these files, which were there before it                       |
| ``doomed-<id>-…`` | may remove these files; no other write may refer to them from now on       |
| ``part-<id>-…``   | is copying a file                                                          |
| ``metadata-<id>-…`` | is going to put this in place as ``_metadata``                           |

Who makes a backup writes ``reused``, and then reads what is ``doomed``. Who prunes writes ``doomed``,
and then reads what is ``reused``, and then all ``_metadata``. So one of two sees the other. New files
have the id of their write in their names, and stay as long as it is alive. No clock decides about
``doomed``: such a list goes when its own write is done, or none of its files is left.

A write without a sign of life is dead: first its sign is removed, then its ``metadata``. If it only
slept, it can't complete any more: it looks for its sign after it has written ``metadata``, and has
nothing to put in place if that is gone.
"""

from __future__ import annotations

import posixpath
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from savepoint_extensions.backup.backup_store import WRITES
from savepoint_formats.errors import SavepointError, SavepointExistsError
from savepoint_formats.new_snapshot import (
    NewFile,
    sign_of,
    sign_of_life,
    unused_id,
    unused_name,
    write_of,
    writing_errors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyarrow import fs

    from savepoint_extensions.backup.backup_store import BackupStore
    from savepoint_formats.locations import Location

REUSED = "reused"
DOOMED = "doomed"
PART = "part"
METADATA = "metadata"

_SIGN = "write"


@contextmanager
def begun(store: BackupStore) -> Iterator[str]:
    """The id of a write, which shows signs of life meanwhile; files of dead writes are removed."""
    store.make(WRITES)
    write_id = unused_id()
    with ExitStack() as sign:
        with writing_errors(store.uri):
            sign.enter_context(sign_of_life(write_id, store.below(WRITES)))
            end_dead(store)
        try:
            yield write_id
        finally:
            # The list of what it needs goes before its sign, and after its ``_metadata`` is there.
            with suppress(OSError, SavepointError):
                for info in _notes(store, REUSED, PART, METADATA):
                    if write_of(info.base_name) == write_id:
                        remove(store, WRITES, info.base_name)


def end_dead(store: BackupStore) -> None:
    """Removes the files of dead writes, so that they can't complete; lists of doomed files stay."""
    infos = store.below(WRITES).infos()
    living = store.living()
    dead = [info.base_name for info in infos if write_of(info.base_name) not in {None, *living}]
    for is_sign in (True, False):
        for name in dead:
            if name.startswith(f"{_SIGN}-") is is_sign and not name.startswith(f"{DOOMED}-"):
                remove(store, WRITES, name)


def note(store: BackupStore, write_id: str, purpose: str, names: Iterable[str]) -> str:
    """Writes down names of files; returns the name of the list."""
    name = unused_name(purpose, write_id)
    with NewFile(name, store.below(WRITES, name)) as file:
        file.write("\n".join(sorted(names)).encode())
    return name


def noted(store: BackupStore, purpose: str, *, but: str = "") -> dict[str, frozenset[str]]:
    """The lists of all writes for a purpose, by the names of the lists, ``but`` of one write."""
    lists = {}
    for info in _notes(store, purpose):
        if write_of(info.base_name) != but:
            # Its write may be done meanwhile.
            place = store.below(WRITES, info.base_name)
            try:
                lists[info.base_name] = _names_in(place)
            except OSError:
                # A store that opens files late has another error than FileNotFoundError.
                if place.file_size() is not None:
                    raise
    return lists


def signed(store: BackupStore) -> frozenset[str | None]:
    """The ids of writes that have a sign, whether they are alive or not."""
    return frozenset(write_of(info.base_name) for info in _notes(store, _SIGN))


def taken_for_dead(store: BackupStore) -> SavepointExistsError:
    """The error of a write whose files others have removed."""
    return SavepointExistsError(
        f"{store.uri}: another write took this one for dead, because it gave no sign of life for"
        " minutes: back up again"
    )


def has_sign(store: BackupStore, write_id: str) -> bool:
    """Whether nobody has taken a write for dead."""
    return store.below(WRITES, sign_of(write_id)).file_size() is not None


def remove(store: BackupStore, *names: str) -> None:
    """Removes a file of the directory, unless it is gone already."""
    with suppress(FileNotFoundError):
        store.location.filesystem.delete_file(store.below(*names).path)


def _notes(store: BackupStore, *purposes: str) -> list[fs.FileInfo]:
    starts = tuple(f"{purpose}-" for purpose in purposes)
    infos = store.below(WRITES).infos()
    return [info for info in infos if info.base_name.startswith(starts)]


def _names_in(location: Location) -> frozenset[str]:
    with location.filesystem.open_input_file(location.path) as file:
        return frozenset(posixpath.basename(name) for name in file.read().decode().split("\n"))
