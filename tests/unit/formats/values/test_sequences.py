"""Ways in which things of a number fill some bytes, compared to trying all of them."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.slow_cases import nightly_unless

from savepoint_formats.values.separable_parts import Place, ways_between

END = 12


@st.composite
def places(draw: st.DrawFn) -> list[Place]:
    """Places that may begin at 0 and others; each ends somewhere, or anywhere behind something."""
    starts = [0, *sorted(draw(st.sets(st.integers(1, END - 1))))]
    ends = [draw(st.integers(start + 1, END)) for start in starts]
    return [Place(*place, draw(st.booleans())) for place in zip(starts, ends, strict=True)]


@given(places(), st.integers(1, 6), st.sets(st.tuples(st.integers(0, END), st.integers(0, END))))
def test_they_are_those_that_trying_all_finds(
    given_places: list[Place], count: int, refused: set[tuple[int, int]]
) -> None:
    by_start = {place.start: place for place in given_places}

    def fills(start: int, end: int) -> bool:
        place = by_start[start]
        fits = place.least == end if place.is_exact else place.least <= end
        return fits and (start, end) not in refused

    every = [
        (0, *others)
        for others in combinations([place.start for place in given_places[1:]], count - 1)
        if all(fills(*pair) for pair in pairwise([0, *others, END]))
    ]
    found = ways_between(given_places, END, count, fills)
    assert len(found) == min(len(every), 2)
    assert set(found) <= set(every)


def test_many_things_that_all_begin_at_places_of_their_own_take_no_time() -> None:
    starts = range(0, 100_000, 2)
    given_places = [Place(start, start + 1, False) for start in starts]
    (way,) = ways_between(given_places, 100_000, len(starts), lambda _start, _end: True)
    assert way == tuple(starts)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("count", nightly_unless((3_000).__eq__, [3_000, 7_000]))
def test_what_takes_too_long_is_given_up(count: int) -> None:
    given_places = [Place(start, start + 1, False) for start in range(10_000)]
    assert ways_between(given_places, 10_000, count, lambda _start, _end: True) == []
