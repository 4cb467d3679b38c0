"""What is compiled, and when: a function of the kernel is Python until machine code is worth it.

Numba takes half a second to import, and the walk a quarter of a minute to compile. Whoever looks
at a few rows of a small savepoint needs neither: the same functions run as plain Python, over the
same memory. ``ALLOWANCE`` bounds how much of that a process does. Machine code does the remaining
work, and any single piece of work that is larger.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")
FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")

PARTS: list[Callable[..., Any]] = []
"""The functions that are compiled into others."""

KERNELS: list[Kernel[..., Any]] = []
"""The functions that Python calls, of all modules that are imported."""

SMALL_WORK = 1 << 18
"""How many bytes a process works on without machine code: about as long as numba's import takes."""

_LOCK = Lock()


class Allowance:
    """How much work a process may still do without machine code.

    Attributes:
        left: In bytes.
    """

    def __init__(self, left: float) -> None:
        self.left = left

    def takes(self, size: int) -> bool:
        """Whether work on so many bytes is within what is left, which it then uses up."""
        if size >= self.left:
            return False
        self.left -= size
        return True


ALLOWANCE = Allowance(SMALL_WORK)
"""Of this process."""


class _Watch:
    """What goes around the first call of each machine code, which may compile it."""

    around: Callable[[], AbstractContextManager[Any]] = nullcontext


def watch_compilation(around: Callable[[], AbstractContextManager[Any]]) -> None:
    """Enters a context wherever machine code is made or loaded.

    Args:
        around: Gives what is entered before, and left after.
    """
    _Watch.around = staticmethod(around)


class Kernel(Generic[P, R]):
    """A function that Python calls: interpreted or compiled, which gives the same.

    Args:
        function: Written so that numba takes it.
        size: Tells the size of a piece of work, in bytes, from the arguments. Without it, the
            function is never interpreted.
    """

    def __init__(self, function: Callable[P, R], size: Callable[..., int] | None = None) -> None:
        self.function = function
        self._size = size
        self._is_called = False
        self._is_loaded = False
        self.__doc__ = function.__doc__
        KERNELS.append(self)

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Calls the function."""
        if self._size is not None and self.is_spared(self._size(*arguments, **named)):
            # Sums of hashes wrap around, as those of machine code do.
            with np.errstate(over="ignore"):
                return self.function(*arguments, **named)
        if self._is_called:
            return cast("R", self.machine(*arguments, **named))
        with _Watch.around():
            result = self.machine(*arguments, **named)
        self._is_called = True
        return cast("R", result)

    def is_spared(self, size: int) -> bool:
        """Whether so many bytes are to be done without machine code; they count as done."""
        return not self._is_loaded and ALLOWANCE.takes(size)

    def load(self) -> None:
        """Loads the machine code that other processes have left; compiles nothing."""
        from savepoint_formats.program.kernel.compiler import load_kept  # noqa: PLC0415  # slow

        self._is_loaded = load_kept(self.machine)

    @cached_property
    def machine(self) -> Any:
        """Numba's dispatcher of the function; it compiles when it is first called."""
        with _LOCK:
            from savepoint_formats.program.kernel.compiler import compiled  # noqa: PLC0415  # slow

            return compiled(self.function)


def load_kernels() -> None:
    """Loads what machine code this machine has kept, of all functions that are imported.

    For a process whose forks are to find it loaded. It compiles nothing.
    """
    for kernel in KERNELS:
        kernel.load()


def part(function: FunctionT) -> FunctionT:
    """A function of the kernel, which is compiled into whoever calls it."""
    PARTS.append(function)
    return function


def entry(function: Callable[P, R]) -> Kernel[P, R]:
    """A function that Python calls; the machine code is kept for other processes."""
    return Kernel(function)


def light_entry(size: Callable[..., int]) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """A function that Python calls, and interprets as long as there is little to do.

    Args:
        size: Tells from the arguments how many bytes there are to work on.
    """
    return lambda function: Kernel(function, size)
