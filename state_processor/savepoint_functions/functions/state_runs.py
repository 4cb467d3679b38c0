"""State that a function leaves of each key, on its way to runs.

States without namespaces make a row per key, and those of each kind of namespace a row per key and
namespace. Each of these tables has an encoding of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pyarrow as pa

from savepoint_database.rows.place import Place
from savepoint_database.types.python_values import BATCH_ROWS, OutputRows
from savepoint_database.types.user_frames import user_frames_first
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_functions.functions.backends import TimerService
from savepoint_functions.functions.backends.timers import TIMER_STATE_PREFIX
from savepoint_functions.functions.function_task import FunctionRun
from savepoint_functions.functions.key_spans import decoded_keys
from savepoint_spark.writing.new_state import NewState
from savepoint_spark.writing.run_encoding import (
    BATCH_SIZE,
    KEY,
    KEY_GROUP,
    NAMESPACE,
    TIMESTAMPS,
    RunEncoding,
    StateColumn,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from savepoint_database.types.descriptors import StateDescriptor
    from savepoint_database.types.types import TypeInformation
    from savepoint_formats.layout import Layout
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_functions.functions.function_task import FunctionTask
    from savepoint_spark.writing.keyed_rows import Key

    Ended = tuple[Place, list[Any]]

_KEY_BYTES = "key bytes"
_FIRST_STATE = 3
"""The column of the first state of ended keys: behind the places, the bytes and the key groups."""


@dataclass(frozen=True)
class FunctionState:
    """A state that a function registers, or its timers of one time domain.

    Attributes:
        new: What a savepoint says of it.
        namespace: The serializer of its namespaces; None for the void one.
    """

    new: NewState
    namespace: TypeSerializerSnapshot | None = None

    @classmethod
    def of(
        cls,
        descriptor: StateDescriptor,
        key: TypeSerializerSnapshot,
        namespace: TypeInformation | None = None,
    ) -> Self:
        """The state of a descriptor."""
        name = descriptor.name
        of_namespace = None if namespace is None else namespace.snapshot
        if name.startswith(TIMER_STATE_PREFIX):
            domain, _, service = name.removeprefix(TIMER_STATE_PREFIX).partition("_")
            of_timers = of_namespace or constructed.void_namespace()
            return cls(NewState.of_timers(service, domain, name, key, of_timers), of_namespace)
        return cls(NewState.of(descriptor, name, None, of_namespace), of_namespace)

    @property
    def is_timers(self) -> bool:
        """Whether it is timers."""
        return self.new.kind is StateKind.TIMERS

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of a column of what keys have in it."""
        return TIMESTAMPS if self.is_timers else arrow_type(self.new.stored)

    def contents(self, value: Any) -> Any:
        """What a row has of it, for what a snapshot has; of timers that is their timestamps."""
        if not self.is_timers:
            return value
        if self.namespace is None:
            return TimerService.timestamps(value)
        return [(namespace, TimerService.timestamps(timers)) for namespace, timers in value or ()]

    def column(self, number: int) -> StateColumn:
        """How the column is encoded."""
        name, kind, stored = self.new.name, self.new.kind, self.new.stored
        has_namespace = self.namespace is not None
        return StateColumn(name, number, kind, stored, has_namespace, values=name)


class StateRows(NamedTuple):
    """Rows of one of the tables.

    Attributes:
        table: Its number.
        batch: The rows.
    """

    table: int
    batch: pa.RecordBatch


@dataclass(frozen=True)
class StateTable:
    """The states of one kind of namespace, and their columns.

    Attributes:
        states: The states, each with its place among those that the function registers.
        namespace: The layout of their namespaces; None for the void one.
        encoding: How rows become runs.
    """

    states: tuple[tuple[int, FunctionState], ...]
    namespace: Layout | None
    encoding: RunEncoding

    @property
    def schema(self) -> pa.Schema:
        """The columns, with the bytes of keys in the place of these."""
        fields = [pa.field(_KEY_BYTES, pa.binary()), pa.field(KEY_GROUP, pa.int32())]
        if self.namespace is not None:
            fields.append(pa.field(NAMESPACE, arrow_type(self.namespace)))
        fields += [pa.field(state.new.name, state.arrow_type) for _, state in self.states]
        return pa.schema(fields)

    def batches(self, ended: Sequence[Ended], function: str) -> Iterator[pa.RecordBatch]:
        """What keys had when they ended.

        Args:
            ended: The keys.
            function: What the function is called, for messages.
        """
        output = OutputRows(self.schema, function)
        if self.namespace is None:
            made = self._plain(ended, output)
        else:
            made = output.batches(self._of_namespaces(ended))
        for batch in made:
            keys = decoded_keys(self.encoding.key, batch.column(0))
            names = [KEY, *batch.schema.names[1:]]
            yield pa.RecordBatch.from_arrays([keys, *batch.columns[1:]], names)

    def _plain(self, ended: Sequence[Ended], output: OutputRows) -> Iterator[pa.RecordBatch]:
        """A row for each key that has anything in these states: column by column, for most have."""
        places, rows = zip(*ended, strict=True)
        columns: list[Sequence[Any]] = [places, *zip(*rows, strict=True)]
        others = columns[:_FIRST_STATE]
        states = [columns[_FIRST_STATE + index] for index, _ in self.states]
        if len(others) + len(states) < len(columns):
            # The key may have left something in another table alone.
            has_any = [
                any(value is not None for value in values) for values in zip(*states, strict=True)
            ]
            others = [list(compress(column, has_any)) for column in others]
            states = [list(compress(column, has_any)) for column in states]
        if others[0]:
            contents = map(_contents, states, (state for _, state in self.states))
            yield output.batch(others[0], [*others[1:], *contents])

    def _of_namespaces(self, ended: Iterable[Ended]) -> Iterator[tuple[Place, tuple[Any, ...]]]:
        """A row for each key and namespace that has anything in these states."""
        for place, (key_bytes, key_group, *contents) in ended:
            values = [state.contents(contents[index]) for index, state in self.states]
            for namespace, of_namespace in self._by_namespace(place, values).items():
                where = Place(place.key, namespace)
                yield where, (key_bytes, key_group, namespace, *of_namespace)

    def _by_namespace(self, place: Place, values: list[Any]) -> dict[Hashable, list[Any]]:
        """What a key has in each state, by namespace."""
        rows: dict[Hashable, list[Any]] = {}
        for column, pairs in enumerate(values):
            for namespace, value in pairs or ():
                if namespace is None:
                    name = self.states[column][1].new.name
                    raise ValueError(
                        f"state {name!r} was changed for {place} before it had a namespace: call"
                        " set_current_namespace first"
                    )
                rows.setdefault(namespace, [None] * len(values))[column] = value
        return rows


