"""Borders of the keys and values of entries in one buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.key_groups import KeyGroupRange

    Part = tuple[Chunk, dict[str, "EntryRanges"]]
    """A chunk, and the borders of the entries in it by the name of their state."""


@dataclass(frozen=True, slots=True, eq=False)
class EntryRanges:
    """Borders of a state's entries in a chunk; a key begins with its key-group prefix."""

    key_starts: NDArray[np.int64]
    key_ends: NDArray[np.int64]
    value_starts: NDArray[np.int64]
    value_ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.key_starts)

    def arrays(self) -> tuple[NDArray[np.int64], ...]:
        """Returns the four arrays in their order."""
        return self.key_starts, self.key_ends, self.value_starts, self.value_ends

    def moved(self, distance: int) -> EntryRanges:
        """Borders of the same entries if they begin ``distance`` bytes later."""
        return EntryRanges(*(positions + distance for positions in self.arrays()))

    def chosen(self, wanted: NDArray[np.bool_] | slice) -> EntryRanges:
        """Borders of some entries."""
        return EntryRanges(*(positions[wanted] for positions in self.arrays()))

    @classmethod
    def joined(cls, several: Iterable[EntryRanges]) -> Self:
        """Borders of the entries of all of these; there must be at least one."""
        arrays = zip(*(ranges.arrays() for ranges in several), strict=True)
        return cls(*(np.concatenate(positions) for positions in arrays))


def key_groups_at(chunk: Chunk, starts: NDArray[np.int64], size: int) -> NDArray[np.int32]:
    """Key groups of the prefixes of ``size`` bytes that begin there."""
    groups = chunk.data[starts].astype(np.int32)
    for distance in range(1, size):
        groups = groups << 8 | chunk.data[starts + distance]
    # The highest bit of the first byte marks the last entry of a run.
    return groups & ((1 << (8 * size - 1)) - 1)


def key_group_prefix(key_group: int, prefix_size: int) -> bytes:
    """Bytes in front of all keys of a key group; also the lower bound of these keys."""
    return key_group.to_bytes(prefix_size, "big")


def key_group_bounds(key_groups: KeyGroupRange, prefix_size: int) -> tuple[bytes, bytes]:
    """Lower bound of the keys of these key groups, and their exclusive upper bound."""
    start, end = key_groups.start, key_groups.end + 1
    return key_group_prefix(start, prefix_size), key_group_prefix(end, prefix_size)


def key_behind(prefix: bytes) -> bytes:
    """Smallest key after all keys that begin with ``prefix``, which must have a byte below FF."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1])
