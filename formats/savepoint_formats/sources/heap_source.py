"""Keyed state and timers of heap files.

An undecodable state is shown as the bytes of its entries. If nothing proves where its entries
begin, the first has the bytes of all.

Entries become those of canonical files; bytes stay as they are:

| heap file                            | canonical file                                            |
|--------------------------------------|-----------------------------------------------------------|
| namespace, key, value                | key, [size], namespace, [size]; the value                 |
| a list: i32 n, n elements            | the elements with a comma between them; no entry if empty |
| a map: i32 n, n of user key, flag of | n entries: the same key and the user key; flag of null,   |
| null, value if there is one          | value if there is one                                     |
| a timer                              | the timer; nothing                                        |

Values are decoded only to find their ends. If that fails, the last field of an entry ends with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import UndecodableError, UndescribedSubclassError, within
from savepoint_formats.layout import MapOf, Nullable, Repeated, holds_kryo
from savepoint_formats.program.assembly import program
from savepoint_formats.program.byte_ranges import Ranges, bytes_of, large_binary, ranges_in
from savepoint_formats.program.decode import decode
from savepoint_formats.sources.keyed_batch import KeyedBatch
from savepoint_formats.sources.state_rows import EntryDecoders, HeapDecoder
from savepoint_formats.state_files.heap_records import BackToBack
from savepoint_formats.state_files.state import StateKind, key_layout, namespace_layout
from savepoint_formats.state_files.state_chunk import StateChunk, part_of
from savepoint_formats.tables.visible import TimerRows
from savepoint_formats.values.state_entries import DELIMITER, is_ambiguous
from savepoint_formats.values.subclass_values import holds_pojo
from savepoint_formats.values.undecoded import hidden_advice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.entries.entry_ranges import Part
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.state_files.heap_entries import HeapEntries, HeapFile
    from savepoint_formats.state_files.state import State
    from savepoint_formats.values.kryo.dialect import KryoDialect


_TAKE_ANOTHER = "; take a canonical savepoint of the job, whose entries have ends"
_DESCRIBE = (
    "; describe the classes of its values, as kryo_class(…) or by --classes: savepoint classes lists"
    " those that nobody describes"
)
_COUNT_SIZE = 4
_SUFFIX_SIZE = 8


class CanonicalForm:
    """Converts the entries of a state."""

    def __init__(self, state: State, kryo: KryoDialect | None) -> None:
        key, namespace = key_layout(state), namespace_layout(state)
        self._is_timers = state.kind is StateKind.TIMERS
        self._has_suffixes = is_ambiguous(key, namespace)
        self._items: BackToBack | None = None
        match state.kind, state.stored:
            case StateKind.LIST, Repeated(element):
                self._items = BackToBack((element,), kryo)
            case StateKind.MAP, MapOf(user_key, Nullable() as value):
                self._items = BackToBack((user_key, value), kryo)
        has_classes = holds_pojo(state.stored) or holds_kryo(state.stored)
        self._advice = _DESCRIBE if has_classes else _TAKE_ANOTHER

    def entries(self, stored: HeapEntries) -> StoredEntries:
        """Entries as canonical files store them.

        Raises ``UndecodableError`` if the end of an entry, or of an element of a list or map, is
        unknown.
        """
        chunk = stored.chunk
        try:
            stored.expect_all("")
            if self._is_timers:
                return StoredEntries(bytes_of(chunk, stored.values), nothings(len(stored)))
            keys = self._identities(stored)
            if self._items is None:
                return StoredEntries(keys, bytes_of(chunk, stored.values))
            items, collections, counts = _collected(chunk, stored.values)
            places = self._items.items_of(items, collections, counts)
            if len(places) == 1:
                return _entries_of_lists(items, places[0], counts, keys)
            return _entries_of_maps(items, (places[0], places[1]), counts, keys)
        except UndecodableError as error:
            if not isinstance(error, UndescribedSubclassError):
                error.message += self._advice
            raise

    def without_values(self, stored: HeapEntries) -> StoredEntries:
        """Keys and namespaces of entries, without their values; not for timers."""
        return StoredEntries(self._identities(stored), nothings(len(stored)))

    def _identities(self, stored: HeapEntries) -> pa.LargeBinaryArray:
        """Keys and namespaces, with their sizes behind them if they have suffixes."""
        chunk, keys, namespaces = stored.chunk, stored.keys, stored.namespaces
        if not self._has_suffixes:
            return bytes_of(chunk, keys, namespaces)
        extended, first = _extended(chunk, _suffixes(keys), _suffixes(namespaces))
        second = first + _SUFFIX_SIZE * len(keys)
        suffixes = (_suffix_ranges(first, keys), _suffix_ranges(second, namespaces))
        return bytes_of(extended, keys, suffixes[0], namespaces, suffixes[1])


def _entries_of_lists(
    items: Chunk, elements: Ranges, counts: NDArray[np.int64], keys: pa.LargeBinaryArray
) -> StoredEntries:
    """An entry per list that has elements."""
    is_empty = counts == 0
    ends = np.cumsum(counts[~is_empty])
    with_comma, comma = _extended(items, np.array([DELIMITER], np.uint8))
    sizes = np.ones(len(elements), np.int64)
    sizes[ends - 1] = 0
    commas = Ranges(np.full(len(elements), comma), comma + sizes)
    data, joined = ranges_in(bytes_of(with_comma, elements, commas))
    offsets = np.append(0, joined.ends[ends - 1])
    return StoredEntries(keys.filter(pa.array(~is_empty)), large_binary(offsets, data))


def _entries_of_maps(
    items: Chunk,
    places: tuple[Ranges, Ranges],
    counts: NDArray[np.int64],
    keys: pa.LargeBinaryArray,
) -> StoredEntries:
    """An entry per entry of a map."""
    rows = pa.array(np.repeat(np.arange(len(counts)), counts))
    nothing = pa.scalar(b"", pa.large_binary())
    whole = pc.binary_join_element_wise(keys.take(rows), bytes_of(items, places[0]), nothing)
    return StoredEntries(whole, bytes_of(items, places[1]))


def nothings(count: int) -> pa.LargeBinaryArray:
    """Empty values, such as a timer's."""
    return large_binary(np.zeros(count + 1, np.int64), np.empty(0, np.uint8))


