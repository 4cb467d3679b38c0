"""Divides entries of keyed state: takes those of some keys, and copies the rest.

Only the key of an entry is decoded. Keys are compared as ``Encoder`` writes them because a
serializer may have stored one key in several ways.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import distinct_hashes, runs
from savepoint_formats.errors import within
from savepoint_formats.key_groups import MAX_PARALLELISM, prefix_size
from savepoint_formats.pass_through.new_key_groups import KeyPlaces
from savepoint_formats.program.assembly import program
from savepoint_formats.program.byte_ranges import ranges_in
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.program.recoded_columns import written_layout
from savepoint_formats.state_files.state import key_layout
from savepoint_formats.state_files.state_chunk import StateChunk
from savepoint_formats.tables.visible import stored_key, visible_key
from savepoint_formats.values.arrow_types import arrow_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kryo.dialect import KryoDialect


class KeyChoice(Protocol):
    """Takes the entries of some keys."""

    def chosen(
        self, state_chunks: Iterable[StateChunk], kryo: KryoDialect | None
    ) -> Iterator[StateChunk]:
        """The entries of the taken keys; raises the errors of ``encoded_keys``."""


@dataclass(frozen=True, eq=False)
class ListedKeys:
    """Takes the distinct, encoded keys of a list, or if ``is_excluded`` all other keys."""

    keys: pa.LargeBinaryArray
    is_excluded: bool = False

    def chosen(
        self, state_chunks: Iterable[StateChunk], kryo: KryoDialect | None
    ) -> Iterator[StateChunk]:
        """See ``KeyChoice``."""
        for state_chunk in state_chunks:
            with within(f"state {state_chunk.state.name!r}"):
                is_listed = self.are_listed(encoded_keys(state_chunk, kryo))
            yield state_chunk.chosen(is_listed ^ self.is_excluded)

    def are_listed(self, keys: pa.LargeBinaryArray) -> NDArray[np.bool_]:
        """Whether each of some encoded keys is in the list."""
        return self._index.has(keys)

    @cached_property
    def _index(self) -> _KeyIndex:
        return _KeyIndex.of(self.keys)


_MARKS_PER_KEY = 16
_MOST_MARKS = 1 << 24


class _KeyIndex(NamedTuple):
    """Keys in the order of their hashes. ``pc.is_in`` would hash all of them again at each call.

    ``marks`` says for the first bits of a hash, all but ``shift``, whether a key has them. At most
    ``most_equal`` keys have the same hash.
    """

    keys: pa.LargeBinaryArray
    hashes: NDArray[np.uint64]
    most_equal: int
    marks: NDArray[np.bool_]
    shift: np.uint64

    @classmethod
    def of(cls, keys: pa.LargeBinaryArray) -> _KeyIndex:
        hashes = distinct_hashes(keys)[:, 0]
        order = np.argsort(hashes)
        ordered = hashes[order]
        _, counts = np.unique(ordered, return_counts=True)
        bits = min(len(keys) * _MARKS_PER_KEY, _MOST_MARKS).bit_length()
        shift = np.uint64(64 - max(bits, 1))
        marks = np.zeros(1 << max(bits, 1), np.bool_)
        marks[(ordered >> shift).view(np.int64)] = True
        most_equal = int(counts.max(initial=0))
        return cls(keys.take(pa.array(order)), ordered, most_equal, marks, shift)

    def has(self, keys: pa.LargeBinaryArray) -> NDArray[np.bool_]:
        """Whether each key is one of the index; those with a hash of the index are compared."""
        has = np.zeros(len(keys), np.bool_)
        hashes = distinct_hashes(keys)[:, 0]
        (likely,) = np.nonzero(self.marks[(hashes >> self.shift).view(np.int64)])
        places = np.searchsorted(self.hashes, hashes[likely])
        for step in range(self.most_equal):
            is_inside = places + step < len(self.hashes)
            likely, places = likely[is_inside], places[is_inside]
            of_index = self.keys.take(pa.array(places + step))
            is_same = pc.equal(keys.take(pa.array(likely)), of_index)
            has[likely] |= is_same.to_numpy(zero_copy_only=False)
        return has


@dataclass(frozen=True)
class SampledKeys:
    """Takes the keys whose hash is below a limit: a fraction of them, or some per key group.

    A hash depends only on the value of a key. So operators with equal keys take the same ones, even
    if one has INT and another LONG, or one a text and another a row of SQL with only this text.

    Attributes:
        limit: The limit, for all key groups that are not in ``limits``.
        limits: Key group -> its own limit.
    """

    limit: int
    limits: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of_fraction(cls, fraction: float) -> SampledKeys:
        return cls(min(int(fraction * _HASHES), _HASHES - 1))

    def chosen(
        self, state_chunks: Iterable[StateChunk], kryo: KryoDialect | None
    ) -> Iterator[StateChunk]:
        """See ``KeyChoice``."""
        limits = np.full(MAX_PARALLELISM, self.limit, np.uint64)
        for key_group, limit in self.limits.items():
            limits[key_group] = limit
        for state_chunk in state_chunks:
            with within(f"state {state_chunk.state.name!r}"):
                is_taken = sample_hashes(state_chunk, kryo) < limits[state_chunk.key_groups]
            yield state_chunk.chosen(is_taken)


_HASHES = 1 << 64


def sample_hashes(state_chunk: StateChunk, kryo: KryoDialect | None) -> NDArray[np.uint64]:
    """A hash of the key of each entry, equal for equal texts and numbers of other types."""
    keys = visible_key(decoded_keys(state_chunk, kryo))
    while pa.types.is_struct(keys.type) and keys.type.num_fields == 1:
        keys = keys.flatten()[0]
    if pa.types.is_integer(keys.type):
        keys = keys.cast(pa.int64()).cast(pa.utf8())
    if pa.types.is_string(keys.type) and not keys.null_count:
        return distinct_hashes(keys.cast(pa.large_binary()))[:, 0]
    return distinct_hashes(encoded_keys(state_chunk, kryo))[:, 0]


def encoded_keys(state_chunk: StateChunk, kryo: KryoDialect | None) -> pa.LargeBinaryArray:
    """The keys of entries, encoded again.

    Raises ``UnstableHashError`` if the end of a key is unknown, ``FormatError`` for a damaged key.
    """
    return _encoded(decoded_keys(state_chunk, kryo), key_layout(state_chunk.state), kryo)


def encoded_visible_keys(
    keys: pa.Array, layout: Layout, kryo: KryoDialect | None
) -> pa.LargeBinaryArray:
    """Keys as readers see them, encoded like those of ``encoded_keys``."""
    return _encoded(stored_key(keys, arrow_type(layout)), layout, kryo)


def _encoded(keys: pa.Array, layout: Layout, kryo: KryoDialect | None) -> pa.LargeBinaryArray:
    return Encoder(layout if kryo is None else written_layout(layout, kryo)).encode(keys)


def decoded_keys(state_chunk: StateChunk, kryo: KryoDialect | None) -> pa.Array:
    """The keys of stored entries; raises the errors of ``encoded_keys``."""
    data, entries = state_chunk.entries.key_places
    chunk = Chunk(data, "stored keys")
    keys = KeyPlaces.of(state_chunk.state, kryo).keys(chunk, entries)
    return decode(program(key_layout(state_chunk.state), kryo), chunk, keys.starts, keys.ends)


_TIMESTAMP_SIZE = 8
_SIGN = np.uint64(1 << 63)


class DueKeys(NamedTuple):
    """Distinct encoded keys with timers that are due, and the key group of each."""

    keys: pa.LargeBinaryArray
    key_groups: NDArray[np.uint16]


class DividedEntries:
    """Entries of some key groups, from which the entries of some keys are taken.

    Raises:
        UnstableHashError: The end of a key is not known.
        FormatError: A key is damaged.
    """

    def __init__(self, state_chunks: Iterable[StateChunk], kryo: KryoDialect | None) -> None:
        self._states = [
            _Entries.of(state_chunk, kryo)
            for state_chunk in state_chunks
            if len(state_chunk.entries)
        ]

    def take(self, keys: pa.LargeBinaryArray) -> list[StateChunk]:
        """Takes the remaining entries of these keys; one element per state that has any."""
        taken: dict[str, list[StateChunk]] = {}
        for entries in self._states:
            wanted = pc.is_in(entries.keys, keys).to_numpy(zero_copy_only=False)
            wanted &= ~entries.is_taken
            if wanted.any():
                entries.is_taken[wanted] = True
                state_chunk = entries.state_chunk.chosen(wanted)
                taken.setdefault(state_chunk.state.name, []).append(state_chunk)
        return [StateChunk.joined(state_chunks) for state_chunks in taken.values()]

    def due(self, reached: Mapping[str, int]) -> DueKeys:
        """Remaining keys with a timer that is due.

        ``reached`` maps a state of timers to the time in ms up to which its timers are due.
        """
        keys, key_groups = [pa.array([], pa.large_binary())], [np.empty(0, np.uint16)]
        for entries in self._states:
            state_chunk = entries.state_chunk
            if state_chunk.state.name in reached:
                until = reached[state_chunk.state.name]
                wanted = (_timestamps(state_chunk.entries.keys) <= until) & ~entries.is_taken
                keys.append(entries.keys.filter(pa.array(wanted)))
                key_groups.append(state_chunk.key_groups[wanted])
        due_keys, groups = pa.concat_arrays(keys), np.concatenate(key_groups)
        distinct = pc.unique(due_keys)
        firsts = pc.index_in(distinct, due_keys).to_numpy(zero_copy_only=False)
        return DueKeys(distinct, groups[firsts])

    def rest(self, ids: Mapping[str, int], max_parallelism: int) -> Iterator[pa.RecordBatch]:
        """The remaining entries as runs; ``ids`` has the index of each state in the new header."""
        for entries in self._states:
            state_chunk = entries.state_chunk
            if entries.is_taken.any():
                state_chunk = state_chunk.chosen(~entries.is_taken)
            if len(state_chunk.entries):
                state_id, prefix = ids[state_chunk.state.name], prefix_size(max_parallelism)
                yield runs(state_chunk.entries, state_chunk.key_groups, state_id, prefix)


class _Entries(NamedTuple):
    """Entries of a state, the key of each, and whether it has been taken."""

    state_chunk: StateChunk
    keys: pa.LargeBinaryArray
    is_taken: NDArray[np.bool_]

    @classmethod
    def of(cls, state_chunk: StateChunk, kryo: KryoDialect | None) -> _Entries:
        return cls(
            state_chunk,
            encoded_keys(state_chunk, kryo),
            np.zeros(len(state_chunk.entries), np.bool_),
        )


def _timestamps(keys: pa.LargeBinaryArray) -> NDArray[np.int64]:
    """Timestamps in ms with which stored timers begin; their sign bits are flipped."""
    data, ranges = ranges_in(keys)
    words = data[ranges.starts[:, None] + np.arange(_TIMESTAMP_SIZE)]
    flipped = np.ascontiguousarray(words).view(">u8")[:, 0].astype(np.uint64)
    return (flipped ^ _SIGN).view(np.int64)
