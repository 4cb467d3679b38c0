"""Keyed state and timers of heap files.

An entry that cannot be decoded hides where it ends. What lies behind it is found all the same where
``heap_borders`` proves it. Such a state is shown as the bytes of its entries; where it cannot be
told where one entry ends and the next one begins, the first has the bytes of all.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from savepoint_formats.errors import FormatError, UndecodableError, within
from savepoint_formats.layout import Struct, opaque_parts
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode, decode_sequence
from savepoint_formats.sources.doubtful_states import DoubtfulStates
from savepoint_formats.sources.keyed_batch import KeyedBatch
from savepoint_formats.sources.state_rows import HeapDecoder, StateRows
from savepoint_formats.state_files.heap import HeapSection
from savepoint_formats.state_files.sections import Section, sections_of
from savepoint_formats.state_files.state import State, StateKind, key_layout
from savepoint_formats.tables.timer_rows import TimerRows

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.locations.file_io import StateFile
    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.program.program import Program
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.state_files.heap_borders import HeapState

    Entries: TypeAlias = StateRows | pa.StructArray


class HeapSource:
    """A heap file.

    Args:
        file: The file.
        handle: Its handle.
        states: All its states, by id: what is not asked for must be passed over all the same.
        settings: How it is read.
        is_compressed: Whether its states are snappy-compressed.
    """

    def __init__(
        self,
        file: StateFile,
        handle: KeyGroupsHandle,
        states: Sequence[State],
        settings: SourceSettings,
        *,
        is_compressed: bool,
    ) -> None:
        self._file = file
        self._handle = handle
        self._states = states
        self._settings = settings
        self._is_compressed = is_compressed
        self._doubtful = DoubtfulStates(states, settings.max_parallelism, settings.kryo)
        self._decoders = {
            state_id: HeapDecoder(state, settings.kryo, is_hidden=state.name in settings.hidden)
            for state_id, state in enumerate(states)
            if state.kind is not StateKind.TIMERS
        }
        self._timers = {
            state_id: program(state.stored, settings.kryo)
            for state_id, state in enumerate(states)
            if state.kind is StateKind.TIMERS
        }

    def batches(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[KeyedBatch]:
        """The entries of these states and key groups, a batch per key group."""
        for section in sections_of(self._handle.groups, self._file, key_groups):
            with within(f"key group {section.key_group}"):
                part = self._section(section)
                rows = {
                    self._states[state_id].name: found
                    for state_id, found in self._entries(part, section, self._decoders)
                    if isinstance(found, StateRows) and self._states[state_id].name in names
                }
            if rows:
                identity = self._identity(next(iter(rows)))
                yield KeyedBatch(part.chunk, identity, rows, section.key_group)

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """The timers of these key groups, a state of one of them at a time."""
        for section in sections_of(self._handle.groups, self._file, key_groups):
            with within(f"key group {section.key_group}"):
                part = self._section(section)
                for state_id, found in self._entries(part, section, self._timers):
                    if not isinstance(found, StateRows):
                        name = self._states[state_id].name
                        yield TimerRows.of_key_group(name, found, section.key_group)

    def _section(self, section: Section) -> HeapSection:
        states, is_compressed = len(self._states), self._is_compressed
        return HeapSection.of(self._file, section, states, is_compressed=is_compressed)

    def _identity(self, name: str) -> Program:
        return next(
            decoder.identity
            for state_id, decoder in self._decoders.items()
            if self._states[state_id].name == name
        )

    def _entries(
        self, part: HeapSection, section: Section, wanted: Container[int]
    ) -> list[tuple[int, Entries]]:
        """These states of a key group that have entries, and others if they can be decoded."""
        try:
            return list(self._in_order(part))
        except FormatError as error:
            if not self._doubtful.may_explain(error):
                raise
            borders = self._doubtful.borders(part.chunk, partial(self._end, part))
            if borders is None:
                self._check(section, error)
                raise
        found = []
        for state in borders:
            if state.count and state.id in wanted:
                with within(f"state {self._states[state.id].name!r}"):
                    found.append((state.id, self._between(part, state, section.key_group)))
        return found

    def _in_order(self, part: HeapSection) -> Iterator[tuple[int, Entries]]:
        while part.has_more():
            state_id, count = part.next_state()
            if count:
                with within(f"state {self._states[state_id].name!r}"):
                    found, part.position = self._decoded(part, state_id, part.position, count)
                yield state_id, found

    def _decoded(
        self, part: HeapSection, state_id: int, position: int, count: int
    ) -> tuple[Entries, int]:
        """So many entries from a position on, and where they end."""
        if state_id in self._timers:
            timers, end = decode_sequence(self._timers[state_id], part.chunk, position, count)
            return timers, end
        return self._decoders[state_id].rows(part.chunk, position, count)

    def _end(self, part: HeapSection, state_id: int, position: int, count: int) -> int:
        return self._decoded(part, state_id, position, count)[1]

    # --- states that cannot be decoded --------------------------------------------------------

    def _between(self, part: HeapSection, state: HeapState, group: int) -> Entries:
        """The entries of a state of which is known where it ends."""
        try:
            found, end = self._decoded(part, state.id, state.start, state.count)
            if end == state.end:
                return found
        except FormatError:
            if state.id not in self._doubtful:
                raise
        if state.id in self._timers:
            along = _more(state.count - 1, "timers")
            spans = _spans([state.start], state.end)
            return decode(self._timers[state.id], part.chunk, *spans, along=along)
        starts = self._doubtful.starts(part.chunk, state, group, partial(self._end, part))
        along = _more(state.count - len(starts), "entries")
        spans = _spans(starts, state.end)
        return self._decoders[state.id].rows_between(part.chunk, *spans, along=along)

    def _check(self, section: Section, cause: FormatError) -> None:
        """Raises ``UndecodableError`` for a state whose entries have no ends that one can tell."""
        for state in self._states:
            for part in opaque_parts(Struct(("key", "value"), (key_layout(state), state.stored))):
                raise UndecodableError(
                    f"state {state.name!r} has values of {part.class_name}: {part.reason}; a heap"
                    " file has no sizes, and what lies behind them cannot be told for certain: take"
                    " a canonical savepoint of the job",
                    self._file.path,
                    section.start,
                ) from cause


def _more(count: int, what: str) -> str:
    return f"{count} more {what} of the key group" if count else ""


def _spans(starts: Sequence[int], end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Entries back to back, of which the last one ends there."""
    return np.array(starts, np.int64), np.array([*starts[1:], end], np.int64)