def _suffixes(values: Ranges) -> NDArray[np.uint8]:
    """Sizes, little endian, in more bytes than they may need."""
    return values.sizes.astype("<i8").view(np.uint8)


def _suffix_ranges(start: int, values: Ranges) -> Ranges:
    """The bytes that each of ``_suffixes`` needs, at least one."""
    starts = start + _SUFFIX_SIZE * np.arange(len(values))
    needed = sum(values.sizes >> bits != 0 for bits in range(8, 8 * _SUFFIX_SIZE, 8))
    return Ranges(starts, starts + 1 + needed)


def _extended(chunk: Chunk, *parts: NDArray[np.uint8]) -> tuple[Chunk, int]:
    """Chunk with more bytes at its end, and where these begin."""
    return Chunk(np.concatenate([chunk.data, *parts]), chunk.path, chunk.base), len(chunk)


def _collected(chunk: Chunk, values: Ranges) -> tuple[Chunk, Ranges, NDArray[np.int64]]:
    """Items of all collections back to back, borders of each collection, and counts of items."""
    places = values.starts[:, np.newaxis] + np.arange(_COUNT_SIZE)
    counts = chunk.data[places].view(">i4").ravel().astype(np.int64)
    data, ranges = ranges_in(bytes_of(chunk, Ranges(values.starts + _COUNT_SIZE, values.ends)))
    return Chunk(data, chunk.path, chunk.base), ranges, counts


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
                name, ranges = self.states[state_id].name, entries.values
                along = f"{entries.hidden} more timers of the key group" if entries.hidden else ""
                with within(f"key group {key_group}"), within(f"state {name!r}"):
                    if self._settings.hides != "all":
                        entries.expect_all(hidden_advice("rest"))
                    timers = decode(
                        decoders[state_id], entries.chunk, ranges.starts, ranges.ends, along=along
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

        ``is_untouched`` tells whether none of the entries of a key group and state will change. If
        entries of such a state have unknown ends, the chunk has only their keys; their values come
        beside it. Raises ``UndecodableError`` if entries of other states have unknown ends.
        """
        for key_group, by_state in self._file.sections(key_groups, self._ids(names)):
            shown = list(self._pieces(key_group, by_state, is_untouched))
            if shown:
                part = part_of([state_chunk for state_chunk, _ in shown], self.decoders.prefix_size)
                yield (
                    part,
                    {
                        state_chunk.state.name: values
                        for state_chunk, values in shown
                        if values is not None
                    },
                )

    def state_chunks(
        self, names: frozenset[str], key_groups: KeyGroupRange
    ) -> Iterator[StateChunk]:
        """Entries of these states as canonical files store them, per key group and state.

        Raises ``UndecodableError`` if entries have unknown ends.
        """
        for key_group, by_state in self._file.sections(key_groups, self._ids(names)):
            for state_chunk, _ in self._pieces(key_group, by_state, lambda *_: False):
                yield state_chunk

    def _pieces(
        self,
        key_group: int,
        by_state: Mapping[int, HeapEntries],
        is_untouched: Callable[[int, str], bool],
    ) -> Iterator[tuple[StateChunk, pa.Array | None]]:
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
                yield StateChunk(self.states[state_id], entries, groups), values

    def _ids(self, names: frozenset[str]) -> set[int]:
        return {index for index, state in enumerate(self.states) if state.name in names}

    def _decoder(self, state_id: int) -> HeapDecoder:
        return HeapDecoder(self.states[state_id], self._settings)

    def _form(self, state_id: int) -> CanonicalForm:
        if state_id not in self._forms:
            self._forms[state_id] = CanonicalForm(self.states[state_id], self._settings.kryo)
        return self._forms[state_id]
