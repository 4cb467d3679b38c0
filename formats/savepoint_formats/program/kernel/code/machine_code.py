"""Functions of the kernel that Python calls: machine code of the library, or plain Python.

Where no library can be loaded, the same functions run as Python over the same memory.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, ParamSpec, TypeVar, cast

from savepoint_formats.program.kernel.code.library import Code, library

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")
FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")

PARTS: list[Callable[..., Any]] = []
"""The functions that are compiled into others."""

KERNELS: list[Kernel[..., Any]] = []
"""The functions that Python calls, of all modules that are imported."""


class Kernel(Generic[P, R]):
    """A function that Python calls."""

    is_python_wanted: ClassVar[bool] = False
    """Whether all functions run as Python, although there is a library; tests want that."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        KERNELS.append(self)

    def __call__(self, *arguments: P.args, **_named: P.kwargs) -> R:
        """Calls the function."""
        if self.is_interpreted:
            python: Callable[..., R] = self.function
            return python(*map(_of_python, arguments))
        return cast("R", self._code(*arguments))  # type: ignore[misc]

    @property
    def is_interpreted(self) -> bool:
        """Whether the function runs as Python."""
        return Kernel.is_python_wanted or self._code is None

    @cached_property
    def _code(self) -> Code | None:
        loaded = library()
        return None if loaded is None else Code(self.function, loaded[self.function.__name__])


def _of_python(argument: Any) -> Any:
    """A job with Python's integers, which do not overflow as NumPy's do."""
    if not isinstance(argument, tuple):
        return argument
    job: Callable[..., Any] = type(argument)
    return job(*map(int, argument))


def part(function: FunctionT) -> FunctionT:
    """Marks a function of the kernel that is compiled into its callers."""
    PARTS.append(function)
    return function


def entry(function: Callable[P, R]) -> Kernel[P, R]:
    """Marks a function that Python calls."""
    return Kernel(function)
