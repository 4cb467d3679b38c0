"""Distributions that are counted part by part, beside numpy's of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_extensions.sizes.distribution import SizeCounts, Skew, TimeCounts

SIZES = st.lists(st.integers(0, 300) | st.integers(0, 1 << 40), min_size=1, max_size=50)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)


@given(st.lists(SIZES, min_size=1, max_size=4))
def test_sizes_in_short_are_those_of_all(parts: list[list[int]]) -> None:
    counts = SizeCounts()
    for part in parts:
        counts.add(np.array(part, np.int64))
    found = counts.distribution()
    everything = np.array([size for part in parts for size in part])
    assert found is not None
    assert found.total == everything.sum()
    assert (found.min, found.max) == (everything.min(), everything.max())
    assert found.mean == pytest.approx(everything.mean())
    median, high = np.quantile(everything, [0.5, 0.99], method="inverted_cdf")
    assert (found.p50, found.p99) == (median, high)


@given(st.lists(st.lists(LONGS, max_size=20), min_size=1, max_size=4))
def test_times_are_told_as_exactly_as_they_say(parts: list[list[int]]) -> None:
    counts = TimeCounts()
    for part in parts:
        counts.add(np.array(part, np.int64))
    times = sorted(time for part in parts for time in part)
    if not times:
        assert (counts.earliest, counts.median(), counts.histogram(10)) == (None, None, ())
        return
    assert (counts.earliest, counts.latest) == (times[0], times[-1])
    assert counts.median() == times[(len(times) - 1) // 2]
    bars = counts.histogram(10)
    assert len(bars) <= 10
    assert sum(number for _, number in bars) == len(times)
    width = bars[1][0] - bars[0][0] if len(bars) > 1 else times[-1] - times[0] + 1
    for start, number in bars:
        assert number == sum(start <= time < start + width for time in times)


def test_buckets_of_many_times_become_wider_and_lose_none() -> None:
    counts, times = TimeCounts(), np.arange(100_000, dtype=np.int64) * 7 - 350_000
    for part in np.array_split(times, 7):
        counts.add(part)
    assert counts.shift > 0
    median = counts.median()
    assert median is not None
    assert 0 <= times[len(times) // 2 - 1] - median < 1 << counts.shift
    assert sum(number for _, number in counts.histogram(60)) == len(times)


@pytest.mark.parametrize(
    ("shares", "max_over_mean", "gini"),
    [([5, 5, 5, 5], 1, 0), ([0, 0, 0, 8], 4, 0.75), ([1, 2, 3, 4], 1.6, 0.25)],
)
def test_skew_of_known_shares(shares: list[int], max_over_mean: float, gini: float) -> None:
    found = Skew.of(np.array(shares))
    assert (found.max_over_mean, found.gini) == pytest.approx((max_over_mean, gini))


def test_nothing_has_no_skew() -> None:
    assert Skew.of(np.zeros(3, np.int64)) == Skew(None, None)
