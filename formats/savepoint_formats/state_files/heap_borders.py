"""Where the states of a key group lie in a heap file, if not all of them can be decoded.

Nothing in such a file has a size, but much is known: each state is there once, the states that can
be decoded end where they end, and the last one ends with the key group. The borders are those with
which everything fits. Other borders may fit by chance; then none is believed.

The same goes for the entries of a state: each begins with a namespace and a key, and the key is one
of this key group; what can be decoded ends where it ends. The entries are those with which everything
fits. If there are others that fit too, those are taken that decoding tells apart, and the one behind
them has the bytes of all that follow.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.errors import FormatError, UndecodableError, UnstableHashError
from savepoint_formats.hashing.java_hash import java_hash
from savepoint_formats.key_groups.ranges import key_group
from savepoint_formats.values.sizes import least_size
from savepoint_formats.values.state_entries import EntryReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.layout import Struct
    from savepoint_formats.values.kryo.dialect import KryoDialect

_HEAD_SIZE = 6
_MOST_TRIALS = 1 << 20
"""How many places are looked at before a key group is given up."""

_DECODING = 100
"""How many places it takes as long to look at as to decode a state, or try to."""

_NO_ENTRY = -1
_MOST_WAYS = 1 << 14
"""Places where entries may begin, times entries, before a state is given up."""

_MOST_SEARCHED = 1 << 16
"""Bytes of a state in which the beginnings of entries are looked for, one by one."""


@dataclass(frozen=True, slots=True)
class HeapState:
    """The entries of a state in a key group.

    Attributes:
        id: The state.
        count: How many entries there are.
        start: Where the first one begins.
        end: Where the last one ends.
    """

    id: int
    count: int
    start: int
    end: int


class HeapBorders:
    """Looks for the borders of states.

    Args:
        chunk: The states of a key group.
        entries: The layout of an entry of each state, by id.
        doubtful: The states that may be such as cannot be decoded.
        skip: Tells where so many entries of a state end, if they can be decoded; raises
            ``FormatError`` if not.
    """

    def __init__(
        self,
        chunk: Chunk,
        entries: Sequence[Struct],
        doubtful: frozenset[int],
        skip: Callable[[int, int, int], int],
    ) -> None:
        self._chunk = chunk
        self._least = np.array([max(1, least_size(entry)) for entry in entries])
        self._doubtful = doubtful
        self._skip = skip
        self._trials = 0

    def states(self) -> tuple[HeapState, ...] | None:
        """The states in the order of the file; None if there is no one way in which they fit."""
        everything = frozenset(range(len(self._least)))
        ways = list(islice(self._ways(0, everything), 2))
        is_certain = len(ways) == 1 and self._trials < _MOST_TRIALS
        return ways[0] if is_certain else None

    def _ways(self, position: int, left: frozenset[int]) -> Iterator[tuple[HeapState, ...]]:
        """All ways in which the states that are left fit into the bytes that are left."""
        if position == len(self._chunk):
            if not left:
                yield ()
            return
        head = self._head(position, left)
        if head is None:
            return
        state_id, count = head
        start, rest = position + _HEAD_SIZE, left - {state_id}
        for ends in self._ends(state_id, count, start, rest):
            fits = False
            for end in ends:
                for others in self._ways(end, rest):
                    fits = True
                    yield (HeapState(state_id, count, start, end), *others)
            if fits:
                return

    def _head(self, position: int, left: frozenset[int]) -> tuple[int, int] | None:
        """The id and the number of entries, if a state that is left can begin there."""
        self._trials += 1
        if position + _HEAD_SIZE > len(self._chunk) or self._trials >= _MOST_TRIALS:
            return None
        view = self._chunk.view(position, position + _HEAD_SIZE)
        state_id, count = view.read_unsigned_short(), view.read_int()
        bytes_left = len(self._chunk) - position - _HEAD_SIZE
        is_plausible = state_id in left and 0 <= count * int(self._least[state_id]) <= bytes_left
        return (state_id, count) if is_plausible else None

    def _ends(
        self, state_id: int, count: int, start: int, rest: frozenset[int]
    ) -> Iterator[Iterable[int]]:
        """Where a state can end: where decoding says so; or else anywhere, if it is doubtful."""
        if count == 0:
            yield (start,)
            return
        self._trials += _DECODING
        with suppress(FormatError):
            yield (self._skip(state_id, start, count),)
        if state_id in self._doubtful:
            yield self._beginnings(start + count, rest) if rest else (len(self._chunk),)

    def _beginnings(self, start: int, left: frozenset[int]) -> Iterable[int]:
        """The places from a position on where one of these states can begin."""
        data = self._chunk.data[start:].astype(np.int64)
        if len(data) < _HEAD_SIZE:
            return ()
        places = len(data) - _HEAD_SIZE + 1
        ids = data[:places] << 8 | data[1 : places + 1]
        counts = np.zeros(places, np.int64)
        for byte in range(2, _HEAD_SIZE):
            counts = counts << 8 | data[byte : places + byte]
        bytes_left = np.arange(places - 1, -1, -1)
        is_left = np.isin(ids, list(left))
        least = self._least[np.where(is_left, ids, 0)]
        beginnings: list[int] = (
            start + np.flatnonzero(is_left & (counts * least <= bytes_left))
        ).tolist()
        return beginnings


def entry_starts(
    chunk: Chunk,
    state: HeapState,
    identity: Struct,
    key_group_of: tuple[int, int],
    kryo: KryoDialect | None,
    skip: Callable[[int], int],
) -> list[int]:
    """Where the entries of a state begin, up to the first whose end is not known.

    Args:
        chunk: The states of a key group.
        state: The state.
        identity: The layout of ``namespace`` and ``key``.
        key_group_of: The key group, and the max parallelism.
        kryo: What is known of the Kryo that wrote object graphs.
        skip: Tells where the entry at a position ends, if it can be decoded; raises
            ``FormatError`` if not.
    """
    entries = _Entries(state, skip)
    if state.count > 1 and state.end - state.start <= _MOST_SEARCHED:
        reader = _Identities(chunk, state.end, identity, key_group_of, kryo)
        with suppress(UnstableHashError):
            places = [place for place in range(state.start, state.end) if reader.is_at(place)]
            ways = entries.ways(places)
            if len(ways) == 1:
                return list(ways[0])
    return entries.decodable()


class _Entries:
    """Looks for the borders between the entries of a state."""

    def __init__(self, state: HeapState, skip: Callable[[int], int]) -> None:
        self._state = state
        self._skip = skip
        self._ends: dict[int, int | None] = {}

    def _end(self, start: int) -> int | None:
        """Where the entry ends, if decoding tells; before it begins if there can be none."""
        if start not in self._ends:
            try:
                end = self._skip(start)
                self._ends[start] = end if end <= self._state.end else None
            except UndecodableError:
                self._ends[start] = None
            except FormatError:
                self._ends[start] = _NO_ENTRY
        return self._ends[start]

    def decodable(self) -> list[int]:
        """The entries from the first one on that decoding tells apart, and the one behind them."""
        starts = [self._state.start]
        while len(starts) < self._state.count:
            end = self._end(starts[-1])
            if end is None or not starts[-1] < end < self._state.end:
                break
            starts.append(end)
        return starts

    def ways(self, places: Sequence[int]) -> list[tuple[int, ...]]:
        """The ways in which entries at some of these places fill the state; two at most."""
        places = [place for place in places if self._end(place) != _NO_ENTRY]
        if len(places) * self._state.count > _MOST_WAYS:
            return []
        # From the last entry to the first: the ways from each place on with so many entries.
        last = {place for place in places if self._end(place) in (None, self._state.end)}
        ways_from: dict[int, list[tuple[int, ...]]] = {place: [(place,)] for place in last}
        for _ in range(self._state.count - 1):
            ways_from = {
                place: ways for place in places if (ways := self._longer(place, ways_from))
            }
        return ways_from.get(self._state.start, [])

    def _longer(
        self, place: int, behind: dict[int, list[tuple[int, ...]]]
    ) -> list[tuple[int, ...]]:
        """The ways that go on behind the entry at a place."""
        end = self._end(place)
        others: Iterable[tuple[int, ...]] = behind.get(end, []) if end is not None else []
        if not others:
            # It cannot be decoded, or only seems to be.
            others = (way for start in behind if start > place for way in behind[start])
        return [(place, *way) for way in islice(others, 2)]


@dataclass(frozen=True, slots=True)
class _Identities:
    """Knows the identities of a key group when it sees one."""

    chunk: Chunk
    end: int
    identity: Struct
    key_group_of: tuple[int, int]
    kryo: KryoDialect | None

    def is_at(self, place: int) -> bool:
        """Raises ``UnstableHashError`` if nobody can tell the key group of a key."""
        group, max_parallelism = self.key_group_of
        try:
            value = EntryReader(self.chunk.view(place, self.end), self.kryo).read(self.identity)
        except FormatError:
            return False
        key_layout = self.identity.fields[-1]
        return key_group(java_hash(key_layout, value["key"]), max_parallelism) == group
