"""The complete new state of an operator; rows of DataFrames become the operator state of subtasks.

Elements of lists go to the subtasks in turn; entries of broadcast state go to all of them. A task
holds the whole operator state of its subtask, as Flink does.

| column  | type   | meaning                              |
|---------|--------|--------------------------------------|
| subtask | INT    |                                      |
| state   | INT    | the index of the state               |
| key     | BINARY | of an entry of broadcast state       |
| element | BINARY | of a list, or the value of an entry  |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import functions as F

from savepoint_database.types import from_spark
from savepoint_formats.errors import DuplicateKeyError, within
from savepoint_formats.layout import written_kryo
from savepoint_formats.metadata import (
    DistributionMode,
    OperatorState,
    OperatorStateOffsets,
    RelativeFile,
    SubtaskState,
)
from savepoint_formats.program.encode import Encoder
from savepoint_formats.state_files import BroadcastEntries, ListElements, OperatorStateFile
from savepoint_formats.values import arrow_type
from savepoint_spark.columns import fitted, shown_layout
from savepoint_spark.session.tasks import run_through, typed_errors
from savepoint_spark.writing.routed_rows import routed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, Row

    from savepoint_formats.layout import Layout
    from savepoint_formats.metadata import OperatorStateHandle
    from savepoint_formats.new_snapshot import NewSnapshot
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_spark.writing.keyed_plan import KeyedPlan
    from savepoint_spark.writing.write_context import WriteContext


ELEMENTS = "subtask INT, state INT, key BINARY, element BINARY"
ELEMENT_SCHEMA = pa.schema(
    {"subtask": pa.int32(), "state": pa.int32(), "key": pa.binary(), "element": pa.binary()}
)
_WRITTEN = "subtask INT, path STRING, size BIGINT, offsets ARRAY<ARRAY<BIGINT>>"
_WRITTEN_SCHEMA = pa.schema(
    {
        "subtask": pa.int32(),
        "path": pa.string(),
        "size": pa.int64(),
        "offsets": pa.list_(pa.list_(pa.int64())),
    }
)


@dataclass(frozen=True)
class NewOperatorState:
    """An operator state; broadcast state has ``key``, and its values are elements."""

    name: str
    mode: DistributionMode
    element: TypeSerializerSnapshot
    key: TypeSerializerSnapshot | None = None

    @property
    def serializers(self) -> tuple[TypeSerializerSnapshot, ...]:
        """The serializers of keys, if there are any, and of elements."""
        return (self.element,) if self.key is None else (self.key, self.element)

    def contents(self, elements: pa.Table) -> ListElements | BroadcastEntries:
        """The contents of a file; existing broadcast state has no keys of its own."""
        values = _whole(elements.column("element"))
        if self.key is None:
            return ListElements(self.name, self.mode, self.element, values)
        if elements.column("key").null_count:
            return BroadcastEntries(self.name, self.key, self.element, values[0].as_buffer())
        keys = _whole(elements.column("key"))
        if len(pc.unique(keys)) < len(keys):
            raise DuplicateKeyError(
                f"a key of broadcast state {self.name!r} has two rows: make one row of them first"
            )
        return BroadcastEntries.of(self.name, self.key, self.element, keys, values)


def _whole(column: pa.ChunkedArray) -> pa.LargeBinaryArray:
    return column.cast(pa.large_binary()).combine_chunks()


class ElementRows(Protocol):
    """Anything that becomes elements: rows of a DataFrame, or existing state."""

    @property
    def state(self) -> NewOperatorState:
        """The state."""

    def elements(self, index: int, parallelism: int) -> DataFrame:
        """Rows of ``ELEMENTS``; ``index`` is that of the state."""


@dataclass(frozen=True)
class OperatorRows:
    """Rows of a DataFrame for an operator state: column ``element``, and ``key`` if broadcast."""

    state: NewOperatorState
    data: DataFrame

    @classmethod
    def of(cls, data: DataFrame, state: NewOperatorState, columns: tuple[str, ...]) -> Self:
        """The rows of these columns, cast to the types of the state."""
        what = f"state {state.name!r}"
        layout = shown_layout(data, columns[-1], state.element.layout())
        selected: list[Column] = [fitted(data, columns[-1], layout, what).alias("element")]
        if state.key is not None:
            key = fitted(data, columns[0], state.key.layout(), f"the key of {what}")
            selected.append(key.alias("key"))
        return cls(state, data.select(*selected))

    def elements(self, index: int, parallelism: int) -> DataFrame:
        key = None if self.state.key is None else self.state.key.layout()
        layout = shown_layout(self.data, "element", self.state.element.layout())
        encoding = ElementEncoding(self.state.name, index, parallelism, layout, key)
        return self.data.mapInArrow(encoding.run, ELEMENTS)


@dataclass(frozen=True)
class ElementEncoding:
    """Encodes the rows of a state; broadcast state has a layout of its keys."""

    name: str
    index: int
    parallelism: int
    element: Layout
    key: Layout | None

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of ``ELEMENTS`` for the rows of a partition."""
        context = TaskContext.get()
        assert context is not None  # it runs in a task
        # Each partition begins at another subtask, so that small ones do not all go to the first.
        yield from spread_rows(
            map(self._encoded, batches),
            self.index,
            self.parallelism,
            context.partitionId(),
            is_broadcast=self.key is not None,
        )

    def _encoded(self, batch: pa.RecordBatch) -> tuple[pa.Array | None, pa.Array]:
        with within(f"state {self.name!r}"):
            elements = encoded_elements(batch, "element", self.element)
            keys = None if self.key is None else encoded_elements(batch, "key", self.key)
        return keys, elements


