"""Rows of a task with the state that their keys begin with, read split by split and decoded.

A split is read when its first row comes, and all keys of a batch are looked up and decoded at once:
as columns, or as values that a state backend restores. When no more rows of a split can come, its
untouched entries are copied as bytes. A split without rows is passed on as runs, unread. Rows are
sorted, so they come split by split, and one split is in memory at a time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.types import PYTHON, is_map, map_entries, python_values
from savepoint_formats.errors import within
from savepoint_formats.key_groups import prefix_size
from savepoint_formats.layout import MapOf, Nullable, Repeated
from savepoint_formats.program.encode import Encoder
from savepoint_formats.sources.state_rows import EntryDecoders
from savepoint_formats.state_files import StateKind, part_of
from savepoint_formats.tables import visible_elements
from savepoint_formats.values import arrow_type
from savepoint_functions.functions.backends.namespaces import plain
from savepoint_functions.functions.backends.wrapping_states import timed_layout
from savepoint_functions.functions.rows_by_key import RowsOfKey, decoded_keys, python_keys
from savepoint_functions.functions.sorted_inputs import KEY, ORDER, key_groups_in
from savepoint_spark.writing import run_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from savepoint_formats.entries import Part
    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through import DividedEntries, StoredStates
    from savepoint_formats.state_files import State, StateChunk
    from savepoint_functions.functions.initial_state import InitialTask
    from savepoint_functions.functions.rows_by_key import RowTypes


_KEY, _NAMESPACE, _TIMESTAMP = "key", "namespace", "timestamp"


class InitialValues:
    """Decodes entries; an entry that is damaged raises ``FormatError``."""

    def __init__(self, stored: StoredStates) -> None:
        self._settings = stored.settings
        self._prefix_size = prefix_size(stored.record.max_parallelism)
        self._key = Encoder(stored.key)
        self._decoders: dict[str, EntryDecoders] = {}

    def columns(
        self, keys: pa.LargeBinaryArray, chunks: Iterable[StateChunk], types: pa.Schema
    ) -> dict[str, pa.Array]:
        """A column for each state with entries, with a row per key; null where a key has none."""
        columns = {}
        for chunk in chunks:
            name = chunk.state.name
            with within(f"state {name!r}"):
                stored, values = self._column(chunk, chunk.state, types.field(name).type)
                columns[name] = values.take(pc.index_in(keys, self._key.encode(stored.field(_KEY))))
        return columns

    def by_key(self, chunks: Iterable[StateChunk]) -> Iterator[tuple[str, bytes, Any]]:
        """The state, the bytes of the key and its snapshot, for each state and key with entries."""
        for chunk in chunks:
            name = chunk.state.name
            with within(f"state {name!r}"):
                timed = replace(
                    chunk.state, stored=_with_numbers(chunk.state.kind, chunk.state.stored)
                )
                is_timers = timed.kind is StateKind.TIMERS
                rows = self._timers(chunk, timed) if is_timers else self._values(chunk, timed)
                if timed.namespace is None:
                    for (key_bytes, _), contents in rows:
                        yield name, key_bytes, contents
                    continue
                by_key: dict[bytes, list[tuple[Any, Any]]] = {}
                for (key_bytes, namespace), contents in rows:
                    by_key.setdefault(key_bytes, []).append((namespace, contents))
                for key_bytes, pairs in by_key.items():
                    yield name, key_bytes, pairs

    def _values(self, chunk: StateChunk, state: State) -> Iterator[tuple[tuple[bytes, Any], Any]]:
        keys, values = self._column(chunk, state, arrow_type(state.stored))
        column = _python(visible_elements(values, state.stored))
        contents = map_entries(column) if is_map(state) else python_values(column)
        return zip(self._keys(keys), contents, strict=True)

    def _timers(self, chunk: StateChunk, state: State) -> Iterable[tuple[tuple[bytes, Any], Any]]:
        timers: dict[tuple[bytes, Any], list[Any]] = {}
        decoders, entries = self._prepared(chunk, state)
        for rows in decoders.timers(entries):
            times = rows.timers.field(_TIMESTAMP).cast(pa.int64()).to_pylist()
            for key, time in zip(self._keys(rows.timers), times, strict=True):
                timers.setdefault(key, []).append((time, None))
        return timers.items()

    def _column(
        self, chunk: StateChunk, state: State, wanted: pa.DataType
    ) -> tuple[pa.StructArray, pa.Array]:
        decoders, entries = self._prepared(chunk, state)
        joined = decoders.batch(entries[0], decoders.rows(entries)).joined({state.name: wanted})
        return joined.keys(), joined.columns[state.name]

    def _prepared(self, chunk: StateChunk, state: State) -> tuple[EntryDecoders, Part]:
        if state.name not in self._decoders:
            self._decoders[state.name] = EntryDecoders([state], self._settings)
        return self._decoders[state.name], part_of([chunk], self._prefix_size)

    def _keys(self, keys: pa.StructArray) -> Iterator[tuple[bytes, Any]]:
        """The bytes of each key, encoded like the keys of rows, and its namespace."""
        key_bytes = self._key.encode(keys.field(_KEY)).to_pylist()
        namespaces = map(plain, python_values(_python(keys.field(_NAMESPACE))))
        return zip(key_bytes, namespaces, strict=True)


def _with_numbers(kind: StateKind, stored: Layout) -> Layout:
    """The layout of a state with times of TTL as numbers, as backends have them."""
    match kind, stored:
        case StateKind.LIST, Repeated(element):
            return replace(stored, element=timed_layout(element))
        case StateKind.MAP, MapOf(_, Nullable(value) as values):
            return replace(stored, value=replace(values, inner=timed_layout(value)))
        case _:
            return timed_layout(stored)


def _python(column: pa.Array) -> pa.Array:
    return PYTHON.batch(pa.RecordBatch.from_arrays([column], [_KEY])).column(0)


NO_SPLIT = -1
"""The split of key groups without a file in the savepoint."""


class InitialSplits:
    """The splits of a task; ``passed`` has the untouched entries of ended splits."""

    def __init__(self, task: InitialTask) -> None:
        self.passed: list[Iterator[pa.RecordBatch]] = []
        self._task = task
        self._starts = [split.start for split in task.splits]
        self._ends = np.array([split.end for split in task.splits], np.int64)
        self._read: dict[int, DividedEntries] = {}

    def numbers_of(self, rows: pa.RecordBatch) -> NDArray[np.int64]:
        """The number of the split of each row."""
        key_groups = key_groups_in(rows.column(ORDER))
        if not self._starts:
            return np.full(len(key_groups), NO_SPLIT)
        numbers = np.searchsorted(self._starts, key_groups, "right") - 1
        return np.where(key_groups <= self._ends[numbers], numbers, NO_SPLIT)

    def without_marks(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows, without the marks that name the splits of this task."""
        keys = rows.column(KEY)
        return rows.filter(keys.is_valid()) if keys.null_count else rows

    def groups(
        self, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
        """The sorted rows of a task by split, with the number of the split; some have no rows."""
        for number, group in groupby(self._divided(batches), key=itemgetter(0)):
            yield number, (rows for _, rows in group)

    def _divided(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
        for batch in batches:
            numbers = self.numbers_of(batch)
            starts = np.flatnonzero(np.diff(numbers, prepend=NO_SPLIT - 1)).tolist()
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
        return self._task.stored.divided(names, self._task.splits[number])

    def end(self, number: int) -> None:
        """Lets the untouched entries of a split pass, because it has no more rows."""
        if number == NO_SPLIT:
            return
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
        assert task.ids is not None  # only if something is written
        if entries is None:
            return task.stored.runs(task.ids, task.splits[number])
        return entries.rest(task.ids, task.stored.record.max_parallelism)


class InitialKeys:
    """The keys of a task, with the state that they begin with."""

    def __init__(self, task: InitialTask, rows: RowTypes) -> None:
        self.splits = InitialSplits(task)
        self._reached = task.reached
        self._rows = rows
        self._values = InitialValues(task.stored)
        self._places, self._count = task.places, task.count
        self._by_key: dict[bytes, list[Any]] = {}

    def take(self, key_bytes: bytes) -> list[Any] | None:
        """A snapshot of a key's state, for a backend to restore; None if it has none or was taken."""
        return self._by_key.pop(key_bytes, None)

    def by_key(self, batches: Iterable[pa.RecordBatch]) -> Iterator[RowsOfKey]:
        """The rows by key; keys without rows come too if their timers are due."""
        for number, rows in self.splits.groups(batches):
            yield from self._rows.by_key(map(partial(self._looked_up, number), rows))
            yield from self._ended(number)

    def _looked_up(self, number: int, rows: pa.RecordBatch) -> pa.RecordBatch:
        if number != NO_SPLIT:
            self._take(number, pc.unique(rows.column(KEY)).cast(pa.large_binary()))
        return rows

    def _take(self, number: int, keys: pa.LargeBinaryArray) -> None:
        entries = self.splits.entries(number).take(keys)
        for name, key_bytes, contents in self._values.by_key(entries):
            of_key = self._by_key.setdefault(key_bytes, [None] * self._count)
            of_key[self._places[name]] = contents

    def _ended(self, number: int) -> Iterator[RowsOfKey]:
        """The keys with due timers of a split that has no more rows; the rest of the split passes."""
        if self._reached and number != NO_SPLIT:
            yield from self._due(number)
        self.splits.end(number)

    def _due(self, number: int) -> Iterator[RowsOfKey]:
        splits, reached = self.splits, self._reached
        if not splits.is_read(number):
            # Most splits have no due timer, so their other states need not be read.
            timers = splits.divided(frozenset(reached), number)
            if not len(timers.due(reached).keys):
                return
        due = splits.entries(number).due(reached)
        self._take(number, due.keys)
        key_bytes = due.keys.cast(pa.binary())
        keys = python_keys(decoded_keys(self._rows.key, key_bytes))
        for key, of_key, group in zip(
            keys, key_bytes.to_pylist(), due.key_groups.tolist(), strict=True
        ):
            yield RowsOfKey(key, of_key, (), [], group)
