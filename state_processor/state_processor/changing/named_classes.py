"""Which classes of Java an operator names: its serializers, and the bytes of its values.

A class that bytes name can't be renamed. Kryo writes the name of a class that is not registered, a POJO serializer that of a subclass that is
not, and Java's serialization every name. Only states that may hold such values are looked through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.layout import JavaObject, Kryo, Layout, Opaque, Pojo, parts
from savepoint_formats.snapshots.class_names import is_named_in
from savepoint_formats.tables.stored_infos import operator_infos
from state_processor.changing.stored_elements import StoredElements
from state_processor.changing.stored_rows import StoredKeyedRows
from state_processor.snapshot.task_errors import typed_errors
from state_processor.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files.state import State
    from state_processor.snapshot.operator import Operator

_FOUND = "state STRING"


def snapshots_of(operator: Operator) -> Iterator[TypeSerializerSnapshot]:
    """The serializers of all states, as the headers of the files have them."""
    if any(state.kind.is_keyed for state in operator.catalog.states):
        types = StoredTypes.of(operator)
        yield types.key
        for info in types.states:
            yield from (entry.snapshot for _, entry in info.serializers)
    for subtask in operator.record.subtasks:
        for info in operator_infos(operator.directory, subtask):
            yield from (entry.snapshot for _, entry in info.serializers)


def expect_not_named(spark: SparkSession, operator: Operator, names: Iterable[str]) -> None:
    """Reads the states of an operator whose bytes may hold names of classes.

    Raises:
        SchemaChangeError: They hold one of these.
    """
    suspects = states_that_may_name_classes(operator)
    for name in names:
        for state in suspects:
            for data, columns in _bytes_of(spark, operator, state):
                _expect_not_in(data, columns, name, f"state {state.name!r} of {operator.name}")


def states_that_may_name_classes(operator: Operator) -> tuple[State, ...]:
    """The states of an operator whose bytes may hold names of classes."""
    return tuple(state for state in operator.catalog.states if _may_name_classes(state))


def _may_name_classes(state: State) -> bool:
    if state.kind.is_raw:
        return False
    layouts = (state.stored, state.key, state.namespace)
    return any(layout is not None and _holds_names(layout) for layout in layouts)


def _holds_names(layout: Layout) -> bool:
    if isinstance(layout, Kryo | JavaObject | Opaque):
        return True
    is_open = isinstance(layout, Pojo) and bool(layout.unregistered)
    return is_open or any(map(_holds_names, parts(layout)))


def _bytes_of(
    spark: SparkSession, operator: Operator, state: State
) -> Iterator[tuple[DataFrame, tuple[str, ...]]]:
    """The bytes of a state, and the columns that have them."""
    if state.kind.is_keyed:
        assert state.key is not None  # what makes it keyed
        rows = StoredKeyedRows(spark, operator, frozenset([state.name]), state.key)
        yield rows.runs({state.name: 0}, operator.record.max_parallelism).frame(), ("run",)
        return
    for elements in StoredElements.all_of(spark, operator):
        if elements.state.name == state.name:
            yield elements.elements(0, operator.record.parallelism), ("key", "element")


def _expect_not_in(data: DataFrame, columns: tuple[str, ...], name: str, what: str) -> None:
    look = _Look(name)
    with typed_errors():
        rows = data.select(*map(F.col, columns)).mapInArrow(look.run, _FOUND).limit(1).collect()
    if rows:
        raise SchemaChangeError(
            f"class {name} cannot be renamed: {what} holds its name in the bytes of values, as Kryo"
            " and POJO serializers write it for classes that are not registered; restore the"
            " savepoint with both classes, and save it again"
        )


@dataclass(frozen=True)
class _Look:
    """Looks for the name of a class."""

    name: str

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row for each batch that has it."""
        # The last letter may be marked as such.
        start = self.name[:-1]
        for batch in batches:
            for column in batch.columns:
                likely = column.filter(pc.fill_null(pc.match_substring(column, start), False))
                if any(is_named_in(value.as_py(), self.name) for value in likely):
                    yield pa.RecordBatch.from_arrays([pa.array([self.name])], names=["state"])
