"""How the loops over state files are compiled; nothing else here imports numba."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")


def compiled(function: FunctionT) -> FunctionT:
    """Compiles a function when it is first called, and keeps the result for other processes.

    It lies beside the sources or in the user's cache folder; where neither can be written, every
    process compiles for itself.
    """
    try:
        return cast("FunctionT", njit(nogil=True, error_model="numpy", cache=True)(function))
    except RuntimeError:
        return cast("FunctionT", njit(nogil=True, error_model="numpy")(function))
