"""Limits the garbage collection of Spark's Python workers."""

from __future__ import annotations

import gc
import sys


class _Kept:
    """The number of modules when they were last frozen."""

    modules = 0


def keep_what_is_imported() -> None:
    """Excludes imported modules from garbage collection, at the end of a task.

    Spark has a worker collect garbage after each task. With LLVM, Pandas and Arrow imported, that
    takes 0.1 s, as long as half a million rows, and finds nothing. Unused objects are still freed.
    """
    if len(sys.modules) > _Kept.modules:
        gc.collect()
        gc.freeze()
        _Kept.modules = len(sys.modules)
