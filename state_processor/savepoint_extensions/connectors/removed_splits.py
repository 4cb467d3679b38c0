"""Sources without some topics, partitions or files, and sources that start anew.

A reader's splits are elements of its state. The enumerator remembers what it has handed out, so it has
to forget the same: otherwise nobody would read a partition that comes back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.byte_elements import with_byte_elements
from savepoint_extensions.connectors.kafka.kafka_source import CoordinatorState
from savepoint_extensions.connectors.source_splits.split_connectors import read_enumerator
from savepoint_extensions.connectors.source_state import reader_splits
from savepoint_formats.errors import RefusedError, StateNotFoundError
from savepoint_formats.printable import alternatives

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator, Snapshot
    from savepoint_extensions.connectors.connector_rows import SplitFacts
    from savepoint_formats.metadata import OperatorState

_RESET = "let the source start anew (--reset)"


@dataclass(frozen=True, slots=True)
class RemovedSplits:
    """What sources forget.

    Attributes:
        topics: Topics, with all of their partitions.
        partitions: Partitions, such as ``orders-3``.
        files: Paths of files, as ``sources`` shows them.
        reset: Sources that forget everything, by uid or hash.
    """

    topics: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Topics, partitions and files."""
        return (*self.topics, *self.partitions, *self.files)

    def naming(self, facts: SplitFacts) -> set[str]:
        """Those of ``names`` that name a split or an entry of an enumerator."""
        if facts.kind == "partition":
            wanted = {(facts.table, self.topics), (facts.split, self.partitions)}
        elif facts.kind == "file":
            wanted = {(facts.split, self.files), (str(facts.facts.get("path", "")), self.files)}
        else:
            return set()
        return {name for name, names in wanted if name in names}


def without_splits(
    snapshot: Snapshot, removed: RemovedSplits, operator: str | None = None
) -> tuple[OperatorState, ...]:
    """Records of all operators, whose sources have forgotten some splits, or all.

    Args:
        snapshot: The savepoint.
        removed: What goes.
        operator: The only source that forgets topics, partitions and files; all by default.

    Raises:
        OperatorNotFoundError: There is no such operator.
        StateNotFoundError: No source has such a topic, partition or file; or an operator that
            starts anew is no source.
        RefusedError: An enumerator that has them can't be written, or a source has ended.
        SavepointError: A file of a source is gone or damaged.
    """
    records = {known.name: known.record for known in snapshot.operators()}
    chosen = snapshot.operators() if operator is None else (snapshot.operator(operator),)
    missing, known = set(removed.names), set[str]()
    for source in chosen if removed.names else ():
        records[source.name] = _without(source, removed, missing, known)
    if missing:
        first = min(missing)
        raise StateNotFoundError(
            f"{snapshot.path} has no source that reads {first!r}; {alternatives(first, known)}"
        )
    for name in removed.reset:
        source = snapshot.operator(name)
        records[source.name] = _reset(source)
    return tuple(records.values())


def _without(
    source: Operator, removed: RemovedSplits, missing: set[str], known: set[str]
) -> OperatorState:
    splits = tuple(reader_splits(source))
    changes = []
    for split in splits:
        named = removed.naming(split.facts)
        missing -= named
        known |= _names_of(split.facts)
        changes.append((split.element, None if named else split.element.data))
    record = with_byte_elements(source, changes)
    state, coordinator = record.coordinator_state, CoordinatorState.of_source(record)
    if state is None or coordinator is None:
        return record
    reader = next((split.connector for split in splits if split.connector is not None), None)
    connector, entries = read_enumerator(coordinator.enumerator, state.name, reader)
    named = set().union(*map(removed.naming, entries))
    missing -= named
    known |= set().union(*map(_names_of, entries))
    if connector is None and any(data is None for _, data in changes):
        raise RefusedError(
            f"the enumerator of {source.name} can't be read, so it would remember what the readers"
            f" forget: {_RESET}"
        )
    if connector is None or not named:
        return record
    if connector.without is None or coordinator.rest:
        raise RefusedError(
            f"the enumerator of {source.name} ({connector.name}, version"
            f" {coordinator.enumerator.version}) can't be written without {min(named)}: {_RESET},"
            " or name another source by its operator"
        )
    written = connector.without(
        coordinator.enumerator, lambda it: bool(removed.naming(it)), state.name
    )
    data = replace(coordinator, enumerator=written).to_bytes()
    return replace(record, coordinator_state=replace(state, data=data))


def _names_of(facts: SplitFacts) -> set[str]:
    names = {facts.table, facts.split, str(facts.facts.get("path", ""))}
    return names - {""} if facts.kind in ("partition", "file") else set()


def _reset(source: Operator) -> OperatorState:
    """The record of a source that starts as in a new job."""
    record, splits = source.record, tuple(reader_splits(source))
    if record.is_finished or any(subtask.is_finished for subtask in record.subtasks):
        raise RefusedError(
            f"source {source.name} has ended, and the operators behind it may have, too: start the new"
            " job without the savepoint, or give the source another uid and remove this operator"
        )
    if not splits and CoordinatorState.of_source(record) is None:
        raise StateNotFoundError(f"operator {source.name} has no state of a source")
    elements = [(split.element, None) for split in splits]
    return replace(with_byte_elements(source, elements), coordinator_state=None)
