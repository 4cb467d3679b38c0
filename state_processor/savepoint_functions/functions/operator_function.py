"""Runs a function without keys over rows; what it leaves becomes operator state.

List state is made in each task, of the rows of its partition. Broadcast state is made in one, of
all rows, for a map that several tasks had made would have no one value for a key. The function is run
once, however many states it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from savepoint_database.types.descriptors import ListStateDescriptor, MapStateDescriptor
from savepoint_database.types.python_values import OutputRows
from savepoint_database.types.user_frames import user_frames_first
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_functions.functions.backends import OperatorStateStore, processing_time
from savepoint_functions.functions.function_calls import FunctionCalls
from savepoint_functions.functions.key_spans import plain_list, row_maker, row_tuples
from savepoint_functions.functions.process_functions import (
    BroadcastContext,
    BroadcastStateBootstrapFunction,
    OperatorContext,
    OperatorRuntimeContext,
    StateBootstrapFunction,
)
from savepoint_functions.functions.sorted_inputs import milliseconds
from savepoint_spark.columns.column_types import column_of
from savepoint_spark.writing.operator_rows import ELEMENTS, ElementEncoding, NewOperatorState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from savepoint_database.types.descriptors import StateDescriptor
    from savepoint_formats.metadata import DistributionMode

    OperatorFunction = StateBootstrapFunction | BroadcastStateBootstrapFunction

TIMESTAMP, ROW = "timestamp", "row"
_ROWS_AT_ONCE = 1000


def in_structs(data: DataFrame, timestamps: str | None) -> DataFrame:
    """Rows without keys as a task takes them: columns ``timestamp``, in ms, and ``row``, a struct."""
    no_time = F.lit(None).cast(LongType())
    time = no_time if timestamps is None else milliseconds(data, timestamps)
    row = F.struct(*(column_of(data, name)[0].alias(name) for name in data.columns))
    return data.select(time.alias(TIMESTAMP), row.alias(ROW))


@dataclass(frozen=True)
class FunctionElements:
    """A state of a function, whose run gives the elements of all its states at once.

    Attributes:
        function: The function.
        data: Columns ``timestamp``, in ms, and ``row``, a struct.
        states: The states of the function, which have indexes one after another.
        number: Which of them this is; the first one brings the elements of all.
    """

    function: OperatorFunction
    data: DataFrame
    states: tuple[NewOperatorState, ...]
    number: int

    @property
    def state(self) -> NewOperatorState:
        """The state."""
        return self.states[self.number]

    def elements(self, index: int, parallelism: int) -> DataFrame:
        """See ``ElementRows``."""
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
    """A state of a function in a task.

    Attributes:
        schema: Of the elements that the function leaves.
        encoding: How they become bytes.
    """

    schema: pa.Schema
    encoding: ElementEncoding

    @classmethod
    def of(cls, state: NewOperatorState, index: int, parallelism: int) -> Self:
        """A new state."""
        element = state.element.layout()
        key = None if state.key is None else state.key.layout()
        layouts = {"element": element} if key is None else {"key": key, "element": element}
        schema = pa.schema({name: arrow_type(layout) for name, layout in layouts.items()})
        return cls(schema, ElementEncoding(state.name, index, parallelism, element, key))

    def batches(self, contents: list[Any], function: str) -> Iterator[pa.RecordBatch]:
        """What the function has left, as ``ELEMENTS`` has it."""
        place = f"state {self.encoding.name!r}"
        elements = contents if self.encoding.key else [(element,) for element in contents]
        rows = OutputRows(self.schema, function).batches((place, element) for element in elements)
        yield from self.encoding.run(rows)


@dataclass(frozen=True)
class OperatorTask:
    """A function over the rows of a partition.

    Attributes:
        function: The function.
        names: The columns of the rows.
        states: Its states, in the order in which it registers them.
    """

    function: OperatorFunction
    names: tuple[str, ...]
    states: tuple[FunctionElementState, ...]

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The elements of all states that the rows of a partition make."""
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
    """The rows without keys of a partition, each behind its timestamp, some at a time."""
    make = row_maker(names)
    for batch in batches:
        times, rows = plain_list(batch.column(TIMESTAMP)), row_tuples(batch.column(ROW))
        timed = zip(times, map(make, rows), strict=True)
        for _ in range(0, batch.num_rows, _ROWS_AT_ONCE):
            yield islice(timed, _ROWS_AT_ONCE)


def opened(function: OperatorFunction, store: OperatorStateStore) -> OperatorContext:
    """Opens a function, and gives the context of its calls."""
    if isinstance(function, StateBootstrapFunction):
        function.open(OperatorRuntimeContext(store))
        return OperatorContext(processing_time)
    function.open()
    context = BroadcastContext(processing_time, store)
    for descriptor in function.descriptors:
        context.get_broadcast_state(descriptor)
    return context


def operator_rows(data: DataFrame, function: OperatorFunction) -> tuple[FunctionElements, ...]:
    """The states that a function makes of rows.

    Args:
        data: Columns ``timestamp``, in ms, and ``row``, a struct.
        function: The function.

    Raises:
        ValueError: It registers no state, or a descriptor lacks a type.
    """
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
    assert isinstance(descriptor, ListStateDescriptor)  # no other has a place in the store
    return NewOperatorState(descriptor.name, mode, descriptor.element)
