"""The broadcast side of a function: one task has all its rows, and makes broadcast state of them.

The driver collects this table, because all tasks of the other side and all subtasks of the
savepoint need its entries.

| column  | type   | meaning                                                     |
|---------|--------|-------------------------------------------------------------|
| state   | INT    | index of the state that an entry is of                      |
| key     | BINARY | key of the entry, as its serializer writes it               |
| element | BINARY | value of the entry, likewise                                |
| output  | STRUCT | and others: rows that the function has given; see ``outputs`` |
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from savepoint_database.types import map_entries, python_values, user_frames_first
from savepoint_formats.errors import StateTypeError
from savepoint_formats.layout import Long
from savepoint_formats.metadata import DistributionMode
from savepoint_functions.functions.backends import (
    OperatorStateStore,
    processing_time,
    state_backend,
)
from savepoint_functions.functions.broadcast_functions import (
    BroadcastElementContext,
    BroadcastProcessFunction,
    BroadcastStates,
    ReadOnlyBroadcastState,
    ReadOnlyContext,
)
from savepoint_functions.functions.function_calls import FunctionCalls
from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
from savepoint_functions.functions.operator_function import (
    ROW,
    TIMESTAMP,
    FunctionElementState,
    timed_rows,
)
from savepoint_functions.functions.outputs import OutputBuffer, SideOutputs, kept_once
from savepoint_functions.functions.rows_by_key import decoded_keys
from savepoint_spark.changing import element_arrays, element_layout, operator_states
from savepoint_spark.columns import spark_schema
from savepoint_spark.reading import RuntimeContext
from savepoint_spark.session import collected
from savepoint_spark.writing import ELEMENTS, NewOperatorState, spread_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from savepoint_database.snapshot import Operator
    from savepoint_database.types import MapStateDescriptor
    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.broadcast_functions import KeyedBroadcastProcessFunction
    from savepoint_functions.functions.outputs import Outputs

    BroadcastFunction = BroadcastProcessFunction | KeyedBroadcastProcessFunction

_STATE, _KEY, _ELEMENT = "state", "key", "element"
_ENTRIES = pa.schema({_STATE: pa.int32(), _KEY: pa.binary(), _ELEMENT: pa.binary()})
_NO_KEY = Long()
"""The layout of the keys of a task that gets none."""


@dataclass(frozen=True)
class HeldBroadcast:
    """Broadcast state on its way to tasks: serialized keys and values of each state."""

    descriptors: tuple[MapStateDescriptor, ...]
    entries: tuple[tuple[pa.BinaryArray, pa.BinaryArray], ...]

    def states(self) -> BroadcastStates:
        """The states as a task of other rows sees them."""
        states = {}
        for descriptor, (keys, values) in zip(self.descriptors, self.entries, strict=True):
            state = ReadOnlyBroadcastState(descriptor.name)
            entries = zip(
                _decoded(descriptor.user_key.layout(), keys),
                _decoded(descriptor.user_value.layout(), values),
                strict=True,
            )
            state.hold(state.held(entries))
            states[descriptor.name] = state
        return BroadcastStates(states, self.descriptors)


def _decoded(layout: Layout, encoded: pa.BinaryArray) -> list[Any]:
    return python_values(decoded_keys(layout, encoded)) if len(encoded) else []


@dataclass(frozen=True)
class InitialBroadcast:
    """The broadcast state that a function begins with, as the bytes of the savepoint.

    ``maps`` has the bytes of the whole map of each state that the savepoint has.
    """

    maps: dict[str, bytes]
    has_keyed_state: bool

    @classmethod
    def of(cls, operator: Operator, descriptors: tuple[MapStateDescriptor, ...]) -> Self:
        """The broadcast state of an operator.

        Raises:
            StateTypeError: A state has another mode or type in the savepoint.
            SavepointError: A file can't be read.
        """
        stored, maps = operator_states(operator), {}
        for descriptor in descriptors:
            state = stored.get(descriptor.name)
            if state is None:
                continue
            new = new_state(descriptor)
            if state.mode is not new.mode:
                raise StateTypeError(
                    f"operator {operator.name}, state {state.name!r} is {state.mode.name} in the"
                    " savepoint, and the broadcast rows make broadcast state of it"
                )
            if element_layout(state) != element_layout(new):
                raise StateTypeError(
                    f"operator {operator.name}, state {state.name!r} is {element_layout(state)} in"
                    f" the savepoint, and {element_layout(new)} in the descriptor: give it the types"
                    " of the job"
                )
            for elements in element_arrays(operator, state):
                maps[state.name] = elements[0].as_py()
        return cls(maps, any(state.kind.is_keyed for state in operator.catalog.states))

    def entries(self, descriptor: MapStateDescriptor) -> list[tuple[Any, Any]]:
        """The keys and values of a state; none if the savepoint lacks it."""
        if descriptor.name not in self.maps:
            return []
        stored = pa.array([self.maps[descriptor.name]], pa.binary())
        layout = element_layout(new_state(descriptor))
        (entries,) = map_entries(decoded_keys(layout, stored))
        return entries or []


@dataclass(frozen=True)
class BroadcastElements:
    """The broadcast state of this number in the table, as elements of an operator."""

    state: NewOperatorState
    table: DataFrame
    number: int

    def elements(self, index: int, parallelism: int) -> DataFrame:
        entries = self.table.where(F.col(_STATE) == self.number).select(_KEY, _ELEMENT)
        return entries.mapInArrow(partial(_in_subtasks, index, parallelism), ELEMENTS)


def _in_subtasks(
    index: int, parallelism: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    entries = (tuple(batch.columns) for batch in batches)
    return spread_rows(entries, index, parallelism, 0, is_broadcast=True)


@dataclass(frozen=True)
class BroadcastResult:
    """Results of the broadcast rows.

    Attributes:
        descriptors: The broadcast states.
        table: The entries of the states, and the rows that the function gave.
    """

    descriptors: tuple[MapStateDescriptor, ...]
    table: DataFrame

    @classmethod
    def of(
        cls,
        data: DataFrame,
        descriptors: tuple[MapStateDescriptor, ...],
        function: BroadcastFunction,
        outputs: Outputs,
        initial: Operator | None,
    ) -> Self:
        """Runs the function over rows of ``in_structs``, in the order of their timestamps.

        Errors are those of ``InitialBroadcast.of``.
        """
        names = tuple(data.select(f"{ROW}.*").columns)
        begins_with = None
        if initial is not None:
            begins_with = InitialBroadcast.of(initial, descriptors)
            # Without any row Spark runs no task, and the state would be lost.
            no_row = (F.lit(None).cast(field.dataType).alias(field.name) for field in data.schema)
            data = data.unionAll(data.sparkSession.range(1).select(*no_row))
        task = BroadcastTask(function, descriptors, names, outputs, begins_with)
        rows = data.coalesce(1).sortWithinPartitions(TIMESTAMP)
        return cls(descriptors, kept_once(rows.mapInArrow(task.run, task.spark_schema)))

    def held(self) -> HeldBroadcast:
        """The states for tasks."""
        of_states = self.table.where(F.col(_STATE).isNotNull()).select(_STATE, _KEY, _ELEMENT)
        table = collected(of_states)
        entries = []
        for number in range(len(self.descriptors)):
            rows = table.filter(pc.equal(table.column(_STATE), number))
            keys, values = (rows.column(name).combine_chunks() for name in (_KEY, _ELEMENT))
            entries.append((keys, values))
        return HeldBroadcast(self.descriptors, tuple(entries))

    def elements(self) -> tuple[BroadcastElements, ...]:
        """The states for a savepoint."""
        return tuple(
            BroadcastElements(new_state(descriptor), self.table, number)
            for number, descriptor in enumerate(self.descriptors)
        )


def new_state(descriptor: MapStateDescriptor) -> NewOperatorState:
    """Broadcast state for a savepoint."""
    mode = DistributionMode.BROADCAST
    return NewOperatorState(descriptor.name, mode, descriptor.user_value, descriptor.user_key)


@dataclass(frozen=True)
class BroadcastTask:
    """A function over all broadcast rows, whose columns have these names."""

    function: BroadcastFunction
    descriptors: tuple[MapStateDescriptor, ...]
    names: tuple[str, ...]
    outputs: Outputs
    initial: InitialBroadcast | None = None

    @property
    def spark_schema(self) -> StructType:
        return StructType([*spark_schema(_ENTRIES), *self.outputs.fields])

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The table."""
        schema = pa.schema([*_ENTRIES, *self.outputs.arrow_fields])
        store = OperatorStateStore()
        states = {
            descriptor.name: store.broadcast_state(descriptor) for descriptor in self.descriptors
        }
        if self.initial is not None:
            for descriptor in self.descriptors:
                states[descriptor.name].put_all(self.initial.entries(descriptor))
        side_outputs = SideOutputs(self.function)
        broadcast = BroadcastStates(states, self.descriptors)
        has_keyed_state = self.initial is not None and self.initial.has_keyed_state
        context = BroadcastElementContext(
            processing_time, broadcast, side_outputs, has_keyed_state=has_keyed_state
        )
        with _opened(self.function):
            calls = FunctionCalls(self.function.process_broadcast_element, context)
            given = OutputBuffer(self.outputs, self.function)
            rows = (batch.filter(batch.column(ROW).is_valid()) for batch in batches)
            yield from _output(rows, self.names, calls, given, side_outputs, schema)
        name = type(self.function).__name__
        for number, (_, _, entries) in enumerate(store.contents()):
            state = FunctionElementState.of(new_state(self.descriptors[number]), number, 1)
            for batch in state.batches(entries, name):
                columns = [batch.column(field.name) for field in _ENTRIES]
                nothing = [pa.nulls(len(batch), field.type) for field in self.outputs.arrow_fields]
                yield pa.RecordBatch.from_arrays([*columns, *nothing], schema=schema)


