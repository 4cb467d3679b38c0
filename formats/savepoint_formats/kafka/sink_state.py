"""State of a Kafka sink: transactions that are open, and those that are to be committed.

Kafka's connector: ``KafkaWriterStateSerializer``, ``KafkaCommittableSerializer``. Flink:
``CommittableCollectorSerializer``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import UnsupportedVersionError
from savepoint_formats.kafka.versioned import Versioned, versioned_list

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = 0xB91F252C - (1 << 32)
_COMMITTABLE_VERSION = 1
_SUBTASKS_SIZE = 8


@dataclass(frozen=True, slots=True)
class CheckpointTransaction:
    """A transaction that was flushed for a checkpoint; it may be committed or not."""

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
    def of(cls, element: bytes, path: str) -> Self:
        """Raises ``FormatError`` if the element is none."""
        versioned = Versioned.whole(element, path)
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
        count = view.read_count(10)
        transactions = tuple(
            CheckpointTransaction(view.read_utf(), view.read_long()) for _ in range(count)
        )
        view.expect_end()
        return cls(prefix, transactions)


@dataclass(frozen=True, slots=True)
class KafkaCommittable:
    """A transaction that is to be committed.

    | bytes | field            |
    |-------|------------------|
    | i16   | epoch            |
    | i64   | producer id      |
    | utf   | transactional id |
    """

    epoch: int
    producer_id: int
    transactional_id: str

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are none."""
        view = DataInputView(versioned.data, path)
        if versioned.version != _COMMITTABLE_VERSION:
            message = f"a committable of version {versioned.version}"
            raise view.error(message, UnsupportedVersionError)
        committable = cls(view.read_short(), view.read_long(), view.read_utf())
        view.expect_end()
        return committable


@dataclass(frozen=True, slots=True)
class PendingTransaction:
    """A committable and its checkpoint; None if that is not stored."""

    checkpoint_id: int | None
    committable: KafkaCommittable


def pending_transactions(element: bytes, path: str) -> tuple[PendingTransaction, ...]:
    """Transactions in an element of ``streaming_committer_raw_states``.

    | version | data                                                                               |
    |---------|------------------------------------------------------------------------------------|
    | 1       | i32 version, i32 n: i32 size, a committable                                        |
    | 2       | i32 ``B91F252C``, a list of checkpoints                                            |

    The version of a list (see ``versioned_list``) says what its items are:

    | item       | data                                                                            |
    |------------|---------------------------------------------------------------------------------|
    | checkpoint | i64 id; from version 1 on i32 number of subtasks; a list of subtasks            |
    | subtask    | from version 1 on i32 subtask; a list of requests; numbers                      |
    | request    | a ``Versioned`` committable; i32 retries; i32 state                             |
    """
    versioned = Versioned.whole(element, path)
    view = DataInputView(versioned.data, path)
    if versioned.version == 1:
        committables = [
            KafkaCommittable.of(serialized, path) for serialized in versioned_list(view)
        ]
        view.expect_end()
        return tuple(PendingTransaction(None, committable) for committable in committables)
    if versioned.version != 2 or view.read_int() != _MAGIC:
        raise view.error(f"a committer of version {versioned.version}", UnsupportedVersionError)
    checkpoints = tuple(versioned_list(view))
    view.expect_end()
    return tuple(
        serialized for checkpoint in checkpoints for serialized in _of_checkpoint(checkpoint, path)
    )


def _of_checkpoint(checkpoint: Versioned, path: str) -> Iterator[PendingTransaction]:
    view = DataInputView(checkpoint.data, path)
    checkpoint_id = view.read_long()
    if checkpoint.version:
        view.read_int()  # number of subtasks
    for subtask in versioned_list(view):
        requests = DataInputView(subtask.data, path)
        if subtask.version:
            requests.read_int()  # index of the subtask
        # The numbers behind the requests depend on the version of Flink.
        for request in versioned_list(requests):
            committable = Versioned.read(DataInputView(request.data, path))
            yield PendingTransaction(checkpoint_id, KafkaCommittable.of(committable, path))
