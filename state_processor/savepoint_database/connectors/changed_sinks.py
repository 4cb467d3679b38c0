"""Savepoints whose sinks have fewer pending commits, or other ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_database.connectors.sink_state import SinkElement, SinkState, elements_of
from savepoint_database.snapshot.byte_elements import ByteElement, with_byte_elements
from savepoint_formats.errors import RefusedError, StateNotFoundError
from savepoint_formats.kafka.versioned import Versioned
from savepoint_formats.sinks.kafka_sink import with_prefix

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.metadata import OperatorState


def without_entries(snapshot: Snapshot, numbers: AbstractSet[int]) -> tuple[OperatorState, ...]:
    """Records of all operators, without some entries of ``SinkState``.

    Raises ``SavepointError`` if a file of a sink is gone or damaged.
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
        changes: list[tuple[ByteElement, bytes | None]] = []
        for element in elements_of(operator):
            count = sum(1 for _ in element.entries(operator.name, 0, 0))
            changes.append((element, change(element, number, count)))
            number += count
        changed.append(with_byte_elements(operator, changes))
    return tuple(changed)
