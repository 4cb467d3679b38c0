"""Spark's classes as Java left them, kept for the next process of this machine.

Java takes half of a session's start for loading and checking some 15,000 classes. It can write what
it made of them into an archive when a process ends, and map that archive when the next one starts.
The first session of a machine leaves one, of about 170 MB; the later ones use it.

What Java thinks of an archive is its own affair: one of another Java, of other files of Spark or one
that was not written to its end is passed over, and the classes are loaded from their files.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import sha256
from typing import TYPE_CHECKING

from savepoint_spark.session.java_runtime import cache_folder

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_spark.session.java_runtime import Java

# Java 21 refuses an archive of as long a class path as Spark has.
_RELEASES = (17,)

# So many environments of this machine keep theirs; the one that was used last stays.
_KEPT = 2

# Else it prints what it can't keep, a line for each class.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"


def archive_options(java: Java) -> str:
    """The options with which Java uses the archive of this machine, or leaves one at its end.

    Args:
        java: What Spark runs on.

    Returns:
        Options as a command line has them; none where this Java keeps no archive, or where this
        user's folder of caches can't be written to.

    Source:
        ``-XX:ArchiveClassesAtExit`` and ``-XX:SharedArchiveFile`` are those of JEP 350.
    """
    if java.release not in _RELEASES:
        return ""
    path = _path(java)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_whole(path):
            os.utime(path)
            return f'"-XX:SharedArchiveFile={path}" {_QUIET}'
        _make_room(path.parent)
    except OSError:
        return ""
    return f'"-XX:ArchiveClassesAtExit={path}" {_QUIET}'


def _path(java: Java) -> Path:
    """The archive of this Java and this Spark."""
    import pyspark  # noqa: PLC0415  # Spark is slow to import

    program = java.program.resolve()
    of = (program, program.stat().st_mtime_ns, pyspark.__file__, pyspark.__version__)
    return cache_folder() / "classes" / f"{sha256(repr(of).encode()).hexdigest()[:32]}.jsa"


def _is_whole(path: Path) -> bool:
    """Whether an archive was written to its end: Java writes the magic number last."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        return any(file.read(4))
    return False


def _make_room(folder: Path) -> None:
    """Removes archives that were not used for the longest time."""
    archives = sorted(folder.glob("*.jsa"), key=lambda archive: archive.stat().st_mtime)
    for archive in archives[: 1 - _KEPT]:
        archive.unlink()
