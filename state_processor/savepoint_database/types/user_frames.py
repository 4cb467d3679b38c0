"""Tracebacks of a user's function, which begin with the user's own code.

Users see only the traceback of a task. Frames of our packages come first in it and say nothing of
the mistake.
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
_LIBRARIES = frozenset({"pyspark", "pyarrow", "numpy", "llvmlite", "pandas"})
_OURS = (
    f"{Path(savepoint_formats.__file__).parent}/",
    *(
        f"{Path(__file__).parents[2] / name}/"
        for name in ("savepoint_database", "savepoint_spark", "savepoint_functions")
    ),
)


def user_frames_first(run: Callable[P, Iterable[T]]) -> Callable[P, Iterator[T]]:
    """The generator; its errors begin with the frames of a user's function, if any."""

    @wraps(run)
    def shown(*arguments: P.args, **options: P.kwargs) -> Iterator[T]:
        with _UserFrames():
            yield from run(*arguments, **options)

    return shown


class _UserFrames:
    """Leaves out the stack frames before a user's function."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        # Errors of this package explain themselves, also when they come out of functions.
        if isinstance(error, Exception) and not isinstance(error, SavepointError):
            error.__traceback__ = _first_of_user(error.__traceback__) or error.__traceback__


def _first_of_user(frame: TracebackType | None) -> TracebackType | None:
    while frame is not None and not _is_of_user(frame.tb_frame.f_code.co_filename):
        frame = frame.tb_next
    return frame


def _is_of_user(file: str) -> bool:
    parts = Path(file).parts
    if file.startswith(_OURS) or _LIBRARIES & set(parts):
        return False
    # Compiled code has a path that leads nowhere; typed code has a name in brackets.
    is_file = Path(file).is_absolute() or file.startswith("<")
    is_standard = file.startswith((_STANDARD_LIBRARY, "<frozen")) and _INSTALLED not in parts
    return is_file and not is_standard
