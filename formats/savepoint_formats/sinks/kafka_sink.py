"""Transactions of a Kafka sink: committables of its committer, state of its writers.

Kafka's connector: ``KafkaCommittableSerializer``, ``KafkaWriterStateSerializer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import RefusedError
from savepoint_formats.kafka.sink_state import KafkaCommittable, KafkaWriter
from savepoint_formats.kafka.versioned import Versioned

if TYPE_CHECKING:
    from savepoint_formats.sinks.connectors import Facts


def committable(versioned: Versioned, path: str) -> Facts:
    """Transactional id, producer id and epoch."""
    transaction = KafkaCommittable.of(versioned, path)
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
