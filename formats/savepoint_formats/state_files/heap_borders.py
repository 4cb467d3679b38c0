"""Finds the borders of states and entries in a heap file, if some values can't be decoded.

Nothing in such a file has a size, but much is known: each state is there once, decodable states
end where decoding ends, and the last one ends with the key group. Borders are believed only if
there is exactly one way to place all states.

Entries of a state are found likewise: each begins with a namespace and a key of this key
group, and what can be decoded ends where decoding ends; see ``separation``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats import layout as layouts
from savepoint_formats.errors import FormatError, UndecodableError, UnstableHashError
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups import key_group
from savepoint_formats.layout import Layout, parts, with_open_pojos
from savepoint_formats.state_files.state import State, StateKind, key_layout, namespace_layout
from savepoint_formats.values.kryo.structs import is_described, struct_column_type
from savepoint_formats.values.patience import Patience
from savepoint_formats.values.separation import starts_of_entries
from savepoint_formats.values.sizes import least_size
from savepoint_formats.values.state_entries import EntryReader

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.values.kryo.dialect import KryoDialect

    Skip = Callable[[int, int, int], int]

_HEAD_SIZE = 6
_MOST_TRIALS = 1 << 20
"""Number of places to try before a key group is given up."""

_DECODING = 100
"""Number of places that take as long to try as one state takes to decode."""


@dataclass(frozen=True, slots=True)
class HeapState:
    """Entries of a state in a key group, from ``start`` to before ``end``."""

    id: int
    count: int
    start: int
    end: int


class HeapBorders:
    """Looks for the borders of the states of a key group.

    ``skip`` returns the end of some entries, by state, position and number of entries; it raises
    ``FormatError`` if they can't be decoded. ``may_begin`` says where an entry may begin. ``order`` has
    the states of every key group in the order of the file, if that is known.
    """

    def __init__(
        self,
        chunk: Chunk,
        entries: Sequence[layouts.Struct],
        doubtful: frozenset[int],
        skip: Callable[[int, int, int], int],
        may_begin: Callable[[int, int], bool],
        order: Sequence[int] = (),
    ) -> None:
        self._may_begin = may_begin
        self._order = order
        self._size = len(chunk)
        self._heads = _heads(chunk, np.array([max(1, least_size(entry)) for entry in entries]))
        self._of_state: dict[int, dict[int, None]] = {}
        self._states = frozenset(range(len(entries)))
        self._doubtful = doubtful
        self._skip = skip
        self._trials = 0
        self._known: dict[tuple[int, frozenset[int]], list[tuple[HeapState, ...]]] = {}
        self._decoded: dict[int, int] = {}

    def states(self) -> tuple[HeapState, ...] | None:
        """States in the order of the file; None unless they fit in exactly one way."""
        ways = self._ways(0, self._states)
        is_certain = len(ways) == 1 and self._trials < _MOST_TRIALS
        return ways[0] if is_certain else None

    def _ways(self, position: int, left: frozenset[int]) -> list[tuple[HeapState, ...]]:
        """The ways to place the remaining states in the remaining bytes; two at most."""
        if position == self._size:
            return [] if left else [()]
        state_id, count = self._heads.get(position, (-1, 0))
        if state_id not in self._next(left) or self._trials >= _MOST_TRIALS:
            return []
        known = self._known.get((position, left))
        if known is None:
            known = self._with_head(position, state_id, count, left)
            self._known[position, left] = known
        return known

    def _with_head(
        self, position: int, state_id: int, count: int, left: frozenset[int]
    ) -> list[tuple[HeapState, ...]]:
        start, rest = position + _HEAD_SIZE, left - {state_id}
        ways: list[tuple[HeapState, ...]] = []
        for ends in self._ends(state_id, count, start, rest):
            self._trials += len(ends)
            for end in ends:
                state = HeapState(state_id, count, start, end)
                ways += [(state, *others) for others in self._ways(end, rest)]
                if len(ways) > 1:
                    return ways[:2]
            if ways:
                break
        return ways

    def _next(self, left: frozenset[int]) -> Collection[int]:
        """The states that may come next."""
        return (self._order[-len(left)],) if self._order and left else left

    def _ends(
        self, state_id: int, count: int, start: int, rest: frozenset[int]
    ) -> Iterator[Sequence[int]]:
        """Possible ends of a state: where decoding ends, or else anywhere if it is doubtful."""
        if count == 0:
            yield (start,)
            return
        end = self._decoded_end(state_id, start, count)
        if end >= 0:
            yield (end,)
        if state_id in self._doubtful and start - _HEAD_SIZE in self._places(state_id):
            first = start + count
            places = sorted(
                place
                for other in self._next(rest)
                for place in self._places(other)
                if place >= first
            )
            yield places if rest else (self._size,)

    def _decoded_end(self, state_id: int, start: int, count: int) -> int:
        """Where decoding ends; -1 if it fails."""
        if start not in self._decoded:
            self._trials += _DECODING
            self._decoded[start] = -1
            with suppress(FormatError):
                self._decoded[start] = self._skip(state_id, start, count)
        return self._decoded[start]

    def _places(self, state_id: int) -> Collection[int]:
        """Where a state may begin, in order."""
        if state_id not in self._of_state:
            self._of_state[state_id] = {
                place: None
                for place, (other, count) in self._heads.items()
                if other == state_id
                and (count == 0 or self._may_begin(state_id, place + _HEAD_SIZE))
            }
        return self._of_state[state_id]


def _heads(chunk: Chunk, least: NDArray[np.int64]) -> dict[int, tuple[int, int]]:
    """Id and number of entries of each state that can begin at a place, in order."""
    data, count = chunk.data, max(0, len(chunk) - _HEAD_SIZE + 1)
    high, low = data[:count], data[1 : count + 1]
    places = np.flatnonzero((high <= len(least) >> 8) & ((high > 0) | (low < len(least))))
    bytes_of_places = data[places[:, np.newaxis] + np.arange(_HEAD_SIZE)]
    ids = bytes_of_places[:, :2].copy().view(">u2").ravel().astype(np.int64)
    counts = bytes_of_places[:, 2:].copy().view(">u4").ravel().astype(np.int64)
    is_known = ids < len(least)
    bytes_left = len(chunk) - _HEAD_SIZE - places
    fits = is_known & (counts * least[np.where(is_known, ids, 0)] <= bytes_left)
    heads = zip(ids[fits].tolist(), counts[fits].tolist(), strict=True)
    return dict(zip(places[fits].tolist(), heads, strict=True))


class DoubtfulStates:
    """The states of a heap file whose ends may be unknown."""

    def __init__(
        self, states: Sequence[State], max_parallelism: int, kryo: KryoDialect | None
    ) -> None:
        self._states = states
        self._max_parallelism = max_parallelism
        self._kryo = kryo
        self._patience = Patience()
        self._ids = frozenset(
            state_id for state_id, state in enumerate(states) if is_doubtful(state.stored)
        )

    def __contains__(self, state_id: int) -> bool:
        return state_id in self._ids

    def may_explain(self, error: FormatError) -> bool:
        """Whether an error may come from a state that can't be decoded, rather than from damage."""
        stored = (self._states[state_id].stored for state_id in self._ids)
        return isinstance(error, UndecodableError) or any(map(is_unknown, stored))

    def borders(
        self, chunk: Chunk, group: int, skip: Skip, order: Sequence[int]
    ) -> tuple[HeapState, ...] | None:
        """Places of the states of a key group; None if they are not certain."""
        if any(is_unknown(layout) for state in self._states for layout in identity_parts(state)):
            return None  # an entry without a known key has no known border

        def may_begin(state_id: int, position: int) -> bool:
            return self._may_begin(chunk, state_id, group, position)

        entries = list(map(_entry, self._states))
        return HeapBorders(chunk, entries, self._ids, skip, may_begin, order).states()

    def starts(self, chunk: Chunk, state: HeapState, group: int, skip: Skip) -> list[int]:
        """Starts of the entries of a state.

        If not all are certain, returns the starts that decoding tells; the last entry has all other
        bytes.
        """
        if state.count == 1:
            return [state.start]
        layout, view = _entry(self._states[state.id]), chunk.view(state.start, state.end)

        def may_begin(position: int) -> bool:
            return self._may_begin(chunk, state.id, group, state.start + position)

        places = starts_of_entries(layout, state.count, view, self._kryo, may_begin, self._patience)
        if places:
            return [state.start + place for place in places]
        starts = [state.start]
        with suppress(FormatError):
            while len(starts) < state.count:
                end = skip(state.id, starts[-1], 1)
                if not starts[-1] < end < state.end:
                    break
                starts.append(end)
        return starts

    def _may_begin(self, chunk: Chunk, state_id: int, group: int, place: int) -> bool:
        """Whether a namespace and a key of the key group may lie at a place."""
        state = self._states[state_id]
        if state.kind is StateKind.TIMERS:
            return True
        namespace, key = identity_parts(state)
        reader = EntryReader(chunk.view(place, len(chunk)), self._kryo)
        try:
            reader.read(namespace)
            key_value = reader.read(key)
            return key_group(java_hash(key, key_value), self._max_parallelism) == group
        except UnstableHashError:
            return True
        except FormatError:
            return False


def _entry(state: State) -> layouts.Struct:
    if state.kind is StateKind.TIMERS:
        return layouts.Struct(("entry",), (state.stored,))
    value = with_open_pojos(state.stored)
    return layouts.Struct(("namespace", "key", "value"), (*identity_parts(state), value))


def is_doubtful(layout: Layout) -> bool:
    """Whether a value may be undecodable because only the value itself names its class."""
    if isinstance(layout, layouts.Pojo):
        return True  # the snapshot may not describe its subclass
    return is_unknown(layout) or any(map(is_doubtful, parts(layout)))


def is_unknown(layout: Layout) -> bool:
    """Like ``is_doubtful``, but POJOs count as known in spite of possible subclasses."""
    match layout:
        case layouts.Opaque() | layouts.JavaObject():
            return True
        case layouts.Kryo():
            return struct_column_type(layout) is None or is_described(layout)
        case layouts.Coded(codec):
            return layout.is_open and codec.length < 0
        case _:
            return any(map(is_unknown, parts(layout)))


def identity_parts(state: State) -> tuple[Layout, Layout]:
    """Layouts of an entry's namespace and key, in this order."""
    return namespace_layout(state), key_layout(state)
