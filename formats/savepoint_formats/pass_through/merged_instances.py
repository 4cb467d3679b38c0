"""Merges the instances of a key, so that local state becomes ordinary keyed state.

A single instance keeps its bytes: a list state with one element stores the bytes of a value state.
Values are decoded if there are several instances, or if instances are lists.
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
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.layout import Repeated, Ttl
from savepoint_formats.pass_through.instances import LIST_START, appended
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.program.spans import Spans, bytes_of, spans_in
from savepoint_formats.scan.merged_columns import TimedMerge, instance_layout
from savepoint_formats.state_files.canonical_file import END_OF_SECTION
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.tables.visible import joined_instances
from savepoint_formats.values.element_rows import Collections
from savepoint_formats.values.state_entries import Delimited, NullableRest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_formats.layout import Layout
    from savepoint_formats.program.merge_rules import MergeInstances
    from savepoint_formats.values.kryo.dialect import KryoDialect


@dataclass(frozen=True)
class MergedInstances:
    """Turns entries of a local state into those of ordinary state.

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
        lists = joined_instances(self._decoded(values, Delimited(layout)))
        return Encoder(Delimited(layout.element)).encode(lists)

    def _values(self, values: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
        layout, is_map = instance_layout(self.state), self.state.job_kind is StateKind.MAP
        lists = self._decoded(
            values, NullableRest(Repeated(layout)) if is_map else Delimited(layout)
        )
        several = np.flatnonzero(Collections(lists).lengths > 1)
        singles = _without_sizes(values) if is_map else values
        if not len(several):
            return singles
        stored = NullableRest(layout) if is_map else layout
        made = Encoder(stored).encode(self._merged(lists.take(pa.array(several)), layout))
        sources = np.arange(len(values), dtype=np.int64)
        sources[several] = len(values) + np.arange(len(several))
        return pa.concat_arrays([singles, made]).take(pa.array(sources))

    def _decoded(self, values: pa.LargeBinaryArray, layout: Layout) -> pa.ListArray:
        data, spans = spans_in(values)
        chunk = Chunk(np.ascontiguousarray(data))
        return decode(program(layout, self.kryo), chunk, spans.starts, spans.ends)

    def _merged(self, lists: pa.ListArray, layout: Layout) -> pa.Array:
        if self.merge is None:
            raise MergeError(f"a key has {len(lists[0])} instances, and nothing merges them")
        merge = TimedMerge(self.merge) if isinstance(layout, Ttl) else self.merge
        return merge(lists)


def _without_sizes(values: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """Removes the size from values that are a null flag and a list of one instance."""
    data, spans = spans_in(values)
    flags = Spans(spans.starts, spans.starts + 1)
    instances = Spans(np.minimum(spans.starts + LIST_START, spans.ends), spans.ends)
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
        by_state = section_frames(chunk, 0, len(self.states)).by_state()
        for state_id, (key_starts, key_ends, value_starts, value_ends) in sorted(by_state.items()):
            entries = StoredEntries(
                bytes_of(chunk, Spans(key_starts + prefix, key_ends)),
                bytes_of(chunk, Spans(value_starts, value_ends)),
            )
            entries = appended(entries, self.states[state_id].kind)
            if self.merged:
                entries = self.merged[state_id].entries(entries)
            groups = np.full(len(entries), key_group, np.uint16)
            yield runs(entries, groups, state_id, prefix).column("run")[0].as_buffer()