def spread_rows(
    encoded: Iterable[tuple[pa.Array | None, pa.Array]],
    index: int,
    parallelism: int,
    first: int,
    *,
    is_broadcast: bool,
) -> Iterator[pa.RecordBatch]:
    """Rows of ``ELEMENTS``: for all subtasks if broadcast, else for each in turn from ``first``."""
    for keys, elements in encoded:
        if is_broadcast:
            for subtask in range(parallelism):
                yield element_rows(np.full(len(elements), subtask), index, keys, elements)
        else:
            subtasks = np.arange(first, first + len(elements)) % parallelism
            yield element_rows(subtasks, index, keys, elements)
            first += len(elements)


def element_rows(
    subtasks: NDArray[np.int64], index: int, keys: pa.Array | None, elements: pa.Array
) -> pa.RecordBatch:
    """Rows of ``ELEMENTS``; ``index`` is that of the state."""
    states = pa.array(np.full(len(elements), index, np.int32))
    shown_keys = pa.nulls(len(elements), pa.binary()) if keys is None else keys
    columns = [pa.array(subtasks.astype(np.int32)), states, shown_keys, elements]
    return pa.RecordBatch.from_arrays(columns, schema=ELEMENT_SCHEMA)


def encoded_elements(batch: pa.RecordBatch, name: str, layout: Layout) -> pa.Array:
    """A column as bytes."""
    values = from_spark(batch.column(name), arrow_type(layout))
    return Encoder(layout).encode(values).cast(pa.binary())


