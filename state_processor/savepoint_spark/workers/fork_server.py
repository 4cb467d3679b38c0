"""The process from which Spark's Python daemons are forked, with all imports that workers need.

It imports Spark's workers, Arrow and the modules for tasks, and waits for requests of ``daemon``.
It runs nothing else, and ends with the process that started it.

::

    python -m savepoint_spark.workers.fork_server LISTENER PID
"""

from __future__ import annotations

import importlib
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from savepoint_spark.workers.daemon import NUMBER_SIZE, receive_request
from savepoint_spark.workers.start import keep_what_is_imported

if TYPE_CHECKING:
    from collections.abc import Callable

_WORKER = "pyspark.worker"

_MODULES = (
    "pyspark.daemon",
    _WORKER,
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "savepoint_functions.functions.function_task",
    "savepoint_spark.reading.data_source",
    "savepoint_spark.writing.keyed_plan",
    "savepoint_spark.writing.run_encoding",
)
"""Modules that workers import. They are names here, because some are in higher rooms."""

# Variables that Python and its libraries read once, at their start; Spark sets the others itself.
_ASKED = (b"PYTHON", b"LANG", b"LC_", b"SAVEPOINT_", b"ARROW_", b"OMP_", b"OPENBLAS_", b"MKL_")
_OF_SPARK = (b"PYTHON_", b"PYTHONPATH", b"PYTHONUNBUFFERED")


def main() -> None:
    """Serves until the process that started it has ended; each fork becomes a daemon."""
    listener, starter = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    address = listener.getsockname()
    # Like Java and its processes: only the driver is stopped from a terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end = os.pidfd_open(starter)
    if os.getppid() == starter:
        _prepare()
        sender = _request(listener, end)
        if sender is not None:
            _become_a_daemon(sender)
        else:
            # A killed driver could not remove its folder.
            shutil.rmtree(os.path.dirname(address), ignore_errors=True)


def _prepare() -> None:
    """Imports what workers need, and excludes it from their garbage collection."""
    for name in _MODULES:
        # PySpark 3.5 has no data sources.
        with suppress(ImportError):
            importlib.import_module(name)
    keep_what_is_imported()


def _request(listener: socket.socket, end: int) -> socket.socket | None:
    """A request, in each fork; None in this process, when it must end."""
    # Ended daemons don't become zombies, although nobody waits for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    poller.register(end, select.POLLIN)
    with listener:
        while end not in [descriptor for descriptor, _ in poller.poll()]:
            sender, _ = listener.accept()
            if os.fork() == 0:
                os.close(end)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                return sender
            sender.close()
    return None


def _become_a_daemon(sender: socket.socket) -> None:
    """Runs as a daemon of Spark in the place of the process that asks for it."""
    with sender:
        streams, worker, folder, variables = receive_request(sender)
        if not _is_as_begun(variables):
            return
        _take_over(folder, variables)
        sys.argv[1:] = [worker]
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        sender.sendall(os.getpid().to_bytes(NUMBER_SIZE, "big"))
    daemon: Any = importlib.import_module("pyspark.daemon")
    # PySpark 4.0 has chosen it when the daemon's module was imported, and 3.5 has no choice.
    daemon.worker_main = importlib.import_module(worker or _WORKER).main
    daemon.worker = partial(_end_when_unheard, daemon.worker)
    daemon.manager()


def _end_when_unheard(worker: Callable[..., int], *arguments: object) -> int:
    """Runs a worker that ends silently once Java stops listening.

    That happens with each LIMIT and ``show()``, and Spark's daemon would print a traceback. Errors
    of tasks are sent to Java, and not raised here.
    """
    try:
        return worker(*arguments)
    except ConnectionError:
        os._exit(1)


def _is_as_begun(variables: dict[bytes, bytes]) -> bool:
    """Whether a process with these variables would begin as this one did."""
    return all(
        os.environb.get(name) == value
        for name, value in variables.items()
        if name.startswith(_ASKED) and not name.startswith(_OF_SPARK)
    )


def _take_over(folder: bytes, variables: dict[bytes, bytes]) -> None:
    first = 0 if sys.flags.safe_path else 1
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    installed = [place for place in sys.path[first:] if place not in own]
    os.environb.clear()
    os.environb.update(variables)
    time.tzset()
    # Found anew on the next use: Spark's processes have another folder.
    tempfile.tempdir = None
    os.chdir(folder)
    asked = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [*[os.getcwd()][:first], *filter(None, asked), *installed]


if __name__ == "__main__":
    main()
