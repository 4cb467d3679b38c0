"""State of Kafka sources and sinks as tables: topics, partitions, offsets, transactions.

Flink sees only bytes of the connector. An operator counts as Kafka's if all elements of its
characteristic state can be read as Kafka's connector writes them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_database.types import record_table
from savepoint_extensions.connectors.byte_elements import byte_elements, element_values
from savepoint_extensions.connectors.connector_rows import (
    COMMITTER_STATE,
    READER_STATE,
    WRITER_STATE,
)
from savepoint_extensions.connectors.kafka.kafka_source import (
    NO_STOPPING_OFFSET,
    STARTS,
    KafkaEnumerator,
    KafkaSplit,
    next_offset,
)
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.renewal.kafka_producer import transactions_of
from savepoint_extensions.connectors.renewal.stopped_jobs import warnings_of
from savepoint_extensions.connectors.sinks.committer_state import CommitterState
from savepoint_extensions.connectors.sinks.kafka_sink import KafkaCommittable, KafkaWriter
from savepoint_formats.errors import FormatError, UnsupportedVersionError
from savepoint_formats.layout import KryoClass, KryoField
from savepoint_formats.metadata import KAFKA_POSITIONS
from savepoint_formats.savepoint_warnings import ConnectorWarning, UnreadStateWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from savepoint_database.snapshot import Operator, Snapshot


# A class of a consumer that Flink dropped; no savepoint describes its fields.
_TOPIC_PARTITION = KryoClass(
    "org.apache.flink.streaming.connectors.kafka.internals.KafkaTopicPartition",
    (
        KryoField("cachedHash", "int"),
        KryoField("partition", "int"),
        KryoField("topic", "java.lang.String"),
    ),
)


@dataclass(frozen=True, slots=True)
class KafkaOffset:
    """Position of a source in a partition.

    Attributes:
        operator: The source, by its uid or hash.
        subtask: Subtask that has the partition.
        source: ``KafkaSource``, or ``FlinkKafkaConsumer`` for the source from before Flink 1.14.
        topic: The topic.
        partition: The partition.
        offset: Offset of the next record; None where ``start`` says it.
        start: ``earliest``, ``latest`` or ``committed``, for partitions that were not read yet.
        stopping_offset: Offset of the first record that is not read; None if reading never stops.
    """

    operator: str
    subtask: int
    source: str
    topic: str
    partition: int
    offset: int | None
    start: str
    stopping_offset: int | None


@dataclass(frozen=True, slots=True)
class KnownPartition:
    """A partition that a source's coordinator knows.

    Attributes:
        operator: The source, by its uid or hash.
        topic: The topic.
        partition: The partition.
        status: ``assigned`` to a reader, or still ``unassigned``.
    """

    operator: str
    topic: str
    partition: int
    status: str


@dataclass(frozen=True, slots=True)
class KafkaTransaction:
    """A transaction of a sink, or its prefix.

    Attributes:
        operator: The writer or committer, by its uid or hash.
        subtask: The subtask.
        kind: ``prefix`` of the ids that a writer may use; ``precommitted``: flushed for a checkpoint;
            ``pending``: committed once the job is restored. Those of a ``FlinkKafkaProducer`` are ``to be
            committed`` likewise, or ``current``: begun after the barrier, and never to be committed.
        transactional_id: The id, or the prefix.
        checkpoint_id: Its checkpoint, if stored.
        producer_id: Producer of a pending transaction.
        epoch: Epoch of a pending transaction.
        started: When a transaction of a ``FlinkKafkaProducer`` began, in UTC.
        age_s: Its age in seconds. Once it is older than the sink's ``transaction.timeout.ms``, the broker
            has aborted it, and its records are lost.
        abort: The command that aborts a ``current`` one, which hides later records until then.
    """

    operator: str
    subtask: int
    kind: str
    transactional_id: str
    checkpoint_id: int | None = None
    producer_id: int | None = None
    epoch: int | None = None
    started: str | None = None
    age_s: int | None = None
    abort: str = ""


@dataclass(frozen=True, slots=True)
class KafkaState:
    """Kafka's state in a savepoint.

    Attributes:
        path: The savepoint.
        offsets: Positions of sources.
        partitions: Partitions that their coordinators know.
        transactions: Transactions that sinks have begun.
    """

    path: str
    offsets: tuple[KafkaOffset, ...]
    partitions: tuple[KnownPartition, ...]
    transactions: tuple[KafkaTransaction, ...]

    @classmethod
    def of(cls, snapshot: Snapshot) -> KafkaState:
        """Reads the state of all Kafka operators.

        Raises:
            SavepointError: A file of such an operator is missing or damaged.
        """
        offsets: list[KafkaOffset] = []
        partitions: list[KnownPartition] = []
        transactions: list[KafkaTransaction] = []
        for text in warnings_of(snapshot):
            warnings.warn(text, ConnectorWarning, stacklevel=2)
        for operator in snapshot.operators():
            offsets += _offsets(operator)
            partitions += _partitions(operator)
            transactions += _transactions(operator)
        return cls(snapshot.path, tuple(offsets), tuple(partitions), tuple(transactions))

    def starting_offsets_json(self, operator: str | None = None) -> str:
        """The positions of a source as Spark's option ``startingOffsets`` takes them.

        Args:
            operator: The source, by its uid or hash as ``offsets`` shows it; not needed if there is
                but one.

        Raises:
            RefusedError: A partition begins at the offset that its group has committed, which Spark
                has no number for; or has an end, or two offsets; or the source has no partition.
            ValueError: There are several sources to choose from.

        Example:
            >>> savepoint.kafka().starting_offsets_json("orders")
            '{"orders": {"0": 23, "1": 7}}'
        """
        from savepoint_extensions.connectors.kafka_positions import starting_offsets  # noqa: PLC0415  # it imports this module

        return starting_offsets(self.offsets, operator)

    def to_arrow(self) -> dict[str, pa.Table]:
        """The tables ``offsets``, ``partitions`` and ``transactions``."""
        records: dict[str, tuple[type, Sequence[Any]]] = {
            "offsets": (KafkaOffset, self.offsets),
            "partitions": (KnownPartition, self.partitions),
            "transactions": (KafkaTransaction, self.transactions),
        }
        return {name: record_table(kind, rows) for name, (kind, rows) in records.items()}


def _offsets(operator: Operator) -> Iterator[KafkaOffset]:
    readers = {"KafkaSource": splits_of(operator) or (), "FlinkKafkaConsumer": consumed(operator)}
    for source, splits in readers.items():
        for subtask, split in splits:
            yield KafkaOffset(
                operator.name,
                subtask,
                source,
                split.topic,
                split.partition,
                None if split.offset in STARTS else split.offset,
                STARTS.get(split.offset, ""),
                None if split.stopping_offset == NO_STOPPING_OFFSET else split.stopping_offset,
            )


def splits_of(operator: Operator) -> list[tuple[int, KafkaSplit]] | None:
    """Splits of a source's readers, by subtask; None if it is not a Kafka source."""
    try:
        return [
            (element.subtask, KafkaSplit.of(element.data, READER_STATE))
            for element in byte_elements(operator, [READER_STATE])
        ]
    except FormatError:
        return None


