"""What is compiled, and when: a function of the kernel is Python until machine code is worth it.

Numba takes half a second to import, and the walk a quarter of a minute to compile. Whoever looks
at a few rows of a small savepoint needs neither: the same functions run as plain Python, over the
same memory. ``ALLOWANCE`` bounds how much of that a process does. Machine code does the remaining
work, and any single piece of work that is larger. Where it would have to be compiled first, there
is more patience: ``UNCOMPILED_WORK``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

P = ParamSpec("P")
R = TypeVar("R")
FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")

PARTS: list[Callable[..., Any]] = []
"""The functions that are compiled into others."""

KERNELS: list[Kernel[..., Any]] = []
"""The functions that Python calls, of all modules that are imported."""

SMALL_WORK = 1 << 18
"""How many bytes a process works on without machine code: about as long as numba's import takes."""

UNCOMPILED_WORK = 1 << 21
"""How many bytes more where there is no machine code yet: about two seconds, instead of ten or more."""

_LOCK = Lock()


class Allowance:
    """How much work a process may still do without machine code.

    Attributes:
        left: In bytes; less than none where machine code would have had to be compiled.
    """

    def __init__(self, left: float) -> None:
        self.left = left

    def takes(self, size: int, more: int = 0) -> bool:
        """Whether work on so many bytes is within what is left, and ``more``; it is used up then."""
        if not self.has(size, more):
            return False
        self.left -= size
        return True

    def has(self, size: int, more: int = 0) -> bool:
        """Whether work on so many bytes is within what is left, and ``more``."""
        return size < self.left + more


ALLOWANCE = Allowance(SMALL_WORK)
"""Of this process."""


@dataclass
class Compilation:
    """How far the machine code of a function is.

    Attributes:
        function: Its name.
        total: How many functions are compiled into it, with itself.
        done: How many of them are; none while kept code is loaded.
        has_begun: Whether anything is compiled.
    """

    function: str
    total: int
    done: int = 0
    has_begun: bool = False


class _Watch:
    """What goes around the first call of each machine code, which may compile it."""

    around: Callable[[Compilation], AbstractContextManager[Any]] | None = None


def watch_compilation(around: Callable[[Compilation], AbstractContextManager[Any]]) -> None:
    """Enters a context wherever machine code is made or loaded.

    Args:
        around: Gives what is entered before, and left after; the compilation tells how far it is.
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
        self._is_loaded = self._is_sought = False
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
        result = self._watched(*arguments, **named)
        self._is_called = True
        return cast("R", result)

    def is_spared(self, size: int) -> bool:
        """Whether so many bytes are to be done without machine code; they count as done."""
        if self._is_loaded:
            return False
        if ALLOWANCE.takes(size):
            return True
        if self._is_called or not ALLOWANCE.has(size, UNCOMPILED_WORK):
            return False
        if not self._is_sought:
            self.load()
        return not self._is_loaded and ALLOWANCE.takes(size, UNCOMPILED_WORK)

    def load(self) -> None:
        """Loads the machine code that other processes have left; compiles nothing."""
        from savepoint_formats.program.kernel.compiler import load_kept  # noqa: PLC0415  # slow

        self._is_loaded, self._is_sought = load_kept(self.machine), True

    def _watched(self, *arguments: P.args, **named: P.kwargs) -> Any:
        """Calls the machine code, while who watches is told how far its compilation is."""
        if _Watch.around is None:
            return self.machine(*arguments, **named)
        from savepoint_formats.program.kernel.compiler import following  # noqa: PLC0415  # slow

        parts = _parts_of(self.function)
        compilation = Compilation(self.function.__name__, 1 + len(parts))
        with _Watch.around(compilation), following(compilation, parts):
            return self.machine(*arguments, **named)

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


def _parts_of(function: Callable[..., Any]) -> set[Callable[..., Any]]:
    """The functions that are compiled into a function."""
    known, parts = set(PARTS), cast("set[Callable[..., Any]]", set())
    callers = [function]
    while callers:
        caller = callers.pop()
        named = map(caller.__globals__.get, caller.__code__.co_names)
        functions = {value for value in named if isinstance(value, FunctionType)}
        called = functions & known - parts
        parts |= called
        callers += called
    return parts


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
