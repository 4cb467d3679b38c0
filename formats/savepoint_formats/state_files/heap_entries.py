"""Reads heap files: the native snapshots of keyed state of the hashmap backend.

| bytes | field     | meaning                                                             |
|-------|-----------|---------------------------------------------------------------------|
| i32   | key group | of each key group of the handle, never compressed                   |
| …     | states    | every state once, in the same order in all key groups; each a       |
|       |           | snappy-framed stream if the file is compressed: i16 state id,       |
|       |           | i32 n, n entries                                                    |

An entry of a state is namespace, key and value, one after the other; an entry of a priority
queue is a timer. Nothing has a size in front: only decoding tells where anything ends. Behind an
entry that can't be decoded, ``heap_borders`` looks for the next one. If nothing proves where the
entries of a state begin, the first has the bytes of all.

Flink: ``HeapSnapshotStrategy``, ``CopyOnWriteStateMapSnapshot``.
"""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.bytes.snappy import decompress
from savepoint_formats.errors import FormatError, TruncatedError, UndecodableError, within
from savepoint_formats.layout import Opaque, nodes_of
from savepoint_formats.program.byte_ranges import Ranges
from savepoint_formats.state_files.canonical_file import read_ahead, read_sections, sections_of
from savepoint_formats.state_files.heap_borders import DoubtfulStates, identity_parts
from savepoint_formats.state_files.heap_records import BackToBack
from savepoint_formats.state_files.state import StateKind, key_layout

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.state_files.canonical_file import Section
    from savepoint_formats.state_files.heap_borders import HeapState
    from savepoint_formats.state_files.state import State
    from savepoint_formats.values.kryo.dialect import KryoDialect

_KEY_GROUP_SIZE = 4
_STATE_HEAD_SIZE = 6
_SMALL = 3
"""Number of key groups, the smallest ones, that are read to learn the order of the states."""

_MOST_REMEMBERED = 4 << 20
"""Size in bytes of a key group that is remembered until another one is read."""


@dataclass(frozen=True, slots=True, eq=False)
class HeapEntries:
    """Entries of a state in a key group; keys and namespaces of timers are empty.

    The last entry has the bytes of ``hidden`` others, if their borders are unknown.
    """

    chunk: Chunk
    namespaces: Ranges
    keys: Ranges
    values: Ranges
    hidden: int = 0

    def __len__(self) -> int:
        return len(self.values)

    def expect_all(self, advice: str) -> None:
        """Raises ``UndecodableError``, with an advice, if any entries are hidden."""
        if self.hidden:
            count, last = len(self) + self.hidden, len(self) - 1
            message = (
                f"{count} entries, but the one at index {last} hides where it ends:"
                f" {self.hidden} behind it cannot be told apart{advice}"
            )
            raise self.chunk.error(message, int(self.namespaces.starts[-1]), UndecodableError)


class StateRecords:
    """Finds the entries of a state."""

    def __init__(self, state: State, kryo: KryoDialect | None) -> None:
        self._is_timers = state.kind is StateKind.TIMERS
        identity = () if self._is_timers else identity_parts(state)
        self._records = BackToBack((*identity, state.stored), kryo)
        rest = Opaque("", "it ends with its entry")
        self._borders = BackToBack((*identity, rest), kryo)

    def read(self, chunk: Chunk, position: int, count: int) -> tuple[HeapEntries, int]:
        """Finds ``count`` entries from a position on; returns their end, too."""
        parts, end = self._records.ranges(chunk, position, count)
        return self._entries(chunk, parts), end

    def between(self, chunk: Chunk, borders: Ranges, hidden: int) -> HeapEntries:
        """Entries with these borders; only their keys and namespaces are decoded."""
        return self._entries(chunk, self._borders.ranges_between(chunk, borders), hidden)

    def _entries(self, chunk: Chunk, parts: list[Ranges], hidden: int = 0) -> HeapEntries:
        if self._is_timers:
            starts = parts[0].starts
            nothing = Ranges(starts, starts)
            return HeapEntries(chunk, nothing, nothing, parts[0], hidden)
        namespaces, keys, values = parts
        return HeapEntries(chunk, namespaces, keys, values, hidden)


@dataclass(frozen=True, slots=True, eq=False)
class _Torn:
    """A key group whose states can't be decoded in order.

    Attributes:
        decoded: Entries of the states before the one that fails, by state id.
        error: Why decoding ends.
        borders: Places of all states; None if they are not certain.
        between: Entries by state id, of the states that were wanted so far.
    """

    section: Section
    chunk: Chunk
    decoded: dict[int, HeapEntries | None]
    error: FormatError
    borders: tuple[HeapState, ...] | None
    between: dict[int, HeapEntries] = field(default_factory=dict)


