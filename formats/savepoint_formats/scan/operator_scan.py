"""Reads state without managed keys: of operators, of coordinators, and raw state.

Operator state has a row per element of a list, or per entry of a broadcast map. Raw state is bytes
of unknown format, except for timers on the heap beside a RocksDB backend; these are read like
managed timers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import within
from savepoint_formats.layout import Layout, Repeated, Struct
from savepoint_formats.metadata.references import COORDINATOR
from savepoint_formats.program.assembly import program
from savepoint_formats.program.byte_ranges import bytes_of
from savepoint_formats.program.decode import decode
from savepoint_formats.sources.raw_keyed_source import RawKeyedSource
from savepoint_formats.state_files.operator_state import read_elements, stored_elements
from savepoint_formats.state_files.raw_timers import raw_file
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.tables.catalog import RAW_TIMERS, raw_keyed_handle
from savepoint_formats.values.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import (
        InlineStream,
        KeyGroupsHandle,
        OperatorState,
        OperatorStateHandle,
    )
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.undecoded import Hides


@dataclass(frozen=True, slots=True)
class OperatorStateSplit:
    """Elements of a state in one subtask."""

    subtask: int
    handle: OperatorStateHandle = field(repr=False)

    def element_count(self, state: str) -> int:
        """Number of elements of a list or union list state."""
        return sum(len(listed.offsets) for listed in self.handle.states if listed.name == state)


def read_operator_state(
    directory: SnapshotDirectory,
    split: OperatorStateSplit,
    state: State,
    kryo: KryoDialect | None,
    hides: Hides = "nothing",
) -> Iterator[list[pa.Array]]:
    """Columns of the state's table, batch by batch: ``value``, or ``key`` and ``value``.

    Raises ``FormatError`` for a damaged file, and ``StateFileNotFoundError``; both name the state.
    """
    decoder, patience = program(_stored(state), kryo, hides=hides), Patience()
    with within(f"state {state.name!r}"):
        for chunk, ranges in stored_elements(directory, split.handle, state.name):
            values = decode(decoder, chunk, ranges.starts, ranges.ends, patience=patience)
            if state.kind is StateKind.BROADCAST:
                yield pc.list_flatten(values).flatten()
            else:
                yield [values]


def _stored(state: State) -> Layout:
    """Layout of an element of a list, or of the whole map of broadcast state."""
    if state.kind is StateKind.BROADCAST and state.key is not None:
        return Repeated(Struct(("key", "value"), (state.key, state.stored)))
    return state.stored


@dataclass(frozen=True, slots=True)
class RawKeyedSplit:
    """Some key groups of a handle of raw keyed state."""

    subtask: int
    handle: KeyGroupsHandle = field(repr=False)
    key_groups: KeyGroupRange


@dataclass(frozen=True, slots=True)
class RawOperatorSplit:
    """Raw operator state of a subtask."""

    subtask: int
    handle: OperatorStateHandle = field(repr=False)


@dataclass(frozen=True, slots=True)
class CoordinatorSplit:
    """State of an operator's coordinator, which belongs to no subtask."""

    stream: InlineStream = field(repr=False)
    subtask: int = COORDINATOR


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

    Raw keyed state has two kinds of tables; ``table`` names one.
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
        for chunk, ranges in read_elements(file, handle, state.name, is_compressed=False):
            yield {"value": bytes_of(chunk, ranges).cast(pa.binary())}
