"""Keyed state and timers of heap files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.catalog import State, StateKind
from savepoint_formats.columns.assembly import program
from savepoint_formats.columns.decode import decode_sequence
from savepoint_formats.errors import UndecodableError, within
from savepoint_formats.layout import opaque_parts
from savepoint_formats.scan.keyed_batch import KeyedBatch
from savepoint_formats.scan.state_rows import HeapDecoder, StateRows
from savepoint_formats.state_files.heap import HeapSection
from savepoint_formats.state_files.sections import Section, sections_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from savepoint_formats.columns.kryo_dialect import KryoDialect
    from savepoint_formats.columns.program import Program
    from savepoint_formats.file_io import StateFile
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.metadata import KeyGroupsHandle


class HeapSource:
    """A heap file.

    Args:
        file: The file.
        handle: Its handle.
        states: All its states, by id: what is not asked for must be passed over all the same.
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
        self._kryo = kryo
        self._decoders = {
            state_id: HeapDecoder(state, kryo)
            for state_id, state in enumerate(states)
            if state.kind is not StateKind.TIMERS
        }
        self._timers = {
            state_id: program(state.stored, kryo)
            for state_id, state in enumerate(states)
            if state.kind is StateKind.TIMERS
        }

    def batches(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[KeyedBatch]:
        """The entries of these states and key groups, a batch per key group."""
        for section in sections_of(self._handle.groups, self._file, key_groups):
            with within(f"key group {section.key_group}"):
                part = HeapSection.of(self._file, section, is_compressed=self._is_compressed)
                rows = {
                    self._states[state_id].name: found
                    for state_id, found in self._entries(part, section)
                    if isinstance(found, StateRows) and self._states[state_id].name in names
                }
            if rows:
                identity = self._identity(next(iter(rows)))
                yield KeyedBatch(part.chunk, identity, rows, section.key_group)

    def timers(self, key_groups: KeyGroupRange) -> Iterator[tuple[str, pa.StructArray]]:
        """The timers of these key groups: name of the state, and decoded timers."""
        for section in sections_of(self._handle.groups, self._file, key_groups):
            with within(f"key group {section.key_group}"):
                part = HeapSection.of(self._file, section, is_compressed=self._is_compressed)
                for state_id, found in self._entries(part, section):
                    if not isinstance(found, StateRows):
                        yield self._states[state_id].name, found

    def _identity(self, name: str) -> Program:
        return next(
            decoder.identity
            for state_id, decoder in self._decoders.items()
            if self._states[state_id].name == name
        )

    def _entries(
        self, part: HeapSection, section: Section
    ) -> Iterator[tuple[int, StateRows | pa.StructArray]]:
        """Every state of a key group that has entries."""
        while part.has_more():
            state_id, count = part.next_state(len(self._states))
            if not count:
                continue
            self._check(state_id, section)
            with within(f"state {self._states[state_id].name!r}"):
                found = self._state_entries(part, state_id, count)
            yield state_id, found

    def _state_entries(
        self, part: HeapSection, state_id: int, count: int
    ) -> StateRows | pa.StructArray:
        found: StateRows | pa.StructArray
        if state_id in self._timers:
            found, part.position = decode_sequence(
                self._timers[state_id], part.chunk, part.position, count
            )
        else:
            found, part.position = self._decoders[state_id].rows(part.chunk, part.position, count)
        return found

    def _check(self, state_id: int, section: Section) -> None:
        """Raises ``UndecodableError`` for a state whose entries have no ends that one can tell."""
        state = self._states[state_id]
        for layout in (state.key, state.namespace, state.stored):
            for part in opaque_parts(layout) if layout is not None else ():
                raise UndecodableError(
                    f"state {state.name!r} has values of {part.class_name}: {part.reason}; a heap"
                    " file has no sizes, so that nothing behind them can be read: take a canonical"
                    " savepoint of the job",
                    self._file.path,
                    section.start,
                )
