"""Runs functions of the kernel as Python until machine code is worth it.

LLVM takes a tenth of a second to load, and the walk a second to compile. A few rows of a small
savepoint need neither: the same functions run as plain Python, over the same memory. ``ALLOWANCE``
bounds that work of a process. Machine code does the rest, and any single larger job. If machine code
must be compiled first, the bound is higher: ``UNCOMPILED_WORK``.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from savepoint_formats.program.kernel.code.compiler import MachineCode

P = ParamSpec("P")
R = TypeVar("R")
FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")

PARTS: list[Callable[..., Any]] = []
"""The functions that are compiled into others."""

KERNELS: list[Kernel[..., Any]] = []
"""The functions that Python calls, of all modules that are imported."""

SMALL_WORK = 1 << 18
"""Bytes that a process works on without machine code."""

UNCOMPILED_WORK = 1 << 21
"""More such bytes while there is no machine code yet: about two seconds of work."""

_LOCK = Lock()


class Allowance:
    """Work that a process may still do without machine code: ``left`` bytes, maybe negative."""

    def __init__(self, left: float) -> None:
        self.left = left

    def takes(self, size: int, more: int = 0) -> bool:
        """Whether ``size`` bytes are below what is left plus ``more``; if so, uses them up."""
        if not self.has(size, more):
            return False
        self.left -= size
        return True

    def has(self, size: int, more: int = 0) -> bool:
        """Whether ``size`` bytes are below what is left plus ``more``."""
        return size < self.left + more


ALLOWANCE = Allowance(SMALL_WORK)
"""The allowance of this process."""


class _Watch:
    """The context around each compilation."""

    around: Callable[[str], AbstractContextManager[Any]] = nullcontext


def watch_compilation(around: Callable[[str], AbstractContextManager[Any]]) -> None:
    """Enters the context that ``around`` gives for a function's name whenever it is compiled."""
    _Watch.around = staticmethod(around)


class Kernel(Generic[P, R]):
    """A function that Python calls, interpreted or compiled.

    ``size`` computes the bytes of work from the arguments. Without it, the function is always
    compiled.
    """

    def __init__(self, function: Callable[P, R], size: Callable[..., int] | None = None) -> None:
        self.function = function
        self._size = size
        self._is_loaded = self._is_sought = False
        self.__doc__ = function.__doc__
        KERNELS.append(self)

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Calls the function."""
        if self._size is not None and self.is_spared(self._size(*arguments, **named)):
            # Sums of hashes wrap around, as in machine code.
            with np.errstate(over="ignore"):
                return self.function(*arguments, **named)
        if not self.machine.is_ready:
            with _LOCK:
                if not self.machine.load():
                    with _Watch.around(self.function.__name__):
                        self.machine.compile(arguments)
        return cast("R", self.machine(*arguments))

    def is_spared(self, size: int) -> bool:
        """Whether to work on ``size`` bytes without machine code; they count as done."""
        if self._is_loaded:
            return False
        if ALLOWANCE.takes(size):
            return True
        if not ALLOWANCE.has(size, UNCOMPILED_WORK):
            return False
        if not self._is_sought:
            self.load()
        return not self.machine.is_ready and ALLOWANCE.takes(size, UNCOMPILED_WORK)

    def load(self) -> None:
        """Loads the machine code that other processes have stored; compiles nothing."""
        with _LOCK:
            self._is_loaded, self._is_sought = self.machine.load(), True

    @cached_property
    def machine(self) -> MachineCode:
        """The machine code of the function."""
        from savepoint_formats.program.kernel.code.compiler import MachineCode  # noqa: PLC0415  # slow

        return MachineCode(self.function, self.function.__qualname__)


def load_kernels() -> None:
    """Loads stored machine code of all imported functions, for the forks of this process."""
    for kernel in KERNELS:
        kernel.load()


def part(function: FunctionT) -> FunctionT:
    """Marks a function of the kernel that is compiled into its callers."""
    PARTS.append(function)
    return function


def entry(function: Callable[P, R]) -> Kernel[P, R]:
    """Marks a function that Python calls; its machine code is stored for other processes."""
    return Kernel(function)


def light_entry(size: Callable[..., int]) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Marks a function that Python calls, and interprets while ``size`` of its arguments is small."""
    return lambda function: Kernel(function, size)
