"""Operator state of an existing operator on its way into a new savepoint, as the bytes that it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import within
from savepoint_formats.layout import MapOf
from savepoint_formats.metadata import DistributionMode
from savepoint_formats.program.spans import Spans, bytes_of
from savepoint_formats.snapshots.pojo import layouts_with_subclasses
from savepoint_formats.state_files.header import (
    DISTRIBUTION_MODE,
    KEY_SERIALIZER,
    VALUE_SERIALIZER,
    OperatorBackendHeader,
)
from savepoint_formats.state_files.operator_state import read_elements
from savepoint_spark.session.tasks import rows_of_tasks
from savepoint_spark.writing.operator_rows import (
    ELEMENTS,
    NewOperatorState,
    element_rows,
    spread_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.layout import Layout
    from savepoint_formats.metadata import OperatorStateHandle
    from savepoint_formats.values.kryo.dialect import KryoDialect

    OfSubtask = tuple[int, OperatorStateHandle]

_CHUNK_SIZE = 16 << 20


Step = Callable[[pa.LargeBinaryArray], pa.LargeBinaryArray]
"""Writes elements anew: for another Flink, or with a class renamed."""


@dataclass(frozen=True)
class StoredElements:
    """An operator state as it is; ``steps`` write its elements anew, in order."""

    spark: SparkSession
    operator: Operator
    state: NewOperatorState
    steps: tuple[Step, ...] = ()

    def elements(self, index: int, parallelism: int) -> DataFrame:
        """The elements, in the subtasks that they were in if there are as many as before."""
        read = partial(_rows, self.operator, self.state, self.steps, index, parallelism)
        return rows_of_tasks(self.spark, read, _subtasks(self.operator, self.state), ELEMENTS)


def operator_states(operator: Operator) -> dict[str, NewOperatorState]:
    """The operator states of an operator by their names."""
    states: dict[str, NewOperatorState] = {}
    for _, handle in _handles(operator):
        header = OperatorBackendHeader.of_handle(operator.directory, handle)
        for info in (*header.list_states, *header.broadcast_states):
            element, key = info.serializer(VALUE_SERIALIZER), info.serializer(KEY_SERIALIZER)
            assert element is not None  # every state has one
            mode = DistributionMode[info.option(DISTRIBUTION_MODE)]
            states.setdefault(info.name, NewOperatorState(info.name, mode, element, key))
    return states


def rewritten_state(operator: Operator, name: str) -> NewOperatorState:
    """An existing operator state, with the serializers that new elements are written with."""
    state = operator_states(operator)[name]
    key = None if state.key is None else operator.written(state.key)
    return replace(state, element=operator.written(state.element), key=key)


def element_layout(state: NewOperatorState) -> Layout:
    """The layout of an element of an operator state; of broadcast state that is the whole map."""
    element = state.element.layout()
    if state.mode is DistributionMode.BROADCAST and state.key is not None:
        return MapOf(state.key.layout(), element)
    return element


def described_layout(state: NewOperatorState, kryo: KryoDialect) -> Layout:
    """Like ``element_layout``, with the subclasses that the user described."""
    layouts = (element_layout(state),)
    return layouts_with_subclasses(layouts, kryo.classes, is_of_flink_1=not kryo.is_5)[0]


def stored_elements(operator: Operator, state: NewOperatorState) -> Iterator[bytes]:
    """The elements of an operator state, from the first subtask to the last; errors as below."""
    for data in element_arrays(operator, state):
        yield from data.to_pylist()


def element_arrays(operator: Operator, state: NewOperatorState) -> Iterator[pa.LargeBinaryArray]:
    """The elements of an operator state, some at a time.

    Raises:
        SavepointError: A file can't be read.
    """
    for of_subtask in _subtasks(operator, state):
        with within(f"state {state.name!r}", f"operator {operator.name}"):
            yield from _read(operator, state, of_subtask)


def _handles(operator: Operator) -> list[OfSubtask]:
    return [
        (subtask.index, subtask.managed_operator_state)
        for subtask in operator.record.subtasks
        if subtask.managed_operator_state is not None and subtask.managed_operator_state.states
    ]


def _subtasks(operator: Operator, state: NewOperatorState) -> list[OfSubtask]:
    """The subtasks to read; of broadcast state one, because all have the same."""
    handles = [
        (subtask, handle)
        for subtask, handle in _handles(operator)
        if any(stored.name == state.name for stored in handle.states)
    ]
    return handles[:1] if state.mode is DistributionMode.BROADCAST else handles


def _read(
    operator: Operator, state: NewOperatorState, of_subtask: OfSubtask
) -> Iterator[pa.LargeBinaryArray]:
    _, handle = of_subtask
    file = operator.directory.file(handle.stream)
    is_compressed = OperatorBackendHeader.of_handle(operator.directory, handle).is_compressed
    for read in read_elements(
        file, handle, state.name, is_compressed=is_compressed, size=_CHUNK_SIZE
    ):
        chunk = Chunk(read.data, file.path, read.base)
        yield bytes_of(chunk, Spans(read.starts, read.ends)).cast(pa.large_binary())


def _rows(
    operator: Operator,
    state: NewOperatorState,
    steps: tuple[Step, ...],
    index: int,
    parallelism: int,
    of_subtask: OfSubtask,
) -> Iterator[pa.RecordBatch]:
    """The elements of a subtask, in a task, as ``ELEMENTS`` has them."""
    subtask, _ = of_subtask
    is_broadcast = state.mode is DistributionMode.BROADCAST
    with within(f"state {state.name!r}", f"operator {operator.name}"):
        elements = _read(operator, state, of_subtask)
        for step in steps:
            elements = map(step, elements)
        elements = (data.cast(pa.binary()) for data in elements)
        if is_broadcast or parallelism != operator.record.parallelism:
            pairs = ((None, data) for data in elements)
            yield from spread_rows(pairs, index, parallelism, subtask, is_broadcast=is_broadcast)
        else:
            for data in elements:
                yield element_rows(np.full(len(data), subtask), index, None, data)
