"""Reading raw state: bytes that an operator wrote as it pleased, but for timers.

Timers that are kept on the heap beside a RocksDB backend are raw keyed state; they come out as
managed timers do. Of everything else only the borders are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import UndecodableError, UnknownSnapshotError, within
from savepoint_formats.metadata.references import COORDINATOR
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode_sequence
from savepoint_formats.state_files.operator_state import read_elements
from savepoint_formats.state_files.raw_timers import (
    TimerServices,
    first_section,
    has_timers,
    raw_file,
    read_timers,
)
from savepoint_formats.state_files.sections import (
    NOTHING_WRITTEN_RAW,
    Section,
    batches_of,
    read_sections,
    sections_of,
)
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.tables.catalog import RAW_TIMERS, raw_keyed_handle
from savepoint_formats.tables.timer_rows import TimerRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import (
        InlineStream,
        KeyGroupsHandle,
        OperatorState,
        OperatorStateHandle,
    )
    from savepoint_formats.program.program import Program
    from savepoint_formats.snapshots import SnapshotView
    from savepoint_formats.state_files.raw_timers import TimerService
    from savepoint_formats.values.kryo.dialect import KryoDialect

PIECE_SIZE = 16 << 20
"""Bytes of a file that make one batch, unless a single section is larger."""


@dataclass(frozen=True, slots=True)
class RawKeyedSplit:
    """Some key groups of a handle of raw keyed state."""

    subtask: int
    handle: KeyGroupsHandle
    key_groups: KeyGroupRange


@dataclass(frozen=True, slots=True)
class RawOperatorSplit:
    """The raw operator state of a subtask."""

    subtask: int
    handle: OperatorStateHandle


@dataclass(frozen=True, slots=True)
class CoordinatorSplit:
    """The state of an operator's coordinator, which is no subtask's."""

    stream: InlineStream
    subtask: int = COORDINATOR


RawSplit = RawKeyedSplit | RawOperatorSplit | CoordinatorSplit


def raw_splits(
    operator: OperatorState, kind: StateKind, key_groups: KeyGroupRange | None
) -> Iterator[RawSplit]:
    """The pieces of a table of raw state.

    Args:
        operator: Whose state it is.
        kind: Which kind of raw state.
        key_groups: Those wanted of raw keyed state; None for all.
    """
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
    """The columns of the table of a piece of raw state, batch by batch.

    Args:
        directory: Where the savepoint is.
        split: The piece.
        table: The table, for keyed raw state is of two kinds.
        kryo: What is known of the Kryo that wrote object graphs.

    Raises:
        StateFileNotFoundError: A file is gone.
        FormatError: An offset lies outside of its file.
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
        yield {
            "key_group": pa.array(groups, pa.int32()),
            "value": pa.array(values, pa.binary()),
        }


def _raw_partitions(
    directory: SnapshotDirectory, handle: OperatorStateHandle
) -> Iterator[dict[str, pa.Array]]:
    file = raw_file(directory, handle.stream)
    for state in handle.states:
        for piece in read_elements(file, handle, state.name, is_compressed=False, size=PIECE_SIZE):
            spans = zip(piece.starts.tolist(), piece.ends.tolist(), strict=True)
            values = [piece.data[start:end].tobytes() for start, end in spans]
            yield {"value": pa.array(values, pa.binary())}


class RawKeyedSource:
    """A file of raw keyed state, which has timers or what only its operator knows.

    Args:
        directory: Where the savepoint is.
        handle: The handle of the file.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(
        self,
        directory: SnapshotDirectory,
        handle: KeyGroupsHandle,
        kryo: KryoDialect | None = None,
    ) -> None:
        self._file = raw_file(directory, handle.stream)
        self._handle = handle
        self._kryo = kryo
        self._programs: dict[Layout, Program] = {}

    def has_timers(self) -> bool:
        """Whether the first key group, hence each, has timers."""
        first = first_section(self._file, self._handle)
        return first is not None and has_timers(first[1])

    @cached_property
    def problem(self) -> str:
        """Why the timers of the first key group cannot all be read, if so.

        It is on this that the catalog has a table of their bytes, with all key groups of the file.
        """
        first = first_section(self._file, self._handle)
        if first is None or not has_timers(first[1]):
            return ""
        section, data = first
        return TimerServices.of(data, self._file.path, section, self._kryo).problem

    def sections(self, key_groups: KeyGroupRange) -> Iterator[list[tuple[Section, bytes]]]:
        """The sections of these key groups and their bytes, some at a time."""
        found = sections_of(self._handle.groups, self._file, key_groups, NOTHING_WRITTEN_RAW)
        for batch in batches_of(found, PIECE_SIZE):
            data, base = read_sections(self._file, batch), batch[0].start
            yield [(one, data[one.start - base : one.end - base]) for one in batch]

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """The timers of these key groups, under the names that their states would have."""
        if not self.has_timers():
            return
        for sections in self.sections(key_groups):
            for section, data in sections:
                with within(f"key group {section.key_group}"):
                    try:
                        yield from self._section_timers(section, data)
                    except (UndecodableError, UnknownSnapshotError):
                        if not self.problem:
                            raise

    def _section_timers(self, section: Section, data: bytes) -> Iterator[TimerRows]:
        chunk = Chunk(np.frombuffer(data, np.uint8), self._file.path, section.start)

        def read(service: TimerService, view: SnapshotView, count: int) -> pa.StructArray:
            if service.timer not in self._programs:
                self._programs[service.timer] = program(service.timer, self._kryo)
            decoder = self._programs[service.timer]
            with within(f"timers {service.name!r}"):
                timers, view.position = decode_sequence(decoder, chunk, view.position, count)
            return timers

        path = self._file.path
        for service, domain, timers in read_timers(data, path, section, read, self._kryo):
            if len(timers):
                name = service.state_name(domain)
                yield TimerRows.of_key_group(name, timers, section.key_group)
