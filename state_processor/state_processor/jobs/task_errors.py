"""Errors of tasks, as what they were raised as.

Spark tells of an error in a task by its traceback. Whoever wrote the savepoint wants the error:
the same class, the same words.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from savepoint_formats import errors
from savepoint_formats.errors import FormatError, SavepointError

if TYPE_CHECKING:
    from collections.abc import Iterator

_RAISED = re.compile(rf"^{re.escape(errors.__name__)}\.(\w+): (.*)$", re.MULTILINE)
_AT = re.compile(r"(.*) at byte (-?\d+): (.*)")


@contextmanager
def typed_errors() -> Iterator[None]:
    """Raises the ``SavepointError`` that a task has raised, instead of Spark's error."""
    try:
        yield
    except PySparkException as error:
        found = _RAISED.findall(str(error))
        if not found:
            raise
        name, message = found[-1]
        raise _error(name, message) from error


def _error(name: str, message: str) -> SavepointError:
    """An error of this class with these words, which tell already what it is in."""
    kind: type[SavepointError] = getattr(errors, name, SavepointError)
    if issubclass(kind, FormatError):
        found = _AT.fullmatch(message)
        return kind(found[3], found[1], int(found[2])) if found else SavepointError(message)
    return kind(message)
