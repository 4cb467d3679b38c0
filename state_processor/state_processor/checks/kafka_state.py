"""The state of Kafka sources and sinks as tables: topics, partitions, offsets, transactions.

To Flink it is bytes of the connector. An operator is taken for one of Kafka's if all elements of
the state that such an operator has can be read as Kafka's connector wrote them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.errors import (
    FormatError,
    RefusedError,
    StateNotFoundError,
)
from savepoint_formats.kafka.sink_state import KafkaWriter, pending_transactions
from savepoint_formats.kafka.source_state import (
    COMMITTED,
    EARLIEST,
    LATEST,
    NO_STOPPING_OFFSET,
    KafkaEnumerator,
    KafkaSplit,
)
from savepoint_formats.metadata import InlineStream
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_formats.state_files.header import OperatorBackendHeader
from savepoint_formats.state_files.operator_state import read_elements
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.values.kryo.dialect import KryoClass, KryoField

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from savepoint_formats.metadata import SubtaskState
    from state_processor.snapshot.operator import Operator
    from state_processor.snapshot.snapshot import Snapshot

    _Offsets = Mapping[tuple[str, int], tuple[int, int | None]]

READER_STATE = "SourceReaderState"
LEGACY_STATE = "topic-partition-offset-states"
WRITER_STATE = "writer_raw_states"
COMMITTER_STATE = "streaming_committer_raw_states"

_SIZE_SIZE = 4

_STARTS = {EARLIEST: "earliest", LATEST: "latest", COMMITTED: "committed"}
_OFFSETS = {name: offset for offset, name in _STARTS.items()}

# Of a consumer that Flink has no more, and whose fields no savepoint knows.
_LEGACY_CLASS = KryoClass(
    "org.apache.flink.streaming.connectors.kafka.internals.KafkaTopicPartition",
    (
        KryoField("cachedHash", "int"),
        KryoField("partition", "int"),
        KryoField("topic", "java.lang.String"),
    ),
)


@dataclass(frozen=True, slots=True)
class KafkaOffset:
    """Where a source goes on in a partition.

    Attributes:
        operator: The source, by its uid or hash.
        subtask: The subtask that has the partition.
        source: ``KafkaSource``, or ``FlinkKafkaConsumer`` for the one of before Flink 1.14.
        topic: The topic.
        partition: The partition.
        offset: Of the next record; None where ``start`` is told.
        start: ``earliest``, ``latest`` or ``committed``, of partitions of which nothing was read.
        stopping_offset: Of the first record that is not read; None for none.
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
        status: ``assigned`` to a reader, or ``unassigned`` yet.
    """

    operator: str
    topic: str
    partition: int
    status: str


@dataclass(frozen=True, slots=True)
class KafkaTransaction:
    """What a sink has of transactions.

    Attributes:
        operator: The writer or committer, by its uid or hash.
        subtask: The subtask.
        kind: ``prefix``: of the ids that a writer may use; ``precommitted``: flushed for a
            checkpoint; ``pending``: to be committed once the job is restored.
        transactional_id: The id, or the prefix.
        checkpoint_id: The checkpoint that it is of, if that is told.
        producer_id: That of a pending transaction.
        epoch: That of a pending transaction.
    """

    operator: str
    subtask: int
    kind: str
    transactional_id: str
    checkpoint_id: int | None = None
    producer_id: int | None = None
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class KafkaState:
    """What a savepoint has of Kafka.

    Attributes:
        path: The savepoint.
        offsets: Where sources go on.
        partitions: What their coordinators know.
        transactions: What sinks have begun.
    """

    path: str
    offsets: tuple[KafkaOffset, ...]
    partitions: tuple[KnownPartition, ...]
    transactions: tuple[KafkaTransaction, ...]

    @classmethod
    def of(cls, snapshot: Snapshot) -> KafkaState:
        """Reads the state of all operators that are Kafka's.

        Raises:
            SavepointError: A file of such an operator is gone or damaged.
        """
        offsets: list[KafkaOffset] = []
        partitions: list[KnownPartition] = []
        transactions: list[KafkaTransaction] = []
        for operator in snapshot.operators():
            offsets += _offsets(operator)
            partitions += _partitions(operator)
            transactions += _transactions(operator)
        return cls(snapshot.path, tuple(offsets), tuple(partitions), tuple(transactions))

    def to_arrow(self) -> dict[str, pa.Table]:
        """The tables ``offsets``, ``partitions`` and ``transactions``."""
        records: dict[str, tuple[type, Sequence[Any]]] = {
            "offsets": (KafkaOffset, self.offsets),
            "partitions": (KnownPartition, self.partitions),
            "transactions": (KafkaTransaction, self.transactions),
        }
        return {name: _table(kind, found) for name, (kind, found) in records.items()}


def _table(kind: type, records: Sequence[Any]) -> pa.Table:
    types = {"int": pa.int64(), "int | None": pa.int64(), "str": pa.string()}
    schema = pa.schema([(one.name, types[str(one.type)]) for one in fields(kind)])
    rows = [{one.name: getattr(record, one.name) for one in fields(kind)} for record in records]
    return pa.Table.from_pylist(rows, schema)


def _offsets(operator: Operator) -> Iterator[KafkaOffset]:
    for subtask, split in splits_of(operator) or ():
        yield KafkaOffset(
            operator.name,
            subtask,
            "KafkaSource",
            split.topic,
            split.partition,
            None if split.offset in _STARTS else split.offset,
            _STARTS.get(split.offset, ""),
            None if split.stopping_offset == NO_STOPPING_OFFSET else split.stopping_offset,
        )
    yield from _legacy_offsets(operator)


def splits_of(operator: Operator) -> list[tuple[int, KafkaSplit]] | None:
    """The splits of a source's readers, by subtask; None if it is no Kafka source."""
    elements = _elements(operator, READER_STATE)
    try:
        return [(subtask, KafkaSplit.of(one, READER_STATE)) for subtask, one in elements]
    except FormatError:
        return None


