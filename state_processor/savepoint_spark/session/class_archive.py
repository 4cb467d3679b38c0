"""Spark's classes in an archive of Java, for the next start on this machine.

Java takes half of a session's start to load and check some 15,000 classes. It can write them into
an archive of about 170 MB when the first process ends, and map the archive in later processes.

Java passes over an archive of another Java, of other files of Spark, or one that is incomplete. It
then loads the classes from their files.
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

# Java 21 refuses an archive for a class path as long as Spark's.
_RELEASES = (17,)

# Number of archives on this machine; the ones that were used last stay.
_MOST_ARCHIVES = 2

# By default, Java prints a line for each class that it can't archive.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"


def archive_options(java: Java) -> str:
    """The Java options, as a command line has them, that use the archive or write it at the end.

    They are empty for a Java that can't, and if the user's cache folder can't be written to.

    Source: ``-XX:ArchiveClassesAtExit`` and ``-XX:SharedArchiveFile`` are those of JEP 350.
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
    """Whether an archive is complete: Java writes the magic number last."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        return any(file.read(4))
    return False


def _make_room(folder: Path) -> None:
    """Removes the archives that were not used for the longest time."""
    archives = sorted(folder.glob("*.jsa"), key=lambda archive: archive.stat().st_mtime)
    for archive in archives[: 1 - _MOST_ARCHIVES]:
        archive.unlink()
