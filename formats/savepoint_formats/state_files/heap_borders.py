"""Where the states of a key group lie in a heap file, if not all of them can be decoded.

Nothing in such a file has a size, but much is known: each state is there once, the states that can
be decoded end where they end, and the last one ends with the key group. The borders are those with
which everything fits. Other borders may fit by chance; then none is believed.

The same goes for the entries of a state: each begins with a namespace and a key, and the key is one
of this key group; what can be decoded ends where it ends. The entries are those with which everything
fits, see ``separation``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.errors import FormatError, UnstableHashError
from savepoint_formats.hashing.java_hash import java_hash
from savepoint_formats.key_groups.ranges import key_group
from savepoint_formats.values.separation import starts_of_entries
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
        may_begin: Tells whether an entry of a state may begin at a position.
    """

    def __init__(
        self,
        chunk: Chunk,
        entries: Sequence[Struct],
        doubtful: frozenset[int],
        skip: Callable[[int, int, int], int],
        may_begin: Callable[[int, int], bool],
    ) -> None:
        self._may_begin = may_begin
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
        if state_id in self._doubtful and self._may_begin(state_id, start):
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


@dataclass(frozen=True, slots=True)
class KeyGroupEntries:
    """Knows an entry of a state and a key group when it sees one.

    Attributes:
        chunk: The states of the key group.
        entry: The layout of ``namespace``, ``key`` and ``value``.
        key_group_of: The key group, and the max parallelism.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    chunk: Chunk
    entry: Struct
    key_group_of: tuple[int, int]
    kryo: KryoDialect | None

    def starts(self, state: HeapState) -> tuple[int, ...] | None:
        """Where the entries of the state begin; None if that is not certain."""
        view = self.chunk.view(state.start, state.end)

        def may_begin(position: int) -> bool:
            return self.may_begin(state.start + position)

        starts = starts_of_entries(self.entry, state.count, view, self.kryo, may_begin)
        return starts and tuple(state.start + start for start in starts)

    def may_begin(self, place: int) -> bool:
        """Whether a namespace and a key of the key group may lie at a place."""
        group, max_parallelism = self.key_group_of
        reader = EntryReader(self.chunk.view(place, len(self.chunk)), self.kryo)
        namespace, key, _ = self.entry.fields
        try:
            reader.read(namespace)
            key_value = reader.read(key)
            return key_group(java_hash(key, key_value), max_parallelism) == group
        except UnstableHashError:
            return True
        except FormatError:
            return False
