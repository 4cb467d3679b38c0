"""Weighs keyed state of an operator, some key groups at a time.

An entry weighs the bytes of its key and value in canonical files, whatever its own format, without
the key group in front. Keys are distinguished by a hash of 128 bits. Memory holds the keys of these
key groups, and some numbers per entry.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from savepoint_extensions.sizes.contents import Contents, ContentsReader
from savepoint_extensions.sizes.distribution import SizeCounts, TimeCounts
from savepoint_formats.bytes import Chunk
from savepoint_formats.entries import EntryRanges, distinct_hashes
from savepoint_formats.errors import within
from savepoint_formats.layout import VARIABLE, Struct, serializer_length
from savepoint_formats.pass_through import KeyPlaces, stored_size
from savepoint_formats.program.byte_ranges import Ranges, bytes_of, numbers_at, ranges_in
from savepoint_formats.sources.state_rows import EntryDecoder
from savepoint_formats.state_files import State, StateKind, key_layout, namespace_layout
from savepoint_formats.values import notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from savepoint_formats.state_files import StateChunk
    from savepoint_formats.values import KryoDialect

    Longs = NDArray[np.int64]
    Hashes = NDArray[np.uint64]


@dataclass(slots=True)
class StateCounts:
    """Counts of one state.

    Attributes:
        keys: Number of distinct keys; None if its entries don't tell.
        rows: Number of distinct keys with namespace; None likewise.
        entries: Number of values, lists, entries of maps, or timers.
        sizes: The bytes of each row.
        times: When timers fire.
        overdue: Number of timers that should have fired by a time.
        expired_rows: Number of rows of which a time to live leaves nothing; None if unknown.
        expired_size: Bytes that a time to live takes, with the keys of entries that go.
        different: Number of different elements of a list of the operator.
    """

    state: State
    keys: int | None = 0
    rows: int | None = 0
    entries: int = 0
    sizes: SizeCounts = field(default_factory=SizeCounts)
    contents: Contents = field(default_factory=Contents)
    times: TimeCounts = field(default_factory=TimeCounts)
    overdue: int = 0
    expired_rows: int | None = 0
    expired_size: int = 0
    different: int | None = None

    def merge(self, other: StateCounts) -> None:
        """Adds counts of the same state in other key groups."""
        self.keys = _sum(self.keys, other.keys)
        self.rows = _sum(self.rows, other.rows)
        self.entries += other.entries
        self.sizes.merge(other.sizes)
        self.contents.merge(other.contents)
        self.times.merge(other.times)
        self.overdue += other.overdue
        self.expired_rows = _sum(self.expired_rows, other.expired_rows)
        self.expired_size += other.expired_size


def _sum(first: int | None, other: int | None) -> int | None:
    return None if first is None or other is None else first + other


@dataclass(frozen=True, slots=True, eq=False)
class LargeKey:
    """A key with much state: its stored bytes, and bytes and number of its entries."""

    data: bytes
    key_group: int
    size: int
    entries: int


class KeyedCounts:
    """Counts of the keyed state of an operator.

    ``keys``, ``entries`` and ``sizes`` have a number per key group. ``problems`` maps states that
    are not counted to the reason why their keys are unknown. ``at`` is the time by which timers are
    overdue, in ms since the epoch; ``ttl_ms`` is the time to live by state. ``largest`` has the
    ``top`` keys with most bytes, largest first.
    """

    def __init__(
        self,
        states: Iterable[State],
        max_parallelism: int,
        kryo: KryoDialect | None,
        *,
        at: int,
        ttl_ms: Mapping[str, int],
        top: int,
    ) -> None:
        self.states: dict[str, StateCounts] = {}
        self._contents: dict[str, ContentsReader] = {}
        self._places: dict[str, KeyPlaces] = {}
        self._maps: dict[str, EntryDecoder] = {}
        self.problems: dict[str, str] = {}
        for state in states:
            self.states[state.name] = counts = StateCounts(state)
            if problem := _problem(state):
                self.problems[state.name] = problem
                counts.keys = counts.rows = counts.expired_rows = None
            else:
                self._places[state.name] = KeyPlaces.of(state, kryo)
            if state.kind is StateKind.MAP:
                self._maps[state.name] = EntryDecoder(state, 0, kryo)
            if state.kind is not StateKind.TIMERS:
                expires = at - ttl_ms[state.name] if state.name in ttl_ms else None
                reader = ContentsReader(state, kryo, expires)
                self._contents[state.name], counts.contents = reader, reader.contents
        self.keys, self.entries, self.sizes = np.zeros((3, max_parallelism), np.int64)
        self.largest: list[LargeKey] = []
        self._at = at
        self._top = top

    def add(self, state_chunks: Iterable[StateChunk]) -> None:
        """Counts all entries of some key groups; no other call has entries of them.

        Raises ``FormatError`` if an entry is damaged.
        """
        packed: dict[str, _Packed] = {}
        for state_chunk in state_chunks:
            with within(f"state {state_chunk.state.name!r}"):
                self._add_chunk(state_chunk, packed.setdefault(state_chunk.state.name, _Packed()))
        distinct = []
        for name, of_state in packed.items():
            if of_state.hashes:
                keys = of_state.by_key()
                self.states[name].keys = (self.states[name].keys or 0) + len(keys)
                self._add_rows(self.states[name], of_state)
                distinct.append(keys)
        if distinct:
            self._add_keys(_joined(distinct))

    def merge(self, other: KeyedCounts) -> None:
        """Adds counts of the same states in other key groups."""
        for name, counts in self.states.items():
            counts.merge(other.states[name])
        self.keys += other.keys
        self.entries += other.entries
        self.sizes += other.sizes
        self._add_largest(other.largest)

    def _add_chunk(self, state_chunk: StateChunk, packed: _Packed) -> None:
        counts, entries = self.states[state_chunk.state.name], state_chunk.entries
        data, values = ranges_in(entries.values)
        key_data, keys = ranges_in(entries.keys)
        sizes = keys.sizes + values.sizes
        counts.entries += len(entries)
        self.entries += np.bincount(state_chunk.key_groups, minlength=len(self.entries))
        per_group = np.bincount(state_chunk.key_groups, sizes, len(self.sizes))
        self.sizes += per_group.astype(np.int64)
        if state_chunk.state.kind is StateKind.TIMERS:
            self._add_times(counts, Chunk(key_data), keys)
        else:
            expired = self._contents[state_chunk.state.name].add(Chunk(data), values)
            if expired is not None:
                counts.expired_size += int(expired.sizes.sum() + keys.sizes[expired.is_gone].sum())
                packed.is_gone.append(expired.is_gone)
        if state_chunk.state.name in self.problems:
            counts.sizes.add(sizes)
            return
        chunk = Chunk(key_data)
        own_keys = self._places[state_chunk.state.name].keys(chunk, keys)
        packed.keys.append(bytes_of(chunk, own_keys))
        packed.hashes.append(distinct_hashes(packed.keys[-1]))
        packed.sizes.append(sizes)
        packed.groups.append(state_chunk.key_groups)
        if state_chunk.state.kind is StateKind.MAP:
            ranges = EntryRanges(keys.starts, keys.ends, keys.ends, keys.ends)
            rows = Ranges(*self._maps[state_chunk.state.name].identities(chunk, ranges))
            packed.rows.append(distinct_hashes(bytes_of(chunk, rows)))

    def _add_times(self, counts: StateCounts, chunk: Chunk, timers: Ranges) -> None:
        """Counts the times of timers, whose sign bits are flipped; skips timers of unknown form."""
        if counts.state.name in self.problems:
            return
        times = numbers_at(chunk, timers, 8) ^ np.int64(-1 << 63)
        counts.times.add(times)
        counts.overdue += int(np.count_nonzero(times <= self._at))

    def _add_rows(self, counts: StateCounts, packed: _Packed) -> None:
        sizes = np.concatenate(packed.sizes)
        is_gone = np.concatenate(packed.is_gone) if packed.is_gone else np.zeros(0, np.bool_)
        if packed.rows:
            rows = Distinct.of(np.concatenate(packed.rows))
            if packed.is_gone:
                is_gone = rows.sums((~is_gone).astype(np.int64)) == 0
            sizes = rows.sums(sizes)
            counts.contents.items.add(rows.sums(np.ones_like(rows.of_entry)))
        counts.sizes.add(sizes)
        counts.rows = (counts.rows or 0) + len(sizes)
        counts.expired_rows = (counts.expired_rows or 0) + int(np.count_nonzero(is_gone))

    def _add_keys(self, keys: _Keys) -> None:
        self.keys += np.bincount(keys.groups, minlength=len(self.keys))
        if not self._top:
            return
        least = self.largest[-1].size if len(self.largest) == self._top else 0
        (large,) = np.nonzero(keys.sizes > least)
        if len(large) > self._top:
            chosen = np.argpartition(keys.sizes[large], -self._top)[-self._top :]
            large = large[chosen]
        candidates = [
            LargeKey(
                keys.data[index].as_py(),
                int(keys.groups[index]),
                int(keys.sizes[index]),
                int(keys.entries[index]),
            )
            for index in large.tolist()
        ]
        self._add_largest(candidates)

    def _add_largest(self, keys: list[LargeKey]) -> None:
        candidates = sorted(
            self.largest + keys,
            key=lambda large_key: (-large_key.size, large_key.key_group, large_key.data),
        )
        self.largest = candidates[: self._top]


def _problem(state: State) -> str:
    """Why the keys of a state, or the ends of its rows, are unknown; empty if they are known."""
    if state.kind is StateKind.TIMERS and not isinstance(state.stored, Struct):
        return "; ".join(notes(state.stored)) or "timers of an unknown form"
    key, namespace = key_layout(state), namespace_layout(state)
    is_key_known = state.kind is not StateKind.MAP or serializer_length(key) != VARIABLE
    is_known = is_key_known and stored_size(namespace) != VARIABLE
    return "" if is_known else "; ".join((*notes(key), *notes(namespace)))


@dataclass(frozen=True, slots=True, eq=False)
class _Keys:
    """Distinct keys: hash, stored bytes, key group, and bytes and number of entries of each."""

    hashes: Hashes
    data: pa.ChunkedArray
    groups: NDArray[np.uint16]
    sizes: Longs
    entries: Longs

    def __len__(self) -> int:
        return len(self.hashes)


@dataclass(slots=True)
class _Packed:
    """Keys and sizes of a state's entries in some key groups."""

    keys: list[pa.LargeBinaryArray] = field(default_factory=list)
    hashes: list[Hashes] = field(default_factory=list)
    rows: list[Hashes] = field(default_factory=list)
    sizes: list[Longs] = field(default_factory=list)
    groups: list[NDArray[np.uint16]] = field(default_factory=list)
    is_gone: list[NDArray[np.bool_]] = field(default_factory=list)

    def by_key(self) -> _Keys:
        """Adds up the entries of each key."""
        hashes, sizes = np.concatenate(self.hashes), np.concatenate(self.sizes)
        groups = np.concatenate(self.groups)
        distinct, data = Distinct.of(hashes), pa.chunked_array(self.keys)
        if len(distinct.firsts) == len(hashes):
            return _Keys(hashes, data, groups, sizes, np.ones_like(sizes))
        return _Keys(
            hashes[distinct.firsts],
            data.take(pa.array(distinct.firsts)),
            groups[distinct.firsts],
            distinct.sums(sizes),
            distinct.sums(np.ones_like(sizes)),
        )


