"""The kernel: everything about columns that is compiled. Only this package imports numba.

``walk`` runs a program over records; ``find_frames`` finds the records of a key-group section,
``assign_rows`` the rows that they belong to. Each takes a job, a named tuple of addresses and
numbers, through ``run``. They allocate nothing, raise nothing and touch no Python object: the
first number that they return is a status.
"""

from savepoint_formats.columns.kernel.columns import ENTRY_SIZE, SLACK
from savepoint_formats.columns.kernel.frames import (
    BAD_SIZE,
    CUT,
    NO_STATE,
    UNKNOWN_STATE,
    FramesJob,
    find_frames,
)
from savepoint_formats.columns.kernel.key_rows import EMPTY, KeyRowsJob, assign_rows
from savepoint_formats.columns.kernel.revision import run
from savepoint_formats.columns.kernel.status import DONE, FULL, REFUSED
from savepoint_formats.columns.kernel.walk import REGISTERS_SIZE, Walk, walk

__all__ = [
    "BAD_SIZE",
    "CUT",
    "DONE",
    "EMPTY",
    "ENTRY_SIZE",
    "FULL",
    "NO_STATE",
    "REFUSED",
    "REGISTERS_SIZE",
    "SLACK",
    "UNKNOWN_STATE",
    "FramesJob",
    "KeyRowsJob",
    "Walk",
    "assign_rows",
    "find_frames",
    "run",
    "walk",
]
