"""Fills bytes with a known number of values, each of which begins at one of some places."""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    _Way = tuple[int, "_Way | None"]
    """A place, and the way from the next place on."""

_MOST_STEPS = 1 << 20
"""Limit of the pairs of places that are tried."""


class Place(NamedTuple):
    """A place where a value may begin.

    Attributes:
        start: Its start.
        least: Its end, or the earliest end if that is not known.
        is_exact: Whether ``least`` is the end.
    """

    start: int
    least: int
    is_exact: bool


def ways_between(
    places: Sequence[Place], end: int, count: int, fills: Callable[[int, int], bool]
) -> list[tuple[int, ...]]:
    """The starts of ``count`` values that fill the bytes up to ``end``, for each way.

    There are two ways at most, and none if the search takes too long. The first place is the start of
    the first value. ``fills`` tells whether a value may fill the bytes between two places.
    """
    candidates = _by_number(places, end, count)
    steps = sum(len(some) * len(others) for some, others in pairwise(candidates))
    if steps > _MOST_STEPS:
        return []
    behind: dict[int, list[_Way]] = {
        start: [(start, None)] for start in candidates[-1] if fills(start, end)
    }
    for starts in reversed(candidates[:-1]):
        behind = {start: _longer(start, behind, fills) for start in starts}
    return [tuple(_starts(way)) for way in behind.get(places[0].start, [])]


def _by_number(places: Sequence[Place], end: int, count: int) -> list[list[int]]:
    """The places where the first value may begin, the second, and so on."""
    in_front, behind = _in_front(places), _behind(places, end)
    candidates: list[list[int]] = [[] for _ in range(count)]
    for place in places:
        most = in_front.get(place.start, -1)
        for number in range(max(0, count - behind[place.start]), min(most, count - 1) + 1):
            candidates[number].append(place.start)
    return candidates


def _in_front(places: Sequence[Place]) -> dict[int, int]:
    """The most values in front of each place."""
    most = {places[0].start: 0}
    left: list[tuple[int, int]] = []
    reached = -1
    for place in places:
        while left and left[0][0] <= place.start:
            reached = max(reached, heappop(left)[1])
        if reached >= 0:
            most[place.start] = max(reached, most.get(place.start, 0))
        if place.start not in most:
            continue
        number = most[place.start] + 1
        if not place.is_exact:
            heappush(left, (place.least, number))
        elif number > most.get(place.least, 0):
            most[place.least] = number
    return most


def _behind(places: Sequence[Place], end: int) -> dict[int, int]:
    """The most values from each place on."""
    starts = [place.start for place in places]
    most = {end: 0}
    best = [0] * (len(places) + 1)
    for index in reversed(range(len(places))):
        place = places[index]
        if place.is_exact:
            number = most.get(place.least, -len(places)) + 1
        else:
            number = best[bisect_left(starts, max(place.least, place.start + 1))] + 1
        most[place.start] = number
        best[index] = max(number, best[index + 1])
    return most


def _longer(
    start: int, behind: dict[int, list[_Way]], fills: Callable[[int, int], bool]
) -> list[_Way]:
    """The ways that begin at a place; two at most."""
    longer: list[_Way] = []
    for following, ways in behind.items():
        if following > start and ways and len(longer) < 2 and fills(start, following):
            longer += [(start, way) for way in ways]
    return longer[:2]


def _starts(way: _Way | None) -> Iterator[int]:
    while way is not None:
        start, way = way
        yield start
