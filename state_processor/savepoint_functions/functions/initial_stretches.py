"""Splits of stored state, as a task goes through them.

A split is read when its first row comes. When no more of its rows can come, the entries that no row has
taken go on as the bytes that they are. A split without rows goes on as runs, unread.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_functions.functions.sorted_inputs import KEY, ORDER, key_groups_in
from savepoint_spark.writing.run_encoding import run_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from savepoint_formats.pass_through.divided_entries import DividedEntries
    from savepoint_functions.functions.initial_state import InitialTask

NOWHERE = -1
"""The split of key groups without a file in the savepoint."""


class InitialStretches:
    """The splits of a task; ``passed`` has the untouched entries of those that have ended."""

    def __init__(self, task: InitialTask) -> None:
        self.passed: list[Iterator[pa.RecordBatch]] = []
        self._task = task
        self._starts = [split.start for split in task.stretches]
        self._ends = np.array([split.end for split in task.stretches], np.int64)
        self._marked: dict[int, None] = {}
        self._read: dict[int, DividedEntries] = {}

    def numbers_of(self, rows: pa.RecordBatch) -> NDArray[np.int64]:
        """The number of the split of each row."""
        key_groups = key_groups_in(rows.column(ORDER))
        if not self._starts:
            return np.full(len(key_groups), NOWHERE)
        numbers = np.searchsorted(self._starts, key_groups, "right") - 1
        return np.where(key_groups <= self._ends[numbers], numbers, NOWHERE)

    def without_marks(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows, without the marks that say which splits are those of this task."""
        if not rows.column(KEY).null_count:
            return rows
        is_mark = rows.column(KEY).is_null()
        marked = self.numbers_of(rows.filter(is_mark))
        self._marked.update(dict.fromkeys(marked.tolist()))
        return rows.filter(pc.invert(is_mark))

    def marked(self) -> list[int]:
        """The splits of this task that have not ended."""
        return list(self._marked)

    def groups(
        self, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
        """The sorted rows of a task by split, with the number of the split; some have no rows."""
        for number, group in groupby(self._divided(batches), key=itemgetter(0)):
            yield number, (rows for _, rows in group)

    def _divided(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in batches:
            numbers = self.numbers_of(batch)
            starts = np.flatnonzero(np.diff(numbers, prepend=NOWHERE - 1)).tolist()
            for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
                yield int(numbers[start]), self.without_marks(batch.slice(start, end - start))

    def entries(self, number: int) -> DividedEntries:
        """The entries of a split, read when they are first asked for."""
        if number not in self._read:
            self._read[number] = self.divided(frozenset(self._task.places), number)
        return self._read[number]

    def is_read(self, number: int) -> bool:
        return number in self._read

    def divided(self, names: frozenset[str], number: int) -> DividedEntries:
        """The entries of some states of a split, read anew."""
        return self._task.stored.divided(names, self._task.stretches[number])

    def end(self, number: int) -> None:
        """Lets the untouched entries of a split pass, because it has no more rows."""
        if number == NOWHERE:
            return
        del self._marked[number]
        entries = self._read.pop(number, None)
        if self._task.ids is not None:
            self.passed.append(self._rest(number, entries))

    def drained(self) -> Iterator[pa.RecordBatch]:
        """The entries that have passed so far, as rows of ``run_encoding.RUN_SCHEMA``."""
        while self.passed:
            for runs in self.passed.pop(0):
                yield run_rows(runs.column("key_group"), runs.column("run"))

    def _rest(self, number: int, entries: DividedEntries | None) -> Iterator[pa.RecordBatch]:
        task = self._task
        assert task.ids is not None  # or nothing is written
        if entries is None:
            return task.stored.runs(task.ids, task.stretches[number])
        return entries.rest(task.ids, task.stored.record.max_parallelism)
