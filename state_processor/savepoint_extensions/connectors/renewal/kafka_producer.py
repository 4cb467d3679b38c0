"""``FlinkKafkaProducer`` -> ``KafkaSink``: transactions that its committer has still to commit.

A subtask's element has the transaction that it wrote to when the savepoint was taken, and those that
were flushed for this checkpoint or an earlier one.

| transaction      | began             | the new sink                                               |
|------------------|-------------------|------------------------------------------------------------|
| to be committed  | before the barrier| commits it: it has records that the job won't read again   |
| current          | after the barrier | must not commit it: the job reads its records again        |

A current transaction stays open in the broker, and hides all later records from readers of committed
data until it is aborted or has timed out.

Flink: ``TwoPhaseCommitSinkFunction.State``, ``FlinkKafkaProducer.KafkaTransactionState``.
"""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from savepoint_extensions.connectors.byte_elements import byte_elements
from savepoint_extensions.connectors.connector_rows import COMMITTER_STATE, TWO_PHASE_STATE
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.renewal.producer_state import ProducerHandle, ProducerState
from savepoint_extensions.connectors.renewal.renewed_operator import Renewed, with_byte_lists
from savepoint_extensions.connectors.sinks.committer_state import (
    CheckpointCommits,
    CommitRequest,
    CommitterState,
    RequestState,
    SubtaskCommits,
)
from savepoint_extensions.connectors.sinks.kafka_sink import KafkaCommittable
from savepoint_formats.errors import FormatError, RefusedError
from savepoint_formats.key_groups import OperatorId
from savepoint_formats.metadata import OperatorState
from savepoint_formats.scan import operator_splits
from savepoint_formats.state_files import OperatorBackendHeader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.connectors.renewal.renewed_operator import RenewalOptions

CURRENT, TO_BE_COMMITTED = "current", "to be committed"

_HINTS = ("next-transactional-id-hint", "next-transactional-id-hint-v2")
_PRODUCER = "org.apache.flink.streaming.connectors.kafka.FlinkKafkaProducer"
# Layouts that committers from Flink 1.15 on read; see ``CommitterState``.
_ITEM_VERSION, _SUBTASK_VERSION, _REQUEST_VERSION = 1, 1, 0


@dataclass(frozen=True, slots=True)
class ProducerTransaction:
    """A transaction in the state of a ``FlinkKafkaProducer``.

    Attributes:
        element: Number of its element, from 0.
        subtask: The subtask.
        kind: ``current`` or ``to be committed``.
        committable: Its ids.
        started_ms: When it began, in ms since 1970.
    """

    element: int
    subtask: int
    kind: str
    committable: KafkaCommittable
    started_ms: int

    @property
    def started(self) -> str:
        """When it began, in UTC."""
        began = datetime.fromtimestamp(self.started_ms / 1000, UTC)
        return began.isoformat(timespec="seconds").replace("+00:00", "Z")

    @property
    def age_s(self) -> int:
        """Its age now, in seconds."""
        return max(0, int(time.time() - self.started_ms / 1000))

    @property
    def abort(self) -> str:
        """The command that ends a current transaction; empty for others."""
        if self.kind != CURRENT:
            return ""
        name = shlex.quote(self.committable.transactional_id)
        return (
            "kafka-transactions.sh --bootstrap-server BROKER forceTerminateTransaction"
            f" --transactionalId {name}"
        )


def is_of_producer(operator: Operator) -> bool:
    """Whether an operator has the state of a ``FlinkKafkaProducer``."""
    for split in operator_splits(operator.record):
        if TWO_PHASE_STATE not in {state.name for state in split.handle.states}:
            continue
        header = OperatorBackendHeader.of_handle(operator.directory, split.handle)
        state = next(state for state in header.list_states if state.name == TWO_PHASE_STATE)
        used = (nested for _, entry in state.serializers for nested in entry.values)
        return any(_PRODUCER in repr(value) for value in used)
    return False


