"""Files and directories of this machine that are to outlive a loss of power."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


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
