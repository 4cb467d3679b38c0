"""Counts calls of functions, which unlike seconds are the same on every machine."""

from __future__ import annotations

import cProfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def calls_in(act: Callable[[], object]) -> Counter[str]:
    """The number of calls of each function of Python, by names such as ``heap_borders.borders``."""
    profile = cProfile.Profile()
    profile.runcall(act)
    calls: Counter[str] = Counter()
    for entry in profile.getstats():
        if not isinstance(entry.code, str):
            name = f"{Path(entry.code.co_filename).stem}.{entry.code.co_name}"
            calls[name] += entry.callcount
    return calls
