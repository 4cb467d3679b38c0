"""Adds up numbers of entries by key, some megabytes of entries at a time.

Keys of a chunk are compared as bytes. Chunks have no key in common if key groups of one are all behind
those of the other, or if keys ascend over both. All other keys are told apart by a hash of 128 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from savepoint_formats.entries import distinct_hashes
from savepoint_formats.program.byte_ranges import Ranges, bytes_of
from savepoint_formats.sources.keyed_batch import KeyRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from savepoint_formats.bytes import Chunk

    Longs = NDArray[np.int64]
    Hashes = NDArray[np.uint64]
    Groups = NDArray[np.uint16]

# Its multiples differ in all bits, so that hashes of a key in two key groups are two.
_OF_GROUP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class SummedKeys:
    """Distinct keys: stored bytes and key group of each, and the sums of its numbers."""

    data: pa.ChunkedArray
    groups: Groups
    numbers: tuple[Longs, ...]

    def __len__(self) -> int:
        return len(self.data)

    def distinct(self) -> Self:
        """Adds up the numbers of equal keys; a damaged savepoint may have a key in two key groups."""
        hashes = np.concatenate([distinct_hashes(chunk) for chunk in self.data.chunks])
        hashes[:, 1] ^= self.groups * _OF_GROUP
        distinct = Distinct.of(hashes)
        if len(distinct.firsts) == len(self):
            return self
        return replace(
            self,
            data=self.data.take(pa.array(distinct.firsts)),
            groups=self.groups[distinct.firsts],
            numbers=tuple(map(distinct.sums, self.numbers)),
        )


class KeySums:
    """Sums of numbers by key; entries come chunk by chunk."""

    def __init__(self) -> None:
        self._parts: list[SummedKeys] = []
        self._are_distinct = True
        self._is_sorted = True
        self._most = -1
        self._last = b""

    def add(
        self, chunk: Chunk, prefix_size: int, keys: Ranges, groups: Groups, numbers: Sequence[Longs]
    ) -> None:
        """Adds entries with these keys, behind prefixes of their key groups unless the size is 0."""
        if not len(keys):
            return
        table = KeyRows(chunk, prefix_size)
        rows = table.rows(keys.starts, keys.ends)
        if not isinstance(rows, range):
            count, groups_of_rows = len(table), np.empty(len(table), np.uint16)
            groups_of_rows[rows[::-1]] = groups[::-1]
            groups, numbers = groups_of_rows, [_sums(rows, each, count) for each in numbers]
        data = bytes_of(chunk, Ranges(table.key_starts, table.key_ends))
        least, most = int(groups.min()), int(groups.max())
        is_sorted = table.are_sorted and (prefix_size > 0 or least == most)
        goes_on = is_sorted and self._is_sorted
        first = least, data[0].as_py()
        is_behind = least > self._most or (goes_on and first > (self._most, self._last))
        self._are_distinct &= is_behind
        self._most, self._last, self._is_sorted = max(most, self._most), data[-1].as_py(), is_sorted
        self._parts.append(SummedKeys(pa.chunked_array([data]), groups, tuple(numbers)))

    def by_key(self) -> SummedKeys:
        """All distinct keys; there must be an entry."""
        return _whole(self._parts) if self._are_distinct else _whole(self._parts).distinct()


def _whole(parts: Sequence[SummedKeys]) -> SummedKeys:
    """The keys of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return SummedKeys(
        pa.chunked_array([chunk for part in parts for chunk in part.data.chunks]),
        np.concatenate([part.groups for part in parts]),
        tuple(map(np.concatenate, zip(*(part.numbers for part in parts), strict=True))),
    )


def joined(parts: Sequence[SummedKeys]) -> SummedKeys:
    """The distinct keys of several states."""
    first, *others = parts
    rest = []
    for other in others:
        # States of an operator mostly have the same keys in the same order.
        if np.array_equal(other.groups, first.groups) and other.data.equals(first.data):
            sums = (total + more for total, more in zip(first.numbers, other.numbers, strict=True))
            first = replace(first, numbers=tuple(sums))
        else:
            rest.append(other)
    return _whole((first, *rest)).distinct() if rest else first


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
        return _sums(self.of_entry, numbers, len(self.firsts))


def _sums(of_entry: NDArray[np.integer], numbers: Longs, count: int) -> Longs:
    # Sums of doubles are exact up to 2^53.
    return np.bincount(of_entry, numbers, count).astype(np.int64)


def _is_new(hashes: Hashes) -> NDArray[np.bool_]:
    """Whether each hash differs from the one before."""
    low, high = hashes[:, 0], hashes[:, 1]
    is_new = np.ones(len(hashes), np.bool_)
    is_new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return is_new
