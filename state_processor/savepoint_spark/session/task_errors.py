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
_AT = re.compile(r"(.*) at byte (-?\d+): (.*)")


@contextmanager
def typed_errors() -> Iterator[None]:
    """Raises the ``SavepointError`` of a task, or ``JobError`` if tasks have died."""
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
    """An error with words that already tell where it happened."""
    if issubclass(kind, FormatError):
        match = _AT.fullmatch(message)
        return kind(match[3], match[1], int(match[2])) if match else SavepointError(message)
    return kind(message)
