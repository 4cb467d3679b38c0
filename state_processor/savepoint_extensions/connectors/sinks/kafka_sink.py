"""Transactions of a Kafka sink: committables of its committer, state of its writers.

Kafka's connector: ``KafkaCommittableSerializer``, ``KafkaWriterStateSerializer``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_formats.bytes import (
    LONG,
    SHORT,
    UTF,
    Codec,
    DataInputView,
    DataOutputView,
    Record,
    list_codec,
)
from savepoint_formats.errors import RefusedError, UnsupportedVersionError

if TYPE_CHECKING:
    from savepoint_extensions.connectors.connector_rows import Facts


_COMMITTABLE_VERSION = 1
_SUBTASKS_SIZE = 8


@dataclass(frozen=True, slots=True)
class CheckpointTransaction(Record):
    """A transaction that was flushed for a checkpoint; it may be committed or not."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (UTF, LONG)
    transactional_id: str
    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class KafkaWriter:
    """The state of a writer, an element of ``writer_raw_states``.

    | bytes | field                                                        | in version |
    |-------|--------------------------------------------------------------|------------|
    | utf   | prefix of transactional ids                                  | 1, 2       |
    | i32   | owned subtask, -1 for all of its prefix                      | 2          |
    | i32   | number of owned subtasks                                     | 2          |
    | i32   | ownership: 0 implicit by subtask, 1 explicit by this state   | 2          |
    | i32 n | transactions: utf transactional id, i64 checkpoint           | 2          |

    The element is ``Versioned``; releases before 4.0 write version 1.
    """

    prefix: str
    transactions: tuple[CheckpointTransaction, ...] = ()

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are no state of a writer."""
        view = DataInputView(versioned.data, path)
        if versioned.version not in (1, 2):
            raise view.error(f"a writer of version {versioned.version}", UnsupportedVersionError)
        prefix = view.read_utf()
        if versioned.version == 1:
            view.expect_end()
            return cls(prefix)
        view.read_bytes(_SUBTASKS_SIZE)
        ownership = view.read_int()
        if ownership not in (0, 1):
            raise view.error(f"an ownership {ownership}, expected 0 or 1")
        transactions = list_codec(CheckpointTransaction, 10).read(view)
        view.expect_end()
        return cls(prefix, transactions)


@dataclass(frozen=True, slots=True)
class KafkaCommittable(Record):
    """A transaction that still has to be committed.

    | bytes | field            |
    |-------|------------------|
    | i16   | epoch            |
    | i64   | producer id      |
    | utf   | transactional id |
    """

    FIELDS: ClassVar[tuple[Codec, ...]] = (SHORT, LONG, UTF)
    epoch: int
    producer_id: int
    transactional_id: str

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are no committable."""
        if versioned.version != _COMMITTABLE_VERSION:
            message = f"a committable of version {versioned.version}"
            raise UnsupportedVersionError(message, path, 0)
        return cls.whole(versioned.data, path)


def committable(versioned: Versioned, path: str) -> Facts:
    """Transactional id, producer id and epoch."""
    return facts_of(KafkaCommittable.of(versioned, path))


def facts_of(transaction: KafkaCommittable) -> Facts:
    """The ids of a transaction."""
    return {
        "transactional_id": transaction.transactional_id,
        "producer_id": transaction.producer_id,
        "epoch": transaction.epoch,
    }


def writer(versioned: Versioned, path: str) -> Facts:
    """Prefix of transactional ids, and the transactions that a writer of 4.0 remembers."""
    state = KafkaWriter.of(versioned, path)
    facts: Facts = {"prefix": state.prefix}
    if state.transactions:
        facts["transactions"] = len(state.transactions)
    return facts


def with_prefix(versioned: Versioned, prefix: str, path: str) -> Versioned:
    """The state of a writer with another prefix of transactional ids.

    Raises:
        RefusedError: The writer owns transactions by their ids, which begin with the old prefix.
        FormatError: The bytes are no state of a Kafka writer.
    """
    state = KafkaWriter.of(versioned, path)
    if state.transactions:
        raise RefusedError(
            f"a writer with prefix {state.prefix!r} remembers {len(state.transactions)}"
            " transactions, whose ids have that prefix: drop its state first"
        )
    old, new = DataInputView(versioned.data, path), DataOutputView()
    old.read_utf()
    new.write_utf(prefix)
    # What follows the prefix doesn't depend on it.
    new.write_bytes(old.read_rest())
    return Versioned(versioned.version, new.to_bytes())