def _legacy_offsets(operator: Operator) -> Iterator[KafkaOffset]:
    if operator.kryo is None or not _has_state(operator, LEGACY_STATE):
        return
    known = replace(operator.kryo, classes=(*operator.kryo.classes, _LEGACY_CLASS))
    described = replace(operator, kryo=known)
    for subtask, element in _values(described, LEGACY_STATE):
        place, offset = element["f0"], element["f1"]
        if not isinstance(place, dict) or "topic" not in place:
            reason = "an offset of a class that is not known"
            raise FormatError(reason, LEGACY_STATE, -1).within(f"operator {operator.name}")
        yield KafkaOffset(
            operator.name,
            subtask,
            "FlinkKafkaConsumer",
            place["topic"],
            place["partition"],
            # It has the last record that was read.
            offset + 1 if offset >= 0 else None,
            "" if offset >= 0 else "group offsets, or as the job says",
            None,
        )


def _partitions(operator: Operator) -> Iterator[KnownPartition]:
    state = operator.record.coordinator_state
    if state is None or splits_of(operator) is None:
        return
    try:
        found = KafkaEnumerator.of(state.data, state.name)
    except FormatError:
        return
    for one in found.partitions:
        yield KnownPartition(operator.name, one.topic, one.partition, one.status.name.lower())


def _transactions(operator: Operator) -> Iterator[KafkaTransaction]:
    try:
        found = [*_of_writers(operator), *_of_committers(operator)]
    except FormatError:
        return  # another connector's
    yield from found


def _of_writers(operator: Operator) -> Iterator[KafkaTransaction]:
    for subtask, element in _elements(operator, WRITER_STATE):
        writer = KafkaWriter.of(element, WRITER_STATE)
        yield KafkaTransaction(operator.name, subtask, "prefix", writer.prefix)
        for one in writer.transactions:
            yield KafkaTransaction(
                operator.name, subtask, "precommitted", one.transactional_id, one.checkpoint_id
            )


def _of_committers(operator: Operator) -> Iterator[KafkaTransaction]:
    for subtask, element in _elements(operator, COMMITTER_STATE):
        for one in pending_transactions(element, COMMITTER_STATE):
            found = one.committable
            yield KafkaTransaction(
                operator.name,
                subtask,
                "pending",
                found.transactional_id,
                one.checkpoint_id,
                found.producer_id,
                found.epoch,
            )


def _has_state(operator: Operator, name: str) -> bool:
    kinds = (StateKind.OPERATOR_LIST, StateKind.UNION_LIST)
    return any(one.name == name and one.kind in kinds for one in operator.catalog.states)


def _elements(operator: Operator, state: str) -> Iterator[tuple[int, bytes]]:
    for subtask, value in _values(operator, state):
        if not isinstance(value, bytes):
            raise FormatError("elements that are no bytes", state, -1)
        yield subtask, value


def _values(operator: Operator, state: str) -> Iterator[tuple[int, Any]]:
    """The elements of a list state, by subtask; there are about as many as partitions."""
    if not _has_state(operator, state):
        return
    table = next(one for one in operator.tables if one.states[0].name == state)
    scan = operator.scan(table, ReadOptions(with_subtask=True))
    for batch in scan.batches():
        yield from zip(
            batch.column("subtask").to_pylist(), batch.column("value").to_pylist(), strict=True
        )


