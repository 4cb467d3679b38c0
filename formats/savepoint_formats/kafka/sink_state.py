"""The state of a Kafka sink: what its writers began, and what its committer has yet to commit.

Kafka's connector: ``KafkaWriterStateSerializer``, ``KafkaCommittableSerializer``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Self

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import UnsupportedVersionError

if TYPE_CHECKING:
    from savepoint_formats.kafka.versioned import Versioned

_COMMITTABLE_VERSION = 1


class TransactionOwnership(IntEnum):
    """Who may write to the transactional ids of a writer."""

    IMPLICIT_BY_SUBTASK_ID = 0
    EXPLICIT_BY_WRITER_STATE = 1


@dataclass(frozen=True, slots=True)
class CheckpointTransaction:
    """A transaction that was flushed for a checkpoint, and may be committed or not."""

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
    | i32   | ownership                                                    | 2          |
    | i32 n | transactions: utf transactional id, i64 checkpoint           | 2          |

    In the state it is ``Versioned``. Version 1 is that of releases before 4.0.
    """

    prefix: str
    owned_subtask: int | None = None
    owned_subtasks: int | None = None
    ownership: TransactionOwnership | None = None
    transactions: tuple[CheckpointTransaction, ...] = ()

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are none."""
        view = DataInputView(versioned.data, path)
        if versioned.version not in (1, 2):
            raise view.error(f"a writer of version {versioned.version}", UnsupportedVersionError)
        prefix = view.read_utf()
        if versioned.version == 1:
            view.expect_end()
            return cls(prefix)
        subtask, subtasks, number = view.read_int(), view.read_int(), view.read_int()
        if number not in (0, 1):
            raise view.error(f"an ownership {number}, expected 0 or 1")
        count = view.read_count(10)
        transactions = tuple(
            CheckpointTransaction(view.read_utf(), view.read_long()) for _ in range(count)
        )
        view.expect_end()
        return cls(prefix, subtask, subtasks, TransactionOwnership(number), transactions)


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
