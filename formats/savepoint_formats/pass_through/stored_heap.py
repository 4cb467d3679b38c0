"""The entries of a heap file as canonical files would store them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.errors import UndecodableError, within
from savepoint_formats.pass_through.heap_entries import heap_entries
from savepoint_formats.pass_through.stored_state import StatePiece
from savepoint_formats.state_files.heap import HeapSection
from savepoint_formats.state_files.sections import sections_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.locations.file_io import StateFile
    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.state_files.sections import Section
    from savepoint_formats.tables.catalog import State
    from savepoint_formats.values.kryo.dialect import KryoDialect


class StoredHeap:
    """A heap file.

    Args:
        file: The file.
        handle: Its handle.
        states: All its states, by id: what is left out must be passed over all the same.
        is_compressed: Whether its states are snappy-compressed.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(
        self,
        file: StateFile,
        handle: KeyGroupsHandle,
        states: Sequence[State],
        *,
        is_compressed: bool,
        kryo: KryoDialect | None,
    ) -> None:
        self._file = file
        self._handle = handle
        self._states = states
        self._is_compressed = is_compressed
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
        while part.has_more():
            state_id, count = part.next_state()
            if not count:
                continue
            state = self._states[state_id]
            with within(f"state {state.name!r}"):
                try:
                    entries, part.position = self._entries[state_id].read(
                        part.chunk, part.position, count
                    )
                except UndecodableError as error:
                    error.message += (
                        "; take a canonical savepoint of the job, whose entries have ends"
                    )
                    raise
            if state.name in names and len(entries.keys):
                groups = np.full(len(entries.keys), section.key_group, np.uint16)
                yield StatePiece(state, entries, groups)
