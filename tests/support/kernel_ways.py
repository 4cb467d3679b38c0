"""A function of the kernel, as Python runs it and as machine code."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from savepoint_formats.program.kernel.compiler import compiled

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def both_ways_of(function: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A function of the kernel, interpreted and as machine code."""

    def interpreted(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*arguments)

    return interpreted, compiled(function)