def with_offsets(
    snapshot: Snapshot, rows: Iterable[Mapping[str, Any]], operator: str | None = None
) -> tuple[Operator, ...]:
    """The operators of a savepoint whose Kafka sources go on elsewhere.

    A split has as many bytes as before, so that nothing else of a file changes; the files of
    these sources, which are small, lie in ``_metadata`` then.

    Args:
        snapshot: The savepoint.
        rows: Of each partition ``topic``, ``partition``, and ``offset``: that of the next record,
            or ``earliest``, ``latest`` or ``committed``; and ``stopping_offset``, if it has one.
        operator: The uid or hash of the source; by default all that have the partition.

    Raises:
        OperatorNotFoundError: There is no such operator.
        StateNotFoundError: It is no Kafka source.
        RefusedError: No source has a partition, or its state is compressed.
        ValueError: A row lacks something, or has something that is no offset.
    """
    wanted = dict(map(_wanted, rows))
    sources = _sources(snapshot, operator)
    known = {(one.topic, one.partition) for splits in sources.values() for one in splits}
    if missing := sorted(f"{topic} {partition}" for topic, partition in set(wanted) - known):
        raise RefusedError(
            f"{snapshot.path} has no source that reads {', '.join(missing)}: a reader gets only"
            " what the coordinator has assigned to it"
        )
    return tuple(
        _with_moved_splits(one, wanted) if one.name in sources else one
        for one in snapshot.operators()
    )


def _with_moved_splits(operator: Operator, wanted: _Offsets) -> Operator:
    subtasks = tuple(_subtask(operator, one, wanted) for one in operator.record.subtasks)
    return replace(operator, record=replace(operator.record, subtasks=subtasks))


def _subtask(operator: Operator, subtask: SubtaskState, wanted: _Offsets) -> SubtaskState:
    handle = subtask.managed_operator_state
    if handle is None or READER_STATE not in {one.name for one in handle.states if one.offsets}:
        return subtask
    if OperatorBackendHeader.of_handle(operator.directory, handle).is_compressed:
        raise RefusedError(
            f"the state of {operator.name} is compressed, so that offsets in it can't be set: take"
            " a savepoint with execution.checkpointing.snapshot-compression off"
        )
    file = operator.directory.file(handle.stream)
    data = bytearray(file.read())
    for piece in read_elements(file, handle, READER_STATE, is_compressed=False, size=len(data)):
        for start, end in zip(piece.starts + piece.base, piece.ends + piece.base, strict=True):
            # The size of the bytes is in front of them.
            split = KafkaSplit.of(bytes(data[start + _SIZE_SIZE : end]), file.path)
            data[start + _SIZE_SIZE : end] = _moved(split, wanted).to_bytes()
    stream = InlineStream(f"{operator.id}-{subtask.index}", bytes(data))
    moved = replace(handle, stream=stream, directories=None)
    return replace(subtask, managed_operator_state=moved)


def _sources(snapshot: Snapshot, operator: str | None) -> dict[str, list[KafkaSplit]]:
    chosen = snapshot.operators() if operator is None else (snapshot.operator(operator),)
    sources = {}
    for one in chosen:
        splits = splits_of(one)
        if splits:
            sources[one.name] = [split for _, split in splits]
    if not sources:
        where = snapshot.path if operator is None else f"operator {operator}"
        raise StateNotFoundError(f"{where} has no Kafka source that has partitions")
    return sources


def _wanted(row: Mapping[str, Any]) -> tuple[tuple[str, int], tuple[int, int | None]]:
    missing = [name for name in ("topic", "partition", "offset") if row.get(name) in (None, "")]
    if missing:
        raise ValueError(f"{dict(row)} lacks {', '.join(missing)}")
    offset = row["offset"]
    if isinstance(offset, str) and offset in _OFFSETS:
        offset = _OFFSETS[offset]
    elif int(offset) < 0:
        raise ValueError(f"offset {offset} of {row['topic']}, expected 0 or more, or a word")
    stopping = row.get("stopping_offset")
    end = None if stopping in (None, "") else int(str(stopping))
    return (str(row["topic"]), int(row["partition"])), (int(offset), end)


def _moved(split: KafkaSplit, wanted: _Offsets) -> KafkaSplit:
    if (split.topic, split.partition) not in wanted:
        return split
    offset, end = wanted[split.topic, split.partition]
    moved = replace(split, offset=offset)
    return moved if end is None else replace(moved, stopping_offset=end)