@dataclass(frozen=True)
class OperatorFiles:
    """Writes operator states as files, one per subtask; rows have the indices of ``states``."""

    target: NewSnapshot
    states: tuple[NewOperatorState, ...]

    @classmethod
    def write(
        cls, context: WriteContext, rows: tuple[ElementRows, ...]
    ) -> dict[int, OperatorStateHandle]:
        """Runs the job; returns handles by subtask, none for a subtask without elements."""
        files = cls(context.target, tuple(elements_of.state for elements_of in rows))
        elements = [
            elements_of.elements(index, context.parallelism)
            for index, elements_of in enumerate(rows)
        ]
        united = reduce(lambda elements_of, other: elements_of.unionAll(other), elements)
        by_subtask = routed(united, context.parallelism, F.col("subtask"))
        with typed_errors():
            written = by_subtask.mapInArrow(files._task, _WRITTEN).collect()
        return {row.subtask: files._handle(row) for row in written}

    def _handle(self, written: Row) -> OperatorStateHandle:
        states = tuple(
            OperatorStateOffsets(state.name, state.mode, tuple(offsets))
            for state, offsets in zip(self._in_order(), written.offsets, strict=True)
        )
        stream = RelativeFile(written.path, written.size)
        return OperatorStateFile(states, written.size).handle(stream)

    def _in_order(self) -> list[NewOperatorState]:
        return sorted(self.states, key=lambda state: state.mode is DistributionMode.BROADCAST)

    def _task(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes the file of a subtask, whose number is that of the partition."""
        rows = pa.Table.from_batches(batches, ELEMENT_SCHEMA)
        context = TaskContext.get()
        assert context is not None  # it runs in a task
        subtask = context.partitionId()
        # The first file lists the states, even if all of them are empty.
        if subtask and not rows.num_rows:
            return
        lists: list[ListElements] = []
        broadcast: list[BroadcastEntries] = []
        for state in self._in_order():
            of_state = rows.filter(pc.equal(rows.column("state"), self.states.index(state)))
            match state.contents(of_state):
                case ListElements() as elements:
                    lists.append(elements)
                case entries:
                    broadcast.append(entries)
        with self.target.create(f"operator-{subtask}") as file:
            written = OperatorStateFile.write(file, lists, broadcast)
        offsets = [list(state.offsets) for state in written.states]
        row = {"subtask": subtask, "path": file.path, "size": file.size, "offsets": offsets}
        yield pa.RecordBatch.from_pylist([row], _WRITTEN_SCHEMA)


@dataclass(frozen=True)
class OperatorPlan:
    """The contents of an operator's files."""

    keyed: KeyedPlan | None = None
    operator_states: tuple[ElementRows, ...] = ()

    @classmethod
    def combined(cls, plans: Iterable[Self]) -> Self:
        """All of several plans; ``ValueError`` for two of keyed state, or of one name."""
        plans = tuple(plans)
        keyed = [plan.keyed for plan in plans if plan.keyed is not None]
        if len(keyed) > 1:
            raise ValueError(
                "an operator has one key: join the DataFrames, and add all states to one key_by"
            )
        rows = tuple(rows for plan in plans for rows in plan.operator_states)
        names = [elements.state.name for elements in rows]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"operator state {twice[0]!r} was added twice")
        return cls(keyed[0] if keyed else None, rows)

    def state_names(self) -> frozenset[str]:
        """The names of all its states."""
        keyed = () if self.keyed is None else self.keyed.states
        return frozenset(info.name for info in keyed) | {
            rows.state.name for rows in self.operator_states
        }

    def kryo_versions(self) -> frozenset[str]:
        """The versions of Kryo for which objects are written."""
        snapshots = [
            snapshot for rows in self.operator_states for snapshot in rows.state.serializers
        ]
        if self.keyed is not None:
            snapshots.append(self.keyed.key)
            infos = self.keyed.states
            snapshots += [entry for info in infos for _, entry in info.serializers]
        written = (written_kryo(snapshot.layout()) for snapshot in snapshots)
        return frozenset(kryo.version for kryo in written if kryo is not None)

    def with_states(self, other: OperatorPlan) -> OperatorPlan:
        """The plan with the states of another one, which has the same keys."""
        keyed = self.keyed or other.keyed
        if self.keyed is not None and other.keyed is not None:
            keyed = self.keyed.with_rows(other.keyed)
        return OperatorPlan(keyed, (*self.operator_states, *other.operator_states))

    def plan(self) -> Self:
        """The plan itself, which is a ``PlannedTransformation``."""
        return self

    def check(self, parallelism: int, max_parallelism: int) -> None:
        """Encodes all rows as ``write`` does, and writes nothing."""
        if self.keyed is not None:
            self.keyed.check(max_parallelism)
        for index, rows in enumerate(self.operator_states):
            run_through(rows.elements(index, parallelism))

    def write(self, context: WriteContext) -> OperatorState:
        """Runs the jobs, and returns the record of the operator."""
        keyed = {} if self.keyed is None else self.keyed.write(context)
        others = OperatorFiles.write(context, self.operator_states) if self.operator_states else {}
        subtasks = tuple(
            SubtaskState(
                subtask,
                managed_operator_state=others.get(subtask),
                managed_keyed_state=keyed.get(subtask),
            )
            for subtask in sorted(keyed.keys() | others.keys())
        )
        return OperatorState(
            context.operator_id, context.parallelism, context.max_parallelism, subtasks
        )
