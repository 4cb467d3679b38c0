"""Errors of tasks, as what they were raised as.

Spark tells of an error in a task by its traceback. Whoever wrote the savepoint wants the error:
the same class, the same words. Where a task had no chance to raise any, because its process was
killed too often, or Java itself has ended, Spark tells of it by a page of its own frames.
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
_AT = re.compile(r"(.*) at byte (-?\d+): (.*)")


@contextmanager
def typed_errors() -> Iterator[None]:
    """Raises the ``SavepointError`` that a task has raised, instead of Spark's error.

    Raises:
        SavepointError: That of the task; a ``JobError`` where tasks have died.
    """
    try:
        yield
    except PySparkException as error:
        kinds = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in _kinds(SavepointError)}
        raised = [
            (kinds[name], words) for name, words in _RAISED.findall(str(error)) if name in kinds
        ]
        if not raised:
            raise
        raise _error(*raised[-1]) from error
    except Py4JError as error:
        message = _MESSAGE.search(str(error))
        reason = message[1] if message else str(error).partition("\n")[0]
        raise JobError(f"a job of Spark has ended without a result: {reason}") from error


def _kinds(root: type[SavepointError]) -> Iterator[type[SavepointError]]:
    """A class and all that are derived from it."""
    yield root
    for kind in root.__subclasses__():
        yield from _kinds(kind)


def _error(kind: type[SavepointError], message: str) -> SavepointError:
    """An error of this class with these words, which tell already what it is in."""
    if issubclass(kind, FormatError):
        match = _AT.fullmatch(message)
        return kind(match[3], match[1], int(match[2])) if match else SavepointError(message)
    return kind(message)
