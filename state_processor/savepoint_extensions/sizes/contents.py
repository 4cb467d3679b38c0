"""Counts nulls, sizes and last accesses of a state's values.

If a value cannot be decoded, only the time in front of it is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_extensions.sizes.distribution import SizeCounts, TimeCounts
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated, Ttl, serializer_length
from savepoint_formats.program.assembly import program
from savepoint_formats.program.byte_ranges import Ranges, numbers_at, ranges_in
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.state_files import State, StateKind
from savepoint_formats.values import Collections, Delimited, NullableRest, Patience, notes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.bytes import Chunk
    from savepoint_formats.program.program import Program
    from savepoint_formats.values import KryoDialect

_TIME_SIZE = 8


@dataclass(slots=True)
class Contents:
    """Counts of a state's values.

    Attributes:
        empties: Number of empty texts, bytes or collections.
        accesses: Last accesses of values with a time to live.
        accessed: Number of values with a time to live.
        expired: Number of expired ones among them; None if the time to live is not known.
        problem: Why nulls and sizes are not known.
    """

    nulls: int = 0
    empties: int = 0
    items: SizeCounts = field(default_factory=SizeCounts)
    accesses: TimeCounts = field(default_factory=TimeCounts)
    accessed: int = 0
    expired: int | None = None
    problem: str = ""

    def merge(self, other: Contents) -> None:
        """Adds other counts of the same state."""
        self.nulls += other.nulls
        self.empties += other.empties
        self.items.merge(other.items)
        self.accesses.merge(other.accesses)
        self.accessed += other.accessed
        if other.expired is not None:
            self.expired = (self.expired or 0) + other.expired


class Expired(NamedTuple):
    """What a time to live takes from each entry.

    Attributes:
        is_gone: Whether nothing of the entry is left.
        sizes: Bytes of the value that go; an element of a list goes with the comma behind it.
    """

    is_gone: NDArray[np.bool_]
    sizes: NDArray[np.int64]


class ContentsReader:
    """Counts the values of a state.

    Values last accessed at or before ``expires``, in ms since the epoch, have expired.
    """

    def __init__(self, state: State, kryo: KryoDialect | None, expires: int | None) -> None:
        self.contents = Contents()
        self._kryo = kryo
        self._expires = expires
        self._patience = Patience()
        self._element: Layout | None = None
        self._value = state.stored
        self._program: Program | None = None
        match state.kind, state.stored:
            case StateKind.LIST, Repeated(element):
                self._element = element
            case StateKind.MAP, MapOf(_, Nullable(value)):
                self._value = NullableRest(value)
        self.contents.problem = "; ".join(dict.fromkeys(notes(self._element or self._value)))

    def add(self, chunk: Chunk, values: Ranges) -> Expired | None:
        """Counts values, and returns what has expired of them; None if they have no times, or no TTL.

        Raises ``FormatError`` if a value is damaged.
        """
        if not len(values):
            return None
        if self._element is not None:
            return self._add_lists(chunk, values, self._element)
        layout, expired = self._value, None
        sizes, places = values.sizes, np.arange(len(values))
        if isinstance(layout, NullableRest) and isinstance(layout.inner, Ttl):
            is_there = numbers_at(chunk, values, 1) == 0
            self.contents.nulls += int(np.count_nonzero(~is_there))
            values = Ranges(values.starts[is_there] + 1, values.ends[is_there])
            layout, (places,) = layout.inner, np.nonzero(is_there)
        if isinstance(layout, Ttl):
            has_expired = self._add_times(numbers_at(chunk, values, _TIME_SIZE))
            if has_expired is not None:
                is_gone = np.zeros(len(sizes), np.bool_)
                is_gone[places[has_expired]] = True
                expired = Expired(is_gone, np.where(is_gone, sizes, 0))
            values = Ranges(values.starts + _TIME_SIZE, values.ends)
            layout = layout.value
        if not self.contents.problem:
            self._add_values(chunk, layout, values)
        return expired

    def _add_values(self, chunk: Chunk, layout: Layout, values: Ranges) -> None:
        column = self._decoded(layout, chunk, values)
        self.contents.nulls += column.null_count
        column, kind = column.drop_null(), column.type
        if pa.types.is_list(kind) or pa.types.is_map(kind):
            sizes = Collections(column).lengths
        elif pa.types.is_string(kind) or pa.types.is_binary(kind):
            sizes = np.asarray(pc.binary_length(column))
        else:
            return
        self.contents.empties += int(np.count_nonzero(sizes == 0))
        if isinstance(layout, Repeated | MapOf):
            self.contents.items.add(sizes)

    def _add_lists(self, chunk: Chunk, values: Ranges, element: Layout) -> Expired | None:
        """Counts lists in entries: elements with commas between them."""
        size = serializer_length(element)
        has_times = isinstance(element, Ttl)
        if self.contents.problem and not has_times:
            return None
        if size > 0 and not has_times:
            self.contents.items.add((values.sizes + 1) // (size + 1))
            return None
        lists = self._decoded(Delimited(element), chunk, values)
        self.contents.items.add(np.asarray(pc.list_value_length(lists), np.int64))
        if not has_times:
            return None
        elements = Collections(lists)
        times = elements.elements.field("timestamp").cast(pa.int64())
        has_expired = self._add_times(np.asarray(times, np.int64))
        return None if has_expired is None else _expired_elements(elements, element, has_expired)

    def _decoded(self, layout: Layout, chunk: Chunk, values: Ranges) -> pa.Array:
        # All values of a state have the same layout.
        if self._program is None:
            self._program = program(layout, self._kryo)
        return decode(self._program, chunk, values.starts, values.ends, patience=self._patience)

    def _add_times(self, times: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Counts times, and tells which have expired; None if the time to live is not known."""
        self.contents.accessed += len(times)
        self.contents.accesses.add(times)
        if self._expires is None:
            return None
        has_expired = times <= self._expires
        expired = int(np.count_nonzero(has_expired))
        self.contents.expired = (self.contents.expired or 0) + expired
        return has_expired


def _expired_elements(
    lists: Collections, element: Layout, has_expired: NDArray[np.bool_]
) -> Expired:
    """What expired elements take from their lists: their own bytes, and the comma behind each."""
    encoded = Encoder(element).encode(lists.elements.filter(pa.array(has_expired)))
    sizes = ranges_in(encoded)[1].sizes + 1
    rows, count = lists.rows[has_expired], len(lists.lengths)
    is_gone = np.bincount(rows, minlength=count) == lists.lengths
    # Behind the last element of a list is no comma.
    taken = np.bincount(rows, sizes, count).astype(np.int64) - is_gone
    return Expired(is_gone, taken)
