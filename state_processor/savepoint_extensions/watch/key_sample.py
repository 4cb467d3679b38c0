"""A sample of a state's entries, chosen by the hashes of their keys.

A key is in the sample or not, in whichever file it lies. So samples of several files can be merged as
RocksDB merges the files: the newest version of a key counts, and a deletion hides the older ones. The
sample of a file never changes, and is taken once.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from savepoint_formats.entries import distinct_hashes
from savepoint_formats.errors import UnstableHashError
from savepoint_formats.layout import MapOf, Nullable, Ttl
from savepoint_formats.pass_through import KeyPlaces
from savepoint_formats.program.byte_ranges import Ranges, bytes_of, numbers_at
from savepoint_formats.state_files import StateKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from savepoint_formats.bytes import Chunk
    from savepoint_formats.state_files import State
    from savepoint_formats.values import KryoDialect

    Longs = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

NO_TIME = np.iinfo(np.int64).min
"""The time of an entry that has none."""

VALUE, OPERAND = 1, 2
"""Types of entries of RocksDB that have a value; an operand is appended to older ones."""

_TIME_SIZE = 8
_BITS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Entries of a state; the arrays have an element per entry.

    Attributes:
        hashes: Hash of the key, namespace and user key.
        trailers: Sequence number and type, as RocksDB has them: greater is newer.
        key_sizes: Bytes of the key.
        sizes: Bytes of key and value.
        times: When a timer fires, or the last access of a value with TTL, in ms since the epoch.
        owners: Hash of the key alone.
        groups: Key group.
        keys: The stored key alone; empty if its end is not known.
    """

    hashes: Hashes
    trailers: Hashes
    key_sizes: Longs
    sizes: Longs
    times: Longs
    owners: Hashes
    groups: NDArray[np.uint16]
    keys: pa.LargeBinaryArray

    def __len__(self) -> int:
        return len(self.hashes)

    @classmethod
    def empty(cls) -> Self:
        longs, hashes = np.empty(0, np.int64), np.empty(0, np.uint64)
        groups, keys = np.empty(0, np.uint16), pa.array([], pa.large_binary())
        return cls(hashes, hashes, longs, longs, longs, hashes, groups, keys)

    def chosen(self, wanted: NDArray[np.bool_] | Longs) -> Self:
        """Some of the entries: a flag each, or their numbers."""
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        keys = kept.pop("keys")
        numbers = np.flatnonzero(wanted) if wanted.dtype == np.bool_ else wanted
        arrays = {name: array[numbers] for name, array in kept.items()}
        return replace(self, **arrays, keys=keys.take(pa.array(numbers)))

    def thinned(self, shift: int) -> Self:
        """The part that a sample of ``2**-shift`` of the keys has."""
        return self.chosen(is_sampled(self.hashes, shift))

    @classmethod
    def joined(cls, several: Sequence[Sample]) -> Self:
        """All entries of these."""
        if not several:
            return cls.empty()
        arrays = {
            field.name: np.concatenate([getattr(sample, field.name) for sample in several])
            for field in fields(cls)
            if field.name != "keys"
        }
        return cls(**arrays, keys=pa.concat_arrays([sample.keys for sample in several]))

    def living(self) -> Self:
        """An entry per key that has a value, as RocksDB merges its files; operands add up."""
        if not len(self):
            return self
        order = np.lexsort((~self.trailers, self.hashes))
        hashes = self.hashes[order]
        types = (self.trailers[order] & np.uint64(0xFF)).astype(np.int64)
        is_first = np.append(True, hashes[1:] != hashes[:-1])
        starts = np.flatnonzero(is_first)
        bases = np.cumsum(types != OPERAND)
        before = bases - (types != OPERAND)
        # Whatever is older than a value or a deletion of the same key is hidden.
        is_seen = before == np.repeat(before[starts], np.diff(np.append(starts, len(order))))
        is_seen &= (types == VALUE) | (types == OPERAND)
        # A comma stands between operands.
        added = self.sizes[order] - np.where(is_first, 0, self.key_sizes[order] - 1)
        sizes = np.add.reduceat(np.where(is_seen, added, 0), starts)
        is_alive = is_seen[starts]
        living = self.chosen(order[starts[is_alive]])
        return replace(living, sizes=sizes[is_alive])


