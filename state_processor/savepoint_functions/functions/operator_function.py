"""Functions without keys, whose state becomes operator state.

Each task makes list state of the rows of its partition. One task makes broadcast state of all rows,
because maps of several tasks could disagree on a key. The function runs once, however many states
it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from savepoint_database.types import (
    ListStateDescriptor,
    MapStateDescriptor,
    OutputRows,
    record_maker,
    user_frames_first,
)
from savepoint_formats.values import arrow_type
from savepoint_functions.functions.backends import OperatorStateStore, processing_time
from savepoint_functions.functions.function_calls import FunctionCalls
from savepoint_functions.functions.process_functions import (
    BroadcastContext,
    BroadcastStateBootstrapFunction,
    OperatorContext,
    OperatorRuntimeContext,
    StateBootstrapFunction,
)
from savepoint_functions.functions.rows_by_key import plain_list, row_tuples
from savepoint_functions.functions.sorted_inputs import milliseconds
from savepoint_spark.columns import column_of
from savepoint_spark.writing import ELEMENTS, ElementEncoding, NewOperatorState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from savepoint_database.types import StateDescriptor
    from savepoint_formats.metadata import DistributionMode

    OperatorFunction = StateBootstrapFunction | BroadcastStateBootstrapFunction

TIMESTAMP, ROW = "timestamp", "row"
_ROWS_AT_ONCE = 1000


def in_structs(data: DataFrame, timestamps: str | None) -> DataFrame:
    """Rows without keys as columns ``timestamp``, in ms, and ``row``, a struct."""
    no_time = F.lit(None).cast(LongType())
    time = no_time if timestamps is None else milliseconds(data, timestamps)
    row = F.struct(*(column_of(data, name)[0].alias(name) for name in data.columns))
    return data.select(time.alias(TIMESTAMP), row.alias(ROW))


@dataclass(frozen=True)
class FunctionElements:
    """A state of a function; the state with number 0 brings the elements of all states.

    ``data`` is as ``in_structs`` gives it, and the states have indices one after another.
    """

    function: OperatorFunction
    data: DataFrame
    states: tuple[NewOperatorState, ...]
    number: int

    @property
    def state(self) -> NewOperatorState:
        return self.states[self.number]

    def elements(self, index: int, parallelism: int) -> DataFrame:
        if self.number:
            return self.data.sparkSession.createDataFrame([], ELEMENTS)
        names = tuple(self.data.select(f"{ROW}.*").columns)
        states = tuple(
            FunctionElementState.of(state, index + number, parallelism)
            for number, state in enumerate(self.states)
        )
        return self.data.mapInArrow(OperatorTask(self.function, names, states).run, ELEMENTS)


@dataclass(frozen=True)
class FunctionElementState:
    """A state of a function in a task: the schema of its elements, and how they become bytes."""

    schema: pa.Schema
    encoding: ElementEncoding

    @classmethod
    def of(cls, state: NewOperatorState, index: int, parallelism: int) -> Self:
        element = state.element.layout()
        key = None if state.key is None else state.key.layout()
        layouts = {"element": element} if key is None else {"key": key, "element": element}
        schema = pa.schema({name: arrow_type(layout) for name, layout in layouts.items()})
        return cls(schema, ElementEncoding(state.name, index, parallelism, element, key))

    def batches(self, contents: list[Any], function: str) -> Iterator[pa.RecordBatch]:
        """The elements as ``ELEMENTS``; ``function`` is a name for messages."""
        place = f"state {self.encoding.name!r}"
        elements = contents if self.encoding.key else [(element,) for element in contents]
        rows = OutputRows(self.schema, function).batches((place, element) for element in elements)
        yield from self.encoding.run(rows)


@dataclass(frozen=True)
class OperatorTask:
    """A function over the rows of a partition, whose columns have these names."""

    function: OperatorFunction
    names: tuple[str, ...]
    states: tuple[FunctionElementState, ...]

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The elements of all states."""
        store = OperatorStateStore()
        function = self.function
        try:
            calls = FunctionCalls(function.process_element, opened(function, store))
            for rows in timed_rows(batches, self.names):
                calls.process(rows)
                calls.given.clear()
            if isinstance(function, StateBootstrapFunction):
                function.snapshot_state()
        finally:
            function.close()
        for state, (_, _, contents) in zip(self.states, store.contents(), strict=True):
            yield from state.batches(contents, type(function).__name__)


def timed_rows(
    batches: Iterable[pa.RecordBatch], names: tuple[str, ...]
) -> Iterator[Iterator[tuple[int | None, Any]]]:
    """The rows without keys of a partition with their timestamps, some at a time."""
    make = record_maker(names)
    for batch in batches:
        times, rows = plain_list(batch.column(TIMESTAMP)), row_tuples(batch.column(ROW))
        timed = zip(times, map(make, rows), strict=True)
        for _ in range(0, batch.num_rows, _ROWS_AT_ONCE):
            yield islice(timed, _ROWS_AT_ONCE)


def opened(function: OperatorFunction, store: OperatorStateStore) -> OperatorContext:
    """Opens a function, and gives the context of its calls."""
    function.open(OperatorRuntimeContext(store))
    if isinstance(function, StateBootstrapFunction):
        return OperatorContext(processing_time)
    context = BroadcastContext(processing_time, store)
    for descriptor in function.descriptors:
        context.get_broadcast_state(descriptor)
    return context


def operator_rows(data: DataFrame, function: OperatorFunction) -> tuple[FunctionElements, ...]:
    """The states that a function makes of rows of ``in_structs``; ``ValueError`` if it registers none."""
    copy: OperatorFunction = cloudpickle.loads(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]
    store = OperatorStateStore()
    try:
        opened(copy, store)
    finally:
        copy.close()
    contents = store.contents()
    if not contents:
        where = "open" if isinstance(function, StateBootstrapFunction) else "descriptors"
        raise ValueError(f"{type(function).__name__} names no state in {where}")
    if isinstance(function, BroadcastStateBootstrapFunction):
        data = data.coalesce(1)
    states = tuple(_state(descriptor, mode) for descriptor, mode, _ in contents)
    return tuple(FunctionElements(function, data, states, number) for number in range(len(states)))


def _state(descriptor: StateDescriptor, mode: DistributionMode) -> NewOperatorState:
    if isinstance(descriptor, MapStateDescriptor):
        return NewOperatorState(descriptor.name, mode, descriptor.user_value, descriptor.user_key)
    assert isinstance(descriptor, ListStateDescriptor)  # the store has no others
    return NewOperatorState(descriptor.name, mode, descriptor.element)
