"""The Python of Spark's tasks, which may be another one, without this package.

A server of Spark Connect, a cluster, or a session without ``PYSPARK_PYTHON`` chooses it. Without this
check, the first read would end in a page of Java's frames around a ``ModuleNotFoundError``.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from savepoint_formats.errors import MissingPackageError
from savepoint_spark.session.session import is_remote
from savepoint_spark.workers.start import is_forked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OTHER_VERSION = re.compile(r"different version[^\d]*([\d.]*\d) than")
_NO_PROGRAM = re.compile(r'Cannot run program "([^"]+)"')

_seen: WeakSet[Any] = WeakSet()
"""Sessions whose tasks have found this package."""


def expect_package(spark: SparkSession) -> None:
    """Raises ``MissingPackageError`` if tasks can't import this package; runs a task if they might not."""
    if spark in _seen or _is_own_python(spark):
        return
    column = F.udf(_missing_in_task, "array<string>", useArrow=False)()
    try:
        (row,) = spark.range(0, 1, 1, 1).select(column.alias("found")).collect()
    except (PySparkException, Py4JError) as error:
        other = _other_python(str(error))
        if other is None:
            raise
        raise MissingPackageError(f"{other}: {_advice(spark)}") from error
    executable, version, missing = row["found"]
    if missing:
        raise MissingPackageError(
            f"the Python of Spark's tasks, {executable} ({version}), has no {missing}: {_advice(spark)}"
        )
    _seen.add(spark)


def _is_own_python(spark: SparkSession) -> bool:
    if is_remote(spark) or not str(spark.sparkContext.master).startswith("local"):
        return False
    python: str = spark.sparkContext.pythonExec
    return python == sys.executable or is_forked(python)


def _missing_in_task() -> list[str]:
    """The path and release of a task's Python, and the package that it lacks; "" for none."""
    # Imported here, because this function is sent as code: the task may have no module of ours.
    import importlib  # noqa: PLC0415
    import platform  # noqa: PLC0415
    import sys  # noqa: PLC0415

    missing = ""
    try:
        importlib.import_module("savepoint_spark.session.tasks")
    except ImportError as error:
        missing = error.name or str(error)
    return [sys.executable, platform.python_version(), missing]


# Functions of this module are sent as code, and not by name.
_missing_in_task.__module__ = "__main__"


def _other_python(message: str) -> str | None:
    """The fact about the Python of tasks in an error of Spark."""
    if (version := _OTHER_VERSION.search(message)) is not None:
        return f"Spark's tasks run Python {version[1]}, and this is {platform.python_version()}"
    if (program := _NO_PROGRAM.search(message)) is not None:
        return f"Spark's tasks can't start their Python, {program[1]}"
    return None


def _advice(spark: SparkSession) -> str:
    starts = "the server" if is_remote(spark) else "the session"
    example = "" if is_remote(spark) else f", such as {os.path.abspath(sys.executable)}"
    return f"set PYSPARK_PYTHON to a Python that has this package{example}, before {starts} starts"
