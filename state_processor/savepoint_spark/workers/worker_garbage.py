"""What a Python worker of Spark looks through after each task."""

from __future__ import annotations

import gc
import sys


class _Kept:
    """How many modules there were when what they hold was last set apart."""

    modules = 0


def keep_what_is_imported() -> None:
    """Sets modules apart from what this process looks through for garbage; for the end of a task.

    Spark has a worker collect garbage after each task. That takes 0.1 s where numba, Pandas and
    Arrow are imported, as long as half a million rows take, and they hold no garbage. What was set
    apart still goes when nothing refers to it.
    """
    if len(sys.modules) > _Kept.modules:
        gc.collect()
        gc.freeze()
        _Kept.modules = len(sys.modules)
