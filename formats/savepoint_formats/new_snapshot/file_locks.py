"""Locks of local files and directories by the kernel, which end with the process.

``OSError`` stands for a file system, or a system such as Windows, that has no such locks.
"""

from __future__ import annotations

import errno


def lock(descriptor: int) -> None:
    """Waits until no other process has a lock, and takes it; closing the descriptor ends it."""
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
