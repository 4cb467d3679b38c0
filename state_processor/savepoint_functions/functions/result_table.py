"""Results of a function: the state that it leaves becomes runs, in one table with its rows.

States without namespaces become a table with a row per key. States with namespaces of one type
become a table with a row per key and namespace. Each table has an encoding of its own.

A function is called once for its state and its rows, because a second call might not agree with the
first: it may ask the clock, and rows without timestamps have no order. Spark stores the table, with
the results of one attempt at each task. So a task that is done again, or twice at once, gives no row
twice.

| column    | type   | meaning                                                    |
|-----------|--------|------------------------------------------------------------|
| key_group | INT    | of state, see ``run_encoding``; null for rows              |
| run       | BINARY | likewise                                                   |
| keys      | BINARY | likewise                                                   |
| output    | STRUCT | an output row; missing if the function gives none          |
| side_0 …  | STRUCT | a row of the first side output                             |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from savepoint_database.types import BATCH_ROWS, OutputRows, Place, user_frames_first
from savepoint_formats.layout import Marker, as_records
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files import StateKind
from savepoint_formats.values import arrow_type
from savepoint_functions.functions.backends import TimerService
from savepoint_functions.functions.backends.timers import TIMER_STATE_PREFIX
from savepoint_functions.functions.function_task import KeyLoop
from savepoint_functions.functions.outputs import OutputBuffer
from savepoint_functions.functions.rows_by_key import decoded_keys
from savepoint_spark.columns import spark_schema
from savepoint_spark.writing import (
    BATCH_SIZE,
    KEY,
    KEY_GROUP,
    NAMESPACE,
    RUN_SCHEMA,
    TIMESTAMPS,
    NewState,
    RunEncoding,
    RunRows,
    RunSource,
    StateColumn,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from savepoint_database.types import StateDescriptor, TypeInformation
    from savepoint_formats.layout import Layout
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_functions.functions.function_plan import KeyedFunctionPlan
    from savepoint_functions.functions.function_task import Ended, FunctionTask
    from savepoint_functions.functions.initial_state import InitialState
    from savepoint_functions.functions.outputs import Outputs
    from savepoint_spark.writing import Key, KeyedPlan


_KEY_BYTES = "key bytes"
_FIRST_STATE = 3
"""The first state's column of ended keys, after their places, bytes and key groups."""


