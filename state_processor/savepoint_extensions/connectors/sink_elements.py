"""Elements of the states of sinks, and their rows: pending commits and states of writers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.byte_elements import (
    ByteElement,
    byte_elements,
    element_values,
)
from savepoint_extensions.connectors.connector_rows import (
    BUCKET_STATE,
    COMMITTER_STATE,
    TWO_PHASE_STATE,
    WRITER_STATE,
    Facts,
)
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.renewal.kafka_producer import (
    CURRENT,
    TO_BE_COMMITTED,
    transactions_of,
)
from savepoint_extensions.connectors.renewal.producer_state import ProducerState
from savepoint_extensions.connectors.sinks.committer_state import END_OF_INPUT, CommitterState
from savepoint_extensions.connectors.sinks.connectors import (
    UNKNOWN,
    read_committable,
    read_writer,
)
from savepoint_extensions.connectors.sinks.file_sink import bucket_and_files
from savepoint_extensions.connectors.sinks.kafka_sink import facts_of
from savepoint_formats.errors import (
    FormatError,
    RefusedError,
    SavepointError,
)
from savepoint_formats.printable import printable
from savepoint_formats.scan import operator_splits
from savepoint_formats.state_files import OperatorBackendHeader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.connectors.renewal.kafka_producer import ProducerTransaction

COMMITTERS = (COMMITTER_STATE, "global_committer_raw_states")
WRITERS = (WRITER_STATE, BUCKET_STATE)
ICEBERG = "iceberg-files-committer-state"
"""State of Iceberg's sink before Sink V2: checkpoint -> manifests."""
_TWO_PHASE = "TwoPhaseCommitSinkFunction$StateSerializerSnapshot"


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
            ``FlinkKafkaProducer`` is ``to be committed``, or ``current``: begun after the barrier. A file of
            a ``StreamingFileSink`` is ``to be committed``.
        retries: Number of retries of a commit so far.
        age: Number of checkpoints since that of the commit; None where one of them is unknown.
        transaction: Its transactional id, if it is a transaction of Kafka.
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
    transaction: str | None
    content: str
    raw: SinkBytes


@dataclass(frozen=True, slots=True)
class _Whole:
    """An element that a connector wrote: facts, or the reason why there are none, and files of a bucket."""

    raw: SinkBytes
    connector: str
    facts: Facts
    reason: str
    files: tuple[tuple[int, Facts], ...] = ()


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

    def without(self, dropped: Iterable[ProducerTransaction]) -> bytes:
        """The element without some transactions of a ``FlinkKafkaProducer``.

        Raises ``RefusedError`` for one that is not to be committed.
        """
        chosen = list(dropped)
        for each in chosen:
            if each.kind == CURRENT:
                raise RefusedError(
                    f"transaction {each.committable.transactional_id} of subtask {self.subtask} is the current"
                    " one, which is never committed: abort it. Only transactions to be committed are"
                    " dropped alone, and an element of a sink as a whole"
                )
        ids = {each.committable.transactional_id for each in chosen}
        return ProducerState.whole(self.data, self.state).without(ids).to_bytes()

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
            whole = self._whole()
            yield self._entry(operator, number, whole)
            yield from self._files(operator, current, number + 1, whole)
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
                _transaction(facts),
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
                each.committable.transactional_id,
                _text(facts),
                raw,
            )

    def _files(
        self, operator: str, current: int, number: int, whole: _Whole
    ) -> Iterator[SinkEntry]:
        """A row per file that the bucket of a ``StreamingFileSink`` has still to finish."""
        for index, (checkpoint, facts) in enumerate(whole.files):
            yield SinkEntry(
                number + index,
                operator,
                "commit",
                "file",
                checkpoint,
                self.subtask,
                self.subtask,
                TO_BE_COMMITTED,
                None,
                max(0, current - checkpoint),
                None,
                _text(facts),
                whole.raw,
            )

    def _whole(self) -> _Whole:
        """What the connector wrote, read once."""
        if self.old:
            return _Whole(SinkBytes(None, self.data.hex()), self.old, {}, self.content)
        try:
            versioned = Versioned.whole(self.data, self.state)
        except FormatError as error:
            return _Whole(SinkBytes(None, self.data.hex()), UNKNOWN, {}, error.message)
        raw = SinkBytes(versioned.version, versioned.data.hex())
        if self.state == BUCKET_STATE:
            with suppress(FormatError):
                facts, files = bucket_and_files(versioned, self.state)
                return _Whole(raw, "file", facts, "", tuple(files))
        read = read_writer if self.is_writer else read_committable
        return _Whole(raw, *read(versioned, self.state))

    def _entry(self, operator: str, number: int, whole: _Whole) -> SinkEntry:
        identifier = whole.facts.get("identifier")
        return SinkEntry(
            number,
            operator,
            "writer" if self.is_writer else "commit",
            whole.connector,
            identifier if isinstance(identifier, int) else None,
            self.subtask,
            None,
            None,
            None,
            None,
            _transaction(whole.facts),
            _text(whole.facts) or whole.reason,
            whole.raw,
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


def _transaction(facts: Facts) -> str | None:
    known = facts.get("transactional_id")
    return known if isinstance(known, str) else None


def _text(facts: Facts) -> str:
    return ", ".join(f"{name}={value}" for name, value in facts.items())
