"""Stretches of stored state, as a task goes through them.

A stretch is read when its first row comes. When no more of its rows can come, the entries that nobody
has taken go on as the bytes that they are; those of a stretch without rows go on as runs, unread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_spark.writing.run_encoding import run_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from savepoint_formats.pass_through.divided_entries import DividedEntries
    from savepoint_functions.functions.initial_state import InitialTask

NOWHERE = -1
"""The stretch of key groups of which the savepoint has no file."""


class InitialStretches:
    """The stretches of a task.

    Args:
        task: What is known of the state.

    Attributes:
        passed: What is to be written of stretches that have ended, each when it is iterated.
    """

    def __init__(self, task: InitialTask) -> None:
        self.passed: list[Iterator[pa.RecordBatch]] = []
        self._task = task
        self._starts = [stretch.start for stretch in task.stretches]
        self._ends = np.array([stretch.end for stretch in task.stretches], np.int64)
        # The stretches of which the task has a mark, and which have not ended.
        self._marked: dict[int, None] = {}
        self._read: dict[int, DividedEntries] = {}

    def numbers_of(self, key_groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the stretch that has each key group."""
        if not self._starts:
            return np.full(len(key_groups), NOWHERE)
        numbers = np.searchsorted(self._starts, key_groups, "right") - 1
        return np.where(key_groups <= self._ends[numbers], numbers, NOWHERE)

    def mark(self, numbers: NDArray[np.int64]) -> None:
        """Says that stretches are those of this task."""
        self._marked.update(dict.fromkeys(numbers.tolist()))

    def unfinished(self) -> list[int]:
        """The stretches of this task that have not ended."""
        return list(self._marked)

    def entries(self, number: int) -> DividedEntries:
        """The entries of a stretch, which is read when they are asked for first."""
        if number not in self._read:
            self._read[number] = self.divided(frozenset(self._task.places), number)
        return self._read[number]

    def is_read(self, number: int) -> bool:
        """Whether anybody has asked for its entries."""
        return number in self._read

    def divided(self, names: frozenset[str], number: int) -> DividedEntries:
        """The entries of some states of a stretch, read anew."""
        return self._task.stored.divided(names, self._task.stretches[number])

    def end(self, number: int) -> None:
        """Says that no more rows of a stretch come; what nobody has taken of it passes."""
        del self._marked[number]
        entries = self._read.pop(number, None)
        if self._task.ids is not None:
            self.passed.append(self._rest(number, entries))

    def drained(self) -> Iterator[pa.RecordBatch]:
        """What has passed so far, as ``run_encoding.RUN_SCHEMA`` has it."""
        while self.passed:
            for runs in self.passed.pop(0):
                yield run_rows(runs.column("key_group"), runs.column("run"))

    def _rest(self, number: int, entries: DividedEntries | None) -> Iterator[pa.RecordBatch]:
        task = self._task
        assert task.ids is not None  # or nothing is written
        if entries is None:
            return task.stored.runs(task.ids, task.stretches[number])
        return entries.rest(task.ids, task.stored.record.max_parallelism)