@dataclass(frozen=True)
class FunctionState:
    """A state that a function registers, or its timers of one time domain."""

    new: NewState
    namespace: TypeSerializerSnapshot | None = None

    @classmethod
    def of(
        cls,
        descriptor: StateDescriptor,
        key: TypeSerializerSnapshot,
        namespace: TypeInformation | None = None,
    ) -> Self:
        name = descriptor.name
        of_namespace = None if namespace is None else namespace.snapshot
        if name.startswith(TIMER_STATE_PREFIX):
            domain, _, service = name.removeprefix(TIMER_STATE_PREFIX).partition("_")
            of_timers = of_namespace or constructed.void_namespace()
            return cls(NewState.of_timers(service, domain, name, key, of_timers), of_namespace)
        return cls(NewState.of(descriptor, name, None, of_namespace), of_namespace)

    @property
    def is_timers(self) -> bool:
        return self.new.kind is StateKind.TIMERS

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the column of its contents."""
        return TIMESTAMPS if self.is_timers else arrow_type(as_records(self.new.stored))

    def contents(self, value: Any) -> Any:
        """The contents for a row, made of those in a snapshot; timers become their timestamps."""
        if not self.is_timers:
            return value
        if self.namespace is None:
            return TimerService.timestamps(value)
        return [(namespace, TimerService.timestamps(timers)) for namespace, timers in value or ()]

    def column(self, number: int) -> StateColumn:
        """The encoding of its column under the number that the header gives it."""
        name, kind, stored = self.new.name, self.new.kind, self.new.stored
        has_namespace = self.namespace is not None
        return StateColumn(name, number, kind, stored, has_namespace, values=name)


@dataclass(frozen=True)
class NamespaceTable:
    """The states with namespaces of one layout, each with its place among all states."""

    states: tuple[tuple[int, FunctionState], ...]
    namespace: Layout | None
    encoding: RunEncoding

    @property
    def schema(self) -> pa.Schema:
        """The columns, with the bytes of keys instead of keys."""
        fields = [pa.field(_KEY_BYTES, pa.binary()), pa.field(KEY_GROUP, pa.int32())]
        if self.namespace is not None:
            fields.append(pa.field(NAMESPACE, arrow_type(self.namespace)))
        fields += [pa.field(state.new.name, state.arrow_type) for _, state in self.states]
        return pa.schema(fields)

    def batches(self, ended: Sequence[Ended], function: str) -> Iterator[pa.RecordBatch]:
        """The state of ended keys; ``function`` is a name for messages."""
        output = OutputRows(self.schema, function, "state")
        if self.namespace is None:
            made = self._plain(ended, output)
        else:
            made = output.batches(self._of_namespaces(ended))
        for batch in made:
            keys = decoded_keys(self.encoding.key, batch.column(0))
            names = [KEY, *batch.schema.names[1:]]
            yield pa.RecordBatch.from_arrays([keys, *batch.columns[1:]], names)

    def _plain(self, ended: Sequence[Ended], output: OutputRows) -> Iterator[pa.RecordBatch]:
        """A row for each key that has any of these states, made column by column."""
        places, rows = zip(*ended, strict=True)
        columns: list[Sequence[Any]] = [places, *zip(*rows, strict=True)]
        others = columns[:_FIRST_STATE]
        states = [columns[_FIRST_STATE + index] for index, _ in self.states]
        if len(others) + len(states) < len(columns):
            # A key may have state in only another table.
            has_any = [
                any(value is not None for value in values) for values in zip(*states, strict=True)
            ]
            others = [list(compress(column, has_any)) for column in others]
            states = [list(compress(column, has_any)) for column in states]
        if others[0]:
            contents = map(_contents, states, (state for _, state in self.states))
            yield output.batch(others[0], [*others[1:], *contents])

    def _of_namespaces(self, ended: Iterable[Ended]) -> Iterator[tuple[Place, tuple[Any, ...]]]:
        for place, (key_bytes, key_group, *contents) in ended:
            values = [state.contents(contents[index]) for index, state in self.states]
            for namespace, of_namespace in self._by_namespace(place, values).items():
                where = Place(place.key, namespace)
                yield where, (key_bytes, key_group, namespace, *of_namespace)

    def _by_namespace(self, place: Place, values: list[Any]) -> dict[Hashable, list[Any]]:
        rows: dict[Hashable, list[Any]] = {}
        for column, pairs in enumerate(values):
            for namespace, value in pairs or ():
                if namespace is None and not isinstance(self.namespace, Marker):
                    name = self.states[column][1].new.name
                    raise ValueError(
                        f"state {name!r} was changed for {place} before it had a namespace: call"
                        " set_current_namespace first"
                    )
                rows.setdefault(namespace, [None] * len(values))[column] = value
        return rows


def _contents(values: Sequence[Any], state: FunctionState) -> Sequence[Any]:
    return (
        [state.contents(value) for value in values] if state.is_timers and any(values) else values
    )


@dataclass(frozen=True)
class StateEncoding:
    """The states of a function, in the order of a snapshot, and the tables that they become."""

    function: str
    states: tuple[FunctionState, ...]
    tables: tuple[NamespaceTable, ...]

    @classmethod
    def of(
        cls,
        task: FunctionTask,
        states: tuple[FunctionState, ...],
        key: Key,
        ids: Mapping[str, int],
        max_parallelism: int,
    ) -> Self:
        """The tables of these states; ``ids`` maps states to their indices in the header."""
        tables = []
        for namespace in dict.fromkeys(state.namespace for state in states):
            of_table = tuple(
                (index, state) for index, state in enumerate(states) if state.namespace == namespace
            )
            layout = None if namespace is None else namespace.layout()
            encoding = RunEncoding(
                key.snapshot.layout(),
                layout,
                max_parallelism,
                tuple(state.column(ids[state.new.name]) for _, state in of_table),
                key.hash_code,
                task.rows.has_key_groups,
            )
            tables.append(NamespaceTable(of_table, layout, encoding))
        return cls(type(task.function).__name__, states, tuple(tables))

    def columns(self, ended: Iterable[Ended]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The state of ended keys, as numbers of tables and rows of these."""
        keys = iter(ended)
        while chunk := list(islice(keys, BATCH_ROWS)):
            for number, table in enumerate(self.tables):
                for batch in table.batches(chunk, self.function):
                    yield number, batch


