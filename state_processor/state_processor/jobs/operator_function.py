"""Runs a function without keys over rows; what it leaves becomes operator state.

List state is made in each task, of the rows of its partition. Broadcast state is made in one, of
all rows, for a map that several tasks had made would have no one value for a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.types import StructField, StructType

from savepoint_formats.columns import arrow_type
from savepoint_formats.metadata import DistributionMode
from state_processor.column_types import spark_type
from state_processor.descriptors import ListStateDescriptor, MapStateDescriptor
from state_processor.jobs.key_spans import plain_list, row_maker, row_tuples
from state_processor.jobs.operator_rows import NewOperatorState, OperatorRows
from state_processor.jobs.python_values import OutputRows
from state_processor.process_functions import (
    BroadcastContext,
    BroadcastStateBootstrapFunction,
    OperatorContext,
    OperatorRuntimeContext,
    StateBootstrapFunction,
)
from state_processor.schema import to_spark
from state_processor.state_backends import OperatorStateStore, processing_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from state_processor.descriptors import StateDescriptor

    OperatorFunction = StateBootstrapFunction | BroadcastStateBootstrapFunction

TIMESTAMP, ROW = "timestamp", "row"


@dataclass(frozen=True)
class OperatorTask:
    """A function of which one state is taken.

    Attributes:
        function: The function.
        names: The columns of the rows.
        state: The state.
        schema: Of its elements.
    """

    function: OperatorFunction
    names: tuple[str, ...]
    state: str
    schema: pa.Schema

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The elements of the state that the rows of a partition make."""
        rows = OutputRows(self.schema, type(self.function).__name__)
        place = f"state {self.state!r}"
        for batch in rows.batches((place, element) for element in self._elements(batches)):
            yield to_spark(batch)

    def _elements(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
        store = OperatorStateStore()
        function = self.function
        try:
            context = opened(function, store)
            make = row_maker(self.names)
            for batch in batches:
                times, rows = plain_list(batch.column(TIMESTAMP)), row_tuples(batch.column(ROW))
                for context.timestamp, row in zip(times, map(make, rows), strict=True):
                    function.process_element(row, context)  # type: ignore[arg-type]
            if isinstance(function, StateBootstrapFunction):
                function.snapshot_state()
        finally:
            function.close()
        for descriptor, mode, found in store.contents():
            if descriptor.name == self.state:
                is_map = mode is DistributionMode.BROADCAST
                yield from found if is_map else ((element,) for element in found)


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


def operator_rows(data: DataFrame, function: OperatorFunction) -> tuple[OperatorRows, ...]:
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
    found = store.contents()
    if not found:
        where = "open" if isinstance(function, StateBootstrapFunction) else "descriptors"
        raise ValueError(f"{type(function).__name__} names no state in {where}")
    if isinstance(function, BroadcastStateBootstrapFunction):
        data = data.coalesce(1)
    return tuple(_rows(data, function, descriptor, mode) for descriptor, mode, _ in found)


def _rows(
    data: DataFrame, function: OperatorFunction, descriptor: StateDescriptor, mode: DistributionMode
) -> OperatorRows:
    state = _state(descriptor, mode)
    layouts = {} if state.key is None else {"key": state.key.layout()}
    layouts["element"] = state.element.layout()
    schema = pa.schema({name: arrow_type(layout) for name, layout in layouts.items()})
    names = tuple(data.select(f"{ROW}.*").columns)
    task = OperatorTask(function, names, state.name, schema)
    types = StructType([StructField(name, spark_type(one)) for name, one in layouts.items()])
    return OperatorRows(state, data.mapInArrow(task.run, types))


def _state(descriptor: StateDescriptor, mode: DistributionMode) -> NewOperatorState:
    if isinstance(descriptor, MapStateDescriptor):
        return NewOperatorState(descriptor.name, mode, descriptor.user_value, descriptor.user_key)
    assert isinstance(descriptor, ListStateDescriptor)  # no other has a place in the store
    return NewOperatorState(descriptor.name, mode, descriptor.element)
