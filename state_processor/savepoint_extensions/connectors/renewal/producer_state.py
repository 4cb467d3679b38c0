"""The element of a ``FlinkKafkaProducer``'s state: transactions, of which some can be left out.

| bytes      | field      | meaning                                                                |
|------------|------------|------------------------------------------------------------------------|
| bool, …    | pending    | the transaction of records after the barrier                           |
| i64        | started    | when it began, in milliseconds since 1970                              |
| i32 n: …   | committing | transactions that were flushed for a checkpoint, each with i64 started |
| bool, …    | context    | i32 n: utf transactional ids, which the sink may use                   |

A transaction is a bool and a utf, its transactional id; i64 producer id; i16 epoch. One without an id is of a
sink without exactly-once.

Flink: ``TwoPhaseCommitSinkFunction.StateSerializer``, ``FlinkKafkaProducer.TransactionStateSerializer``,
``FlinkKafkaProducer.ContextStateSerializer``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from savepoint_formats.bytes import (
    LONG,
    SHORT,
    UTF,
    Codec,
    Record,
    list_codec,
    optional_codec,
    record_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, slots=True)
class ProducerHandle(Record):
    """The ids of a transaction."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (optional_codec(UTF), LONG, SHORT)
    transactional_id: str | None
    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class FlushedTransaction(Record):
    """A transaction that a committer has to commit, and when it began."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (record_of(ProducerHandle), LONG)
    handle: ProducerHandle
    started_ms: int


@dataclass(frozen=True, slots=True)
class ProducerState(Record):
    """The state of a subtask."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (
        *(optional_codec(record_of(ProducerHandle)), LONG),
        *(list_codec(FlushedTransaction, 19), optional_codec(list_codec(UTF, 2))),
    )
    pending: ProducerHandle | None
    pending_started_ms: int
    committing: tuple[FlushedTransaction, ...]
    context: tuple[str, ...] | None

    def without(self, transactional_ids: Collection[str]) -> Self:
        """The state without some of the transactions that are to be committed."""
        kept = [
            flushed
            for flushed in self.committing
            if flushed.handle.transactional_id not in transactional_ids
        ]
        return replace(self, committing=tuple(kept))