def transactions_of(operator: Operator) -> list[ProducerTransaction]:
    """Transactions of a ``FlinkKafkaProducer``, in the order of its elements; empty for others.

    Raises ``FormatError`` if an element is of another class.
    """
    if not is_of_producer(operator):
        return []
    known = []
    elements = byte_elements(operator, [TWO_PHASE_STATE], is_sized=False)
    for number, element in enumerate(elements):
        try:
            state = ProducerState.whole(element.data, TWO_PHASE_STATE)
        except FormatError as error:
            raise error.within(f"operator {operator.name}") from error
        for kind, handle, started in _handles(state):
            # A sink without exactly-once has no id.
            if handle.transactional_id is not None:
                ids = handle.epoch, handle.producer_id, handle.transactional_id
                committable = KafkaCommittable(*ids)
                known.append(
                    ProducerTransaction(number, element.subtask, kind, committable, started)
                )
    return known


def _handles(state: ProducerState) -> Iterator[tuple[str, ProducerHandle, int]]:
    if state.pending is not None:
        yield CURRENT, state.pending, state.pending_started_ms
    for flushed in state.committing:
        yield TO_BE_COMMITTED, flushed.handle, flushed.started_ms


def renewed_producer(operator: Operator, checkpoint_id: int, _options: RenewalOptions) -> Renewed:
    """The writer of a ``KafkaSink``, which begins without state, and its committer.

    Raises:
        RefusedError: There is something to commit, and the uid of the sink is not known.
        SavepointError: A file is gone or damaged.
    """
    transactions = transactions_of(operator)
    record = with_byte_lists(operator, {TWO_PHASE_STATE, *_HINTS}, {})
    remarks = list(_remarks(operator, transactions))
    committables = [each.committable for each in transactions if each.kind == TO_BE_COMMITTED]
    if not committables:
        return Renewed(record, (), tuple(remarks))
    if operator.uid is None:
        raise RefusedError(
            f"operator {operator.name}: {len(committables)} transactions are to be committed by the"
            " operator 'Sink Committer: UID', and the uid of the sink is not stored: name it by --uid. A sink"
            f" without a uid gets one by savepoint rename-operator PATH {operator.name} UID OUT, and the new"
            " sink takes that"
        )
    committer = _committer(operator, operator.uid, committables, checkpoint_id)
    return Renewed(record, (committer,), tuple(remarks))


def _remarks(operator: Operator, transactions: list[ProducerTransaction]) -> Iterator[str]:
    where = f"operator {operator.name}"
    for each in transactions:
        if each.kind == CURRENT:
            yield (
                f"{where}: transaction {each.committable.transactional_id} began at {each.started},"
                " after the savepoint; its records are written again. Abort it, or it hides later"
                f" records from readers of committed data until it times out: {each.abort}"
            )
    waiting = [each for each in transactions if each.kind == TO_BE_COMMITTED]
    if waiting:
        oldest = min(waiting, key=lambda each: each.started_ms)
        yield (
            f"{where}: the new sink commits {len(waiting)} transactions, the oldest of which began"
            f" {oldest.age_s} s ago, at {oldest.started}. Start the job before that is older than"
            " the transaction.timeout.ms of the old sink: the records of a transaction that timed out"
            " are lost. For one that was committed already, Flink logs an ERROR, which is expected."
            " Give the new sink another transactionalIdPrefix"
        )


def _committer(
    operator: Operator, uid: str, committables: list[KafkaCommittable], checkpoint_id: int
) -> OperatorState:
    """The committer: all in one element, so that it waits for no other subtask."""
    requests = tuple(
        CommitRequest(Versioned(1, committable.to_bytes()), 0, RequestState.RECEIVED)
        for committable in committables
    )
    subtask = SubtaskCommits(0, requests, _REQUEST_VERSION, len(requests), 0, 0)
    commits = CheckpointCommits(checkpoint_id, 1, (subtask,), _SUBTASK_VERSION)
    element = CommitterState((commits,), _ITEM_VERSION).to_bytes()
    name = f"Sink Committer: {uid}"
    empty = OperatorState(
        OperatorId.from_uid(name),
        operator.record.parallelism,
        operator.record.max_parallelism,
        uid=name,
    )
    bare = replace(operator, record=empty, uid=name)
    return with_byte_lists(bare, (), {0: {COMMITTER_STATE: [element]}})