def consumed(operator: Operator) -> list[tuple[int, KafkaSplit]]:
    """Splits of a ``FlinkKafkaConsumer`` in the order of its elements; empty for other operators.

    Raises ``FormatError`` if an element is not a partition and offset.
    """
    offsets = []
    for subtask, element in element_values(operator, KAFKA_POSITIONS, (_TOPIC_PARTITION,)):
        match element:
            case {"f0": {"topic": str(topic), "partition": int(partition)}, "f1": int(number)}:
                split = KafkaSplit(topic, partition, next_offset(number))
                offsets.append((subtask, split))
            case _:
                reason = "an offset of an unknown class"
                raise FormatError(reason, KAFKA_POSITIONS, -1).within(f"operator {operator.name}")
    return offsets


def _partitions(operator: Operator) -> Iterator[KnownPartition]:
    state = operator.record.coordinator_state
    splits = splits_of(operator)
    if state is None or splits is None:
        return
    try:
        enumerator = KafkaEnumerator.of(state.data, state.name)
    except FormatError as error:
        if splits and isinstance(error, UnsupportedVersionError):
            message = f"operator {operator.name}: its partitions are not listed: {error.message}"
            warnings.warn(message, UnreadStateWarning, stacklevel=2)
        return
    for partition in enumerator.partitions:
        yield KnownPartition(
            operator.name, partition.topic, partition.partition, partition.status.name.lower()
        )


def _transactions(operator: Operator) -> Iterator[KafkaTransaction]:
    try:
        transactions = [*_of_writers(operator), *_of_committers(operator)]
    except FormatError:
        return  # another connector's
    yield from transactions
    for each in transactions_of(operator):
        ids = each.committable
        yield KafkaTransaction(
            operator.name,
            each.subtask,
            each.kind,
            ids.transactional_id,
            None,
            ids.producer_id,
            ids.epoch,
            each.started,
            each.age_s,
            each.abort,
        )


def _of_writers(operator: Operator) -> Iterator[KafkaTransaction]:
    for element in byte_elements(operator, [WRITER_STATE]):
        writer = KafkaWriter.of(Versioned.whole(element.data, WRITER_STATE), WRITER_STATE)
        yield KafkaTransaction(operator.name, element.subtask, "prefix", writer.prefix)
        for transaction in writer.transactions:
            yield KafkaTransaction(
                operator.name,
                element.subtask,
                "precommitted",
                transaction.transactional_id,
                transaction.checkpoint_id,
            )


def _of_committers(operator: Operator) -> Iterator[KafkaTransaction]:
    for element in byte_elements(operator, [COMMITTER_STATE]):
        for commit in CommitterState.of(element.data, COMMITTER_STATE).commits():
            committable = KafkaCommittable.of(commit.committable, COMMITTER_STATE)
            yield KafkaTransaction(
                operator.name,
                element.subtask,
                "pending",
                committable.transactional_id,
                commit.checkpoint_id,
                committable.producer_id,
                committable.epoch,
            )
