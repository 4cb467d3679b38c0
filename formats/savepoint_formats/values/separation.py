"""Finds the ends of undecodable values, if everything around them fits in only one way.

The bytes of such a value do not tell its end. But the number of elements of a list is known, other
values tell their ends, and all of them together fill the record. If they fit in several ways, no end
is believed. The elements of a list may still be told apart, even if the fields in each cannot.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.counts import can_be_empty
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.layout import Layout, Pojo
from savepoint_formats.values.patience import GaveUpError
from savepoint_formats.values.separable_parts import (
    Parts,
    Place,
    StrictReader,
    Times,
    first_bytes,
    parts_of,
    size_of_null,
    ways_between,
)
from savepoint_formats.values.state_entries import DELIMITER, Delimited, Suffixed, suffixed_size
from savepoint_formats.values.undecoded import HiddenEnds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.patience import Patience, Work
    from savepoint_formats.values.values import ValueReader

_MOST_WORK = 1 << 16
"""Limit of steps for one record, about a second of a core. Beyond it, its values stay bytes."""

_MOST_WORK_ON_ENTRIES = 1 << 17
"""The limit for all entries of a state in a key group."""

_WORK_SIZE = 32
"""Bytes of a value that are read in a step."""

_PLACE = 8
"""Steps to find out whether a key of the key group may lie at a place."""

_MOST_NESTED = 100
"""Limit of undecodable values in a row, each of which may end at several places."""


class _Hidden(NamedTuple):
    """A value that cannot be decoded."""

    start: int
    end: int


class _Elements(NamedTuple):
    """The starts of elements, and the end of the last one."""

    borders: tuple[int, ...]


_Way = tuple["_Hidden | _Elements | _Way", ...]
"""All hidden values, nested like the values around them."""


def ends_of_hidden(
    layout: Layout, reader: ValueReader, patience: Patience
) -> tuple[Container[int], HiddenEnds] | None:
    """The end of each undecodable value in the record that fills a view; None if that is not certain.

    The reader has met them. If its trust in descriptions gives no answer, no description is trusted.
    The answer has the places of objects that are not trusted, too.
    """
    view, kryo = reader.view, reader.kryo
    with patience.work(_MOST_WORK) as work:
        for places in _trials(reader.distrusted):
            way = _Separation(view, kryo, places, work).only_way(layout)
            if way is not None:
                work.is_found = True
                return places, _ends_of(way, view.base)
    return None


def _ends_of(way: _Way, base: int) -> HiddenEnds:
    ends, left = HiddenEnds(), list(way)
    while left:
        match left.pop():
            case _Hidden(start, end):
                ends.of_values[base + start] = base + end
            case _Elements(borders):
                ends.of_elements[base + borders[0]] = tuple(base + border for border in borders)
            case inner:
                left += inner
    return ends


def starts_of_entries(
    entry: Layout,
    count: int,
    view: DataInputView,
    kryo: KryoDialect | None,
    may_begin: Callable[[int], bool],
    patience: Patience,
) -> tuple[int, ...] | None:
    """The start of each of ``count`` entries that fill a view; None if that is not certain.

    ``may_begin`` tells whether an entry may begin at a position where its layout allows it.
    """
    entries = Times(entry, count)
    with patience.work(_MOST_WORK_ON_ENTRIES) as work:
        for places in _trials(frozenset()):
            separation = _Separation(view, kryo, places, work, (entries, may_begin))
            way = separation.only_way(entries)
            if way and isinstance(way[0], _Elements):
                work.is_found = True
                return way[0].borders[:-1]
    return None


def _trials(distrusted: Container[int]) -> Iterator[Container[int]]:
    """Places of objects that are not trusted: the given ones, then all if any object was trusted."""
    places = _Places(distrusted)
    yield places
    if places.were_asked:
        yield EVERYWHERE


class _Places(Container[int]):
    """Places, and whether anybody has asked for one."""

    def __init__(self, places: Container[int]) -> None:
        self.were_asked = False
        self._places = places

    def __contains__(self, place: object) -> bool:
        self.were_asked = True
        return place in self._places


EVERYWHERE: Container[int] = range(1 << 62)
"""All places."""


class _Separation:
    """Looks for the ways in which values fill bytes, and stops at the second way."""

    def __init__(
        self,
        view: DataInputView,
        kryo: KryoDialect | None,
        distrusted: Container[int],
        work: Work,
        entries: tuple[Times, Callable[[int], bool]] | None = None,
    ) -> None:
        self._entries = entries
        self._record = view
        self._kryo = kryo
        self._distrusted = distrusted
        self._work = work
        self._lost_at = 0
        self._nested = 0
        self._known: dict[tuple[Parts | None, int, int], list[_Way]] = {}
        self._of_fields: dict[int, tuple[Sequence[Layout] | Layout, Parts | None]] = {}

    def only_way(self, layout: Layout) -> _Way | None:
        """The way in which a value fills the record; None if there are several, or none."""
        try:
            ways = self._ways(self._parts(layout), 0, self._record.end)
        except GaveUpError:
            return None
        return ways[0] if len(ways) == 1 else None

    def _parts(self, fields: Sequence[Layout] | Layout) -> Parts | None:
        """The same object each time, so that its ways are known."""
        known = self._of_fields.get(id(fields))
        if known is None:
            parts = Parts.of((fields,) if isinstance(fields, Layout) else fields)
            known = self._of_fields[id(fields)] = fields, parts
        return known[1]

    def _ways(self, parts: Parts | None, start: int, end: int) -> list[_Way]:
        """The ways in which values fill the bytes between two positions; two at most."""
        passed = []
        while (ways := self._known.get((parts, start, end))) is None:
            passed.append((parts, start, end))
            self._work.spend(1)
            if parts is None:
                ways = [()] if start == end else []
                break
            if isinstance(parts.first, Times):
                ways = self._in_turn(parts.first, start, end, parts.rest)
                break
            try:
                stop, is_certain = self._read(parts.first, start, end)
            except FormatError:
                ways = []
                break
            if stop is None or not is_certain:
                ways = self._with_hidden(parts, start, stop, end)
                break
            parts, start = parts.rest, stop
        self._known.update(dict.fromkeys(passed, ways))
        return ways

    def _with_hidden(self, parts: Parts, start: int, stop: int | None, end: int) -> list[_Way]:
        """The ways if the first value hides something, and perhaps its end."""
        ends = self._ends(parts.rest, start, end) if stop is None else (stop,)
        if isinstance(parts.first, Suffixed):
            ends = [place for place in ends if self._suffixed(start, place) is not None]
        return self._joined(parts.first, parts.rest, start, (ends, end))

    def _joined(
        self, first: Layout, rest: Parts | None, start: int, until: tuple[Sequence[int], int]
    ) -> list[_Way]:
        """The ways in which a value ends at one of some places, and others fill the rest."""
        places, end = until
        self._nested += 1
        if self._nested > _MOST_NESTED:
            raise GaveUpError
        ways: list[_Way] = []
        for place in places:
            self._work.spend(1)
            others = self._ways(rest, place, end)
            if others:
                ways += [
                    (*way, other) for way in self._within(first, start, place) for other in others
                ]
            if len(ways) > 1:
                break
        self._nested -= 1
        return ways[:2]

    def _ends(self, rest: Parts | None, start: int, end: int) -> Sequence[int]:
        """The places where a value may end, with room for the rest behind it."""
        if rest is None:
            return (end,)
        last = end - rest.least
        places = range(last if rest.is_fixed else start, last + 1)
        flags, data = first_bytes(rest.first), self._record.buffer
        return places if flags is None else [place for place in places if data[place] in flags]

    def _within(self, layout: Layout, start: int, end: int) -> list[_Way]:
        """The ways in which a value with something hidden fills these bytes."""
        if start > end:
            return []
        match layout:
            case Times():
                return self._in_turn(layout, start, end, None)
            case layouts.Opaque():
                return [(_Hidden(start, end),)]
            case layouts.Kryo() | layouts.JavaObject() | layouts.Coded():
                return [(_Hidden(start, end),)] if end > start else []
            case Delimited(element):
                return self._delimited(element, start, end)
            case Suffixed(inner):
                size = self._suffixed(start, end)
                return [] if size is None else self._ways(self._parts(inner), start, start + size)
            case Pojo(is_open=True) if self._is_undescribed(layout, start, end):
                return [(_Hidden(start, end),)] if end > start else []
        view = self._view(start, end)
        try:
            parts = parts_of(layout, view)
        except FormatError:
            return []
        return [] if parts is None else self._ways(self._parts(parts), start + view.position, end)

    def _suffixed(self, start: int, end: int) -> int | None:
        return suffixed_size(self._record.buffer[start:end])

    def _is_undescribed(self, layout: Pojo, start: int, end: int) -> bool:
        try:
            self._read(replace(layout, is_open=False), start, end)
        except FormatError as error:
            return isinstance(error, UndecodableError)
        return False

    def _in_turn(self, times: Times, start: int, end: int, rest: Parts | None) -> list[_Way]:
        """The ways of several values of one layout, and the rest behind them."""
        element, count, begin = times.element, times.count, start
        starts: list[int] = []
        while len(starts) < count:
            try:
                stop, is_certain = self._read(element, start, end)
            except FormatError:
                return []
            if stop is None or not is_certain:
                break
            starts.append(start)
            start = stop
        left = count - len(starts)
        if not left:
            return self._ways(rest, start, end)
        if rest is not None:
            return self._joined(times, rest, begin, (self._ends(rest, start, end), end))
        if can_be_empty(element):
            return []  # empty elements fit anywhere
        places = self._places(times, start, end)
        ways = ways_between(places, end, left, partial(self._fills, element))
        return [self._elements(element, (*starts, *way, end), 0) for way in ways]

    def _delimited(self, element: Layout, start: int, end: int) -> list[_Way]:
        """The ways of any number of elements with a comma between them."""
        data = self._record.buffer
        places = [
            place
            for place in range(start + 1, end)
            if data[place - 1] == DELIMITER and self._is_at(element, place, end)
        ]
        ways: dict[int, list[tuple[int, ...]]] = {}
        fills = partial(self._fills, element)
        for place in reversed([start, *places]):
            ways[place] = [(place, end + 1)] if fills(place, end) else []
            for following in reversed(places):
                if following <= place or len(ways[place]) > 1:
                    break
                if fills(place, following - 1):
                    ways[place] += [(place, *way) for way in ways[following]]
        return [self._elements(element, way, 1) for way in ways[start][:2]]

    def _fills(self, element: Layout, start: int, end: int) -> bool:
        return bool(self._ways(self._parts(element), start, end))

    def _elements(self, element: Layout, borders: tuple[int, ...], gap: int) -> _Way:
        """Elements that are told apart, and the values that are told apart in each."""
        parts = self._parts(element)
        ways = (self._ways(parts, start, end - gap) for start, end in pairwise(borders))
        return (_Elements(borders), *(way[0] for way in ways if len(way) == 1))

    def _places(self, times: Times, start: int, end: int) -> list[Place]:
        """Places where values may begin; one that can be decoded ends where another may begin."""
        entries = self._entries
        may_begin = entries[1] if entries is not None and entries[0] is times else None
        places: list[Place] = []
        known = {end}
        flags, data = first_bytes(times.element), self._record.buffer
        for place in reversed(range(start, end)):
            if flags is not None and data[place] not in flags:
                continue
            self._work.spend(_PLACE if may_begin else 1)
            if place > start and may_begin is not None and not may_begin(place):
                continue
            try:
                stop, _ = self._read(times.element, place, end)
            except FormatError:
                continue
            if stop is None or stop in known:
                least = self._lost_at if stop is None else stop
                places.append(Place(place, least, stop is not None))
                known.add(place)
        return places[::-1]

    def _is_at(self, layout: Layout, place: int, end: int) -> bool:
        try:
            self._read(layout, place, end)
        except FormatError:
            return False
        return True

    def _read(self, layout: Layout, start: int, end: int) -> tuple[int | None, bool]:
        """The end of a value, None if it is hidden; and whether nothing inside is hidden."""
        if start < end and (size := size_of_null(layout, self._record.buffer[start])):
            self._lost_at = start
            if size > end - start:
                raise self._view(start, end).error("a null that is cut")
            return start + size, True
        reader = StrictReader(self._view(start, end), self._kryo)
        reader.distrusted = self._distrusted
        reader.read(layout)
        self._lost_at = reader.lost_at - self._record.base
        read = self._lost_at - start if reader.is_lost else reader.view.position
        self._work.spend(1 + read // _WORK_SIZE)
        if reader.is_damaged:
            raise self._view(start, end).error(reader.reason)
        return None if reader.is_lost else start + reader.view.position, not reader.hides

    def _view(self, start: int, end: int) -> DataInputView:
        record = self._record
        return DataInputView(record.buffer[start:end], record.path, record.base + start)
