"""Rows of a task with the state that their keys begin with.

Stretches of state are read as rows of them come. What rows ask for is decoded, all keys of a batch at
once; what nobody has asked for when a stretch ends passes through. Sorted, rows come stretch by
stretch, and one is held at a time; not sorted, all stay until the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.pass_through.divided_entries import DividedEntries
from state_processor.functions.initial_values import InitialValues
from state_processor.functions.key_spans import Span, decoded_keys, python_keys
from state_processor.functions.sorted_inputs import KEY, ORDER, key_groups_in
from state_processor.writing.run_encoding import run_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from state_processor.functions.initial_state import InitialTask
    from state_processor.functions.key_spans import RowTypes

_NOWHERE = -1
"""The stretch of key groups of which the savepoint has no file."""


class InitialKeys:
    """What the keys of a task begin with.

    Args:
        task: What is known of the state.
        rows: What rows are made of.
        is_sorted: Whether they come sorted.

    Attributes:
        passed: What is to be written of stretches that have ended, each when it is iterated.
    """

    def __init__(self, task: InitialTask, rows: RowTypes, *, is_sorted: bool) -> None:
        self.passed: list[Iterator[pa.RecordBatch]] = []
        self._task = task
        self._rows = rows
        self._is_sorted = is_sorted
        self._starts = [stretch.start for stretch in task.stretches]
        self._ends = np.array([stretch.end for stretch in task.stretches], np.int64)
        self._values = InitialValues(task.stored, task.places, task.count)
        # The stretches of which the task has a mark, and which have not ended.
        self._marked: dict[int, None] = {}
        self._read: dict[int, DividedEntries] = {}
        self._found: dict[bytes, list[Any]] = {}

    def take(self, key_bytes: bytes) -> list[Any] | None:
        """What a key begins with, as a backend restores it; None the second time, or for nothing."""
        return self._found.pop(key_bytes, None)

    def drained(self) -> Iterator[pa.RecordBatch]:
        """What has passed so far, as ``run_encoding.RUN_SCHEMA`` has it."""
        while self.passed:
            for runs in self.passed.pop(0):
                yield run_rows(runs.column("key_group"), runs.column("run"))

    def spans(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Span]:
        """The rows of a partition; keys whose timers are due have a span, too, if maybe no rows."""
        for batch in batches:
            if batch.num_rows:
                yield from self._spans(batch)
        yield from self._ended(list(self._marked))

    def _spans(self, batch: pa.RecordBatch) -> Iterator[Span]:
        numbers = self._stretches_of(key_groups_in(batch.column(ORDER)))
        is_mark = batch.column(KEY).is_null().to_numpy(zero_copy_only=False)
        for start, end in self._borders(numbers):
            marks, of_part = is_mark[start:end], numbers[start:end]
            if self._is_sorted:
                yield from self._ended([part for part in self._marked if part != of_part[0]])
            self._marked.update(dict.fromkeys(of_part[marks].tolist()))
            rows = batch.slice(start, end - start)
            if marks.any():
                rows, of_part = rows.filter(pa.array(~marks)), of_part[~marks]
            if rows.num_rows:
                self._look_up(rows.column(KEY), of_part)
                yield from self._rows.spans([rows])

    def _borders(self, numbers: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Where the rows of each stretch begin and end; all at once if they are not sorted."""
        if not self._is_sorted:
            return [(0, len(numbers))]
        starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1)).tolist()
        return list(zip(starts, [*starts[1:], len(numbers)], strict=True))

    def _stretches_of(self, key_groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the stretch that has each key group."""
        numbers = np.searchsorted(self._starts, key_groups, "right") - 1
        return np.where(key_groups <= self._ends[numbers], numbers, _NOWHERE)

    def _look_up(self, keys: pa.BinaryArray, numbers: NDArray[np.int64]) -> None:
        """Finds what keys begin with that have come for the first time."""
        for number in np.unique(numbers).tolist():
            if number != _NOWHERE:
                of_stretch = keys.filter(pa.array(numbers == number))
                self._take(self._entries(number), pc.unique(of_stretch).cast(pa.large_binary()))

    def _take(self, entries: DividedEntries, keys: pa.LargeBinaryArray) -> None:
        self._values.add_to(self._found, entries.take(keys))

    def _entries(self, number: int) -> DividedEntries:
        if number not in self._read:
            self._read[number] = self._divided(frozenset(self._task.places), number)
        return self._read[number]

    def _divided(self, names: frozenset[str], number: int) -> DividedEntries:
        stored = self._task.stored
        return DividedEntries(stored.pieces(names, self._task.stretches[number]), stored.kryo)

    def _ended(self, numbers: Iterable[int]) -> Iterator[Span]:
        """Stretches of which no more rows come: the keys whose timers are due, and the rest passes."""
        for number in numbers:
            del self._marked[number]
            if self._task.reached:
                yield from self._due(number)
            entries = self._read.pop(number, None)
            if self._task.ids is not None:
                self.passed.append(self._rest(number, entries))

    def _due(self, number: int) -> Iterator[Span]:
        entries, reached = self._read.get(number), self._task.reached
        if entries is None:
            # Most stretches have none: then nothing but timers is looked into.
            timers = self._divided(frozenset(reached), number)
            if not len(timers.due(reached).keys):
                return
            entries = self._entries(number)
        due = entries.due(reached)
        self._take(entries, due.keys)
        key_bytes = due.keys.cast(pa.binary())
        keys = python_keys(decoded_keys(self._rows.key, key_bytes))
        for key, of_key, group in zip(
            keys, key_bytes.to_pylist(), due.key_groups.tolist(), strict=True
        ):
            yield Span(key, of_key, (), [], group)

    def _rest(self, number: int, entries: DividedEntries | None) -> Iterator[pa.RecordBatch]:
        task = self._task
        assert task.ids is not None  # or nothing is written
        if entries is None:
            yield from task.stored.runs(task.ids, task.stretches[number])
        else:
            yield from entries.rest(task.ids, task.stored.record.max_parallelism)
