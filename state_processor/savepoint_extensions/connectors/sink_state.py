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
from savepoint_database.snapshot.byte_elements import (
    ByteElement,
    byte_elements,
    element_values,
    with_byte_elements,
)
from savepoint_extensions.connectors.connector_rows import Facts
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.renewal.kafka_producer import transactions_of
from savepoint_extensions.connectors.sinks.committer_state import END_OF_INPUT, CommitterState
from savepoint_extensions.connectors.sinks.connectors import (
    UNKNOWN,
    read_committable,
    read_writer,
)
from savepoint_extensions.connectors.sinks.kafka_sink import facts_of, with_prefix
from savepoint_formats.errors import (
    FormatError,
    HiddenCommitWarning,
    RefusedError,
    SavepointError,
    StateNotFoundError,
)
from savepoint_formats.printable import html_records, printable
from savepoint_formats.scan.splits import operator_splits
from savepoint_formats.state_files.header import OperatorBackendHeader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Set as AbstractSet

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_extensions.connectors.renewal.kafka_producer import ProducerTransaction
    from savepoint_formats.metadata import OperatorState

COMMITTERS = ("streaming_committer_raw_states", "global_committer_raw_states")
WRITERS = ("writer_raw_states",)
ICEBERG = "iceberg-files-committer-state"
"""State of Iceberg's sink before Sink V2: checkpoint -> manifests."""
TWO_PHASE_STATE = "state"
"""State of a ``TwoPhaseCommitSinkFunction``: the open transaction, and those to be committed."""
_TWO_PHASE = "TwoPhaseCommitSinkFunction$StateSerializerSnapshot"
ALL = "all"
"""Condition that chooses everything."""


@dataclass(frozen=True, slots=True)
class SinkBytes:
    """Bytes that a connector wrote.

    Attributes:
        version: Version of its serializer; None where the element has none.
        hexadecimal: The bytes.
    """

    version: int | None
    hexadecimal: str


@dataclass(frozen=True, slots=True)
class SinkEntry:
    """A pending commit, or the state of a writer.

    Attributes:
        number: Number of the row in the savepoint, from 0.
        operator: The operator, by its uid or hash.
        kind: ``commit`` or ``writer``.
        connector: ``file``, ``kafka``, ``iceberg``, ``paimon``, ``two-phase`` for sinks older than
            Sink V2, or ``unknown``.
        checkpoint: Id of the checkpoint of a commit; None where it is not stored, and for commits
            at the end of the input.
        subtask: Subtask of the operator whose state holds it.
        writer: Subtask of the writer that a commit came from, if it is stored.
        state: ``received``, ``retry``, ``failed`` or ``committed``; None for writers. A transaction of a
            ``FlinkKafkaProducer`` is ``to be committed``, or ``current``: begun after the barrier.
        retries: Number of retries of a commit so far.
        age: Number of checkpoints since that of the commit; None where one of them is unknown.
        content: Target file, transactional id and the like, as ``name=value``; for an unknown
                connector, why there is none.
        raw: The bytes of the connector.
    """

    number: int
    operator: str
    kind: str
    connector: str
    checkpoint: int | None
    subtask: int
    writer: int | None
    state: str | None
    retries: int | None
    age: int | None
    content: str
    raw: SinkBytes


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


