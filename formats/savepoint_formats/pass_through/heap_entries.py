"""Entries of heap files put together as canonical files have them, out of the bytes as they lie.

| heap file                            | canonical file                                            |
|--------------------------------------|-----------------------------------------------------------|
| namespace, key, value                | key, [size], namespace, [size]; the value                 |
| a list: i32 n, n elements            | the elements with a comma between them; no entry if empty |
| a map: i32 n, n of user key, flag of | n entries: the same key and the user key; flag of null,   |
| null, value if there is one          | value if there is one                                     |
| a timer                              | the timer; nothing                                        |

Decoding tells where anything ends, and nothing else is made of it. Where it does not tell, the last
part of an entry ends with the entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated, Struct
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode_sequence
from savepoint_formats.program.spans import Spans, bytes_of, large_binary, spans_in
from savepoint_formats.state_files.state import StateKind, key_layout, namespace_layout
from savepoint_formats.values.state_entries import DELIMITER, EntryReader, Sized, is_ambiguous

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from savepoint_formats.state_files.state import State
    from savepoint_formats.values.kryo.dialect import KryoDialect

_COUNT_SIZE = 4
_SUFFIX_SIZE = 8


class HeapEntries(Protocol):
    """Reads the entries of a state."""

    def read(self, chunk: Chunk, position: int, count: int) -> tuple[StoredEntries, int]:
        """So many entries from a position on, and where they end."""
        ...

    def between(self, chunk: Chunk, borders: Spans) -> StoredEntries:
        """The entries that lie there, be it that nobody can decode their values.

        Raises:
            UndecodableError: It cannot be told where an element of a list or map ends.
        """
        ...


def heap_entries(state: State, kryo: KryoDialect | None) -> HeapEntries:
    """What reads the entries of a state."""
    if state.kind is StateKind.TIMERS:
        return TimerEntries(state.stored, kryo)
    match state.kind, state.stored:
        case StateKind.LIST, Repeated(element):
            return KeyedEntries(state, ListValues(element, kryo), kryo)
        case StateKind.MAP, MapOf(key, Nullable() as value):
            return KeyedEntries(state, MapValues(key, value, kryo), kryo)
        case _:
            return KeyedEntries(state, WholeValues(), kryo)


class BackToBack:
    """Records of some parts, of which only the sizes are of interest.

    Args:
        parts: The layouts of the parts.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(self, parts: Sequence[Layout], kryo: KryoDialect | None) -> None:
        names = tuple(str(index) for index in range(len(parts)))
        self._parts = tuple(parts)
        self._kryo = kryo
        self._program = program(Struct(names, tuple(map(Sized, parts))), kryo)

    def spans(self, chunk: Chunk, position: int, count: int) -> tuple[list[Spans], int]:
        """Where each part of each record lies, and where the last record ends.

        Raises:
            UndecodableError: It cannot be told where a part ends.
            FormatError: A part is damaged.
        """
        found, end = decode_sequence(self._program, chunk, position, count)
        sizes = np.stack([np.asarray(field, np.int64) for field in found.flatten()], axis=1)
        ends = position + np.cumsum(sizes).reshape(sizes.shape)
        starts = ends - sizes
        parts = range(sizes.shape[1])
        return [Spans(starts[:, part], ends[:, part]) for part in parts], end

    def items_of(self, chunk: Chunk, collections: Spans, counts: NDArray[np.int64]) -> list[Spans]:
        """Where each part of each item of some collections lies, which fill a chunk.

        Raises:
            UndecodableError: It cannot be told where an item ends that others follow.
            FormatError: A part is damaged.
        """
        try:
            found, end = self.spans(chunk, 0, int(counts.sum()))
            if end == len(chunk):
                return found
        except UndecodableError:
            pass  # the last item of a collection ends where this does
        borders = [
            self._borders(chunk, *one)
            for one in zip(
                collections.starts.tolist(), collections.ends.tolist(), counts.tolist(), strict=True
            )
        ]
        places = np.array([item for items in borders for item in items], np.int64)
        places = places.reshape(-1, len(self._parts) + 1)
        parts = range(len(self._parts))
        return [Spans(places[:, part], places[:, part + 1]) for part in parts]

    def _borders(self, chunk: Chunk, start: int, end: int, count: int) -> list[list[int]]:
        """Where each part of each item of a collection begins, and where the last one ends."""
        found = []
        for index in range(count):
            borders = [start]
            for part in self._parts:
                start = self._end(part, chunk, start, end)
                borders.append(start)
            if start == end and index < count - 1 and borders[0] < end:
                reason = f"{count} items, of which the one of index {index} hides where it ends"
                raise chunk.error(reason, borders[0], UndecodableError)
            found.append(borders)
        if start != end:
            raise chunk.error(f"{end - start} bytes behind {count} items", start, FormatError)
        return found

    def _end(self, part: Layout, chunk: Chunk, start: int, end: int) -> int:
        """Where a part ends; that of its collection if nobody can tell."""
        reader = EntryReader(chunk.view(start, end), self._kryo)
        try:
            reader.read(part)
        except UndecodableError:
            return end
        return end if reader.is_lost else start + reader.view.position


