"""Weighs keyed state of an operator, some key groups at a time.

An entry weighs the bytes of its key and value in canonical files, whatever its own format, without
the key group in front. Memory holds the keys of these key groups, and some numbers per key or entry.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from savepoint_extensions.sizes.contents import Contents, ContentsReader
from savepoint_extensions.sizes.distribution import SizeCounts, TimeCounts
from savepoint_extensions.sizes.key_sums import KeySums, joined
from savepoint_formats.bytes import Chunk
from savepoint_formats.entries import EntryRanges
from savepoint_formats.errors import within
from savepoint_formats.layout import VARIABLE, Struct, serializer_length
from savepoint_formats.pass_through import KeyPlaces, stored_size
from savepoint_formats.program.byte_ranges import Ranges, numbers_at
from savepoint_formats.sources.state_rows import EntryDecoder
from savepoint_formats.state_files import State, StateKind, key_layout, namespace_layout
from savepoint_formats.values import notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from savepoint_extensions.sizes.key_sums import SummedKeys
    from savepoint_formats.state_files import StateChunk
    from savepoint_formats.values import KryoDialect

    Longs = NDArray[np.int64]


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
            if of_state.sizes:
                keys = of_state.keys.by_key()
                self.states[name].keys = (self.states[name].keys or 0) + len(keys)
                self._add_rows(self.states[name], of_state)
                distinct.append(keys)
        if distinct:
            self._add_keys(joined(distinct))

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
        if not len(entries):
            return
        (data, values), (key_data, keys) = entries.value_places, entries.key_places
        sizes = keys.sizes + values.sizes
        counts.entries += len(entries)
        # Entries of a key group stand together, except those of unusual files.
        groups = state_chunk.key_groups
        runs = np.append(0, np.flatnonzero(groups[1:] != groups[:-1]) + 1)
        np.add.at(self.entries, groups[runs], np.diff(runs, append=len(groups)))
        np.add.at(self.sizes, groups[runs], np.add.reduceat(sizes, runs))
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
        numbers = [sizes, np.ones_like(sizes)]
        chunk, places = Chunk(key_data), self._places[state_chunk.state.name]
        # A timer has its time between its key group and its key.
        prefix_size = 0 if places.before else entries.prefix_size
        packed.sizes.append(sizes)
        packed.keys.add(chunk, prefix_size, places.keys(chunk, keys), groups, numbers)
        if state_chunk.state.kind is StateKind.MAP:
            ranges = EntryRanges(keys.starts, keys.ends, keys.ends, keys.ends)
            rows = Ranges(*self._maps[state_chunk.state.name].identities(chunk, ranges))
            if packed.is_gone:
                numbers.append((~packed.is_gone[-1]).astype(np.int64))
            packed.rows.add(chunk, prefix_size, rows, groups, numbers)

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
        if counts.state.kind is StateKind.MAP:
            sizes, items, *living = packed.rows.by_key().numbers
            is_gone = living[0] == 0 if living else is_gone
            counts.contents.items.add(items)
        counts.sizes.add(sizes)
        counts.rows = (counts.rows or 0) + len(sizes)
        counts.expired_rows = (counts.expired_rows or 0) + int(np.count_nonzero(is_gone))

    def _add_keys(self, keys: SummedKeys) -> None:
        sizes, entries = keys.numbers
        self.keys += np.bincount(keys.groups, minlength=len(self.keys))
        if not self._top:
            return
        least = self.largest[-1].size if len(self.largest) == self._top else 0
        (large,) = np.nonzero(sizes > least)
        if len(large) > self._top:
            chosen = np.argpartition(sizes[large], -self._top)[-self._top :]
            large = large[chosen]
        candidates = [
            LargeKey(
                keys.data[index].as_py(),
                int(keys.groups[index]),
                int(sizes[index]),
                int(entries[index]),
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


@dataclass(slots=True)
class _Packed:
    """Sizes of a state's entries in some key groups, also by key, and by row of a map."""

    keys: KeySums = field(default_factory=KeySums)
    rows: KeySums = field(default_factory=KeySums)
    sizes: list[Longs] = field(default_factory=list)
    is_gone: list[NDArray[np.bool_]] = field(default_factory=list)
