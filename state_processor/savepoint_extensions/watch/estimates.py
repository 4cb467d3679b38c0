"""Estimates from a sample of keys, with their errors.

A number is divided by the part of the keys that the sample has. The error is what 95 of 100 samples
keep: keys are chosen independently, and key groups are compared with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from savepoint_extensions.watch.key_sample import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from savepoint_extensions.watch.key_sample import Sample

_SIGMAS = 1.96

_UNSEEN = 1.0
"""Error of a state of which a sample of some key groups has nothing: all of it may be in the others."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How much of a state a sample has.

    Attributes:
        shift: ``2**-shift`` of the keys.
        is_wanted: The key groups that are sampled.
        share: Their part of the state's bytes.
    """

    shift: int
    is_wanted: NDArray[np.bool_]
    share: float

    @property
    def weight(self) -> float:
        """Entries for which one of the sample stands."""
        return 2.0**self.shift / self.share if self.share else 0.0

    @property
    def is_whole(self) -> bool:
        return not self.shift and bool(self.is_wanted.all())


@dataclass(frozen=True, slots=True)
class StateEstimate:
    """Entries and bytes of a state; ``error`` is relative, of the bytes."""

    entries: int
    size: int
    error: float

    @classmethod
    def of(cls, living: Sample, rate: Rate) -> StateEstimate:
        """The estimate from a sample's living entries."""
        total = float(living.sizes.sum())
        if not total:
            return cls(0, 0, 0.0 if rate.is_whole else _UNSEEN)
        variance = _variance_of_keys(living, rate) + _variance_of_groups(living, rate)
        return cls(
            round(len(living) * rate.weight),
            round(total * rate.weight),
            _SIGMAS * variance**0.5 / (total * 2.0**rate.shift),
        )


def _variance_of_keys(living: Sample, rate: Rate) -> float:
    """The variance of the sampled key groups' bytes because not all of their keys are sampled."""
    part = 2.0**-rate.shift
    return float(np.square(living.sizes.astype(np.float64)).sum()) * (1 - part) / part**2


def _variance_of_groups(living: Sample, rate: Rate) -> float:
    count, wanted = len(rate.is_wanted), int(rate.is_wanted.sum())
    if wanted in (count, 0, 1):
        return 0.0
    totals = np.bincount(living.groups, living.sizes, count)[rate.is_wanted] * 2.0**rate.shift
    return wanted * (1 - wanted / count) * float(totals.var(ddof=1))


@dataclass(frozen=True, slots=True)
class LargeKey:
    """A key with much state: its stored bytes, and estimates of its entries and bytes."""

    data: bytes
    key_group: int
    entries: int
    size: int
    error: float


def largest_keys(samples: Sequence[tuple[Sample, int]], top: int) -> list[LargeKey]:
    """The keys with the most entries in some states' samples, each with its shift.

    Only keys of sampled key groups are seen. ``error`` is relative, of the entries.
    """
    known = [(sample, shift) for sample, shift in samples if sample.owners.any()]
    if not known or not top:
        return []
    owners = np.concatenate([sample.owners for sample, _ in known])
    weights = np.concatenate([np.full(len(sample), 2.0**shift) for sample, shift in known])
    sizes = np.concatenate([sample.sizes for sample, _ in known]) * weights
    groups = np.concatenate([sample.groups for sample, _ in known])
    _, firsts, of_entry = np.unique(owners, return_index=True, return_inverse=True)
    entries, bytes_ = np.bincount(of_entry, weights), np.bincount(of_entry, sizes)
    variances = np.bincount(of_entry, weights * (weights - 1))
    order = np.lexsort((groups[firsts], -bytes_, -entries))[:top]
    borders = np.cumsum([0, *(len(sample) for sample, _ in known)])
    keys = []
    for number in order.tolist():
        first = int(firsts[number])
        place = int(np.searchsorted(borders, first, "right")) - 1
        count = float(entries[number])
        keys.append(
            LargeKey(
                known[place][0].keys[first - int(borders[place])].as_py(),
                int(groups[first]),
                round(count),
                round(float(bytes_[number])),
                _SIGMAS * float(variances[number]) ** 0.5 / count,
            )
        )
    return keys


def share_before(living: Sample, time: int) -> tuple[float | None, float]:
    """The share of entries whose time is at or before ``time``, and its error; None without times."""
    times = living.times[living.times != NO_TIME]
    if not len(times):
        return None, 0.0
    share = float(np.count_nonzero(times <= time)) / len(times)
    return share, _SIGMAS * (share * (1 - share) / len(times)) ** 0.5


def skew(sizes: NDArray[np.float64] | Sequence[float]) -> float | None:
    """The largest number as a multiple of the mean; None if there is nothing."""
    numbers = np.asarray(sizes, np.float64)
    return float(numbers.max() / numbers.mean()) if len(numbers) and numbers.any() else None