def _joined(parts: list[_Keys]) -> _Keys:
    """The distinct keys of several states."""
    first, *others = parts
    sizes, entries = first.sizes.copy(), first.entries.copy()
    rest = []
    for other in others:
        # States of an operator mostly have the same keys in the same order.
        if np.array_equal(other.hashes, first.hashes):
            sizes += other.sizes
            entries += other.entries
        else:
            rest.append(other)
    first = replace(first, sizes=sizes, entries=entries)
    if not rest:
        return first
    kept = (first, *rest)
    packed = Distinct.of(np.concatenate([part.hashes for part in kept]))
    data = pa.chunked_array([chunk for part in kept for chunk in part.data.chunks])
    return _Keys(
        np.concatenate([part.hashes for part in kept])[packed.firsts],
        data.take(pa.array(packed.firsts)),
        np.concatenate([part.groups for part in kept])[packed.firsts],
        packed.sums(np.concatenate([part.sizes for part in kept])),
        packed.sums(np.concatenate([part.entries for part in kept])),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """Distinct hashes: the number of each entry's hash, and an entry of each distinct hash."""

    of_entry: Longs
    firsts: Longs

    @classmethod
    def of(cls, hashes: Hashes) -> Self:
        is_new = _is_new(hashes)
        (firsts,) = np.nonzero(is_new)
        of_entry = np.cumsum(is_new) - 1
        runs = hashes[firsts]
        words = np.sort(runs[:, 0])
        if not np.any(words[1:] == words[:-1]):
            return cls(of_entry, firsts)
        order = np.argsort(runs[:, 0])
        is_other = _is_new(runs[order])
        if np.count_nonzero(is_other) > len(np.unique(words)):
            # Different hashes have the same first half. The second half decides.
            order = np.lexsort((runs[:, 1], runs[:, 0]))
            is_other = _is_new(runs[order])
        of_run = np.empty(len(runs), np.int64)
        of_run[order] = np.cumsum(is_other) - 1
        return cls(of_run[of_entry], firsts[order[is_other]])

    def sums(self, numbers: Longs) -> Longs:
        """Adds up the numbers of equal hashes."""
        # Sums of doubles are exact up to 2^53.
        return np.bincount(self.of_entry, numbers, len(self.firsts)).astype(np.int64)


def _is_new(hashes: Hashes) -> NDArray[np.bool_]:
    """Whether each hash differs from the one before."""
    low, high = hashes[:, 0], hashes[:, 1]
    is_new = np.ones(len(hashes), np.bool_)
    is_new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return is_new
