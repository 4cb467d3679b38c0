"""Operator state of an existing operator on its way into a new savepoint, as the bytes that it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
import pyarrow as pa

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import within
from savepoint_formats.layout import MapOf
from savepoint_formats.metadata import DistributionMode
from savepoint_formats.program.spans import Spans, bytes_of
from savepoint_formats.snapshots.subclasses import layouts_with_subclasses
from savepoint_formats.state_files.header import (
    DISTRIBUTION_MODE,
    KEY_SERIALIZER,
    VALUE_SERIALIZER,
    OperatorBackendHeader,
)
from savepoint_formats.state_files.operator_state import read_elements
from savepoint_spark.session.tasks import rows_of_tasks
from savepoint_spark.writing.operator_rows import ELEMENT_SCHEMA, ELEMENTS, NewOperatorState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.layout import Layout
    from savepoint_formats.metadata import OperatorStateHandle
    from savepoint_formats.values.kryo.dialect import KryoDialect

_PIECE_SIZE = 16 << 20


class Step(Protocol):
    """How an element is written anew: for another Flink, or with a class renamed."""

    def of(self, data: bytes) -> bytes:
        """The bytes of an element, anew."""


@dataclass(frozen=True)
class StoredElements:
    """An operator state as it is.

    Attributes:
        spark: The session that reads it.
        operator: The operator.
        state: The state.
        steps: How its elements are written anew, in order.
    """

    spark: SparkSession
    operator: Operator
    state: NewOperatorState
    steps: tuple[Step, ...] = ()

    @classmethod
    def all_of(cls, spark: SparkSession, operator: Operator) -> tuple[Self, ...]:
        """All operator states of an operator.

        Raises:
            FormatError: The header of a file is damaged.
        """
        return tuple(cls(spark, operator, state) for state in cls.states_of(operator).values())

    @staticmethod
    def states_of(operator: Operator) -> dict[str, NewOperatorState]:
        """The operator states of an operator by their names; errors as of ``all_of``."""
        return _states(operator)

    @staticmethod
    def state_of(operator: Operator, name: str) -> NewOperatorState:
        """The operator state of this name, which there is, as new elements are written."""
        state = _states(operator)[name]
        key = None if state.key is None else operator.written(state.key)
        return replace(state, element=operator.written(state.element), key=key)

    def elements(self, index: int, parallelism: int) -> DataFrame:
        """The elements, in the subtasks that they were in if there are as many as before."""
        reading = _Reading(self.operator, self.state, index, parallelism, self.steps)
        return rows_of_tasks(self.spark, reading.read, reading.handles(), ELEMENTS)


def element_layout(state: NewOperatorState) -> Layout:
    """How an element of an operator state lies: of broadcast state that is the whole map."""
    element = state.element.layout()
    if state.mode is DistributionMode.BROADCAST and state.key is not None:
        return MapOf(state.key.layout(), element)
    return element


def described_layout(state: NewOperatorState, kryo: KryoDialect) -> Layout:
    """The same to who knows the user's classes."""
    layouts = (element_layout(state),)
    return layouts_with_subclasses(layouts, kryo.classes, is_of_flink_1=not kryo.is_5)[0]


def stored_elements(operator: Operator, state: NewOperatorState) -> Iterator[bytes]:
    """The elements of an operator state, from the first subtask to the last.

    Raises:
        SavepointError: A file can't be read.
    """
    reading = _Reading(operator, state, 0, operator.record.parallelism)
    for handle in reading.handles():
        for batch in reading.read(handle):
            for element in batch.column("element"):
                yield element.as_py()


def _states(operator: Operator) -> dict[str, NewOperatorState]:
    """The operator states of an operator by their names."""
    states: dict[str, NewOperatorState] = {}
    for _, handle in _handles(operator):
        header = _header(operator, handle)
        for info in (*header.list_states, *header.broadcast_states):
            element, key = info.serializer(VALUE_SERIALIZER), info.serializer(KEY_SERIALIZER)
            assert element is not None  # every state has one
            mode = DistributionMode[info.option(DISTRIBUTION_MODE)]
            states.setdefault(info.name, NewOperatorState(info.name, mode, element, key))
    return states


def _handles(operator: Operator) -> list[tuple[int, OperatorStateHandle]]:
    """The subtasks that have operator state, and their handles."""
    return [
        (subtask.index, subtask.managed_operator_state)
        for subtask in operator.record.subtasks
        if subtask.managed_operator_state is not None and subtask.managed_operator_state.states
    ]


def _header(operator: Operator, handle: OperatorStateHandle) -> OperatorBackendHeader:
    return OperatorBackendHeader.of_handle(operator.directory, handle)


@dataclass(frozen=True)
class _Reading:
    """What a task needs to know to read the elements of a subtask."""

    operator: Operator
    state: NewOperatorState
    index: int
    parallelism: int
    steps: tuple[Step, ...] = ()

    def handles(self) -> list[tuple[int, OperatorStateHandle]]:
        """The subtasks to read; of broadcast state one, as all have the same."""
        name = self.state.name
        handles = [
            (subtask, handle)
            for subtask, handle in _handles(self.operator)
            if any(state.name == name for state in handle.states)
        ]
        return handles[:1] if self.state.mode is DistributionMode.BROADCAST else handles

    def read(self, of_subtask: tuple[int, OperatorStateHandle]) -> Iterator[pa.RecordBatch]:
        """The elements of one of ``handles``."""
        with within(f"state {self.state.name!r}", f"operator {self.operator.name}"):
            yield from self._read(*of_subtask)

    def _read(self, subtask: int, handle: OperatorStateHandle) -> Iterator[pa.RecordBatch]:
        file = self.operator.directory.file(handle.stream)
        is_compressed = _header(self.operator, handle).is_compressed
        name, position = self.state.name, subtask
        for piece in read_elements(
            file, handle, name, is_compressed=is_compressed, size=_PIECE_SIZE
        ):
            chunk = Chunk(piece.data, file.path, piece.base)
            data = bytes_of(chunk, Spans(piece.starts, piece.ends)).cast(pa.binary())
            for step in self.steps:
                data = pa.array(map(step.of, data.to_pylist()), pa.binary())
            if self.state.mode is DistributionMode.BROADCAST:
                for offset in range(self.parallelism):
                    yield self._rows(np.full(len(data), offset), data)
            elif self.parallelism == self.operator.record.parallelism:
                yield self._rows(np.full(len(data), subtask), data)
            else:
                subtasks = np.arange(position, position + len(data)) % self.parallelism
                yield self._rows(subtasks, data)
                position += len(data)

    def _rows(
        self, subtasks: np.ndarray[tuple[int], np.dtype[np.int64]], data: pa.Array
    ) -> pa.RecordBatch:
        indices = pa.array(np.full(len(data), self.index, np.int32))
        nothing = pa.nulls(len(data), pa.binary())
        columns = [pa.array(subtasks.astype(np.int32)), indices, nothing, data]
        return pa.RecordBatch.from_arrays(columns, schema=ELEMENT_SCHEMA)
