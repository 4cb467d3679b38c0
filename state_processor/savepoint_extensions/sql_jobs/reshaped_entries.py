"""Entries of a SQL operator's state whose rows get other columns; see ``plans.carried_state``.

Keys and values are decoded to columns of Arrow, changed there, and encoded anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.entries import StoredEntries
from savepoint_formats.errors import SchemaChangeError, within
from savepoint_formats.pass_through import NewKeyGroups, decoded, timed_values
from savepoint_formats.program.encode import Encoder
from savepoint_formats.state_files import StateChunk, entry_layouts
from savepoint_formats.values import Collections

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from savepoint_extensions.sql_jobs.plans.carried_state import ReshapedState
    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through import KeyGroups
    from savepoint_formats.values import KryoDialect


@dataclass(frozen=True, slots=True)
class ReshapedStates:
    """States with other rows, by their present names; values without a time of access get ``now_ms``."""

    states: Mapping[str, ReshapedState]
    kryo: KryoDialect | None
    now_ms: int
    moves_keys: bool = False

    def gathered(self, state_chunks: Iterator[StateChunk]) -> Iterator[StateChunk]:
        """The chunks; entries that become equal are merged, and their numbers added up."""
        waiting: dict[str, list[StateChunk]] = {}
        for state_chunk in state_chunks:
            state = self.states.get(state_chunk.state.name)
            if state is not None and state.has_counts:
                waiting.setdefault(state_chunk.state.name, []).append(state_chunk)
            else:
                yield state_chunk
        yield from map(self._merged, waiting.values())

    def entries(self, state_chunk: StateChunk) -> StoredEntries:
        """The new entries, one per old entry.

        Raises ``SchemaChangeError`` if a value doesn't fit the new type of its column.
        """
        change = self.states[state_chunk.state.name]
        with within(f"state {state_chunk.state.name!r}"):
            values = state_chunk.entries.values
            old, new = entry_layouts(change.old)[1], entry_layouts(change.new)[1]
            if old is not None and new is not None and not change.keeps(old, new):
                column = _with_times(decoded(values, old, self.kryo), change, self.now_ms)
                values = _encoded(column, new, change)
            return StoredEntries(self._keys(state_chunk, change), values)

    def key_groups(self, state_chunk: StateChunk, new: StoredEntries, count: int) -> KeyGroups:
        """The key group of each new entry, out of ``count``."""
        moved = replace(state_chunk, state=self.states[state_chunk.state.name].new, entries=new)
        return NewKeyGroups(count, count, self.kryo, None).expected(moved)

    def _keys(self, state_chunk: StateChunk, change: ReshapedState) -> pa.LargeBinaryArray:
        old, new = entry_layouts(change.old)[0], entry_layouts(change.new)[0]
        keys = state_chunk.entries.keys
        if change.keeps(old, new):
            return keys
        return _encoded(decoded(keys, old, self.kryo), new, change)

    def _merged(self, state_chunks: list[StateChunk]) -> StateChunk:
        """The entries of a state; those with equal new keys become one."""
        whole = StateChunk.joined(state_chunks)
        keys, values = whole.entries.keys, whole.entries.values
        change = self.states[whole.state.name]
        encoded = pc.dictionary_encode(self._keys(whole, change)).indices.to_numpy()
        _, first, places = np.unique(encoded, return_index=True, return_inverse=True)
        if len(first) == len(keys):
            return whole
        layout = entry_layouts(change.old)[1]
        assert layout is not None  # maps have values
        summed = _summed(decoded(values, layout, self.kryo), first, places)
        rows = pa.array(first)
        entries = StoredEntries(keys.take(rows), Encoder(layout).encode(summed))
        return StateChunk(whole.state, entries, whole.key_groups[first])


def _encoded(column: pa.Array, layout: Layout, change: ReshapedState) -> pa.LargeBinaryArray:
    encoder = Encoder(layout)
    try:
        return encoder.encode(_reshaped(column, encoder.type, change))
    except pa.ArrowInvalid as error:
        raise SchemaChangeError(f"a value doesn't fit its new type: {error}") from error


def _reshaped(column: pa.Array, wanted: pa.DataType, change: ReshapedState) -> pa.Array:
    """The values with the fields of another type; names of fields tell where they come from."""
    if pa.types.is_struct(wanted):
        fields = []
        for field in wanted:
            source = change.sources.get(field.name, field.name)
            if source is not None:
                fields.append(_reshaped(column.field(source), field.type, change))
            else:
                value = pa.scalar(change.initial.get(field.name)).cast(field.type)
                fields.append(pa.repeat(value, len(column)))
        return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=column.is_null())
    if pa.types.is_list(wanted):
        lists = Collections(column)
        elements = _reshaped(lists.elements, wanted.value_type, change)
        return lists.with_elements(elements, wanted)
    return column if column.type == wanted else pc.cast(column, wanted)


def _with_times(column: pa.Array, change: ReshapedState, now_ms: int) -> pa.Array:
    """Values with the time of their last access, or without it, as the new state has them."""
    had, has = change.old.has_ttl, change.new.has_ttl
    return column if had == has else timed_values(column, change.old.kind, None if had else now_ms)


def _summed(values: pa.Array, first: NDArray[Any], places: NDArray[Any]) -> pa.Array:
    """Numbers of equal rows added up: ``first`` has a row of each group, ``places`` the group of each row.

    A row has its number, and perhaps the number of its matches, which equal rows share.
    """
    if not pa.types.is_struct(values.type):
        sums = np.zeros(len(first), np.int64)
        np.add.at(sums, places, values.to_numpy())
        return pc.cast(pa.array(sums), values.type)
    rows = pa.array(first)
    fields = [values.field(number).take(rows) for number in range(values.type.num_fields)]
    number = 1 if values.type.field(0).name == "timestamp" else 0
    fields[number] = _summed(values.field(number), first, places)
    return pa.StructArray.from_arrays(fields, fields=list(values.type))
