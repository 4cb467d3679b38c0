"""Reads raw state: bytes of unknown format, except for timers.

Timers that are kept on the heap beside a RocksDB backend are raw keyed state; they come out like
managed timers. Of all other raw state only the borders are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.metadata.references import COORDINATOR
from savepoint_formats.sources.raw_keyed_source import PIECE_SIZE, RawKeyedSource
from savepoint_formats.state_files.operator_state import read_elements
from savepoint_formats.state_files.raw_timers import raw_file
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.tables.catalog import RAW_TIMERS, raw_keyed_handle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import (
        InlineStream,
        KeyGroupsHandle,
        OperatorState,
        OperatorStateHandle,
    )
    from savepoint_formats.values.kryo.dialect import KryoDialect


@dataclass(frozen=True, slots=True, repr=False)
class RawKeyedSplit:
    """Some key groups of a handle of raw keyed state."""

    subtask: int
    handle: KeyGroupsHandle
    key_groups: KeyGroupRange

    def __repr__(self) -> str:
        return f"RawKeyedSplit(subtask {self.subtask}, {self.key_groups})"


@dataclass(frozen=True, slots=True, repr=False)
class RawOperatorSplit:
    """Raw operator state of a subtask."""

    subtask: int
    handle: OperatorStateHandle

    def __repr__(self) -> str:
        return f"RawOperatorSplit(subtask {self.subtask})"


@dataclass(frozen=True, slots=True, repr=False)
class CoordinatorSplit:
    """State of an operator's coordinator, which belongs to no subtask."""

    stream: InlineStream
    subtask: int = COORDINATOR

    def __repr__(self) -> str:
        return "CoordinatorSplit()"


RawSplit = RawKeyedSplit | RawOperatorSplit | CoordinatorSplit


def raw_splits(
    operator: OperatorState, kind: StateKind, key_groups: KeyGroupRange | None
) -> Iterator[RawSplit]:
    """Splits of a table of raw state; without ``key_groups`` all are wanted."""
    if kind is StateKind.COORDINATOR and operator.coordinator_state is not None:
        yield CoordinatorSplit(operator.coordinator_state)
    for subtask in operator.subtasks:
        if kind is StateKind.RAW_OPERATOR and subtask.raw_operator_state is not None:
            yield RawOperatorSplit(subtask.index, subtask.raw_operator_state)
        handle = raw_keyed_handle(subtask)
        if kind is StateKind.RAW_KEYED and handle is not None:
            wanted = handle.key_groups.intersection(key_groups or handle.key_groups)
            if wanted:
                yield RawKeyedSplit(subtask.index, handle, wanted)


def read_raw_state(
    directory: SnapshotDirectory, split: RawSplit, table: str, kryo: KryoDialect | None
) -> Iterator[dict[str, pa.Array]]:
    """Columns of a table of raw state, batch by batch.

    Raw keyed state has two kinds of tables, of which ``table`` names one.
    """
    match split:
        case RawKeyedSplit():
            source = RawKeyedSource(directory, split.handle, kryo)
            is_shown = source.problem if table == RAW_TIMERS else not source.has_timers()
            if is_shown:
                yield from _raw_sections(source, split.key_groups)
        case RawOperatorSplit():
            yield from _raw_partitions(directory, split.handle)
        case CoordinatorSplit():
            yield {"value": pa.array([split.stream.data], pa.binary())}


def _raw_sections(
    source: RawKeyedSource, key_groups: KeyGroupRange
) -> Iterator[dict[str, pa.Array]]:
    for sections in source.sections(key_groups):
        groups = [section.key_group for section, _ in sections]
        values = [data for _, data in sections]
        yield {"key_group": pa.array(groups, pa.int32()), "value": pa.array(values, pa.binary())}


def _raw_partitions(
    directory: SnapshotDirectory, handle: OperatorStateHandle
) -> Iterator[dict[str, pa.Array]]:
    file = raw_file(directory, handle.stream)
    for state in handle.states:
        for piece in read_elements(file, handle, state.name, is_compressed=False, size=PIECE_SIZE):
            spans = zip(piece.starts.tolist(), piece.ends.tolist(), strict=True)
            values = [piece.data[start:end].tobytes() for start, end in spans]
            yield {"value": pa.array(values, pa.binary())}
