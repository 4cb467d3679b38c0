"""Which classes of Java the serializers of an operator name."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from savepoint_formats.snapshots.class_names import class_names
from savepoint_formats.state_files.header import HeaderBytes, OperatorBackendHeader
from state_processor.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.snapshots.class_names import ClassRename
    from state_processor.changing.changed_operator import ChangedOperator
    from state_processor.snapshot.operator import Operator


def renames(operator: ChangedOperator | None, rename: ClassRename) -> bool:
    """Whether serializers of an operator change with the name of a class.

    Raises:
        SchemaChangeError: One has the name where it cannot be changed.
    """
    if operator is None:
        return False
    found = map(operator.headers.snapshot, _snapshots(operator.operator))
    # All of them are tried, for each may have the name where it cannot be changed.
    changes = [rename.of(one) != one for one in found]
    return any(changes)


def named_classes(operators: Iterable[ChangedOperator | None]) -> frozenset[str]:
    """All classes that the serializers of operators name."""
    found = (
        map(one.headers.snapshot, _snapshots(one.operator)) for one in operators if one is not None
    )
    return class_names(chain.from_iterable(found))


def _snapshots(operator: Operator) -> Iterator[TypeSerializerSnapshot]:
    if any(state.kind.is_keyed for state in operator.catalog.states):
        types = StoredTypes.of(operator)
        yield types.key
        for info in types.states:
            yield from (entry.snapshot for _, entry in info.serializers)
    for subtask in operator.record.subtasks:
        handle = subtask.managed_operator_state
        if handle is None or not handle.states:
            continue
        header = HeaderBytes.of_operator_state(operator.directory, handle)
        parsed = OperatorBackendHeader.parse(header)
        for info in (*parsed.list_states, *parsed.broadcast_states):
            yield from (entry.snapshot for _, entry in info.serializers)
