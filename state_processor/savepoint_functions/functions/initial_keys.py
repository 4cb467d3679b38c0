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

from savepoint_functions.functions.initial_stretches import NOWHERE, InitialStretches
from savepoint_functions.functions.initial_values import InitialValues
from savepoint_functions.functions.key_spans import Span, decoded_keys, python_keys
from savepoint_functions.functions.sorted_inputs import KEY, ORDER, key_groups_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from savepoint_formats.pass_through.divided_entries import DividedEntries
    from savepoint_functions.functions.initial_state import InitialTask
    from savepoint_functions.functions.key_spans import RowTypes


class InitialKeys:
    """What the keys of a task begin with.

    Args:
        task: What is known of the state.
        rows: What rows are made of.
        is_sorted: Whether they come sorted.

    Attributes:
        stretches: The stretches, and what passes of them.
    """

    def __init__(self, task: InitialTask, rows: RowTypes, *, is_sorted: bool) -> None:
        self.stretches = InitialStretches(task)
        self._reached = task.reached
        self._rows = rows
        self._is_sorted = is_sorted
        self._values = InitialValues(task.stored, task.places, task.count)
        self._found: dict[bytes, list[Any]] = {}

    def take(self, key_bytes: bytes) -> list[Any] | None:
        """What a key begins with, as a backend restores it; None the second time, or for nothing."""
        return self._found.pop(key_bytes, None)

    def spans(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Span]:
        """The rows of a partition; keys whose timers are due have a span, too, if maybe no rows."""
        for batch in batches:
            if batch.num_rows:
                yield from self._spans(batch)
        yield from self._ended(self.stretches.unfinished())

    def _spans(self, batch: pa.RecordBatch) -> Iterator[Span]:
        numbers = self.stretches.numbers_of(key_groups_in(batch.column(ORDER)))
        is_mark = batch.column(KEY).is_null().to_numpy(zero_copy_only=False)
        for start, end in self._borders(numbers):
            marks, of_part = is_mark[start:end], numbers[start:end]
            if self._is_sorted:
                others = [part for part in self.stretches.unfinished() if part != of_part[0]]
                yield from self._ended(others)
            self.stretches.mark(of_part[marks])
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

    def _look_up(self, keys: pa.BinaryArray, numbers: NDArray[np.int64]) -> None:
        """Finds what keys begin with that have come for the first time."""
        for number in np.unique(numbers).tolist():
            if number != NOWHERE:
                of_stretch = keys.filter(pa.array(numbers == number))
                self._take(
                    self.stretches.entries(number), pc.unique(of_stretch).cast(pa.large_binary())
                )

    def _take(self, entries: DividedEntries, keys: pa.LargeBinaryArray) -> None:
        self._values.add_to(self._found, entries.take(keys))

    def _ended(self, numbers: Iterable[int]) -> Iterator[Span]:
        """Stretches of which no more rows come: the keys whose timers are due, and the rest passes."""
        for number in numbers:
            if self._reached:
                yield from self._due(number)
            self.stretches.end(number)

    def _due(self, number: int) -> Iterator[Span]:
        stretches, reached = self.stretches, self._reached
        if not stretches.is_read(number):
            # Most stretches have none: then nothing but timers is looked into.
            timers = stretches.divided(frozenset(reached), number)
            if not len(timers.due(reached).keys):
                return
        entries = stretches.entries(number)
        due = entries.due(reached)
        self._take(entries, due.keys)
        key_bytes = due.keys.cast(pa.binary())
        keys = python_keys(decoded_keys(self._rows.key, key_bytes))
        for key, of_key, group in zip(
            keys, key_bytes.to_pylist(), due.key_groups.tolist(), strict=True
        ):
            yield Span(key, of_key, (), [], group)