@dataclass(frozen=True, slots=True)
class SinkElement(ByteElement):
    """An element of a state of a sink.

    Attributes:
        old: Connector of a sink from before Sink V2, whose elements are not byte arrays.
        content: What such an element holds, or why it is not known.
        transactions: What an element of a ``FlinkKafkaProducer`` holds.
    """

    old: str = ""
    content: str = ""
    transactions: tuple[ProducerTransaction, ...] = ()

    @property
    def is_writer(self) -> bool:
        return self.state in WRITERS

    def committer(self) -> CommitterState | None:
        """The commits; None where a connector wrote the element itself."""
        if self.is_writer or self.old:
            return None
        try:
            return CommitterState.of(self.data, self.state)
        except FormatError:
            return None

    def entries(self, operator: str, current: int, number: int) -> Iterator[SinkEntry]:
        """Rows of the element, numbered from ``number`` on."""
        committer = self.committer()
        if self.transactions:
            yield from self._of_producer(operator, number)
            return
        if committer is None:
            yield self._whole(operator, number)
            return
        for index, commit in enumerate(committer.commits()):
            connector, facts, reason = read_committable(commit.committable, self.state)
            checkpoint = commit.checkpoint_id
            if checkpoint == END_OF_INPUT:
                checkpoint = None
                facts = {"end of input": "yes", **facts}
            yield SinkEntry(
                number + index,
                operator,
                "commit",
                connector,
                checkpoint,
                self.subtask,
                commit.subtask,
                None if commit.state is None else commit.state.name.lower(),
                commit.retries,
                None if checkpoint is None else max(0, current - checkpoint),
                _text(facts) or reason,
                SinkBytes(commit.committable.version, commit.committable.data.hex()),
            )

    def _of_producer(self, operator: str, number: int) -> Iterator[SinkEntry]:
        """A row per transaction; each has the bytes of the whole element."""
        raw = SinkBytes(None, self.data.hex())
        for index, each in enumerate(self.transactions):
            facts = {**facts_of(each.committable), "started": each.started, "age_s": each.age_s}
            if each.abort:
                facts["abort"] = each.abort
            yield SinkEntry(
                number + index,
                operator,
                "commit",
                "kafka",
                None,
                self.subtask,
                self.subtask,
                each.kind,
                None,
                None,
                _text(facts),
                raw,
            )

    def _whole(self, operator: str, number: int) -> SinkEntry:
        connector, facts, raw = self.old or UNKNOWN, Facts(), SinkBytes(None, self.data.hex())
        reason = self.content
        try:
            versioned = None if self.old else Versioned.whole(self.data, self.state)
        except FormatError as error:
            versioned, reason = None, error.message
        if versioned is not None:
            read = read_writer if self.is_writer else read_committable
            connector, facts, reason = read(versioned, self.state)
            raw = SinkBytes(versioned.version, versioned.data.hex())
        identifier = facts.get("identifier")
        return SinkEntry(
            number,
            operator,
            "writer" if self.is_writer else "commit",
            connector,
            identifier if isinstance(identifier, int) else None,
            self.subtask,
            None,
            None,
            None,
            None,
            _text(facts) or reason,
            raw,
        )


def elements_of(operator: Operator) -> Iterator[SinkElement]:
    """Elements of the states of a sink, state by state, as the files have them."""
    for element in byte_elements(operator, (*COMMITTERS, *WRITERS)):
        yield SinkElement(element.state, element.subtask, element.data)
    for state, connector in _old_states(operator).items():
        elements = list(byte_elements(operator, [state], is_sized=False))
        contents = _contents(operator, state, len(elements))
        transactions = transactions_of(operator) if state == TWO_PHASE_STATE else []
        for number, (element, content) in enumerate(zip(elements, contents, strict=True)):
            own = tuple(each for each in transactions if each.element == number)
            yield SinkElement(state, element.subtask, element.data, False, connector, content, own)


def _old_states(operator: Operator) -> dict[str, str]:
    """States of sinks from before Sink V2 -> the connector."""
    known = {}
    for split in operator_splits(operator.record):
        if not {ICEBERG, TWO_PHASE_STATE} & {item.name for item in split.handle.states}:
            continue
        header = OperatorBackendHeader.of_handle(operator.directory, split.handle)
        for state in header.list_states:
            classes = [entry.class_name for _, entry in state.serializers]
            if state.name == ICEBERG:
                known[state.name] = "iceberg"
            elif any(name.endswith(_TWO_PHASE) for name in classes):
                known[state.name] = "two-phase"
    return known


def _contents(operator: Operator, state: str, count: int) -> list[str]:
    """The decoded elements; where they can't be decoded, the reason for each."""
    try:
        values = [printable(str(value)) for _, value in element_values(operator, state)]
    except SavepointError as error:
        return [printable(str(error))] * count
    return values or ["a type that can't be decoded"] * count


def _text(facts: Facts) -> str:
    return ", ".join(f"{name}={value}" for name, value in facts.items())


def without_entries(snapshot: Snapshot, numbers: AbstractSet[int]) -> tuple[OperatorState, ...]:
    """Records of all operators, without some entries of ``SinkState``.

    Raises:
        RefusedError: Some transactions of an element of a ``FlinkKafkaProducer`` would stay.
        SavepointError: A file of a sink is gone or damaged.
    """

    def change(element: SinkElement, first: int, count: int) -> bytes | None:
        if not numbers & set(range(first, first + count)):
            return element.data
        committer = element.committer()
        if element.transactions and len(numbers & set(range(first, first + count))) < count:
            raise RefusedError(
                f"entries {first} to {first + count - 1} are one element of a FlinkKafkaProducer:"
                " drop all of them or none; savepoint sources --to-new carries those to be committed"
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
