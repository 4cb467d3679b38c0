"""The Java of this process: its start, its end, and its folder on the disk.

Java deletes the folder when it ends by itself. If Java was killed, this process deletes it.

Messages of Java are shown if a user can act on them. Others are left out: Spark's warning of an
incubator module at each start, tracebacks of Python workers whose rows are no longer wanted
(LIMIT), and the steps of streams. If Java fails to start, its first message becomes the error.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from itertools import chain
from threading import Thread
from traceback import walk_tb
from typing import TYPE_CHECKING

from savepoint_formats.errors import JobError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import TracebackType

# Java's warnings about itself, and the steps of Spark's workers of streams.
_NOTICES = (b"WARNING: ", b"Starting Streaming TransformWithState", b"Streaming TransformWithState")
_TRACEBACK = b"Traceback (most recent call last):"
_UNWANTED = b"BrokenPipeError: "
_MOST_LINES = 50

JAVA_DIED = (
    "the Java that Spark runs on has died, perhaps because the machine has no memory left: give it"
    " another limit by the setting spark.driver.memory, or split the work"
)

_TEMPORARY = "-Djava.io.tmpdir"

# Some systems limit the path of a socket to 103 bytes; Spark's names of sockets have 42.
_LONGEST_FOLDER = 60

# A process that has broken a connection is gone within this time.
_END_SECONDS = 2.0

# Workers of a Java that was killed continue for a moment, and may still write files.
_WORKER_SECONDS = 5.0
_PAUSE_SECONDS = 0.05


class JavaMessages(Thread):
    """Reads what Java writes to ``end``, keeps it while Java starts, and then passes it on."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._beginning, self.end = os.pipe()
        self._is_started = False
        self._said: list[bytes] = []
        self.start()

    def run(self) -> None:
        with os.fdopen(self._beginning, "rb") as lines:
            for text in worth_showing(lines):
                if self._is_started:
                    _show(text)
                elif len(self._said) < _MOST_LINES:
                    self._said.append(text)

    def pass_on(self) -> None:
        """Shows all messages so far, and all that come."""
        os.close(self.end)
        self._is_started = True
        for text in self._said:
            _show(text)

    def reason(self) -> str:
        """The first message, once Java has ended."""
        os.close(self.end)
        self.join()
        return next(
            (text.decode(errors="replace").strip() for text in self._said if text.strip()),
            "it said nothing",
        )


def worth_showing(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines for the user; a traceback is one text."""
    traceback: list[bytes] = []
    is_notice = False
    for line in lines:
        if traceback and line.startswith(b" "):
            traceback.append(line)
            continue
        of_daemon = all(b"daemon.py" in frame for frame in traceback[1:] if b"File " in frame)
        is_unwanted = bool(traceback) and of_daemon and line.startswith(_UNWANTED)
        if traceback and not is_unwanted:
            yield b"".join(traceback)
        traceback = [line] if line.startswith(_TRACEBACK) else []
        # An empty line may belong to a notice.
        is_notice = line.startswith(_NOTICES) or (is_notice and not line.strip())
        if not (traceback or is_unwanted or is_notice):
            yield line


def _show(text: bytes) -> None:
    with suppress(OSError):
        os.write(2, text)


class _Running:
    """The Java that this process has started, and its folder."""

    process: subprocess.Popen[bytes] | None = None
    folder = ""


def folder_settings(*, is_alone: bool) -> dict[str, str]:
    """Settings that put all of Spark's files into one temporary folder."""
    if not _Running.folder:
        _Running.folder = tempfile.mkdtemp(prefix="savepoint-spark-")
        atexit.register(_remove_folder, os.getpid())
    folder = _Running.folder
    of_tasks = {"spark.local.dir": folder, "spark.executorEnv.TMPDIR": folder} if is_alone else {}
    return {
        **of_tasks,
        "spark.driver.extraJavaOptions": f'"{_TEMPORARY}={folder}"',
        "spark.sql.warehouse.dir": os.path.join(folder, "warehouse"),
        # A Python worker is on the machine of its Java, so rows can take this shorter way.
        "spark.python.unix.domain.socket.enabled": str(len(folder) <= _LONGEST_FOLDER).lower(),
    }


def start_java(settings: Mapping[str, str]) -> None:
    """Starts Java with a context of Spark, unless this process has one; a failure leaves no Java.

    ``settings`` need Spark's master and the name of the application. ``JobError`` has Java's first line.
    """
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415  # Spark is slow to import
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    if SparkContext._gateway is not None:  # nothing else says so
        return
    conf, messages = SparkConf().setAll(list(settings.items())), JavaMessages()
    try:
        gateway = launch_gateway(conf, {"stderr": messages.end})  # type: ignore[no-untyped-call]  # it has no types
    except BaseException as error:
        # Until Java has answered, only the call stack of this error knows its process.
        _Running.process = _process_in(error.__traceback__)
        end_java()
        if isinstance(error, PySparkRuntimeError):
            raise JobError(f"Spark's Java did not start: {messages.reason()}") from error
        raise
    _Running.process = gateway.proc
    messages.pass_on()
    SparkContext(conf=conf, gateway=gateway)


def _process_in(trace: TracebackType | None) -> subprocess.Popen[bytes] | None:
    values = chain.from_iterable(frame.f_locals.values() for frame, _ in walk_tb(trace))
    started = (value for value in values if isinstance(value, subprocess.Popen))
    return next((process for process in started if hasattr(process, "pid")), None)


def leave_folder_to_java() -> None:
    """Makes Java delete its folder at its end, after everything that Spark does there."""
    from pyspark import SparkContext  # noqa: PLC0415  # Spark is slow to import

    java = SparkContext._jvm
    if _Running.process is not None and java is not None:
        hooks = java.org.apache.spark.util.ShutdownHookManager
        hooks.registerShutdownDeleteDir(java.java.io.File(_Running.folder))


def end_java() -> None:
    """Kills the Java that this process has started, and its work with it."""
    if _Running.process is not None:
        _Running.process.kill()
        _Running.process.wait()
        _Running.process = None
    _remove_folder(os.getpid())


def java_has_died() -> bool:
    """Whether the Java that this process has started has ended."""
    if _Running.process is None:
        return False
    try:
        _Running.process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _remove_folder(process: int) -> None:
    java = _Running.process
    if os.getpid() != process or (java is not None and java.poll() is None):
        return
    end = time.monotonic() + _WORKER_SECONDS
    while True:
        shutil.rmtree(_Running.folder, ignore_errors=True)
        if not os.path.exists(_Running.folder) or time.monotonic() > end:
            return
        time.sleep(_PAUSE_SECONDS)
