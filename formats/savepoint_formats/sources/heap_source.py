"""Keyed state and timers of heap files.

An undecodable state is shown as the bytes of its entries. If nothing proves where its entries
begin, the first has the bytes of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.errors import within
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.sources.canonical_form import CanonicalForm
from savepoint_formats.sources.keyed_batch import KeyedBatch
from savepoint_formats.sources.state_rows import EntryDecoders, HeapDecoder
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.state_files.state_piece import StatePiece, part_of
from savepoint_formats.tables.timer_rows import TimerRows
from savepoint_formats.values.undecoded import hidden_advice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from savepoint_formats.entries.entry_spans import Part
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.state_files.heap_entries import HeapEntries, HeapFile
    from savepoint_formats.state_files.state import State


class HeapSource:
    """Source of a heap file; ``states`` are all its states, by id."""

    def __init__(self, file: HeapFile, states: Sequence[State], settings: SourceSettings) -> None:
        self.states = tuple(states)
        self.decoders = EntryDecoders(states, settings)
        self._file = file
        self._settings = settings
        self._forms: dict[int, CanonicalForm] = {}

    def batches(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[KeyedBatch]:
        """Entries of these states, a batch per key group."""
        decoders = {
            state_id: self._decoder(state_id)
            for state_id, state in enumerate(self.states)
            if state.kind is not StateKind.TIMERS and state.name in names
        }
        for key_group, by_state in self._file.sections(key_groups, decoders):
            rows = {}
            with within(f"key group {key_group}"):
                for state_id, entries in by_state.items():
                    name = self.states[state_id].name
                    with within(f"state {name!r}"):
                        rows[name] = decoders[state_id].rows(entries)
            if rows:
                first = next(iter(by_state))
                yield KeyedBatch(by_state[first].chunk, decoders[first].identity, rows, key_group)

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """Timers of these key groups, one queue of a key group at a time."""
        decoders = {
            state_id: program(state.stored, self._settings.kryo, hides=self._settings.hides)
            for state_id, state in enumerate(self.states)
            if state.kind is StateKind.TIMERS
        }
        for key_group, by_state in self._file.sections(key_groups, decoders):
            for state_id, entries in by_state.items():
                name, spans = self.states[state_id].name, entries.values
                along = f"{entries.hidden} more timers of the key group" if entries.hidden else ""
                with within(f"key group {key_group}"), within(f"state {name!r}"):
                    if self._settings.hides != "all":
                        entries.expect_all(hidden_advice("rest"))
                    timers = decode(
                        decoders[state_id], entries.chunk, spans.starts, spans.ends, along=along
                    )
                yield TimerRows.of_key_group(name, timers, key_group)

    def parts(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        """Entries as canonical files store them, a chunk per key group.

        Raises ``UndecodableError`` if entries have unknown ends.
        """
        for part, _ in self.shown_parts(names, key_groups, lambda *_: False):
            yield part

    def shown_parts(
        self,
        names: frozenset[str],
        key_groups: KeyGroupRange,
        is_untouched: Callable[[int, str], bool],
    ) -> Iterator[tuple[Part, dict[str, pa.Array]]]:
        """Entries to show: a value may be the bytes of all entries that can't be told apart.

        ``is_untouched`` says of a key group and a state that none of its entries will change. If
        entries of such a state have unknown ends, the chunk has only their keys; their values come
        beside it. Raises ``UndecodableError`` if entries of other states have unknown ends.
        """
        for key_group, by_state in self._file.sections(key_groups, self._ids(names)):
            shown = list(self._pieces(key_group, by_state, is_untouched))
            if shown:
                part = part_of([piece for piece, _ in shown], self.decoders.prefix_size)
                yield (
                    part,
                    {piece.state.name: values for piece, values in shown if values is not None},
                )

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """Entries of these states as canonical files store them, per key group and state.

        Raises ``UndecodableError`` if entries have unknown ends.
        """
        for key_group, by_state in self._file.sections(key_groups, self._ids(names)):
            for piece, _ in self._pieces(key_group, by_state, lambda *_: False):
                yield piece

    def _pieces(
        self,
        key_group: int,
        by_state: Mapping[int, HeapEntries],
        is_untouched: Callable[[int, str], bool],
    ) -> Iterator[tuple[StatePiece, pa.Array | None]]:
        """Entries of each state; an untouched state with unknown ends has keys, and its values."""
        for state_id, in_file in by_state.items():
            name, form, values = self.states[state_id].name, self._form(state_id), None
            with within(f"key group {key_group}"), within(f"state {name!r}"):
                if in_file.hidden and is_untouched(key_group, name):
                    entries = form.without_values(in_file)
                    values = self._decoder(state_id).rows(in_file).values
                else:
                    entries = form.entries(in_file)
            if len(entries):
                groups = np.full(len(entries), key_group, np.uint16)
                yield StatePiece(self.states[state_id], entries, groups), values

    def _ids(self, names: frozenset[str]) -> set[int]:
        return {index for index, state in enumerate(self.states) if state.name in names}

    def _decoder(self, state_id: int) -> HeapDecoder:
        return HeapDecoder(self.states[state_id], self._settings)

    def _form(self, state_id: int) -> CanonicalForm:
        if state_id not in self._forms:
            self._forms[state_id] = CanonicalForm(self.states[state_id], self._settings.kryo)
        return self._forms[state_id]
