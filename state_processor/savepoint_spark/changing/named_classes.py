"""Java classes that an operator names in serializers and values.

Kryo and the POJO serializer write the names of classes that are not registered, and Java's
serialization writes every name. Only states that may contain such values are read.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.errors import within
from savepoint_formats.pass_through import RecodedStates, may_hold_name, renamed
from savepoint_formats.tables import operator_infos
from savepoint_formats.values import may_name_classes
from savepoint_spark.changing.stored_operator_state import (
    described_layout,
    element_arrays,
    operator_states,
)
from savepoint_spark.changing.stored_rows import stored_chunks
from savepoint_spark.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from savepoint_database.snapshot import Operator
    from savepoint_formats.pass_through import EntryChange
    from savepoint_formats.snapshots import ClassRename, TypeSerializerSnapshot
    from savepoint_formats.state_files import State, Step
    from savepoint_formats.values import KryoDialect
    from savepoint_spark.writing.operator_plan import NewOperatorState


def snapshots_of(operator: Operator) -> Iterator[TypeSerializerSnapshot]:
    """The serializers of all states, from the headers of the files."""
    if operator.has_keyed_state:
        yield from StoredTypes.of(operator).serializers
    for subtask in operator.record.subtasks:
        for info in operator_infos(operator.directory, subtask):
            yield from (snapshot for _, snapshot in info.serializers)


def naming_states(operator: Operator) -> tuple[State, ...]:
    """The states whose bytes may contain names of classes."""
    return tuple(
        state
        for state in operator.catalog.states
        if not state.kind.is_raw
        and any(map(may_name_classes, filter(None, (state.stored, state.key, state.namespace))))
    )


def is_named_in_values(operator: Operator, rename: ClassRename) -> bool:
    """Whether values contain the old name of a class; reads up to the first that does."""
    return any(_is_named_in(operator, state, rename) for state in naming_states(operator))


def _is_named_in(operator: Operator, state: State, rename: ClassRename) -> bool:
    with within(f"operator {operator.name}"):
        for data in _bytes_of(operator, state):
            likely = data.filter(may_hold_name(data, rename))
            if any(rename.is_in(value.as_py()) for value in likely):
                return True
    return False


def _bytes_of(operator: Operator, state: State) -> Iterator[pa.Array]:
    if state.kind.is_keyed:
        for chunk in stored_chunks(operator, state.name):
            yield from (chunk.entries.keys, chunk.entries.values)
    else:
        elements = operator_states(operator)[state.name]
        yield from element_arrays(operator, elements)


def entries_with_names(
    recoded: EntryChange | None, operator: Operator, renames: tuple[ClassRename, ...]
) -> EntryChange | None:
    """The change of keyed entries that also renames classes in them; None if they stay."""
    if not renames or not any(state.kind.is_keyed for state in naming_states(operator)):
        return recoded
    kryo = operator.kryo
    assert kryo is not None  # operators of a savepoint have one
    recoded = recoded or RecodedStates({}, kryo, kryo)
    assert isinstance(recoded, RecodedStates)  # a sealed change is in another stage
    return replace(recoded, renames=renames)


def name_steps(
    state: NewOperatorState, kryo: KryoDialect, renames: tuple[ClassRename, ...]
) -> tuple[Step, ...]:
    """What renames classes in the elements of an operator state."""
    layout = described_layout(state, kryo)
    if not renames or not may_name_classes(layout):
        return ()
    return (partial(renamed, layout=layout, kryo=kryo, renames=renames),)