class HeapFile:
    """Reader of a heap file; ``states`` are all its states, because each must be passed."""

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
        self._records = [StateRecords(state, kryo) for state in states]
        # A check reads a key group with an error again, by itself and state by state.
        self._torn: _Torn | None = None
        self._borders: dict[int, tuple[HeapState, ...] | None] = {}

    def sections(
        self, key_groups: KeyGroupRange, wanted: Container[int]
    ) -> Iterator[tuple[int, dict[int, HeapEntries]]]:
        """Entries by state id of each of these key groups; states without entries are left out.

        Damage in states that are not wanted may not be noticed. Raises ``UndecodableError`` if the
        end of a wanted state is unknown.
        """
        sections = sections_of(self._handle.groups, self._file, key_groups)
        file = read_ahead(self._file, sections)
        try:
            for section in sections:
                with within(f"key group {section.key_group}"):
                    entries = self._entries(file, section, wanted)
                yield section.key_group, entries
        finally:
            if len(sections) > 1:
                self._torn = None

    def _chunk(self, file: StateFile, section: Section) -> Chunk:
        """The decompressed states of a key group."""
        data = read_sections(file, (section,))
        view = DataInputView(data, file.path, section.start)
        if view.peek_int() != section.key_group:
            raise view.error(f"key group {view.peek_int()}, expected {section.key_group}")
        body, base = data[_KEY_GROUP_SIZE:], section.start + _KEY_GROUP_SIZE
        if self._is_compressed:
            body, base = decompress(body, file.path, base), 0
        return Chunk(np.frombuffer(body, np.uint8), file.path, base)

    def _entries(
        self, file: StateFile, section: Section, wanted: Container[int]
    ) -> dict[int, HeapEntries]:
        torn = self._torn
        if torn is None or torn.section != section:
            self._torn = None
            by_state, torn = self._decoded(self._chunk(file, section), section)
            if torn is not None and len(torn.chunk) <= _MOST_REMEMBERED:
                self._torn = torn
        else:
            by_state = dict(torn.decoded)
        if torn is not None:
            by_state |= self._behind(torn, wanted)
        return {
            state_id: entries
            for state_id, entries in by_state.items()
            if entries is not None and state_id in wanted
        }

    def _decoded(
        self, chunk: Chunk, section: Section
    ) -> tuple[dict[int, HeapEntries | None], _Torn | None]:
        """Entries of states that can be decoded in order, and what is known if not all can."""
        by_state: dict[int, HeapEntries | None] = {}
        try:
            for state_id, entries in self._in_order(chunk):
                by_state[state_id] = entries
        except FormatError as error:
            if not self._doubtful.may_explain(error):
                raise
            group, skip = section.key_group, partial(self._end, chunk)
            if group not in self._borders:
                self._borders[group] = self._doubtful.borders(chunk, group, skip, self._order)
            return by_state, _Torn(section, chunk, dict(by_state), error, self._borders[group])
        return by_state, None

    def _behind(self, torn: _Torn, wanted: Container[int]) -> dict[int, HeapEntries]:
        """Entries of states that are wanted, from the borders of the states."""
        unread = {*range(len(self._states))} - {*torn.decoded}
        if torn.borders is None and any(state_id in wanted for state_id in unread):
            error = copy(torn.error)  # readers add places and advice to it
            self._check(torn.section, error)
            raise error
        for state in torn.borders or ():
            if state.count and state.id in wanted and state.id not in torn.between:
                with within(f"state {self._states[state.id].name!r}"):
                    entries = self._between(torn.chunk, state, torn.section.key_group)
                    torn.between[state.id] = entries
        return {
            state_id: entries for state_id, entries in torn.between.items() if state_id in wanted
        }

    @cached_property
    def _order(self) -> Sequence[int]:
        """The states in the order of all key groups; empty if no small key group tells it."""
        groups = self._handle.groups
        sections = sections_of(groups, self._file, groups.key_groups)
        for section in sorted(sections, key=lambda section: section.end - section.start)[:_SMALL]:
            with suppress(FormatError):
                states = self._in_order(self._chunk(self._file, section))
                return [state_id for state_id, _ in states]
        return ()

    def _in_order(self, chunk: Chunk) -> Iterator[tuple[int, HeapEntries | None]]:
        """Id and entries of each state in the order of the file, until decoding fails."""
        position, total = 0, len(self._states)
        left = {*range(total)}
        while left:
            view = chunk.view(position, len(chunk))
            if not view.remaining:
                message = f"the key group ends, with {len(left)} of {total} states missing"
                raise view.error(message, TruncatedError)
            state_id = view.read_unsigned_short()
            if state_id not in left:
                view.position -= 2
                again = " once more" if state_id < total else ""
                raise view.error(f"state {state_id} of {total}{again}")
            left.remove(state_id)
            count, entries = view.read_int(), None
            position += _STATE_HEAD_SIZE
            if count:
                with within(f"state {self._states[state_id].name!r}"):
                    entries, position = self._records[state_id].read(chunk, position, count)
            yield state_id, entries
        chunk.view(position, len(chunk)).expect_end()

    def _end(self, chunk: Chunk, state_id: int, position: int, count: int) -> int:
        return self._records[state_id].read(chunk, position, count)[1]

    def _between(self, chunk: Chunk, state: HeapState, key_group: int) -> HeapEntries:
        """Entries of a state whose end is known."""
        records = self._records[state.id]
        try:
            ranges, end = records.read(chunk, state.start, state.count)
            if end == state.end:
                return ranges
        except FormatError:
            if state.id not in self._doubtful:
                raise
        starts = [state.start]
        if self._states[state.id].kind is not StateKind.TIMERS:
            starts = self._doubtful.starts(chunk, state, key_group, partial(self._end, chunk))
        borders = Ranges(np.array(starts, np.int64), np.array([*starts[1:], state.end], np.int64))
        return records.between(chunk, borders, state.count - len(starts))

    def _check(self, section: Section, cause: FormatError) -> None:
        """Raises ``UndecodableError`` for a state whose entries have unknown ends."""
        for state in self._states:
            for part in nodes_of((key_layout(state), state.stored), Opaque):
                raise UndecodableError(
                    f"state {state.name!r} has values of {part.class_name}: {part.reason}; a heap"
                    " file has no sizes, and what lies behind them is not certain: take"
                    " a canonical savepoint of the job",
                    self._file.path,
                    section.start,
                ) from cause
