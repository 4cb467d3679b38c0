"""Merges the instances of a key: local state becomes ordinary keyed state.

A single instance keeps its bytes: a list state with one element stores the bytes of a value state.
Values are decoded if there are several instances, or if instances are lists.

| state | an entry's value                    | value of several instances                           |
|-------|-------------------------------------|------------------------------------------------------|
| list  | elements with a comma between them  | the values, with a comma between them                |
| map   | a null flag, then a list: its size  | a new flag and size, then the elements of all; null  |
|       | in 4 bytes, and its elements        | has none                                             |
| timer | nothing                             | nothing: timers are a set                            |

Instances keep the order of entries; keys are in the order of their first instances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.frames import section_frames
from savepoint_formats.entries.stored_entries import StoredEntries, runs
from savepoint_formats.errors import MergeError, within
from savepoint_formats.key_groups import prefix_size
from savepoint_formats.layout import Repeated, Ttl
from savepoint_formats.pass_through.recoded_entries import decoded
from savepoint_formats.program.byte_ranges import Ranges, bytes_of, large_binary, ranges_in
from savepoint_formats.program.encode import Encoder
from savepoint_formats.scan.merged_columns import TimedMerge, instance_layout
from savepoint_formats.state_files.canonical_file import END_OF_SECTION
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.tables.visible import joined_instances
from savepoint_formats.values.element_rows import Collections
from savepoint_formats.values.state_entries import DELIMITER, Delimited, NullableRest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout
    from savepoint_formats.scan.merged_columns import MergeInstances
    from savepoint_formats.values.kryo.dialect import KryoDialect

    Positions = NDArray[np.int64]


_FLAG_SIZE = 1
LIST_START = 5
"""Offset of the elements in a map's value, behind the null flag and the size of the list."""


def appended(entries: StoredEntries, kind: StateKind) -> StoredEntries:
    """Entries of a local state with each key once; ``kind`` is the kind of the stored state."""
    numbers, keys = _numbered(entries.keys)
    if len(keys) == len(entries):
        return entries
    match kind:
        case StateKind.LIST:
            order, starts = _grouped(numbers, len(keys))
            return StoredEntries(keys, _joined_lists(entries.values, order, starts))
        case StateKind.MAP:
            order, starts = _grouped(numbers, len(keys))
            return StoredEntries(keys, _joined_maps(entries.values, order, starts))
        case StateKind.TIMERS:
            return StoredEntries(keys, entries.values[: len(keys)])
        case _:
            raise ValueError(f"a {kind.value} state has one value, and no instances")


def _numbered(keys: pa.LargeBinaryArray) -> tuple[Positions, pa.LargeBinaryArray]:
    distinct = keys.dictionary_encode()
    return distinct.indices.to_numpy().astype(np.int64), distinct.dictionary


def _grouped(numbers: Positions, count: int) -> tuple[Positions, Positions]:
    """Entries sorted by key number, and borders between keys."""
    order = np.argsort(numbers, kind="stable")
    sizes = np.bincount(numbers, minlength=count)
    return order, np.append(0, np.cumsum(sizes))


def _joined_lists(
    values: pa.LargeBinaryArray, order: Positions, starts: Positions
) -> pa.LargeBinaryArray:
    data, ranges = ranges_in(values)
    comma = len(data)
    chunk = Chunk(np.append(data, np.uint8(DELIMITER)))
    is_first = np.zeros(len(order), np.bool_)
    is_first[starts[:-1]] = True
    commas = Ranges(np.full(len(order), comma), comma + (~is_first).astype(np.int64))
    parts = bytes_of(chunk, commas, Ranges(ranges.starts[order], ranges.ends[order]))
    return _as_one(parts, starts)


def _joined_maps(
    values: pa.LargeBinaryArray, order: Positions, starts: Positions
) -> pa.LargeBinaryArray:
    data, ranges = ranges_in(values)
    begins, ends, firsts = ranges.starts[order], ranges.ends[order], starts[:-1]
    is_null = data[begins].astype(np.bool_)
    sizes = np.add.reduceat(_sizes(data, np.where(is_null, 0, begins)) * ~is_null, firsts)
    heads = np.zeros((len(firsts), LIST_START), np.uint8)
    heads[:, 0] = np.bitwise_and.reduceat(is_null, firsts)
    heads[:, _FLAG_SIZE:] = sizes.astype(">i4").view(np.uint8).reshape(-1, 4)
    chunk = Chunk(np.concatenate([data, heads.ravel()]))
    head_starts, head_ends = np.full((2, len(order)), len(data))
    head_starts[firsts] += LIST_START * np.arange(len(firsts))
    head_ends[firsts] = head_starts[firsts] + np.where(heads[:, 0], _FLAG_SIZE, LIST_START)
    elements = Ranges(np.where(is_null, ends, begins + LIST_START), ends)
    return _as_one(bytes_of(chunk, Ranges(head_starts, head_ends), elements), starts)


