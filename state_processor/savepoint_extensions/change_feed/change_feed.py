"""The changes of state between two snapshots, as typed batches and as one table of texts.

| table    | columns                                                                                    |
|----------|--------------------------------------------------------------------------------------------|
| a state  | its keys (``subtask``, ``key``, ``namespace``), ``map_key``, ``before``, ``after``, ``kind`` |
| all      | ``operator``, ``state`` and these, as texts: numbers, ``text_files``' texts, or JSON        |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.files.text_files import json_texts, texts_of
from savepoint_database.types import PRINTABLE, record_table
from savepoint_extensions.change_feed.changed_values import RowPairs, whole_updates
from savepoint_extensions.change_feed.feed_tables import (
    AFTER,
    BEFORE,
    KIND,
    MAP_KEY,
    FeedTable,
    Wanted,
    feed_tables,
)
from savepoint_formats.errors import StateNotFoundError, StateTypeError
from savepoint_formats.printable import html_records
from savepoint_formats.tables import KEY, NAMESPACE, SUBTASK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from savepoint_database.checks import SavepointDiff
    from savepoint_extensions.change_feed.feed_tables import ChangedState

StateBatch: TypeAlias = "tuple[ChangedState, pa.RecordBatch]"

OPERATOR, STATE = "operator", "state"

ALL = pa.schema(
    {
        OPERATOR: pa.string(),
        STATE: pa.string(),
        SUBTASK: pa.int32(),
        KEY: pa.string(),
        NAMESPACE: pa.string(),
        MAP_KEY: pa.string(),
        BEFORE: pa.string(),
        AFTER: pa.string(),
        KIND: pa.string(),
    }
)
"""The table of the changes of all states."""


@dataclass(frozen=True, slots=True)
class StateChanges:
    """Numbers of changes of a state.

    Attributes:
        operator: Uid or hash of the operator.
        state: Name of the state.
        added: Values, entries, timers or elements that only the later snapshot has.
        removed: Those that only the earlier snapshot has.
        changed: Those that have another value in the later snapshot.
    """

    operator: str
    state: str
    added: int
    removed: int
    changed: int


@dataclass(frozen=True)
class ChangeFeed:
    """The changes of state from one snapshot to a later one; rows are read when they are asked for.

    Attributes:
        diff: The differences of the two.
        wanted: Which states, and how their values are read.
    """

    diff: SavepointDiff
    wanted: Wanted

    def __repr__(self) -> str:
        return f"ChangeFeed({self.diff.before!r}, {self.diff.after!r})"

    def _repr_html_(self) -> str:
        title = f"Changes from {self.diff.before.path} to {self.diff.after.path}"
        return html_records(title, self.counts(), StateChanges.__match_args__)

    @property
    def states(self) -> tuple[str, ...]:
        """Full names of the states that either snapshot has, ``<operator>.<state>``."""
        return tuple(dict.fromkeys(it.full_name for it in self._states))

    def schema(self, state: str | None = None) -> pa.Schema:
        """The columns of ``batches``.

        Raises:
            StateNotFoundError: Neither snapshot has the state; the message lists all states.
            StateTypeError: The keys of the state have other types in the two snapshots.
        """
        if state is None:
            return ALL
        schemas = [it.schema for it in self._states if it.full_name == state]
        if not schemas:
            raise StateNotFoundError(
                f"no state {state!r} can be followed; there are: {', '.join(self.states) or 'none'}"
            )
        if not all(schema.equals(schemas[0]) for schema in schemas):
            raise StateTypeError(
                f"the keys of {state} have other types in the two snapshots: ask for the changes of all"
                " states, whose keys are texts"
            )
        return schemas[0]

    def batches(self, state: str | None = None) -> Iterator[pa.RecordBatch]:
        """The changes, batch by batch; memory is bounded as for ``diff``.

        Args:
            state: ``<operator>.<state>``, for changes with typed values. By default the changes of all
                wanted states in one table, with values as texts.

        Returns:
            Batches of ``schema``. A value of a key is in ``before`` and ``after``; one of them is null
            if the state had none. Each entry of a map is a row of its own, and so is each element
            of an operator's list and each timer.

        Raises:
            StateNotFoundError: Neither snapshot has the state.
            SavepointError: A file is missing or damaged.

        Example:
            >>> for batch in savepoint.changes("s3://jobs/savepoint-5e6f").batches("summarize.total"):
            ...     print(batch.to_pylist())
        """
        self.schema(state)
        for changed, batch in self.by_state(state):
            yield batch if state is not None else as_texts(changed, batch)

    def reader(self, state: str | None = None) -> pa.RecordBatchReader:
        """``batches`` as a stream of Arrow, for programs that take one."""
        return pa.RecordBatchReader.from_batches(self.schema(state), self.batches(state))

    def to_arrow(self, state: str | None = None) -> pa.Table:
        """All changes as one table in memory, see ``batches``.

        Example:
            >>> savepoint.changes("s3://jobs/savepoint-5e6f").to_arrow().to_pandas()
        """
        return pa.Table.from_batches(self.batches(state), self.schema(state))

    def counts(self) -> StateCounts:
        """How many changes each state has, the states without any left out. Reads all of them."""
        counts: dict[tuple[str, str], list[int]] = {}
        for state, batch in self.by_state():
            numbers = counts.setdefault((state.operator, state.state), [0, 0, 0])
            kinds = batch.column(KIND)
            for place, kind in enumerate(("added", "removed", "changed")):
                numbers[place] += pc.sum(pc.equal(kinds, kind)).as_py() or 0
        return StateCounts(StateChanges(*names, *numbers) for names, numbers in counts.items())

    def by_state(self, state: str | None = None) -> Iterator[StateBatch]:
        """Typed batches of all states, or of one, each with its state."""
        for table in tables_with(self._tables, state):
            yield from changes_in(self.diff, table)

    @property
    def _states(self) -> Iterator[ChangedState]:
        for table in self._tables:
            yield from table.states
            for rows in table.lone:
                yield from rows.states

    @cached_property
    def _tables(self) -> tuple[FeedTable, ...]:
        return tuple(feed_tables(self.diff, self.wanted))


class StateCounts(tuple[StateChanges, ...]):
    """Numbers of changes, state by state."""

    __slots__ = ()

    def to_arrow(self) -> pa.Table:
        """A row per state, with the attributes of ``StateChanges`` as columns."""
        return record_table(StateChanges, self)


def tables_with(tables: Iterable[FeedTable], state: str | None) -> Iterator[FeedTable]:
    """Tables with the changes of all states, or of one."""
    for table in tables:
        if state is None:
            yield table
            continue
        lone = (replace(rows, states=_called(rows.states, state)) for rows in table.lone)
        rows = tuple(rows for rows in lone if rows.states)
        yield replace(table, states=_called(table.states, state), lone=rows)


def _called(states: Iterable[ChangedState], name: str) -> tuple[ChangedState, ...]:
    return tuple(state for state in states if state.full_name == name)


def pieces_of(diff: SavepointDiff, table: FeedTable) -> Iterator[FeedTable]:
    """Parts of a table that any process can read on its own: ranges of key groups, and splits."""
    if table.states:
        for part in diff.parts(table.name):
            yield replace(table, lone=(), parts=(part,))
    for rows in table.lone:
        for split in rows.scan.splits():
            yield replace(table, states=(), lone=(replace(rows, splits=(split,)),))


def changes_in(diff: SavepointDiff, table: FeedTable) -> Iterator[StateBatch]:
    """The changes in a table, or a part of one."""
    if table.states:
        for rows in whole_updates(diff.changes(table.name, table.parts)):
            yield from _changes(table.states, RowPairs.of_diff(rows))
    for lone in table.lone:
        for split in lone.scan.splits() if lone.splits is None else lone.splits:
            for rows in lone.scan.read(split):
                yield from _changes(lone.states, RowPairs.of_side(rows, lone.kind))


def _changes(states: Sequence[ChangedState], pairs: RowPairs) -> Iterator[StateBatch]:
    for state in states:
        for batch in state.changes(pairs):
            yield state, batch


def as_texts(state: ChangedState, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Changes of a state as rows of the table of all states."""
    arrays = []
    for field in ALL:
        if field.name in (OPERATOR, STATE):
            name = state.operator if field.name == OPERATOR else state.state
            arrays.append(pa.repeat(pa.scalar(name), len(batch)))
        elif field.name not in batch.schema.names:
            arrays.append(pa.nulls(len(batch), field.type))
        elif field.name in (SUBTASK, KIND):
            arrays.append(batch.column(field.name))
        else:
            arrays.append(_texts(batch.column(field.name)))
    return pa.RecordBatch.from_arrays(arrays, schema=ALL)


def _texts(values: pa.Array) -> pa.Array:
    """Values as texts: scalars as they are, others as JSON; times to the last digit."""
    shown = PRINTABLE.batch(pa.RecordBatch.from_arrays([values], ["value"])).column(0)
    if pa.types.is_string(shown.type):
        return shown
    if pa.types.is_null(shown.type):
        return shown.cast(pa.string())
    return json_texts(shown) if pa.types.is_nested(shown.type) else texts_of(shown)
