"""Errors of a user's function begin with the user's own code, not with what called it.

A traceback of a task is all that a user gets to see of an error. The frames of this package, through
which the call went, come first in it and say nothing of the mistake.
"""

from __future__ import annotations

import sysconfig
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

import savepoint_formats
from savepoint_formats.errors import SavepointError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    T = TypeVar("T")
    P = ParamSpec("P")

_STANDARD_LIBRARY = sysconfig.get_path("stdlib")
_INSTALLED = "site-packages"
_LIBRARIES = frozenset({"pyspark", "pyarrow", "numpy", "numba", "pandas"})
_PACKAGES = ("savepoint_database", "savepoint_spark", "savepoint_functions", "state_processor")
_OURS = tuple(
    f"{folder}/"
    for folder in (
        Path(savepoint_formats.__file__).parent,
        *(Path(__file__).parents[2] / package for package in _PACKAGES),
    )
)


def user_frames_first(run: Callable[P, Iterable[T]]) -> Callable[P, Iterator[T]]:
    """The generator, whose errors begin with the frames of a user's function if there are any."""

    @wraps(run)
    def shown(*arguments: P.args, **options: P.kwargs) -> Iterator[T]:
        with _UserFrames():
            yield from run(*arguments, **options)

    return shown


class _UserFrames:
    """Leaves the frames out that are in front of those of a user's function."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        # A savepoint's own errors say what they are about, and come out of functions as well.
        if isinstance(error, Exception) and not isinstance(error, SavepointError):
            error.__traceback__ = _first_of_user(error.__traceback__) or error.__traceback__


def _first_of_user(frame: TracebackType | None) -> TracebackType | None:
    """The frames from the first on that is neither of this package nor of a library of it."""
    while frame is not None and not _is_of_user(frame.tb_frame.f_code.co_filename):
        frame = frame.tb_next
    return frame


def _is_of_user(file: str) -> bool:
    parts = Path(file).parts
    if file.startswith(_OURS) or _LIBRARIES & set(parts):
        return False
    # What is compiled tells a path that leads nowhere; what was typed in has a name in brackets.
    is_file = Path(file).is_absolute() or file.startswith("<")
    is_standard = file.startswith((_STANDARD_LIBRARY, "<frozen")) and _INSTALLED not in parts
    return is_file and not is_standard
