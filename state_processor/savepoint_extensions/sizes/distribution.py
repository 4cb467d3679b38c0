"""Distributions of sizes and times, counted in little memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Skew:
    """Measures of an uneven distribution; both are None if there is nothing.

    Attributes:
        max_over_mean: The largest number divided by the mean; 1 is even.
        gini: The Gini coefficient: 0 if all numbers are equal, close to 1 if one has everything.
    """

    max_over_mean: float | None
    gini: float | None

    @classmethod
    def of(cls, shares: NDArray[np.int64]) -> Self:
        """The skew of these numbers; zeros count."""
        total = float(shares.sum())
        if not total:
            return cls(None, None)
        count = len(shares)
        ranks = np.arange(1, count + 1, dtype=np.float64)
        gini = 2 * float(ranks @ np.sort(shares).astype(np.float64)) / (count * total)
        return cls(float(shares.max()) * count / total, gini - (count + 1) / count)


Longs = NDArray[np.int64]

_DIRECT = 1 << 16
"""Numbers below are counted without sorting."""

_MOST_BUCKETS = 1 << 14


@dataclass(frozen=True, slots=True)
class Distribution:
    """A summary of numbers: bytes, or lengths of collections.

    A quantile is exact: the smallest number that at least that fraction of numbers does not exceed.
    """

    total: int
    min: int
    mean: float
    p50: int
    p99: int
    max: int


def _nothing() -> Longs:
    return np.empty(0, np.int64)


@dataclass(slots=True)
class SizeCounts:
    """How often each size occurs; it stays small because n sizes need n² / 2 bytes or so."""

    sizes: Longs = field(default_factory=_nothing)
    counts: Longs = field(default_factory=_nothing)

    def add(self, sizes: Longs) -> None:
        """Counts sizes, none of which is negative."""
        if len(sizes):
            self._merge(*_counted(sizes))

    def merge(self, other: SizeCounts) -> None:
        if len(other.sizes):
            self._merge(other.sizes, other.counts)

    def _merge(self, sizes: Longs, counts: Longs) -> None:
        self.sizes, self.counts = _merged(
            np.concatenate([self.sizes, sizes]), np.concatenate([self.counts, counts])
        )

    @property
    def total(self) -> int:
        return int(self.sizes @ self.counts)

    def distribution(self) -> Distribution | None:
        """The summary of the sizes; None if there are none."""
        if not len(self.sizes):
            return None
        count, total = int(self.counts.sum()), self.total
        return Distribution(
            total=total,
            min=int(self.sizes[0]),
            mean=total / count,
            p50=self._quantile(count, 50),
            p99=self._quantile(count, 99),
            max=int(self.sizes[-1]),
        )

    def _quantile(self, count: int, percent: int) -> int:
        rank = -(-count * percent // 100)
        return int(self.sizes[np.searchsorted(np.cumsum(self.counts), rank)])


@dataclass(slots=True)
class TimeCounts:
    """Times, counted in buckets that become wider where there are too many.

    Attributes:
        earliest: The first time, in ms since the epoch; None if there is none.
        latest: The last one.
        shift: A bucket is ``1 << shift`` ms wide.
    """

    earliest: int | None = None
    latest: int | None = None
    shift: int = 0
    _buckets: Longs = field(default_factory=_nothing)
    _counts: Longs = field(default_factory=_nothing)

    def add(self, times: Longs) -> None:
        """Counts times, in ms since the epoch."""
        if not len(times):
            return
        buckets, counts = np.unique(times >> self.shift, return_counts=True)
        self._merge(int(times.min()), int(times.max()), buckets, counts)

    def merge(self, other: TimeCounts) -> None:
        if other.earliest is None or other.latest is None:
            return
        shift = max(self.shift, other.shift)
        self._buckets >>= shift - self.shift
        buckets = other._buckets >> (shift - other.shift)
        self.shift = shift
        self._merge(other.earliest, other.latest, buckets, other._counts)

    def _merge(self, first: int, last: int, buckets: Longs, counts: Longs) -> None:
        self.earliest = first if self.earliest is None else min(first, self.earliest)
        self.latest = last if self.latest is None else max(last, self.latest)
        self._buckets, self._counts = _merged(
            np.concatenate([self._buckets, buckets]), np.concatenate([self._counts, counts])
        )
        while len(self._buckets) > _MOST_BUCKETS:
            self.shift += 1
            self._buckets, self._counts = _merged(self._buckets >> 1, self._counts)

    def median(self) -> int | None:
        """The median time, or the beginning of its bucket."""
        if self.earliest is None:
            return None
        ranks = np.cumsum(self._counts)
        bucket = self._buckets[np.searchsorted(ranks, -(-ranks[-1] // 2))]
        return max(int(bucket) << self.shift, self.earliest)

    def histogram(self, bars: int) -> tuple[tuple[int, int], ...]:
        """The start in ms, and the number of times, of each of ``bars`` equally wide bars."""
        if self.earliest is None or self.latest is None:
            return ()
        width = max((self.latest - self.earliest) // bars + 1, 1 << self.shift)
        starts = np.maximum(self._buckets << self.shift, self.earliest)
        # Differences of times may need 64 bits without a sign.
        index = (starts - self.earliest).view(np.uint64) // np.uint64(width)
        counts = np.bincount(index.astype(np.int64), self._counts)
        return tuple(
            (self.earliest + number * width, int(count)) for number, count in enumerate(counts)
        )


def _counted(numbers: Longs) -> tuple[Longs, Longs]:
    """Distinct numbers, ascending, and how often each occurs."""
    if int(numbers.max()) < _DIRECT:
        counts = np.bincount(numbers)
        (column,) = np.nonzero(counts)
        return column.astype(np.int64), counts[column].astype(np.int64)
    column, counts = np.unique(numbers, return_counts=True)
    return column, counts.astype(np.int64)


def _merged(numbers: Longs, counts: Longs) -> tuple[Longs, Longs]:
    """Distinct numbers, ascending, and the sum of their counts."""
    order = np.argsort(numbers, kind="stable")
    numbers, counts = numbers[order], counts[order]
    firsts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)])
    return numbers[firsts], np.add.reduceat(counts, firsts)
