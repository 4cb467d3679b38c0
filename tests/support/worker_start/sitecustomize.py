"""What Python runs first in each process: Spark's daemons of the tests import here, before they fork.

A daemon forks the workers of Spark, and a worker collects garbage after each task. Where all of
Pandas and numba is looked through, that takes longer than a task of the tests. What is there before
the fork is frozen, so that nobody looks through it again. Processes of tests that start a Spark of
their own do not have this.
"""

from __future__ import annotations

import gc
import importlib
import sys

_READING = ("pandas", "state_processor.reading.data_source")
_NEEDED = {
    "pyspark.worker": (
        *(*_READING, "savepoint_formats.program.kernel.compiler"),
        *("state_processor.functions.function_task", "state_processor.writing.keyed_files"),
        "state_processor.writing.run_encoding",
    ),
    "pyspark.sql.worker.create_data_source": _READING,
    "pyspark.sql.worker.plan_data_source_read": _READING,
}
"""Module of a worker -> what it imports sooner or later."""


def _prepare(worker: str) -> None:
    """Imports what workers need, and freezes it."""
    for name in (worker, *_NEEDED[worker]):
        importlib.import_module(name)
    if worker == "pyspark.worker":
        # What numba knows of functions, without which it loads no machine code.
        target = importlib.import_module("numba.core.registry").cpu_target
        target.typing_context.refresh()
        target.target_context.refresh()
    gc.collect()
    gc.freeze()


if "pyspark.daemon" in sys.orig_argv and sys.orig_argv[-1] in _NEEDED:
    _prepare(sys.orig_argv[-1])