def is_sampled(hashes: Hashes, shift: int) -> NDArray[np.bool_]:
    """Whether each hash is in a sample of ``2**-shift`` of the keys."""
    if not shift:
        return np.ones(len(hashes), np.bool_)
    chosen: NDArray[np.bool_] = hashes >> np.uint64(_BITS - shift) == 0
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Entries as they are stored; a key has no key group in front.

    ``trailers`` has the sequence number and type of each.
    """

    key_data: Chunk
    keys: Ranges
    value_data: Chunk
    values: Ranges
    groups: NDArray[np.uint16]
    trailers: Hashes

    def chosen(self, numbers: Longs) -> Self:
        """Some of the entries, by their numbers."""

        def part(ranges: Ranges) -> Ranges:
            return Ranges(ranges.starts[numbers], ranges.ends[numbers])

        return replace(
            self,
            keys=part(self.keys),
            values=part(self.values),
            groups=self.groups[numbers],
            trailers=self.trailers[numbers],
        )


class Sampler:
    """Takes samples of one state's entries."""

    def __init__(self, state: State, kryo: KryoDialect | None) -> None:
        self._state = state
        self._timed = timed_from(state)
        self._places: KeyPlaces | None = None
        with suppress(UnstableHashError):  # then its keys have no name
            self._places = KeyPlaces.of(state, kryo)

    def sample(self, entries: Entries, shift: int) -> Sample:
        """The sample of some entries. Raises ``FormatError`` for a damaged one."""
        hashes = distinct_hashes(bytes_of(entries.key_data, entries.keys))[:, 0]
        numbers = np.flatnonzero(is_sampled(hashes, shift))
        own = entries.chosen(numbers)
        keys, owners = self._owners(own)
        return Sample(
            hashes[numbers],
            own.trailers,
            own.keys.sizes,
            own.keys.sizes + own.values.sizes,
            self._times(own),
            owners,
            own.groups,
            keys,
        )

    def _owners(self, entries: Entries) -> tuple[pa.LargeBinaryArray, Hashes]:
        if self._places is None:
            count = len(entries.groups)
            return pa.array([b""] * count, pa.large_binary()), np.zeros(count, np.uint64)
        keys = bytes_of(entries.key_data, self._places.keys(entries.key_data, entries.keys))
        return keys, distinct_hashes(keys)[:, 0]

    def _times(self, entries: Entries) -> Longs:
        times = np.full(len(entries.groups), NO_TIME)
        if self._state.kind is StateKind.TIMERS:
            if self._places is not None:
                # The sign bit of a timer's time is flipped, so that bytes sort as times do.
                times = numbers_at(entries.key_data, entries.keys, _TIME_SIZE) ^ NO_TIME
            return times
        if self._timed is None:
            return times
        is_value = entries.trailers & np.uint64(0xFF) == VALUE
        if self._timed:
            places = np.flatnonzero(is_value)
            flags = numbers_at(entries.value_data, entries.chosen(places).values, 1)
            is_value[places[flags != 0]] = False
        places = np.flatnonzero(is_value)
        values = entries.chosen(places).values
        values = Ranges(values.starts + self._timed, values.ends)
        times[places] = numbers_at(entries.value_data, values, _TIME_SIZE)
        return times


def timed_from(state: State) -> int | None:
    """Bytes in front of the time of last access in a value; None if it has no time of its own."""
    match state.kind, state.stored:
        case StateKind.MAP, MapOf(_, Nullable(Ttl())):
            return 1
        case ((StateKind.VALUE | StateKind.REDUCING | StateKind.AGGREGATING), Ttl()):
            return 0
    return None
