"""Key groups that are too large for memory, read in several passes.

The rows of a key group are complete only when all its entries were seen, for its states lie one
behind the other. A key group too large to be held is therefore read as often as it has portions;
each pass keeps the entries of the keys that fall into its portion by a hash of their identity. So
memory is bounded by a portion and a block, however large a key group is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.columns.chunk import Chunk
from savepoint_formats.scan.state_rows import EntrySpans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Positions = NDArray[np.int64]
    Part = tuple[Chunk, dict[str, EntrySpans]]
    Identities = Callable[[str, Chunk, EntrySpans], tuple[Positions, Positions]]

_BYTES = 8
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def portions(
    blocks: Callable[[], Iterator[Part]], count: int, identities: Identities, path: str
) -> Iterator[Part]:
    """The entries of a key group, portion by portion; all entries of a key are in one portion.

    Args:
        blocks: Reads the key group from its beginning, in blocks of any size.
        count: How many portions.
        identities: Where the identities of entries of a state begin and end.
        path: Where the entries come from; named in errors.
    """
    for number in range(count):
        portion = _Portion()
        for chunk, found in blocks():
            for name, spans in found.items():
                starts, ends = identities(name, chunk, spans)
                is_own = identity_hashes(chunk.data, starts, ends) % np.uint64(count) == number
                portion.add(name, chunk.data, spans, np.flatnonzero(is_own))
        yield portion.part(path)


def identity_hashes(
    data: NDArray[np.uint8], starts: Positions, ends: Positions
) -> NDArray[np.uint64]:
    """A hash of each identity: of its size, and of its first and last eight bytes.

    Keys differ at their ends as a rule; where they do not, portions are merely uneven.
    """
    hashes = (ends - starts).astype(np.uint64)
    last = np.maximum(len(data) - 1, 0)
    for distance in range(_BYTES):
        for positions in (starts + distance, ends - 1 - distance):
            is_inside = (positions >= starts) & (positions < ends)
            found = np.where(is_inside, data[np.clip(positions, 0, last)], 0)
            hashes = (hashes ^ found.astype(np.uint64)) * _MULTIPLIER
            hashes ^= hashes >> np.uint64(29)
    return hashes


class _Portion:
    """Copies of entries, one behind the other."""

    def __init__(self) -> None:
        self._data: list[NDArray[np.uint8]] = []
        self._size = 0
        self._spans: dict[str, list[tuple[Positions, Positions, Positions, Positions]]] = {}

    def add(self, name: str, data: NDArray[np.uint8], spans: EntrySpans, chosen: Positions) -> None:
        """Takes entries over; the bytes of a key and of its value, wherever they lie."""
        if not len(chosen):
            return
        keys = self._copy(data, spans.key_starts[chosen], spans.key_ends[chosen])
        values = self._copy(data, spans.value_starts[chosen], spans.value_ends[chosen])
        self._spans.setdefault(name, []).append((*keys, *values))

    def _copy(
        self, data: NDArray[np.uint8], starts: Positions, ends: Positions
    ) -> tuple[Positions, Positions]:
        sizes = ends - starts
        new_ends = self._size + np.cumsum(sizes)
        new_starts = new_ends - sizes
        indexes = np.arange(int(sizes.sum())) + np.repeat(starts - (new_starts - self._size), sizes)
        self._data.append(data[indexes])
        self._size += len(indexes)
        return new_starts, new_ends

    def part(self, path: str) -> Part:
        """All entries taken over, in one chunk."""
        data = np.concatenate(self._data) if self._data else np.empty(0, np.uint8)
        spans = {
            name: EntrySpans(*(np.concatenate(one) for one in zip(*found, strict=True)))
            for name, found in self._spans.items()
        }
        return Chunk(data, path), spans