class StateBuffer:
    """The state of ended keys that is not in runs yet."""

    def __init__(self, state: StateEncoding) -> None:
        self._state = state
        self._rows: list[list[pa.RecordBatch]] = [[] for _ in state.tables]
        self._size = 0

    def take(self, ended: list[Ended]) -> None:
        """Takes ended keys from a list."""
        for number, batch in self._state.columns(ended):
            self._rows[number].append(batch)
            self._size += batch.nbytes
        ended.clear()

    @property
    def is_full(self) -> bool:
        return self._size >= BATCH_SIZE

    def runs(self) -> Iterator[pa.RecordBatch]:
        """The runs of all that was taken."""
        for table, rows in zip(self._state.tables, self._rows, strict=True):
            yield from table.encoding.run(rows)
            rows.clear()
        self._size = 0


@dataclass(frozen=True)
class ResultTable:
    """A function whose state and output rows become one table."""

    task: FunctionTask
    state: StateEncoding
    outputs: Outputs
    kind: ClassVar[type[KeyLoop]] = KeyLoop

    @property
    def spark_schema(self) -> StructType:
        return table_type(self.outputs)

    @property
    def schema(self) -> pa.Schema:
        return table_schema(self.outputs)

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The table of a partition."""
        schema = self.schema
        outputs, state = OutputBuffer(self.outputs, self.task.function), StateBuffer(self.state)
        with self.task.running(self.kind) as loop:
            has_sides = bool(loop.side_outputs.given)
            for _ in loop.steps(loop.by_key(batches)):
                if loop.given or has_sides:
                    outputs.take(Place(loop.backend.current_key), loop.given, loop.side_outputs)
                    yield from outputs.batches(schema)
                if len(loop.ended) >= BATCH_ROWS:
                    state.take(loop.ended)
                    if state.is_full:
                        yield from with_runs(schema, state.runs())
                yield from with_runs(schema, loop.passed())
            yield from outputs.batches(schema, 1)
            state.take(loop.ended)
            yield from with_runs(schema, state.runs())
            yield from with_runs(schema, loop.passed())
            yield from self.end(loop, outputs.count)

    def end(self, loop: KeyLoop, output_rows: int) -> Iterable[pa.RecordBatch]:  # noqa: ARG002
        """More rows at the end of a task; none here."""
        return ()


def table_type(outputs: Outputs) -> StructType:
    """The columns of a table that has runs and these outputs."""
    return StructType([*spark_schema(RUN_SCHEMA), *outputs.fields])


def table_schema(outputs: Outputs) -> pa.Schema:
    """The columns of ``table_type`` in Arrow."""
    return pa.schema([*RUN_SCHEMA, *outputs.arrow_fields])


def with_runs(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of a table that have runs and nothing else."""
    others = list(schema)[len(RUN_SCHEMA) :]
    for runs in batches:
        nothing = [pa.nulls(runs.num_rows, field.type) for field in others]
        yield pa.RecordBatch.from_arrays([*runs.columns, *nothing], schema=schema)


@dataclass(frozen=True)
class ResultState(RunRows):
    """State that a function has left in a table, for ``max_parallelism`` key groups."""

    rows: KeyedFunctionPlan
    table: DataFrame
    max_parallelism: int

    @property
    def states(self) -> tuple[FunctionState, ...]:
        return self.rows.states

    @property
    def initial(self) -> InitialState | None:
        return self.rows.initial

    def plan(self) -> KeyedPlan:
        plan = self.rows.plan()
        return replace(plan, rows=(self,), numbered=len(plan.states))

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``. Raises ``ValueError`` if the runs were made for another savepoint."""
        if max_parallelism != self.max_parallelism:
            raise ValueError(
                f"the function was run for {self.max_parallelism} key groups, the savepoint has"
                f" {max_parallelism}: run it with max_parallelism={max_parallelism}"
            )
        if dict(ids) | state_ids(self.rows.states) != ids:
            raise ValueError(
                "the state of a finished run can't come after other keyed states of an operator:"
                " give it first, or make only state, with transform(…)"
            )
        of_state = self.table.where(F.col("key_group").isNotNull())
        return RunSource(of_state.select(*RUN_SCHEMA.names), None)


def state_ids(states: Iterable[FunctionState]) -> dict[str, int]:
    """The indices of states in the runs of a table: the indices in a header with only these states."""
    return {state.new.name: number for number, state in enumerate(states)}
