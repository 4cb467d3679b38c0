"""Forks Spark's Python daemons from a ready process, instead of starting them one by one.

The first read of a session starts four daemons and a worker of each. Each of these would import
Spark, Pandas and Arrow; the fork server does so once, while Java starts.
"""

from __future__ import annotations

import atexit
import gc
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DAEMON = Path(__file__).with_name("daemon.py")
_SOCKET = "socket"
_SAFE_PATH = "PYTHONSAFEPATH"

_PYTHON = """\
#!/bin/sh
if [ "$1 $2" = "-m pyspark.daemon" ]; then
  exec {python} -S -E {daemon} {address} "$3"
fi
exec {python} "$@"
"""
"""The program that Spark starts as Python."""


class _Running:
    """The program that replaces Python for Spark, once the fork server runs."""

    python = ""


@contextmanager
def safe_imports() -> Iterator[None]:
    """Keeps processes that start in this context from importing from the current directory.

    Spark starts its workers by ``python -m``, which puts that directory first, and it may be a
    stranger's. A program that imports from there itself has workers that do so too.
    """
    usual = os.environ.get(_SAFE_PATH)
    if os.getcwd() not in map(os.path.abspath, sys.path):
        os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if usual is None:
            os.environ.pop(_SAFE_PATH, None)


@contextmanager
def forked_workers(master: str) -> Iterator[None]:
    """Lets a session that starts inside this context fork its daemons.

    Nothing changes where that can't be: on a cluster, without Linux (which can watch processes),
    for another Python or another Spark than this process has, or if Java runs already.
    """
    usual = os.environ["PYSPARK_PYTHON"]
    if master.startswith("local") and usual == sys.executable:
        if not _Running.python and _can_start():
            _Running.python = _started()
        os.environ["PYSPARK_PYTHON"] = _Running.python or usual
    try:
        yield
    finally:
        # Other processes of this one start as usual.
        os.environ["PYSPARK_PYTHON"] = usual


def is_forked(python: str) -> bool:
    """Whether the program that Spark runs as Python is the fork server's."""
    return bool(python) and python == _Running.python


def _can_start() -> bool:
    from pyspark import SparkContext  # noqa: PLC0415  # Spark is slow to import

    java_runs = SparkContext._gateway is not None  # nothing else says so
    another_spark = "SPARK_HOME" in os.environ
    return sys.platform == "linux" and _DAEMON.is_file() and not (another_spark or java_runs)


def _started() -> str:
    """Starts the fork server; returns the program that replaces Python for Spark, or nothing."""
    folder = Path(tempfile.mkdtemp(prefix="savepoint-workers-"))
    atexit.register(_in(os.getpid(), lambda: shutil.rmtree(folder, ignore_errors=True)))
    address, python = folder / _SOCKET, folder / "python"
    words = {"python": sys.executable, "daemon": str(_DAEMON), "address": str(address)}
    script = _PYTHON.format(**{name: shlex.quote(word) for name, word in words.items()})
    python.write_text(script, encoding="utf-8")
    python.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(str(address))
        except OSError:
            return ""  # the path of a folder for temporary files may be too long
        listener.listen()
        _serve(listener)
    # A mount may forbid programs.
    return str(python) if os.access(python, os.X_OK) else ""


def _serve(listener: socket.socket) -> None:
    numbers = (str(listener.fileno()), str(os.getpid()))
    server = subprocess.Popen(
        [sys.executable, "-u", "-m", "savepoint_spark.workers.fork_server", *numbers],
        # As Spark sets them for its workers. Without the second one, libraries start threads.
        env={"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", **os.environ},
        pass_fds=[listener.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    atexit.register(_in(os.getpid(), server.wait))
    atexit.register(_in(os.getpid(), server.kill))


def _in(process: int, what: Callable[[], object]) -> Callable[[], None]:
    """A function that runs in a process, but not in its forks."""

    def do() -> None:
        if os.getpid() == process:
            what()

    return do


class _Kept:
    """The number of modules when they were last frozen."""

    modules = 0


def keep_what_is_imported() -> None:
    """Excludes imported modules from garbage collection, at the end of a task.

    Spark has a worker collect garbage after each task. With LLVM, Pandas and Arrow imported, that
    takes 0.1 s, as long as half a million rows, and finds nothing. Unused objects are still freed.
    """
    if len(sys.modules) > _Kept.modules:
        gc.collect()
        gc.freeze()
        _Kept.modules = len(sys.modules)