def _sizes(data: NDArray[np.uint8], starts: Positions) -> Positions:
    """Sizes of the lists in values at these positions."""
    size = np.zeros(len(starts), np.int64)
    for distance in range(_FLAG_SIZE, LIST_START):
        size = size << 8 | data[starts + distance]
    return size


def _as_one(parts: pa.LargeBinaryArray, starts: Positions) -> pa.LargeBinaryArray:
    """Joins adjacent values of each key."""
    data, ranges = ranges_in(parts)
    borders = np.append(ranges.starts, ranges.ends[-1:])[starts]
    return large_binary(np.ascontiguousarray(borders), data)


@dataclass(frozen=True)
class MergedInstances:
    """Turns entries of a local state into entries of ordinary state.

    ``merge`` gets instances without times of TTL; lists don't need it.
    """

    state: State
    merge: MergeInstances | None = None
    kryo: KryoDialect | None = None

    def entries(self, entries: StoredEntries) -> StoredEntries:
        """Entries of the ordinary state, from local ones with each key once.

        Raises ``MergeError`` if several instances need a ``merge``, ``UnencodableError`` if its
        result is no value of the state.
        """
        kind = self.state.job_kind
        if kind is StateKind.TIMERS:
            return entries
        with within(f"state {self.state.name!r}"):
            if kind is StateKind.LIST:
                return StoredEntries(entries.keys, self._lists(entries.values))
            return StoredEntries(entries.keys, self._values(entries.values))

    def _lists(self, values: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
        layout = instance_layout(self.state)
        assert isinstance(layout, Repeated)  # an instance of a list is one
        lists = joined_instances(decoded(values, Delimited(layout), self.kryo))
        return Encoder(Delimited(layout.element)).encode(lists)

    def _values(self, values: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
        layout, is_map = instance_layout(self.state), self.state.job_kind is StateKind.MAP
        form = NullableRest(Repeated(layout)) if is_map else Delimited(layout)
        lists = decoded(values, form, self.kryo)
        several = np.flatnonzero(Collections(lists).lengths > 1)
        singles = _without_sizes(values) if is_map else values
        if not len(several):
            return singles
        stored = NullableRest(layout) if is_map else layout
        made = Encoder(stored).encode(self._merged(lists.take(pa.array(several)), layout))
        sources = np.arange(len(values), dtype=np.int64)
        sources[several] = len(values) + np.arange(len(several))
        return pa.concat_arrays([singles, made]).take(pa.array(sources))

    def _merged(self, lists: pa.ListArray, layout: Layout) -> pa.Array:
        if self.merge is None:
            raise MergeError(f"a key has {len(lists[0])} instances, and nothing merges them")
        merge = TimedMerge(self.merge) if isinstance(layout, Ttl) else self.merge
        return merge(lists)


def _without_sizes(values: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """Removes the size from values that are a null flag and a list of one instance."""
    data, ranges = ranges_in(values)
    flags = Ranges(ranges.starts, ranges.starts + 1)
    instances = Ranges(np.minimum(ranges.starts + LIST_START, ranges.ends), ranges.ends)
    return bytes_of(Chunk(np.ascontiguousarray(data)), flags, instances)


@dataclass(frozen=True)
class LocalSections:
    """Joins instances of key groups; with ``merged`` they become ordinary state."""

    states: tuple[State, ...]
    max_parallelism: int
    merged: tuple[MergedInstances, ...] = ()

    def runs(self, key_group: int, instances: Iterable[bytes]) -> Iterator[pa.Buffer]:
        """One run per state with each key once, from the runs of all instances in order.

        Raises ``MergeError`` if nothing merges instances of a key of a state that becomes ordinary.
        """
        data = np.frombuffer(b"".join([*instances, END_OF_SECTION]), np.uint8)
        chunk, prefix = Chunk(data), prefix_size(self.max_parallelism)
        for state_id, ranges in section_frames(chunk, 0, len(self.states)).by_state.items():
            entries = StoredEntries.of(chunk, ranges, prefix)
            entries = appended(entries, self.states[state_id].kind)
            if self.merged:
                entries = self.merged[state_id].entries(entries)
            groups = np.full(len(entries), key_group, np.uint16)
            yield runs(entries, groups, state_id, prefix).column("run")[0].as_buffer()
