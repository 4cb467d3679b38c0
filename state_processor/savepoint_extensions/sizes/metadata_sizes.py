"""What the bytes of ``_metadata`` are: state inside, offsets of list elements, paths of files.

Flink's JobManager keeps the whole file in memory, and sends it over the network, so a large one is
slow or fails. The parts of an operator are measured by writing them; together they are its record.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_formats.bytes import DataOutputView
from savepoint_formats.metadata import InlineStream, KeyGroupsStream, stream_references
from savepoint_formats.quantities import ByteCount, Share

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator, Snapshot
    from savepoint_formats.metadata import CheckpointMetadata, OperatorState, SubtaskState

_OFFSET_SIZE = 8


@dataclass(frozen=True, slots=True)
class MetadataPart:
    """A part of ``_metadata``.

    Attributes:
        operator: Its operator; empty for what belongs to none.
        part: ``coordinator``, ``state inside`` (which Flink did not write into a file of its own),
            ``offsets of list elements``, ``handles of keyed state``, ``handles of records in
            flight``, or ``other``.
        detail: The state of the offsets, or the kind of the state inside.
        count: Number of elements, files, or streams.
        size: In bytes.
        share: Of the file.
    """

    operator: str
    part: str
    detail: str
    count: int
    size: int
    share: float


def metadata_parts(snapshot: Snapshot) -> tuple[MetadataPart, ...]:
    """The parts of a savepoint's ``_metadata``, the largest first; their sizes add up to the file's."""
    version, parts, rest = snapshot.metadata.version, list[tuple[str, str, str, int, int]](), 0
    total = _size(snapshot.metadata)
    for operator in snapshot.operators():
        size = _record_size(operator.record, version)
        own = list(_parts(operator, version))
        inner = sum(part[-1] for part in own)
        parts += [*own, (operator.name, "other", "", len(operator.record.subtasks), size - inner)]
        rest += size
    parts.append(("", "other", "header, hooks and properties", 1, total - rest))
    return tuple(
        MetadataPart(operator, part, detail, count, ByteCount(size), Share(size / total))
        for operator, part, detail, count, size in sorted(parts, key=lambda part: -part[-1])
        if size
    )


def _parts(operator: Operator, version: int) -> list[tuple[str, str, str, int, int]]:
    record, name = operator.record, operator.name
    parts: list[tuple[str, str, str, int, int]] = []
    inside, inside_sizes = Counter[str](), Counter[str]()
    kept, channels, in_channels = Counter[str](), 0, 0
    for reference in stream_references(record):
        stream = reference.stream
        plain = stream.stream if isinstance(stream, KeyGroupsStream) else stream
        is_channel = reference.role == "channel state"
        if reference.is_keyed:
            kept["files"] += 1
        channels += is_channel
        if isinstance(plain, InlineStream):
            inside[reference.role] += 1
            inside_sizes[reference.role] += plain.size
            kept["keyed inside"] += plain.size if reference.is_keyed else 0
            in_channels += plain.size if is_channel else 0
    for role, size in inside_sizes.items():
        part = "coordinator" if role == "coordinator" else "state inside"
        parts.append((name, part, "" if part == "coordinator" else role, inside[role], size))
    offsets = Counter[str]()
    for subtask in record.subtasks:
        for handle in (subtask.managed_operator_state, subtask.raw_operator_state):
            for state in () if handle is None else handle.states:
                offsets[state.name] += len(state.offsets)
    for state_name, count in offsets.items():
        parts.append((name, "offsets of list elements", state_name, count, _OFFSET_SIZE * count))
    keyed = _without(record, version, managed_keyed_state=None, raw_keyed_state=None)
    parts.append((name, "handles of keyed state", "", kept["files"], keyed - kept["keyed inside"]))
    flight = _without(record, version, input_channels=(), output_channels=())
    parts.append((name, "handles of records in flight", "", channels, flight - in_channels))
    return parts


def _without(record: OperatorState, version: int, **fields: tuple[()] | None) -> int:
    """The bytes that go with some fields of subtasks."""

    def lean(subtask: SubtaskState) -> SubtaskState:
        return subtask if subtask.is_finished else replace(subtask, **fields)  # type: ignore[arg-type]

    others = replace(record, subtasks=tuple(map(lean, record.subtasks)))
    return _record_size(record, version) - _record_size(others, version)


def _record_size(record: OperatorState, version: int) -> int:
    view = DataOutputView()
    record.write(view, version)
    return view.position


def _size(metadata: CheckpointMetadata) -> int:
    view = DataOutputView()
    metadata.write(view)
    return view.position
