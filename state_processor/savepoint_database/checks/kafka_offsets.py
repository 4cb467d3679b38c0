"""Moves the Kafka sources of a savepoint to other offsets."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from savepoint_database.checks.kafka_state import READER_STATE, consumed, splits_of
from savepoint_database.snapshot.byte_elements import byte_elements, with_byte_elements
from savepoint_formats.errors import RefusedError, StateNotFoundError
from savepoint_formats.kafka.consumer_state import LEGACY_STATE, stored_number
from savepoint_formats.kafka.source_state import NO_STOPPING_OFFSET, KafkaSplit
from savepoint_formats.state_files.header import OperatorBackendHeader
from savepoint_formats.state_files.operator_state import with_elements

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_database.snapshot.operator import Operator
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.metadata import SubtaskState

    _Offsets = Mapping[tuple[str, int], Mapping[str, Any]]

_NUMBER = struct.Struct(">q")


def with_offsets(
    snapshot: Snapshot, rows: Iterable[Mapping[str, Any]], operator: str | None = None
) -> tuple[Operator, ...]:
    """The operators of a savepoint, with Kafka sources moved to other offsets.

    The small files of these sources become part of ``_metadata``.

    Each of the ``rows`` has ``topic``, ``partition`` and ``offset``: that of the next record, or
    ``earliest``, ``latest`` or ``committed``; optionally ``stopping_offset``. ``operator`` is the uid or
    hash of the source; by default all sources that have the partition.

    Raises:
        OperatorNotFoundError: There is no such operator.
        StateNotFoundError: The operator is no Kafka source.
        RefusedError: No source has a partition, or a stopping offset is for a
            ``FlinkKafkaConsumer``, which never stops.
        ValueError: A row lacks a field, or has an invalid offset.
    """
    wanted = dict(map(_wanted, rows))
    chosen = snapshot.operators() if operator is None else (snapshot.operator(operator),)
    sources = {source.name: source for source in map(_Source.of, chosen) if source.splits}
    if not sources:
        where = snapshot.path if operator is None else f"operator {operator}"
        raise StateNotFoundError(f"{where} has no Kafka source that has partitions")
    known = {
        (split.topic, split.partition) for source in sources.values() for _, split in source.splits
    }
    if missing := sorted(f"{topic} {partition}" for topic, partition in set(wanted) - known):
        raise RefusedError(
            f"{snapshot.path} has no source that reads {', '.join(missing)}: a reader gets only"
            " what the coordinator has assigned to it"
        )
    return tuple(
        sources[existing.name].moved(wanted) if existing.name in sources else existing
        for existing in snapshot.operators()
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """An operator that may be a Kafka source; ``splits`` are in the order of its elements."""

    operator: Operator
    is_consumer: bool
    splits: list[tuple[int, KafkaSplit]]

    @classmethod
    def of(cls, operator: Operator) -> Self:
        if splits := consumed(operator):
            return cls(operator, True, splits)
        return cls(operator, False, splits_of(operator) or [])

    @property
    def name(self) -> str:
        return self.operator.name

    def moved(self, wanted: _Offsets) -> Operator:
        record = self.operator.record
        if self.is_consumer:
            subtasks = tuple(self._subtask(subtask, wanted) for subtask in record.subtasks)
            return replace(self.operator, record=replace(record, subtasks=subtasks))
        elements = byte_elements(self.operator, [READER_STATE])
        changes = [
            (element, _moved(split, wanted).to_bytes())
            for element, (_, split) in zip(elements, self.splits, strict=True)
        ]
        return replace(self.operator, record=with_byte_elements(self.operator, changes))

    def _subtask(self, subtask: SubtaskState, wanted: _Offsets) -> SubtaskState:
        """A subtask of a ``FlinkKafkaConsumer``."""
        handle, operator = subtask.managed_operator_state, self.operator
        if handle is None or LEGACY_STATE not in {
            state.name for state in handle.states if state.offsets
        }:
            return subtask
        header = OperatorBackendHeader.of_handle(operator.directory, handle)
        splits = (split for index, split in self.splits if index == subtask.index)
        changed = with_elements(
            operator.directory.file(handle.stream),
            handle,
            header,
            LEGACY_STATE,
            lambda element: self._consumed(element, _moved(next(splits), wanted)),
        )
        return replace(subtask, managed_operator_state=changed)

    def _consumed(self, element: bytes, split: KafkaSplit) -> bytes:
        if split.stopping_offset != NO_STOPPING_OFFSET:
            raise RefusedError(
                f"{self.name} is a FlinkKafkaConsumer, which has no stopping offsets:"
                f" {split.topic} {split.partition} can't have one"
            )
        # The number is the last of the element.
        return element[: -_NUMBER.size] + _NUMBER.pack(stored_number(split.offset))


def _wanted(row: Mapping[str, Any]) -> tuple[tuple[str, int], Mapping[str, Any]]:
    missing = [name for name in ("topic", "partition", "offset") if row.get(name) in (None, "")]
    if missing:
        raise ValueError(f"{dict(row)} lacks {', '.join(missing)}")
    split = KafkaSplit(str(row["topic"]), int(row["partition"]), 0)
    split.at(row["offset"], row.get("stopping_offset"))
    return (split.topic, split.partition), row


def _moved(split: KafkaSplit, wanted: _Offsets) -> KafkaSplit:
    row = wanted.get((split.topic, split.partition))
    return split if row is None else split.at(row["offset"], row.get("stopping_offset"))
