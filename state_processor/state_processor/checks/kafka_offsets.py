"""A savepoint whose Kafka sources go on elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import RefusedError, StateNotFoundError
from savepoint_formats.kafka.source_state import KafkaSplit
from savepoint_formats.metadata import InlineStream
from savepoint_formats.state_files.header import OperatorBackendHeader
from savepoint_formats.state_files.operator_state import read_elements
from state_processor.checks.kafka_state import READER_STATE, STARTS, splits_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_formats.metadata import SubtaskState
    from state_processor.snapshot.operator import Operator
    from state_processor.snapshot.snapshot import Snapshot

    _Offsets = Mapping[tuple[str, int], tuple[int, int | None]]

_SIZE_SIZE = 4

_OFFSETS = {name: offset for offset, name in STARTS.items()}


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
