"""Limits of the work on searches for the ends of values."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEAST_WORK = 1 << 6
"""Steps that each record has, however many the records before it took."""

_PATIENCE = 1 << 18
"""Steps of searches that find nothing, in all records of a reader."""

_GAIN = 16
"""A search that finds something takes as much patience as one of so much fewer steps that doesn't."""


class GaveUpError(Exception):
    """The search takes too long."""


class Patience:
    """Limits the work on all records that a reader meets, so that its time has a bound.

    Easy records never need it: they are told apart whatever came before them.
    """

    def __init__(self, left: int = _PATIENCE) -> None:
        self._left = left

    @contextmanager
    def work(self, most: int) -> Iterator[Work]:
        """The work on one record."""
        work = Work(min(most, max(self._left, _LEAST_WORK)))
        yield work
        self._left = max(0, self._left - work.done // (_GAIN if work.is_found else 1))


class Work:
    """The work on a record, whose searches share it."""

    def __init__(self, most: int) -> None:
        self.done = 0
        self.is_found = False
        self._most = most

    def spend(self, work: int) -> None:
        """Raises ``GaveUpError`` if that is too much."""
        self.done += work
        if self.done > self._most:
            raise GaveUpError
