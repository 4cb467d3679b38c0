"""Rows of a task beside the state that their keys begin with.

All keys of a batch are looked up and decoded at once. Sorted rows come split by split, and only the
entries of one split are in memory. Unsorted, all splits with rows stay in memory until the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_functions.functions.initial_stretches import NOWHERE, InitialStretches
from savepoint_functions.functions.initial_values import InitialValues
from savepoint_functions.functions.key_spans import Span, decoded_keys, python_keys
from savepoint_functions.functions.sorted_inputs import KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_functions.functions.initial_state import InitialTask
    from savepoint_functions.functions.key_spans import RowTypes


class InitialKeys:
    """The keys of a task, with the state that they begin with."""

    def __init__(self, task: InitialTask, rows: RowTypes, *, is_sorted: bool) -> None:
        self.stretches = InitialStretches(task)
        self._reached = task.reached
        self._rows = rows
        self._is_sorted = is_sorted
        self._values = InitialValues(task.stored)
        self._places, self._count = task.places, task.count
        self._by_key: dict[bytes, list[Any]] = {}

    def take(self, key_bytes: bytes) -> list[Any] | None:
        """A snapshot of a key's state, for a backend to restore; None if it has none or was taken."""
        return self._by_key.pop(key_bytes, None)

    def spans(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Span]:
        """The rows by key; keys without rows come too if their timers are due."""
        if self._is_sorted:
            for number, rows in self.stretches.groups(batches):
                yield from self._rows.spans(map(self._looked_up, rows))
                yield from self._ended(number)
        else:
            rows = map(self.stretches.without_marks, batches)
            yield from self._rows.spans(map(self._looked_up, rows))
            for number in self.stretches.marked():
                yield from self._ended(number)

    def _looked_up(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows, after the state of their keys was read."""
        numbers = self.stretches.numbers_of(rows)
        for number in np.unique(numbers).tolist():
            if number != NOWHERE:
                keys = pc.unique(rows.column(KEY).filter(pa.array(numbers == number)))
                self._take(number, keys.cast(pa.large_binary()))
        return rows

    def _take(self, number: int, keys: pa.LargeBinaryArray) -> None:
        pieces = self.stretches.entries(number).take(keys)
        for name, key_bytes, contents in self._values.by_key(pieces):
            of_key = self._by_key.setdefault(key_bytes, [None] * self._count)
            of_key[self._places[name]] = contents

    def _ended(self, number: int) -> Iterator[Span]:
        """The keys with due timers of a split that has no more rows; the rest of the split passes."""
        if self._reached and number != NOWHERE:
            yield from self._due(number)
        self.stretches.end(number)

    def _due(self, number: int) -> Iterator[Span]:
        stretches, reached = self.stretches, self._reached
        if not stretches.is_read(number):
            # Most splits have no due timer, so their other states need not be read.
            timers = stretches.divided(frozenset(reached), number)
            if not len(timers.due(reached).keys):
                return
        due = stretches.entries(number).due(reached)
        self._take(number, due.keys)
        key_bytes = due.keys.cast(pa.binary())
        keys = python_keys(decoded_keys(self._rows.key, key_bytes))
        for key, of_key, group in zip(
            keys, key_bytes.to_pylist(), due.key_groups.tolist(), strict=True
        ):
            yield Span(key, of_key, (), [], group)
