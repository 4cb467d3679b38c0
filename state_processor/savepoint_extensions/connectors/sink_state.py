"""State of sinks as a table, and savepoints without some of that state.

A sink repeats its pending commits when its job is restored. A commit that can't succeed any more
keeps the job from starting; without it, the job starts and the data of that commit is lost, unless
you commit it by hand.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_database.rows.row_condition import RowCondition
from savepoint_extensions.connectors.byte_elements import (
    ByteElement,
    with_byte_elements,
)
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.sink_elements import SinkElement, SinkEntry, elements_of
from savepoint_extensions.connectors.sinks.kafka_sink import with_prefix
from savepoint_formats.errors import RefusedError, StateNotFoundError
from savepoint_formats.printable import html_records
from savepoint_formats.savepoint_warnings import HiddenCommitWarning

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from savepoint_database.snapshot import Operator, Snapshot
    from savepoint_formats.metadata import OperatorState

ALL = "all"
"""Condition that chooses everything."""


_PLAIN = tuple(field.name for field in fields(SinkEntry) if field.name != "raw")
_SCHEMA = pa.schema(
    [(name, pa.string()) for name in _PLAIN] + [("version", pa.int64()), ("bytes", pa.binary())]
)
for _name in ("number", "checkpoint", "subtask", "writer", "retries", "age"):
    _SCHEMA = _SCHEMA.set(_SCHEMA.get_field_index(_name), pa.field(_name, pa.int64()))


@dataclass(frozen=True, slots=True)
class SinkState:
    """State of all sinks of a savepoint.

    Attributes:
        path: The savepoint.
        entries: Pending commits and states of writers, in the order of the savepoint.
    """

    path: str
    entries: tuple[SinkEntry, ...]

    def _repr_html_(self) -> str:
        """The entries as a table of a notebook."""
        return html_records(f"Sinks of {self.path}", self.entries, _PLAIN)

    @classmethod
    def of(cls, snapshot: Snapshot) -> SinkState:
        """Reads the state of all sinks.

        Raises:
            SavepointError: A file of a sink is gone or damaged.
        """
        checkpoint = snapshot.metadata.checkpoint_id
        entries: list[SinkEntry] = []
        for operator in snapshot.operators():
            for element in elements_of(operator):
                entries += element.entries(operator.name, checkpoint, len(entries))
        return cls(snapshot.path, tuple(entries))

    def to_arrow(self) -> pa.Table:
        """A row per entry, with the columns ``version`` and ``bytes`` for its bytes."""
        rows = [
            {name: getattr(entry, name) for name in _PLAIN}
            | {"version": entry.raw.version, "bytes": bytes.fromhex(entry.raw.hexadecimal)}
            for entry in self.entries
        ]
        return pa.Table.from_pylist(rows, _SCHEMA)

    def chosen(self, condition: str) -> tuple[SinkEntry, ...]:
        """Entries that fulfil a condition in SQL about the columns of ``to_arrow()``.

        Args:
            condition: Such as ``checkpoint < 17 AND connector = 'kafka'``; ``all`` for all.

        Raises:
            ConditionError: The condition can't be understood.
        """
        if condition.strip().casefold() == ALL:
            return self.entries
        table = self.to_arrow()
        rows = RowCondition.of(condition, table.schema)
        batch = table.combine_chunks().to_batches()
        numbers = [
            row for part in batch for row in rows.filtered(part).column("number").to_pylist()
        ]
        return tuple(self.entries[number] for number in sorted(numbers))

    def dropped(self, drop: str | None = None, keep: str | None = None) -> tuple[SinkEntry, ...]:
        """Entries that fulfil ``drop``, or don't fulfil ``keep``; none if neither is given.

        Raises:
            ConditionError: The condition can't be understood.
            ValueError: Both are given.
        """
        if drop is not None and keep is not None:
            raise ValueError("both drop and keep, expected one of them")
        if drop is not None:
            return self.chosen(drop)
        if keep is None:
            return ()
        kept = {entry.number for entry in self.chosen(keep)}
        return tuple(entry for entry in self.entries if entry.number not in kept)


def without_entries(snapshot: Snapshot, numbers: AbstractSet[int]) -> tuple[OperatorState, ...]:
    """Records of all operators, without some entries of ``SinkState``.

    Raises:
        RefusedError: Some files of an element of an old sink would stay; or a current transaction is to
            be dropped alone.
        SavepointError: A file of a sink is gone or damaged.
    """

    def change(element: SinkElement, first: int, count: int) -> bytes | None:
        dropped = numbers & {*range(first, first + count)}
        if not dropped:
            return element.data
        committer = element.committer()
        if len(dropped) < count and element.transactions:
            return element.without(element.transactions[number - first] for number in dropped)
        if committer is None and len(dropped) < count:
            raise RefusedError(
                f"entries {first} to {first + count - 1} are one element of a sink of the old API:"
                " drop all of them or none"
            )
        if committer is None:
            return None
        return committer.kept(lambda index: first + index not in numbers).to_bytes()

    return _changed(snapshot, change)


def with_checkpoint(snapshot: Snapshot, newest: int) -> tuple[OperatorState, ...]:
    """Records of all operators, with a new checkpoint id for the newest pending commits.

    Ids of older commits keep their distance.

    Raises:
        RefusedError: No commit has a checkpoint id, or an id would be negative.
        SavepointError: A file of a sink is gone or damaged.
    """
    ids = [
        entry.checkpoint for entry in SinkState.of(snapshot).entries if entry.retries is not None
    ]
    known = [checkpoint for checkpoint in ids if checkpoint is not None]
    if not known:
        raise RefusedError(f"{snapshot.path} has no pending commit with a checkpoint id")
    difference = newest - max(known)
    if min(known) + difference < 0:
        raise RefusedError(
            f"checkpoint ids {min(known)} to {max(known)} can't end at {newest}: the first one"
            " would be negative"
        )
    if newest > snapshot.metadata.checkpoint_id:
        message = (
            f"the savepoint has the id {snapshot.metadata.checkpoint_id}: commits of checkpoint {newest} stay"
            " hidden until the job completes a checkpoint of that id"
        )
        warnings.warn(message, HiddenCommitWarning, stacklevel=2)

    def change(element: SinkElement, _first: int, _count: int) -> bytes:
        committer = element.committer()
        return element.data if committer is None else committer.renumbered(difference).to_bytes()

    return _changed(snapshot, change)


def warn_of_hidden_commits(operator: Operator, checkpoint: int) -> None:
    """Warns of commits that are newer than the savepoint which gets the operator.

    Raises ``SavepointError`` if a file of the operator is gone or damaged.
    """
    entries = (
        entry
        for element in elements_of(operator)
        for entry in element.entries(operator.name, checkpoint, 0)
    )
    ids = [entry.checkpoint for entry in entries if entry.retries is not None]
    newest = max((known for known in ids if known is not None), default=checkpoint)
    if newest > checkpoint:
        message = (
            f"the savepoint has the id {checkpoint}: commits of checkpoint {newest} in operator"
            f" {operator.name} stay hidden until the job completes a checkpoint of that id; savepoint"
            f" sinks --renumber {checkpoint} changes it"
        )
        warnings.warn(message, HiddenCommitWarning, stacklevel=2)


def with_transactional_prefix(snapshot: Snapshot, prefix: str) -> tuple[OperatorState, ...]:
    """Records of all operators, with another prefix of transactional ids for Kafka writers.

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
        change: Takes an element, the number of its first entry, and how many entries it has.
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