class Values(Protocol):
    """Makes entries of values."""

    def entries(self, chunk: Chunk, values: Spans, keys: pa.LargeBinaryArray) -> StoredEntries:
        """The entries of values of these keys, which have their namespaces."""
        ...


class WholeValues:
    """Values of which each is that of an entry."""

    def entries(self, chunk: Chunk, values: Spans, keys: pa.LargeBinaryArray) -> StoredEntries:
        """An entry per value."""
        return StoredEntries(keys, bytes_of(chunk, values))


class ListValues:
    """Lists.

    Args:
        element: The layout of elements.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(self, element: Layout, kryo: KryoDialect | None) -> None:
        self._elements = BackToBack((element,), kryo)

    def entries(self, chunk: Chunk, values: Spans, keys: pa.LargeBinaryArray) -> StoredEntries:
        """An entry per list that has elements."""
        items, spans, counts = _collected(chunk, values)
        is_empty = counts == 0
        (elements,) = self._elements.items_of(items, spans, counts)
        ends = np.cumsum(counts[~is_empty])
        with_comma, comma = _extended(items, np.array([DELIMITER], np.uint8))
        sizes = np.ones(len(elements), np.int64)
        sizes[ends - 1] = 0
        commas = Spans(np.full(len(elements), comma), comma + sizes)
        joined = bytes_of(with_comma, elements, commas)
        data, ready = spans_in(joined)
        offsets = np.append(0, ready.ends[ends - 1])
        return StoredEntries(keys.filter(pa.array(~is_empty)), large_binary(offsets, data))


class MapValues:
    """Maps.

    Args:
        key: The layout of user keys.
        value: That of their values, with the flag of null.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(self, key: Layout, value: Nullable, kryo: KryoDialect | None) -> None:
        self._items = BackToBack((key, value), kryo)

    def entries(self, chunk: Chunk, values: Spans, keys: pa.LargeBinaryArray) -> StoredEntries:
        """An entry per entry of a map."""
        items, spans, counts = _collected(chunk, values)
        user_keys, user_values = self._items.items_of(items, spans, counts)
        rows = pa.array(np.repeat(np.arange(len(counts)), counts))
        nothing = pa.scalar(b"", pa.large_binary())
        whole = pc.binary_join_element_wise(keys.take(rows), bytes_of(items, user_keys), nothing)
        return StoredEntries(whole, bytes_of(items, user_values))


