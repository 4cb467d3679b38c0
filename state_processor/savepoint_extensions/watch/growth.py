"""How a state grows: a line through its sizes, and whether it grows steadily to where it never was.

The slope is the median of the slopes between all pairs of checkpoints (Theil and Sen), so that a few
odd sizes don't matter. Its lower bound is the one that Sen's test gives with 95 % confidence. Growth
is steady if

* the window of checkpoints begins after the time in which the job fills its state,
* the lower bound is above 0, and each half of the window rises at least half as fast as the whole,
* the median of the second half is above all sizes before the window.

So a step, as a rescale makes it, growth that ends, and a state that is cleaned from time to time are
not steady.

Sen, P. K. (1968). Estimates of the regression coefficient based on Kendall's tau.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from savepoint_extensions.watch.spans import LEAST_POINTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_extensions.watch.spans import Span

    Doubles = NDArray[np.float64]

DAY = 86_400.0
MOST_POINTS = 1024
"""Sizes that are remembered of a state; of the older ones every second goes."""

_MOST_FITTED = 128
_SIGMAS = 1.96


@dataclass(frozen=True, slots=True)
class Growth:
    """Growth of a state over a window of checkpoints.

    Attributes:
        per_day: Bytes per day, by the line; None if there are too few checkpoints.
        steady_per_day: What it grows at least by per day if it grows steadily, otherwise 0; None if
            the window is not full yet, or begins too early.
        missing: What a judgement still needs; empty if nothing.
    """

    per_day: float | None
    steady_per_day: float | None
    missing: str = ""


@dataclass(slots=True)
class Series:
    """The sizes of a state, checkpoint by checkpoint.

    Attributes:
        times: Seconds since the epoch.
        sizes: Bytes.
        count: Number of checkpoints, with those that are forgotten.
        begin: Time of the first one.
    """

    times: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    count: int = 0
    begin: float = 0.0

    def add(self, seconds: float, size: float) -> None:
        """Adds a checkpoint; one that is not later than the last is left out.

        Removes sizes with a time in the future, because no later checkpoint would count.
        """
        while self.times and seconds < self.times[-1] > time.time():
            self.times.pop()
            self.sizes.pop()
            self.count -= 1
        if self.times and seconds <= self.times[-1]:
            return
        if not self.count:
            self.begin = seconds
        self.times.append(seconds)
        self.sizes.append(float(size))
        self.count += 1
        if len(self.times) > MOST_POINTS:
            self._thin()

    def _thin(self) -> None:
        """Keeps the larger size of each two in the older half."""
        half = len(self.times) // 4 * 2
        pairs = [
            max(
                (self.sizes[place], self.times[place]),
                (self.sizes[place + 1], self.times[place + 1]),
            )
            for place in range(0, half, 2)
        ]
        self.times[:half] = [seconds for _, seconds in pairs]
        self.sizes[:half] = [size for size, _ in pairs]

    def growth(self, over: Span, after: Span) -> Growth:
        """The growth in the window ``over`` the last checkpoints, which must begin ``after`` the first."""
        start = self._start(over)
        times, sizes = np.array(self.times[start:]), np.array(self.sizes[start:])
        if len(times) < 2:
            return Growth(None, None, f"1 checkpoint of {over}")
        slope, low = _line(times, sizes)
        missing = self._missing(start, over, after)
        if missing:
            return Growth(slope * DAY, None, missing)
        before = max(self.sizes[:start], default=float("-inf"))
        middle = (len(times) + 1) // 2
        halves = [
            _line(times[part], sizes[part])[0] for part in (slice(middle), slice(-middle, None))
        ]
        is_steady = (
            low > 0 and min(halves) >= slope / 2 and float(np.median(sizes[-middle:])) > before
        )
        return Growth(slope * DAY, low * DAY if is_steady else 0.0)

    def _start(self, over: Span) -> int:
        if over.checkpoints is not None:
            return max(len(self.times) - over.checkpoints, 0)
        earliest = self.times[-1] - (over.seconds or 0) if self.times else 0.0
        return int(np.searchsorted(self.times, earliest))

    def _missing(self, start: int, over: Span, after: Span) -> str:
        """What the window lacks."""
        points = len(self.times) - start
        if points < (over.checkpoints or LEAST_POINTS):
            return f"{points} checkpoints of {over.checkpoints or LEAST_POINTS}"
        if over.seconds is not None and not start:
            return f"{self.times[-1] - self.times[0]:,.0f} s of {over}"
        skipped, waited = self.count - points, self.times[start] - self.begin
        if after.checkpoints is not None and skipped < after.checkpoints:
            return (
                f"the window begins {skipped} checkpoints after the first, {after} are waited for"
            )
        if after.seconds is not None and waited < after.seconds:
            return f"the window begins {waited:,.0f} s after the first checkpoint, {after} are waited for"
        return ""


def _line(times: Doubles, sizes: Doubles) -> tuple[float, float]:
    """The slope per second, and its lower bound."""
    if len(times) > _MOST_FITTED:
        places = np.linspace(0, len(times) - 1, _MOST_FITTED).astype(np.int64)
        times, sizes = times[places], sizes[places]
    count = len(times)
    first, second = np.triu_indices(count, 1)
    slopes = np.sort((sizes[second] - sizes[first]) / (times[second] - times[first]))
    spread = _SIGMAS * (count * (count - 1) * (2 * count + 5) / 18) ** 0.5
    lowest = max(int((len(slopes) - spread) / 2), 0)
    return float(np.median(slopes)), float(slopes[lowest])
