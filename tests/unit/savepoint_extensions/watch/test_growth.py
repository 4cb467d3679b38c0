"""Growth is steady if the whole window rises to where the state never was."""

from __future__ import annotations

import math
import time
from random import Random

import pytest

from savepoint_extensions.watch.growth import DAY, MOST_POINTS, Series
from savepoint_extensions.watch.spans import Span

OVER = AFTER = Span(checkpoints=10)


def growth_at_each(
    sizes: list[float], over: Span = OVER, after: Span = AFTER
) -> list[float | None]:
    series, told = Series(), []
    for number, size in enumerate(sizes):
        series.add(60.0 * number, size)
        told.append(series.growth(over, after).steady_per_day)
    return told


def test_a_line_grows_by_its_slope() -> None:
    told = growth_at_each([1000.0 + 5 * number for number in range(30)])
    assert told[:19] == [None] * 19
    assert told[19:] == [pytest.approx(5 * 1440)] * 11


def test_a_leak_is_told_when_half_to_all_of_the_window_shows_it() -> None:
    sizes = [1000.0] * 20 + [1000.0 + 7 * number for number in range(1, 21)]
    told = growth_at_each(sizes)
    first = next(number for number, it in enumerate(told) if it)
    assert 20 + 4 <= first <= 20 + 9
    assert all(told[29:])


@pytest.mark.parametrize("seed", range(20))
def test_noise_around_a_level_is_no_growth_and_hides_no_leak(seed: int) -> None:
    random = Random(seed)
    level = [1000 + random.uniform(-50, 50) for _ in range(60)]
    assert not any(growth_at_each(level))
    leak = [size + max(number - 30, 0) * 40 for number, size in enumerate(level)]
    assert any(growth_at_each(leak))


@pytest.mark.parametrize("seed", range(10))
def test_a_state_that_is_cleaned_from_time_to_time_is_not_told(seed: int) -> None:
    random = Random(seed)
    sizes = [1000.0 + 100 * (number % 9) + random.uniform(-5, 5) for number in range(200)]
    # Peaks differ a little: nothing that is above the last peak by noise rises for a whole window.
    assert not any(growth_at_each(sizes))


def test_a_step_and_growth_that_ends_are_not_told() -> None:
    step = [1000.0] * 25 + [2000.0] * 25
    assert not any(growth_at_each(step))
    filling = [10_000 * (1 - math.exp(-number / 3)) for number in range(60)]
    assert not any(growth_at_each(filling))


def test_a_slope_that_may_be_chance_is_not_told() -> None:
    # Both halves and the whole rise, to where the state never was; noise does so now and then.
    assert growth_at_each([20.0] * 10 + [27, 41, 52, 47, 52, 32, 39, 38, 57, 51])[-1] == 0


def test_a_shrinking_state_has_a_negative_slope() -> None:
    series = Series()
    for number in range(30):
        series.add(DAY * number, 1000.0 - 10 * number)
    growth = series.growth(OVER, AFTER)
    assert growth.per_day == pytest.approx(-10)
    assert growth.steady_per_day == 0.0


def test_what_a_judgement_needs_is_told() -> None:
    series = Series()
    assert series.growth(OVER, AFTER).missing == "1 checkpoint of 10 checkpoints"
    for number in range(12):
        series.add(60.0 * number, 100.0)
    assert series.growth(OVER, AFTER).missing == (
        "the window begins 2 checkpoints after the first, 10 checkpoints are waited for"
    )
    over = Span(seconds=3600)
    assert series.growth(over, AFTER).missing == "660 s of 3,600 s"
    after = Span(seconds=300)
    assert series.growth(Span(checkpoints=6), after).missing == ""
    assert series.growth(Span(checkpoints=10), after).missing == (
        "the window begins 120 s after the first checkpoint, 300 s are waited for"
    )


def test_a_window_of_time_has_the_checkpoints_of_that_time() -> None:
    sizes = [1000.0] * 100 + [1000.0 + 7 * number for number in range(100)]
    told = growth_at_each(sizes, Span(seconds=1800), Span(seconds=600))
    assert not any(told[:100])
    assert all(told[131:])


def test_a_long_history_takes_no_more_room_and_keeps_its_peak() -> None:
    series = Series()
    for number in range(20_000):
        series.add(60.0 * number, 5000.0 if number == 77 else 1000.0)
    assert len(series.times) <= MOST_POINTS
    assert series.times == sorted(series.times)
    assert (max(series.sizes), series.count) == (5000.0, 20_000)


def test_a_checkpoint_of_the_same_time_is_left_out() -> None:
    series = Series()
    for seconds in (1.0, 1.0, 0.5, 2.0):
        series.add(seconds, 10.0)
    assert (series.times, series.count) == ([1.0, 2.0], 2)


def test_sizes_of_the_future_go_when_an_earlier_one_comes() -> None:
    """An earlier release wrote them into the file of sizes, or the watch's own clock was ahead."""
    now, series = time.time(), Series()
    for seconds in (now - 120, now + 86_400, now - 60):
        series.add(seconds, 100.0)
    assert (series.times, series.count) == ([now - 120, now - 60], 2)
