"""Folders whose files only this user can write: Java and its script are run from there.

A folder for caches may be shared: ``XDG_CACHE_HOME`` or ``HOME`` of several users. So each user has a
folder of their own in it.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_ROOT = 0
_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def own_folder(place: Path) -> Path | None:
    """The folder of this user in a place, made if needed; None if others may write there."""
    folder = place if sys.platform == "win32" else place / f"user-{os.geteuid()}"
    with suppress(OSError):
        folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        if is_trusted(folder):
            return folder
    return None


def is_trusted(folder: Path) -> bool:
    """Whether a folder is no link, and only this user or root can write there."""
    if sys.platform == "win32":
        return True
    try:
        status = folder.lstat()
    except OSError:
        return False
    is_ours = status.st_uid in (os.geteuid(), _ROOT)
    return stat.S_ISDIR(status.st_mode) and is_ours and not status.st_mode & _OF_OTHERS
