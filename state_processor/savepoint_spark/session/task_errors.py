"""Raises errors of tasks as the classes that tasks raised.

Spark reports an error of a task as a traceback; users want the same class and the same words. If a
process was killed too often, or Java has ended, Spark reports a page of its own frames instead.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from savepoint_formats.errors import FormatError, JobError, SavepointError

if TYPE_CHECKING:
    from collections.abc import Iterator

# The last line of a traceback.
_RAISED = re.compile(r"^([A-Za-z_][\w.]*): (.*)$", re.MULTILINE)
# The message of an exception of Java, behind the line that says what was called.
_MESSAGE = re.compile(r"^: (?:[\w.$]+: )?(.+)$", re.MULTILINE)
# Spark waits 10 seconds for a worker that it starts by itself, which no option changes.
_TOO_SLOW = re.compile("Python worker (?:failed )?to connect back")
_AT = re.compile(r"(.*) at byte (-?\d+): (.*)")


@contextmanager
def typed_errors() -> Iterator[None]:
    """Raises the ``SavepointError`` of a task, or ``JobError`` if tasks have died."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        typed = _typed(error)
        if typed is None:
            raise
        raise typed from error


def _typed(error: PySparkException | Py4JError) -> SavepointError | None:
    """The error of a task, or of a job whose tasks have died; None if it is an error of others."""
    if _TOO_SLOW.search(str(error)):
        return JobError(
            "a Python worker of Spark has not started within 10 seconds, because the machine is busy:"
            " run it again, with fewer tasks at once, e.g. with spark.master=local[1]"
        )
    if isinstance(error, PySparkException):
        kinds = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in _kinds(SavepointError)}
        raised = [
            (kinds[name], words) for name, words in _RAISED.findall(str(error)) if name in kinds
        ]
        return _error(*raised[-1]) if raised else None
    message = _MESSAGE.search(str(error))
    reason = message[1] if message else str(error).partition("\n")[0]
    return JobError(f"a job of Spark has ended without a result: {reason}")


def _kinds(root: type[SavepointError]) -> Iterator[type[SavepointError]]:
    """A class and all that are derived from it."""
    yield root
    for kind in root.__subclasses__():
        yield from _kinds(kind)


def _error(kind: type[SavepointError], message: str) -> SavepointError:
    """An error with words that already tell where it happened."""
    if issubclass(kind, FormatError):
        match = _AT.fullmatch(message)
        return kind(match[3], match[1], int(match[2])) if match else SavepointError(message)
    return kind(message)
