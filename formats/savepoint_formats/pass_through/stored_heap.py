"""The entries of a heap file as canonical files would store them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.errors import FormatError, UndecodableError, within
from savepoint_formats.pass_through.heap_entries import heap_entries
from savepoint_formats.program.spans import Spans
from savepoint_formats.sources.doubtful_states import DoubtfulStates
from savepoint_formats.state_files.heap import HeapSection
from savepoint_formats.state_files.sections import sections_of
from savepoint_formats.state_files.state_piece import StatePiece

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.entries.stored_entries import StoredEntries
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.locations.file_io import StateFile
    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.state_files.heap_borders import HeapState
    from savepoint_formats.state_files.sections import Section
    from savepoint_formats.state_files.state import State
    from savepoint_formats.values.kryo.dialect import KryoDialect

_ADVICE = "; take a canonical savepoint of the job, whose entries have ends"


class StoredHeap:
    """A heap file.

    Args:
        file: The file.
        handle: Its handle.
        states: All its states, by id: what is left out must be passed over all the same.
        max_parallelism: Of the operator.
        is_compressed: Whether its states are snappy-compressed.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(
        self,
        file: StateFile,
        handle: KeyGroupsHandle,
        states: Sequence[State],
        max_parallelism: int,
        *,
        is_compressed: bool,
        kryo: KryoDialect | None,
    ) -> None:
        self._file = file
        self._handle = handle
        self._states = states
        self._is_compressed = is_compressed
        self._doubtful = DoubtfulStates(states, max_parallelism, kryo)
        self._entries = [heap_entries(state, kryo) for state in states]

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """The entries of these states, a piece per key group and state.

        Raises:
            UndecodableError: Entries have no ends that one can tell.
            FormatError: The file is damaged.
        """
        for section in sections_of(self._handle.groups, self._file, key_groups):
            with within(f"key group {section.key_group}"):
                part = HeapSection.of(
                    self._file, section, len(self._states), is_compressed=self._is_compressed
                )
                yield from self._section(part, section, names)

    def _section(
        self, part: HeapSection, section: Section, names: frozenset[str]
    ) -> Iterator[StatePiece]:
        for state_id, entries in self._entries_of(part, section.key_group):
            state = self._states[state_id]
            if state.name in names and len(entries.keys):
                groups = np.full(len(entries.keys), section.key_group, np.uint16)
                yield StatePiece(state, entries, groups)

    def _entries_of(self, part: HeapSection, key_group: int) -> list[tuple[int, StoredEntries]]:
        """The entries of all states of a key group that have some."""
        try:
            return list(self._in_order(part))
        except FormatError as error:
            if not self._doubtful.may_explain(error):
                raise
            borders = self._doubtful.borders(part.chunk, partial(self._end, part.chunk))
            if borders is None:
                error.message += _ADVICE
                raise
        found = []
        for state in borders:
            if state.count:
                with within(f"state {self._states[state.id].name!r}"):
                    found.append((state.id, self._between(part.chunk, state, key_group)))
        return found

    def _in_order(self, part: HeapSection) -> Iterator[tuple[int, StoredEntries]]:
        while part.has_more():
            state_id, count = part.next_state()
            if count:
                with within(f"state {self._states[state_id].name!r}"):
                    entries, part.position = self._entries[state_id].read(
                        part.chunk, part.position, count
                    )
                yield state_id, entries

    def _between(self, chunk: Chunk, state: HeapState, key_group: int) -> StoredEntries:
        """The entries of a state of which is known where it ends."""
        try:
            entries, end = self._entries[state.id].read(chunk, state.start, state.count)
            if end == state.end:
                return entries
        except FormatError:
            if state.id not in self._doubtful:
                raise
        starts = self._doubtful.starts(chunk, state, key_group, partial(self._end, chunk))
        if len(starts) < state.count:
            hidden = f"{state.count} entries, of which the one of index {len(starts) - 1} hides"
            raise chunk.error(f"{hidden} where it ends{_ADVICE}", starts[-1], UndecodableError)
        borders = Spans(np.array(starts, np.int64), np.array([*starts[1:], state.end], np.int64))
        try:
            return self._entries[state.id].between(chunk, borders)
        except UndecodableError as error:
            error.message += _ADVICE
            raise

    def _end(self, chunk: Chunk, state_id: int, position: int, count: int) -> int:
        return self._entries[state_id].read(chunk, position, count)[1]