def _contents(values: Sequence[Any], state: FunctionState) -> Sequence[Any]:
    """What rows have of a state, for what snapshots have."""
    return (
        [state.contents(value) for value in values] if state.is_timers and any(values) else values
    )


@dataclass(frozen=True)
class StateRuns:
    """A function whose state becomes runs.

    Attributes:
        task: The function.
        states: What it registers, in the order in which a snapshot has it.
        tables: The tables that it becomes.
    """

    task: FunctionTask
    states: tuple[FunctionState, ...]
    tables: tuple[StateTable, ...]

    @classmethod
    def of(
        cls,
        task: FunctionTask,
        states: tuple[FunctionState, ...],
        key: Key,
        ids: Mapping[str, int],
        max_parallelism: int,
    ) -> Self:
        """The tables of these states; for the others see ``RunRows.runs``."""
        tables = []
        for namespace in dict.fromkeys(state.namespace for state in states):
            of_table = tuple(
                (index, state) for index, state in enumerate(states) if state.namespace == namespace
            )
            layout = None if namespace is None else namespace.layout()
            columns = tuple(state.column(ids[state.new.name]) for _, state in of_table)
            has_key_groups = task.rows.has_key_groups
            encoding = RunEncoding(
                key.snapshot.layout(),
                layout,
                max_parallelism,
                columns,
                key.hash_code,
                has_key_groups,
            )
            tables.append(StateTable(of_table, layout, encoding))
        return cls(task, states, tuple(tables))

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The runs of a partition."""
        pending = PendingState(self)
        with self.task.running(FunctionRun) as run:
            for _ in run.steps(run.spans(batches)):
                run.forget_rows()
                if run.has_passed:
                    yield from run.passed()
                if len(run.ended) >= BATCH_ROWS:
                    yield from pending.full(run.ended)
            yield from pending.rest(run.ended)
            yield from run.passed()

    def columns(self, ended: Iterable[Ended]) -> Iterator[StateRows]:
        """What keys had when they ended, as rows of the tables."""
        keys = iter(ended)
        while chunk := list(islice(keys, BATCH_ROWS)):
            for number, table in enumerate(self.tables):
                for batch in table.batches(chunk, type(self.task.function).__name__):
                    yield StateRows(number, batch)

    def encoded(self, state_rows: Iterable[StateRows]) -> Iterator[pa.RecordBatch]:
        """The runs of rows."""
        state_rows = list(state_rows)
        for number, table in enumerate(self.tables):
            yield from table.encoding.run(rows.batch for rows in state_rows if rows.table == number)


class PendingState:
    """State of ended keys that is not in runs yet.

    Args:
        runs: How state becomes runs.
    """

    def __init__(self, runs: StateRuns) -> None:
        self._runs = runs
        self._rows: list[StateRows] = []

    def full(self, ended: list[Ended]) -> Iterator[pa.RecordBatch]:
        """Takes what keys had from a list, and gives runs if that is enough by now."""
        self._take(ended)
        if sum(rows.batch.nbytes for rows in self._rows) >= BATCH_SIZE:
            yield from self._encoded()

    def rest(self, ended: list[Ended]) -> Iterator[pa.RecordBatch]:
        """Runs of all that is left."""
        self._take(ended)
        yield from self._encoded()

    def _take(self, ended: list[Ended]) -> None:
        self._rows += self._runs.columns(ended)
        ended.clear()

    def _encoded(self) -> Iterator[pa.RecordBatch]:
        rows, self._rows = self._rows, []
        yield from self._runs.encoded(rows)