class KeyedEntries:
    """Entries of keys and namespaces.

    Args:
        state: The state.
        values: Makes entries of its values.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(self, state: State, values: Values, kryo: KryoDialect | None) -> None:
        key, namespace = key_layout(state), namespace_layout(state)
        self._has_suffixes = is_ambiguous(key, namespace)
        self._kryo = kryo
        self._identity = (namespace, key)
        self._records = BackToBack((namespace, key, state.stored), kryo)
        self._values = values

    def read(self, chunk: Chunk, position: int, count: int) -> tuple[StoredEntries, int]:
        """So many entries from a position on, and where they end."""
        (namespaces, keys, values), end = self._records.spans(chunk, position, count)
        return self._entries(chunk, keys, namespaces, values), end

    def between(self, chunk: Chunk, borders: Spans) -> StoredEntries:
        """The entries that lie there; only their keys and namespaces are decoded."""
        ends = np.empty((len(borders), 2), np.int64)
        spans = zip(borders.starts.tolist(), borders.ends.tolist(), strict=True)
        for index, (start, end) in enumerate(spans):
            reader = EntryReader(chunk.view(start, end), self._kryo)
            for part, layout in enumerate(self._identity):
                reader.read(layout)
                ends[index, part] = start + reader.view.position
        namespaces, keys = Spans(borders.starts, ends[:, 0]), Spans(ends[:, 0], ends[:, 1])
        return self._entries(chunk, keys, namespaces, Spans(ends[:, 1], borders.ends))

    def _entries(
        self, chunk: Chunk, keys: Spans, namespaces: Spans, values: Spans
    ) -> StoredEntries:
        identities = identities_of(chunk, keys, namespaces, has_suffixes=self._has_suffixes)
        return self._values.entries(chunk, values, identities)


class TimerEntries:
    """Timers.

    Args:
        timer: The layout of a timer.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(self, timer: Layout, kryo: KryoDialect | None) -> None:
        self._records = BackToBack((timer,), kryo)

    def read(self, chunk: Chunk, position: int, count: int) -> tuple[StoredEntries, int]:
        """So many timers from a position on, and where they end."""
        (timers,), end = self._records.spans(chunk, position, count)
        return StoredEntries(bytes_of(chunk, timers), nothings(count)), end

    def between(self, chunk: Chunk, borders: Spans) -> StoredEntries:
        """The timers that lie there."""
        return StoredEntries(bytes_of(chunk, borders), nothings(len(borders)))


def nothings(count: int) -> pa.LargeBinaryArray:
    """The values of timers."""
    return large_binary(np.zeros(count + 1, np.int64), np.empty(0, np.uint8))


def identities_of(
    chunk: Chunk, keys: Spans, namespaces: Spans, *, has_suffixes: bool
) -> pa.LargeBinaryArray:
    """Keys and namespaces, with their sizes behind them if they have such."""
    if not has_suffixes:
        return bytes_of(chunk, keys, namespaces)
    extended, first = _extended(chunk, _suffixes(keys), _suffixes(namespaces))
    second = first + _SUFFIX_SIZE * len(keys)
    suffixes = (_suffix_spans(first, keys), _suffix_spans(second, namespaces))
    return bytes_of(extended, keys, suffixes[0], namespaces, suffixes[1])


def _suffixes(values: Spans) -> NDArray[np.uint8]:
    """The size of each, little endian, in more bytes than it may need."""
    return values.sizes.astype("<i8").view(np.uint8)


def _suffix_spans(start: int, values: Spans) -> Spans:
    """Where of each of ``_suffixes`` the bytes lie that it needs, one at least."""
    starts = start + _SUFFIX_SIZE * np.arange(len(values))
    needed = sum(values.sizes >> bits != 0 for bits in range(8, 8 * _SUFFIX_SIZE, 8))
    return Spans(starts, starts + 1 + needed)


def _extended(chunk: Chunk, *parts: NDArray[np.uint8]) -> tuple[Chunk, int]:
    """A chunk with more bytes at its end, and where these begin."""
    return Chunk(np.concatenate([chunk.data, *parts]), chunk.path, chunk.base), len(chunk)


def _collected(chunk: Chunk, values: Spans) -> tuple[Chunk, Spans, NDArray[np.int64]]:
    """The items of all collections back to back, where each one's lie, and how many each has."""
    places = values.starts[:, np.newaxis] + np.arange(_COUNT_SIZE)
    counts = chunk.data[places].view(">i4").ravel().astype(np.int64)
    data, spans = spans_in(bytes_of(chunk, Spans(values.starts + _COUNT_SIZE, values.ends)))
    return Chunk(data, chunk.path, chunk.base), spans, counts
