"""Runs functions of the kernel as Python until machine code is worth it.

Numba takes half a second to import, and the walk several seconds to compile. A few rows of a small
savepoint need neither: the same functions run as plain Python, over the same memory. ``ALLOWANCE``
bounds that work of a process. Machine code does the rest, and any single larger job. If machine code
must be compiled first, the bound is higher: ``UNCOMPILED_WORK``.
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

INLINED_PARTS: list[Callable[..., Any]] = []
"""The parts that are always inlined."""

KERNELS: list[Kernel[..., Any]] = []
"""The functions that Python calls, of all modules that are imported."""

SMALL_WORK = 1 << 18
"""Bytes that a process works on without machine code: about the time of numba's import."""

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


@dataclass
class Compilation:
    """Progress of compiling a function.

    Attributes:
        function: Its name.
        total: Number of functions that are compiled into it, itself included.
        done: Number of them that are compiled; 0 while stored code is loaded.
        has_begun: Whether anything is compiled.
    """

    function: str
    total: int
    done: int = 0
    has_begun: bool = False


class _Watch:
    """The context around the first call of each function's machine code."""

    around: Callable[[Compilation], AbstractContextManager[Any]] | None = None


def watch_compilation(around: Callable[[Compilation], AbstractContextManager[Any]]) -> None:
    """Enters the context that ``around`` gives whenever machine code is compiled or loaded."""
    _Watch.around = staticmethod(around)


class Kernel(Generic[P, R]):
    """A function that Python calls, interpreted or compiled.

    ``size`` computes the bytes of work from the arguments. Without it, the function is always
    compiled. ``flags`` are the last arguments, which decide about what is compiled.
    """

    def __init__(
        self,
        function: Callable[P, R],
        size: Callable[..., int] | None = None,
        flags: tuple[int | None, ...] = (),
    ) -> None:
        self.function = function
        self._size = size
        self._flags: Any = flags
        self._is_called = False
        self._is_loaded = self._is_sought = False
        self.__doc__ = function.__doc__
        KERNELS.append(self)

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Calls the function."""
        if self._size is not None and self.is_spared(self._size(*arguments, **named)):
            # Sums of hashes wrap around, as in machine code.
            with np.errstate(over="ignore"):
                return self.function(*arguments, **named)
        if self._is_called:
            return cast("R", self.machine(*arguments, *self._flags, **named))
        result = self._watched(*arguments, **named)
        self._is_called = True
        return cast("R", result)

    def is_spared(self, size: int) -> bool:
        """Whether to work on ``size`` bytes without machine code; they count as done."""
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
        """Loads the machine code that other processes have stored; compiles nothing."""
        from savepoint_formats.program.kernel.compiler import load_kept  # noqa: PLC0415  # slow

        self._is_loaded, self._is_sought = load_kept(self.machine), True

    def _watched(self, *arguments: P.args, **named: P.kwargs) -> Any:
        if _Watch.around is None:
            return self.machine(*arguments, *self._flags, **named)
        from savepoint_formats.program.kernel.compiler import following  # noqa: PLC0415  # slow

        parts = _parts_of(self.function)
        compilation = Compilation(self.function.__name__, 1 + len(parts))
        with _Watch.around(compilation), following(compilation, parts):
            return self.machine(*arguments, *self._flags, **named)

    @cached_property
    def machine(self) -> Any:
        """Numba's dispatcher of the function; it compiles when it is first called."""
        with _LOCK:
            from savepoint_formats.program.kernel.compiler import compiled  # noqa: PLC0415  # slow

            return compiled(self.function)


def load_kernels() -> None:
    """Loads stored machine code of all imported functions, for the forks of this process."""
    for kernel in KERNELS:
        kernel.load()


def _parts_of(function: Callable[..., Any]) -> set[Callable[..., Any]]:
    """Functions that are compiled into a function."""
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
    """Marks a function of the kernel that is compiled into its callers."""
    PARTS.append(function)
    return function


def inlined_part(function: FunctionT) -> FunctionT:
    """Marks a part that is always inlined, because a loop calls it for each value."""
    INLINED_PARTS.append(function)
    return part(function)


def entry(function: Callable[P, R]) -> Kernel[P, R]:
    """Marks a function that Python calls; its machine code is stored for other processes."""
    return Kernel(function)


def variant(name: str, function: Callable[..., R], *flags: int | None) -> Kernel[..., R]:
    """A function that Python calls, with its last arguments; code behind those of None is left out.

    ``name`` is what users see while it compiles.
    """
    own = FunctionType(function.__code__, function.__globals__, name)
    own.__doc__ = function.__doc__
    own.__module__ = function.__module__
    own.__qualname__ = f"{name}_" + "".join("0" if flag is None else "1" for flag in flags)
    return Kernel(own, flags=flags)


def light_entry(size: Callable[..., int]) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Marks a function that Python calls, and interprets while ``size`` of its arguments is small."""
    return lambda function: Kernel(function, size)
