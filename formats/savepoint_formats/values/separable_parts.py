"""The values inside a value, for the search of their ends in ``separation``."""

from __future__ import annotations

from bisect import bisect_left
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.counts import can_be_empty
from savepoint_formats.layout import Layout, Pojo, node, serializer_length
from savepoint_formats.values.masks import read_mask
from savepoint_formats.values.pojo_values import (
    IS_NULL,
    IS_SUBCLASS,
    IS_TAGGED_SUBCLASS,
    NO_SUBCLASS,
    subclass_of,
)
from savepoint_formats.values.scala_values import read_arity, read_subtype, reads_null
from savepoint_formats.values.sizes import least_size
from savepoint_formats.values.state_entries import EntryReader, NullableRest, Sized, Suffixed

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.values.kinds.codec import Value

    _Way = tuple[int, "_Way | None"]
    """A place, and the way from the next place on."""


_TIMESTAMP_SIZE = 8


@node
class Times(Layout):
    """``count`` adjacent values."""

    element: Layout
    count: int


class StrictReader(EntryReader):
    """Refuses flags that Flink does not write, and copies no undecoded bytes.

    Attributes:
        lost_at: Start of the last value with an unknown end.
    """

    lost_at: int = 0

    def undecoded(self, reason: str) -> dict[str, Value]:
        """Only the reason."""
        self.lost_at = self.view.offset
        self.view.position = self.view.end
        self.is_lost = True
        shown: dict[str, Value] = {"bytes": b"", "reason": reason}
        self.undecoded_values.append(shown)
        return shown

    def nullable(self, layout: layouts.Nullable) -> Value:
        """A flag of 0 or 1, and a value behind it unless it is null."""
        self.view.read_strict_bool()
        self.view.position -= 1
        return super().nullable(layout)


def parts_of(  # noqa: PLR0912 - the table of layouts
    layout: Layout, view: DataInputView
) -> Sequence[Layout] | None:
    """The values inside a value, behind its flags and counts; None if they are unknown."""
    match layout:
        case layouts.Nullable():
            is_null = view.read_strict_bool() == layout.is_null
            return () if is_null else (layout.inner,)
        case NullableRest(inner):
            return () if view.read_bool() else (inner,)
        case Sized(inner):
            return (inner,)
        case layouts.Repeated(element):
            return (Times(element, view.read_count(element_size=0)),)
        case layouts.MapOf(key, value):
            entry = layouts.Struct(("key", "value"), (key, value))
            return parts_of(layouts.Repeated(entry), view)
        case layouts.Struct(_, fields):
            return fields
        case layouts.MaskedStruct(_, fields, has_kind):
            nulls = read_mask(2 * has_kind + len(fields), view)[2 * has_kind :]
            return [field for field, is_null in zip(fields, nulls, strict=True) if not is_null]
        case layouts.MaskedRepeated(element):
            nulls = read_mask(view.read_count(element_size=0), view)
            return (Times(element, nulls.count(False)),)
        case layouts.Tagged():
            tag = view.read_unsigned_byte()
            return (layout.fields[layout.tags.index(tag)],) if tag in layout.tags else None
        case Pojo():
            return _pojo_parts(layout, view)
        case layouts.Ttl(value):
            view.read_bytes(_TIMESTAMP_SIZE)
            return (value,)
        case layouts.Framed(inner):
            return (inner,) if view.read_count() == view.remaining else None
        case layouts.Varying(inner) | layouts.OfClass(inner):
            return (inner,)
        case layouts.CaseClass() | layouts.Coproduct() | layouts.OfScala():
            return _scala_parts(layout, view)
        case _:
            return None


def _scala_parts(
    layout: layouts.CaseClass | layouts.Coproduct | layouts.OfScala, view: DataInputView
) -> Sequence[Layout] | None:
    match layout:
        case layouts.CaseClass():
            return layout.fields[: read_arity(layout, view)]
        case layouts.Coproduct():
            index = read_subtype(layout, view)
            return () if index is None else (layout.fields[index],)
        case layouts.OfScala(inner):
            return () if reads_null(layout, view) else (inner,)


def _pojo_parts(layout: Pojo, view: DataInputView) -> Sequence[Layout] | None:
    flags = view.read_unsigned_byte()
    if flags == IS_NULL:
        return ()
    if flags == NO_SUBCLASS:
        return layout.fields
    _, subclass = subclass_of(layout, flags, view)
    if not isinstance(subclass, Pojo):
        return (subclass,)
    return subclass.fields if view.read_unsigned_byte() == NO_SUBCLASS else None


def least_of(layout: Layout) -> int:
    """The fewest bytes of a value; for a fixed length, all of them."""
    match layout:
        case Times(element, count):
            return count * least_of(element)
        case layouts.Struct(_, fields):
            return sum(map(least_of, fields))
        case layouts.Varying(inner) | layouts.OfClass(inner) | Sized(inner):
            return least_of(inner)
        case Suffixed(inner):
            return least_of(inner) + 1
        case layouts.Ttl() | layouts.Framed() | layouts.Opaque():
            return 0
        case _:
            return max(serializer_length(layout), least_size(layout))


class Parts:
    """Values one after the other.

    Attributes:
        first: The first one.
        rest: The others; None if there are none.
        least: Their fewest bytes.
        is_fixed: Whether they always have so many.
    """

    __slots__ = ("first", "is_fixed", "least", "rest")
    is_fixed: bool
    least: int

    def __init__(self, first: Layout, rest: Self | None) -> None:
        self.first, self.rest = first, rest
        self.least = least_of(first) + (0 if rest is None else rest.least)
        is_fixed = not isinstance(first, Times) and serializer_length(first) >= 0
        self.is_fixed = is_fixed and (rest is None or rest.is_fixed)

    @classmethod
    def of(cls, layouts: Sequence[Layout]) -> Self | None:
        """Values of these layouts; None if there are none."""
        parts = None
        for layout in reversed(layouts):
            parts = cls(layout, parts)
        return parts


def first_bytes(layout: Layout) -> Container[int] | None:
    """The bytes that a value may begin with; None if that is not known."""
    match layout:
        case layouts.Nullable():
            return (0, 1)
        case layouts.VoidNamespace():
            return (0,)
        case layouts.Marker(int(value)):
            return (value,)
        case Pojo():
            return (IS_NULL, NO_SUBCLASS, IS_SUBCLASS, IS_TAGGED_SUBCLASS)
        case Times(element, count) if count:
            return first_bytes(element)
        case layouts.Struct(_, (first, *_)) if not can_be_empty(first):
            return first_bytes(first)
        case _:
            return None


def size_of_null(layout: Layout, first: int) -> int:
    """Size of the null that begins with a byte; 0 if it begins anything else."""
    if not isinstance(layout, layouts.Nullable) or first != layout.is_null:
        return 0
    return 1 + layout.padding


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
