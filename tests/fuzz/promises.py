"""Promises for any bytes that a reader gets, and how they are checked.

| promise                      | watched by                                                        |
|------------------------------|-------------------------------------------------------------------|
| errors are of our tree       | any other exception breaks it                                     |
| time is bounded              | an alarm after ``SECONDS`` of CPU time                             |
| memory is bounded            | the address space of the process may grow by ``Target.memory``     |
| no memory of others is read  | buffers between pages that nobody may touch: ``guarded``          |
| nothing is lost in silence   | targets compare rows, and ask ``verify``                          |
"""

from __future__ import annotations

import resource
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from savepoint_formats.errors import SavepointError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = 5.0
"""CPU time that reading one input may take; the longest takes some 100 ms.

What waits for nothing but bytes in memory takes no other time, however busy the machine is.
"""


class BrokenPromiseError(Exception):
    """The result breaks a promise, although nothing was raised."""


class TooLongError(BaseException):
    """Reading took too long; nobody catches it on the way."""


def outcome(read: Callable[[bytes], object], data: bytes) -> BaseException | None:
    """The error of a read, if any; while it is ``watched``, an alarm ends it."""
    is_watched = signal.getsignal(signal.SIGPROF) is not signal.SIG_DFL
    signal.setitimer(signal.ITIMER_PROF, SECONDS if is_watched else 0)
    try:
        read(data)
    except (Exception, TooLongError) as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def is_broken(raised: BaseException | None) -> bool:
    """Whether this breaks a promise."""
    return raised is not None and not isinstance(raised, SavepointError)


def place(raised: BaseException) -> str:
    """The error and its place in few words, equal for inputs that fail alike."""
    trace, line, file = raised.__traceback__, 0, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "savepoint_formats" in name or "state_processor" in name:
            file, line = name.rpartition("/")[2], trace.tb_lineno
        trace = trace.tb_next
    told = f": {raised}"[:60] if isinstance(raised, BrokenPromiseError) else ""
    return f"{type(raised).__name__} at {file}:{line}{told}"


@contextmanager
def watched(memory: int) -> Iterator[None]:
    """Bounds time and memory of what is read inside; everything is imported and compiled before.

    Args:
        memory: Bytes of address space that the process may take besides what it has.
    """

    def too_long(*_: object) -> None:
        raise TooLongError(f"more than {SECONDS} s")

    before = signal.signal(signal.SIGPROF, too_long)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + memory, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, before)


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as pages:
        return int(pages.read().split()[0]) * resource.getpagesize()


def peak_memory() -> int:
    """The most that this process ever had of the machine's memory, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
