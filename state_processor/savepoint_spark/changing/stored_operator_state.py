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

from savepoint_formats.errors import MigrationError, within
from savepoint_formats.layout import MapOf
from savepoint_formats.metadata import DistributionMode
from savepoint_formats.scan import operator_splits
from savepoint_formats.snapshots import elements_of, has_own_serializer, layouts_with_subclasses
from savepoint_formats.state_files import (
    DISTRIBUTION_MODE,
    KEY_SERIALIZER,
    VALUE_SERIALIZER,
    OperatorBackendHeader,
    operator_state,
)
from savepoint_formats.values import FINAL_CLASSES, collection_places, element_classes, is_generic
from savepoint_spark.session.tasks import rows_of_tasks
from savepoint_spark.writing.operator_plan import (
    ELEMENTS,
    NewOperatorState,
    element_rows,
    spread_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.snapshot import Operator
    from savepoint_formats.layout import KryoField, Layout, TypeArgument
    from savepoint_formats.metadata import OperatorStateHandle
    from savepoint_formats.snapshots import Elements
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


class UnknownElementsError(MigrationError):
    """Neither a description nor an element tells the element types of ``collections``."""

    def __init__(self, message: str, collections: Places) -> None:
        super().__init__(message)
        self.collections = collections


def described_elements(places: Places, kryo: KryoDialect) -> dict[int, Elements]:
    """The described elements of collections, by their numbers; None stays with Kryo."""
    fields = {
        (described.class_name, field.name): field
        for described in kryo.classes
        for field in described.fields
    }
    known: dict[int, Elements] = {}
    for number, place in enumerate(places):
        field = _part(fields.get((place.pojo, place.field)), place.path)
        if field is None:
            continue
        if _component(field.type) != place.class_name:
            raise MigrationError(
                f"{place} is described as {field.type}, but is a {place.class_name}"
            )
        known[number] = elements_of(field)
    return known


def observed_elements(
    places: Places,
    known: Mapping[int, Elements],
    values: Iterable[tuple[Layout, bytes]],
    kryo: KryoDialect,
) -> dict[int, Elements]:
    """Element types of collections that are not ``known`` yet, from the first elements in values.

    The collections of ``values`` are the last of ``places``.

    Raises:
        MigrationError: A first element may be of a subclass of the declared class.
        UndecodableError: An object has an unknown class.
    """
    seen: dict[int, list[str | None]] = {}
    for layout, value in values:
        first = len(places) - len(collection_places(layout))
        for number, classes in element_classes(layout, value, kryo):
            of_it = seen.setdefault(first + number, [None] * len(classes))
            of_it[:] = [known or name for known, name in zip(of_it, classes, strict=True)]
        if len(seen) == len(places) and all(None not in of_it for of_it in seen.values()):
            break
    return {
        number: _as_declared(places[number], [name for name in of_it if name is not None], kryo)
        for number, of_it in seen.items()
        if None not in of_it and number not in known
    }


def _as_declared(place: CollectionPlace, seen: list[str], kryo: KryoDialect) -> Elements:
    """How elements of these classes are declared; Kryo keeps those with type arguments."""
    if any(map(is_generic, seen)):
        return None
    return tuple(_declared(place, name, kryo) for name in seen)


def _declared(place: CollectionPlace, name: str, kryo: KryoDialect) -> str:
    described = {known.class_name: known for known in kryo.classes}
    own = described.get(name)
    around = described.get(name.rpartition("$")[0])
    if own is None and around is not None and around.constants:
        return around.class_name  # the body of a constant
    if has_own_serializer(name) or name in FINAL_CLASSES or name.startswith("["):
        return name
    if own is not None and (own.is_final or own.constants or (own.is_pojo and not own.superclass)):
        return name
    raise UnknownElementsError(
        f"{place} has objects of {name}, which may be declared as another class:"
        " describe the class around it, with the types of its fields, and whether its elements"
        " are POJOs (is_pojo), as kryo_class(…) or by --classes; savepoint classes prints both",
        (place,),
    )


def _part(
    declared: KryoField | TypeArgument | None, path: tuple[int, ...]
) -> KryoField | TypeArgument | None:
    """The type argument at a path; None if it is not described."""
    for number in path:
        if declared is None or number >= len(declared.arguments):
            return None
        declared = declared.arguments[number]
    return declared


def _component(type_name: str) -> str:
    element = type_name.lstrip("[")
    return type_name if element == type_name else element[1:-1]
