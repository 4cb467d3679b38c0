"""Savepoints whose sinks have fewer pending commits, or other ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_database.connectors.sink_state import SinkElement, SinkState, elements_of
from savepoint_formats.errors import RefusedError, StateNotFoundError
from savepoint_formats.kafka.versioned import Versioned
from savepoint_formats.sinks.kafka_sink import with_prefix
from savepoint_formats.state_files.header import OperatorBackendHeader
from savepoint_formats.state_files.operator_state import byte_array, with_elements

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.metadata import OperatorState, SubtaskState


def without_entries(snapshot: Snapshot, numbers: AbstractSet[int]) -> tuple[OperatorState, ...]:
    """Records of all operators, without some entries of ``SinkState``.

    Raises:
        SavepointError: A file of a sink is gone or damaged.
    """

    def change(element: SinkElement, first: int, count: int) -> bytes | None:
        if not numbers & set(range(first, first + count)):
            return element.data
        committer = element.committer()
        if committer is None:
            return None
        return committer.kept(lambda index: first + index not in numbers).to_bytes()

    return _changed(snapshot, change)


def with_checkpoint(snapshot: Snapshot, newest: int) -> tuple[OperatorState, ...]:
    """Records of all operators, whose newest pending commits get a checkpoint id.

    Ids of older commits keep their distance.

    Raises:
        RefusedError: No commit has a checkpoint id, or an id would be negative.
        SavepointError: A file of a sink is gone or damaged.
    """
    ids = [entry.checkpoint for entry in SinkState.of(snapshot).entries if entry.state is not None]
    known = [checkpoint for checkpoint in ids if checkpoint is not None]
    if not known:
        raise RefusedError(f"{snapshot.path} has no pending commit with a checkpoint id")
    difference = newest - max(known)
    if min(known) + difference < 0:
        raise RefusedError(
            f"checkpoint ids {min(known)} to {max(known)} can't end at {newest}: the first one"
            " would be negative"
        )

    def change(element: SinkElement, _first: int, _count: int) -> bytes:
        committer = element.committer()
        return element.data if committer is None else committer.renumbered(difference).to_bytes()

    return _changed(snapshot, change)


def with_transactional_prefix(snapshot: Snapshot, prefix: str) -> tuple[OperatorState, ...]:
    """Records of all operators, whose Kafka writers have another prefix of transactional ids.

    Raises:
        StateNotFoundError: There is no state of a Kafka writer.
        RefusedError: A writer remembers transactions with the old prefix.
        SavepointError: A file of a sink is gone or damaged.
    """
    entries = SinkState.of(snapshot).entries
    if not any(entry.kind == "writer" and entry.connector == "kafka" for entry in entries):
        raise StateNotFoundError(f"{snapshot.path} has no state of a writer of Kafka")

    def change(element: SinkElement, first: int, _count: int) -> bytes:
        if not element.is_writer or entries[first].connector != "kafka":
            return element.data
        state = Versioned.whole(element.data, element.state)
        return with_prefix(state, prefix, element.state).to_bytes()

    return _changed(snapshot, change)


def _changed(
    snapshot: Snapshot, change: Callable[[SinkElement, int, int], bytes | None]
) -> tuple[OperatorState, ...]:
    """Records of all operators with changed elements.

    Args:
        snapshot: The savepoint.
        change: Takes an element, the number of its first entry and the count of its entries.
    """
    number = 0
    changed = []
    for operator in snapshot.operators():
        pending: dict[tuple[str, int], list[tuple[bytes, bytes | None]]] = {}
        for element in elements_of(operator):
            count = sum(1 for _ in element.entries(operator.name, 0, 0))
            other = change(element, number, count)
            pending.setdefault((element.state, element.subtask), []).append((element.data, other))
            number += count
        changed.append(_with_elements(operator, pending))
    return tuple(changed)


def _with_elements(
    operator: Operator, pending: dict[tuple[str, int], list[tuple[bytes, bytes | None]]]
) -> OperatorState:
    different = {
        place: [other for _, other in elements]
        for place, elements in pending.items()
        if any(data != other for data, other in elements)
    }
    if not different:
        return operator.record
    subtasks = list(operator.record.subtasks)
    for (state, index), elements in different.items():
        at = next(at for at, subtask in enumerate(subtasks) if subtask.index == index)
        subtasks[at] = _with_state(operator, subtasks[at], state, elements)
    return replace(operator.record, subtasks=tuple(subtasks))


def _with_state(
    operator: Operator, subtask: SubtaskState, state: str, elements: list[bytes | None]
) -> SubtaskState:
    handle = subtask.managed_operator_state
    if handle is None:
        return subtask
    header = OperatorBackendHeader.of_handle(operator.directory, handle)
    others = iter([None if other is None else byte_array(other) for other in elements])
    file = operator.directory.file(handle.stream)
    changed = with_elements(file, handle, header, state, lambda _: next(others))
    return replace(subtask, managed_operator_state=changed)