@dataclass(frozen=True)
class ConnectedTask:
    """A function over rows without keys that are connected with broadcast rows."""

    function: BroadcastProcessFunction
    broadcast: HeldBroadcast
    names: tuple[str, ...]
    outputs: Outputs

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, with a column for each output."""
        schema = pa.schema(self.outputs.arrow_fields)
        side_outputs = SideOutputs(self.function)
        context = ReadOnlyContext(processing_time, self.broadcast.states(), side_outputs)
        with _opened(self.function):
            calls = FunctionCalls(self.function.process_element, context)
            given = OutputBuffer(self.outputs, self.function)
            yield from _output(batches, self.names, calls, given, side_outputs, schema)


def _output(
    batches: Iterable[pa.RecordBatch],
    names: tuple[str, ...],
    calls: FunctionCalls,
    given: OutputBuffer,
    side_outputs: SideOutputs,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    for rows in timed_rows(batches, names):
        calls.process(rows)
        given.take("a row", calls.given, side_outputs)
        yield from given.batches(schema)
    yield from given.batches(schema, 1)


@contextmanager
def _opened(function: BroadcastFunction) -> Iterator[None]:
    """Opens a function without a key. Raises ``TypeError`` if it has changed keyed state."""
    try:
        if isinstance(function, BroadcastProcessFunction):
            function.open(RuntimeContext("a function without keys", ()))
            yield
            return
        with state_backend("single_key", _NO_KEY) as backend:
            function.open(KeyedRuntimeContext(backend))
            yield
            snapshot = zip(backend.descriptors, backend.snapshot_current_key(), strict=True)
            changed = [descriptor.name for descriptor, contents in snapshot if contents is not None]
            if changed:
                raise TypeError(
                    f"{type(function).__name__} changed keyed state {changed[0]!r} for a broadcast"
                    " row, which has no key"
                )
    finally:
        function.close()
