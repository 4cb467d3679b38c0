"""The Java of this process: its start, its end, and its folder on the disk.

Java deletes the folder when it ends by itself. If Java was killed, this process deletes it.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from itertools import chain
from traceback import walk_tb
from typing import TYPE_CHECKING

from savepoint_formats.errors import JobError
from savepoint_spark.session.java_messages import JavaMessages

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

JAVA_DIED = (
    "the Java that Spark runs on has died, perhaps because the machine has no memory left: give it"
    " another limit by the setting spark.driver.memory, or split the work"
)

_TEMPORARY = "-Djava.io.tmpdir"

# Some systems limit the path of a socket to 103 bytes; Spark's names of sockets have 42.
_LONGEST_FOLDER = 60

# A process that has broken a connection is gone within this time.
_END_SECONDS = 2.0


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

    ``settings`` need Spark's master and the name of the application.

    Raises:
        JobError: Java did not start; the message is the first line that it said.
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
    if os.getpid() == process and (java is None or java.poll() is not None):
        shutil.rmtree(_Running.folder, ignore_errors=True)
