"""Operator state of an existing operator on its way into a new savepoint, as bytes.

No snapshot of Flink 1.x tells the declared types of the elements of collections. The user's description of the POJO around a collection tells them. Without it, the first element in
the savepoint does: all others must be of the same class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.errors import within
from savepoint_formats.layout import MapOf
from savepoint_formats.metadata import DistributionMode
from savepoint_formats.scan import operator_splits
from savepoint_formats.snapshots import layouts_with_subclasses
from savepoint_formats.state_files import (
    DISTRIBUTION_MODE,
    KEY_SERIALIZER,
    VALUE_SERIALIZER,
    OperatorBackendHeader,
    operator_state,
)
from savepoint_spark.session.tasks import rows_of_tasks
from savepoint_spark.writing.operator_plan import (
    ELEMENTS,
    NewOperatorState,
    element_rows,
    spread_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.snapshot import Operator
    from savepoint_formats.layout import Layout
    from savepoint_formats.metadata import OperatorStateHandle
    from savepoint_formats.state_files import Step
    from savepoint_formats.values import CollectionPlace, KryoDialect

    OfSubtask = tuple[int, OperatorStateHandle]
    Places = tuple[CollectionPlace, ...]


@dataclass(frozen=True)
class StoredElements:
    """An operator state as it is; ``steps`` write its elements anew, in order."""

    spark: SparkSession | None
    operator: Operator
    state: NewOperatorState
    steps: tuple[Step, ...] = ()

    def elements(self, index: int, parallelism: int) -> DataFrame:
        """The elements, in the subtasks that they were in if there are as many as before."""
        assert self.spark is not None  # where jobs run
        read = partial(_rows, self.operator, self.state, self.steps, index, parallelism)
        return rows_of_tasks(self.spark, read, _subtasks(self.operator, self.state), ELEMENTS)

    def check(self) -> None:
        """Reads the elements, takes the steps, and writes nothing."""
        for elements in element_arrays(self.operator, self.state):
            with within(f"state {self.state.name!r}", f"operator {self.operator.name}"):
                for step in self.steps:
                    elements = step(elements)  # noqa: PLW2901  # they go from step to step


def operator_states(operator: Operator) -> dict[str, NewOperatorState]:
    """The operator states of an operator by their names."""
    states: dict[str, NewOperatorState] = {}
    for split in operator_splits(operator.record):
        header = OperatorBackendHeader.of_handle(operator.directory, split.handle)
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
    """The layout of an element of an operator state; for broadcast state, of the whole map."""
    element = state.element.layout()
    if state.mode is DistributionMode.BROADCAST and state.key is not None:
        return MapOf(state.key.layout(), element)
    return element


def described_layout(state: NewOperatorState, kryo: KryoDialect) -> Layout:
    """Like ``element_layout``, with the subclasses that the user described."""
    layouts = (element_layout(state),)
    return layouts_with_subclasses(layouts, kryo.classes, is_of_flink_1=not kryo.is_5)[0]


def stored_elements(operator: Operator, state: NewOperatorState) -> Iterator[bytes]:
    """The elements of an operator state, from the first subtask to the last; see ``element_arrays``."""
    for data in element_arrays(operator, state):
        yield from data.to_pylist()


def element_arrays(operator: Operator, state: NewOperatorState) -> Iterator[pa.LargeBinaryArray]:
    """The elements of an operator state, some at a time.

    Raises ``SavepointError`` if a file can't be read.
    """
    for _, handle in _subtasks(operator, state):
        with within(f"state {state.name!r}", f"operator {operator.name}"):
            yield from operator_state.element_arrays(operator.directory, handle, state.name)


def _subtasks(operator: Operator, state: NewOperatorState) -> list[OfSubtask]:
    """The subtasks to read; only one for broadcast state, because all have the same."""
    handles = [
        (split.subtask, split.handle)
        for split in operator_splits(operator.record)
        if any(stored.name == state.name for stored in split.handle.states)
    ]
    return handles[:1] if state.mode is DistributionMode.BROADCAST else handles


def _rows(
    operator: Operator,
    state: NewOperatorState,
    steps: tuple[Step, ...],
    index: int,
    parallelism: int,
    of_subtask: OfSubtask,
) -> Iterator[pa.RecordBatch]:
    """The elements of a subtask, in a task, as ``ELEMENTS`` has them."""
    subtask, handle = of_subtask
    is_broadcast = state.mode is DistributionMode.BROADCAST
    with within(f"state {state.name!r}", f"operator {operator.name}"):
        elements = operator_state.element_arrays(operator.directory, handle, state.name)
        for step in steps:
            elements = map(step, elements)
        elements = (data.cast(pa.binary()) for data in elements)
        if is_broadcast or parallelism != operator.record.parallelism:
            pairs = ((None, data) for data in elements)
            yield from spread_rows(pairs, index, parallelism, subtask, is_broadcast=is_broadcast)
        else:
            for data in elements:
                yield element_rows(np.full(len(data), subtask), index, None, data)
