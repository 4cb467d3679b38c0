"""Times to live of existing keyed state: given, taken away, and applied to old values.

Flink stores with each value, element or entry the time of its last access, if its state has a time to
live (``TtlSerializer``: i64 milliseconds, then the value). How long values live is in the job alone.
A value has expired if last access + time to live <= now, as in Flink's ``TtlUtils.expired``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.bytes import Chunk
from savepoint_formats.entries import StoredEntries
from savepoint_formats.errors import SchemaChangeError, within
from savepoint_formats.layout import Ttl
from savepoint_formats.pass_through import (
    NewKeyGroups,
    decoded,
    timed_values,
    with_access_times,
    without_access_times,
)
from savepoint_formats.program.byte_ranges import Ranges, numbers_at, ranges_in
from savepoint_formats.program.encode import Encoder
from savepoint_formats.state_files import VALUE_SERIALIZER, StateKind, entry_layouts, keyed_state
from savepoint_formats.values import Collections
from savepoint_spark.changing import EntryRecoding
from savepoint_spark.writing import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through import GatheringChange, KeyGroups
    from savepoint_formats.state_files import State, StateChunk, StateMetaInfo
    from savepoint_formats.values import KryoDialect
    from savepoint_spark.changing import ChangedOperator

_TIME_SIZE = 8


def with_time_to_live(changed: ChangedOperator, name: str, now_ms: int | None) -> ChangedOperator:
    """The operator whose state has a time to live, all values accessed at ``now_ms``; None takes it away.

    Raises:
        StateNotFoundError: There is no such state.
        SchemaChangeError: It is no keyed state with values, or already as asked.
    """
    state = _keyed(changed, name)
    if state.has_ttl == (now_ms is not None):
        raise SchemaChangeError(
            f"state {name!r} has {'a' if state.has_ttl else 'no'} time to live already"
        )
    types = StoredTypes.of(changed.operator)
    (info,) = (info for info in types.states if info.name == state.name)
    serializer = info.serializer(VALUE_SERIALIZER)
    if serializer is None:
        raise SchemaChangeError(
            f"state {name!r} has no serializer of values, so its form is unknown"
        )
    change = without_access_times if now_ms is None else with_access_times
    new = info.with_serializer(VALUE_SERIALIZER, change(serializer, state.kind))
    key, kryo = types.key.layout(), changed.operator.kryo
    forms = {state.name: (keyed_state(info, key), keyed_state(new, key))}
    return _with_entries(changed, types, {state.name: new}, TimedStates(forms, now_ms, kryo=kryo))


def without_expired(changed: ChangedOperator, name: str | None, limit_ms: int) -> ChangedOperator:
    """The operator without values whose last access was at ``limit_ms`` or before.

    Raises:
        StateNotFoundError: There is no such state.
        SchemaChangeError: It has no time to live; without a name, no state of the operator has.
    """
    if name is not None:
        states = [_keyed(changed, name)]
    else:
        known = changed.operator.catalog.states
        states = [
            it for it in known if it.kind.is_keyed and it.has_ttl and it.name not in changed.removed
        ]
    if not states or not all(state.has_ttl for state in states):
        what = "no keyed state" if name is None else f"state {name!r}"
        raise SchemaChangeError(
            f"{what} of operator {changed.operator.name} has a time to live, so nothing tells when a"
            " value was last accessed"
        )
    types = StoredTypes.of(changed.operator)
    names = {state.name for state in states}
    infos = {info.name: info for info in types.states if info.name in names}
    expired = ExpiredStates(frozenset(names), limit_ms, kryo=changed.operator.kryo)
    return _with_entries(changed, types, infos, expired)


def _keyed(changed: ChangedOperator, name: str) -> State:
    state = changed.state(name)
    if not state.kind.is_keyed or state.kind is StateKind.TIMERS or state.scope.is_local:
        raise SchemaChangeError(
            f"state {name!r} of operator {changed.operator.name} is {state.kind.value} state"
            f"{' of subtasks' if state.scope.is_local else ''}, which can't have a time to live"
        )
    return state


def _with_entries(
    changed: ChangedOperator,
    types: StoredTypes,
    infos: Mapping[str, StateMetaInfo],
    entries: GatheringChange,
) -> ChangedOperator:
    kryo = changed.operator.kryo
    assert kryo is not None  # operators of a savepoint have one
    return changed.with_change(EntryRecoding(types.key, infos, {}, kryo, kryo, change=entries))


@dataclass(frozen=True, kw_only=True)
class SameKeys:
    """A change of entries that leaves their keys as they are."""

    kryo: KryoDialect | None
    moves_keys: bool = False

    def key_groups(self, state_chunk: StateChunk, new: StoredEntries, count: int) -> KeyGroups:
        """The key groups of the old entries."""
        groups = NewKeyGroups(count, count, self.kryo, None)
        return groups.of(replace(state_chunk, entries=new), is_checked=False)


@dataclass(frozen=True)
class TimedStates(SameKeys):
    """Old and new form of states by name; values get the time of access ``now_ms``, or lose theirs."""

    forms: Mapping[str, tuple[State, State]]
    now_ms: int | None

    def gathered(self, state_chunks: Iterator[StateChunk]) -> Iterator[StateChunk]:
        """The chunks as they are."""
        return state_chunks

    def entries(self, state_chunk: StateChunk) -> StoredEntries:
        """The entries with other values; ``SchemaChangeError`` for a null, which has no time in Flink."""
        if (form := self.forms.get(state_chunk.state.name)) is None:
            return state_chunk.entries
        old, new = (entry_layouts(state)[1] for state in form)
        assert old is not None  # these states have values
        assert new is not None
        with within(f"state {state_chunk.state.name!r}"):
            column = decoded(state_chunk.entries.values, old, self.kryo)
            self._expect_no_null(column, form[0].kind)
            values = Encoder(new).encode(timed_values(column, form[0].kind, self.now_ms))
        return StoredEntries(state_chunk.entries.keys, values)

    def _expect_no_null(self, column: pa.Array, kind: StateKind) -> None:
        values = Collections(column).elements if kind is StateKind.LIST else column
        if self.now_ms is not None and values.null_count:
            raise SchemaChangeError(
                f"{values.null_count} entries are null, and Flink sees no entry where a null has no time"
                " of access: remove them by update_state first"
            )


@dataclass(frozen=True)
class ExpiredStates(SameKeys):
    """Leaves out values, elements and entries of these states, last accessed at ``limit_ms`` or before."""

    names: frozenset[str]
    limit_ms: int

    def gathered(self, state_chunks: Iterator[StateChunk]) -> Iterator[StateChunk]:
        """The chunks without expired values; a list without elements is left out as a whole."""
        for state_chunk in state_chunks:
            if state_chunk.state.name in self.names:
                yield self._live(state_chunk)
            else:
                yield state_chunk

    def entries(self, state_chunk: StateChunk) -> StoredEntries:
        """The entries as ``gathered`` gives them."""
        return state_chunk.entries

    def _live(self, state_chunk: StateChunk) -> StateChunk:
        layout = entry_layouts(state_chunk.state)[1]
        assert layout is not None  # states with times have values
        with within(f"state {state_chunk.state.name!r}"):
            if state_chunk.state.kind is StateKind.LIST:
                return self._live_lists(state_chunk, layout)
            times = _times(state_chunk.entries.values, is_whole=isinstance(layout, Ttl))
        return state_chunk.chosen(times > self.limit_ms)

    def _live_lists(self, state_chunk: StateChunk, layout: Layout) -> StateChunk:
        column = decoded(state_chunk.entries.values, layout, self.kryo)
        lists = Collections(column)
        elements = lists.elements
        times = elements.field("timestamp").cast(pa.int64()).to_numpy(zero_copy_only=False)
        is_live = times > self.limit_ms
        if is_live.all():
            return state_chunk
        sizes = np.bincount(lists.rows[is_live], minlength=len(column))
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        live = elements.filter(pa.array(is_live))
        values = Encoder(layout).encode(pa.ListArray.from_arrays(offsets, live, type=column.type))
        changed = replace(state_chunk, entries=StoredEntries(state_chunk.entries.keys, values))
        return changed.chosen(sizes > 0)


def _times(values: pa.LargeBinaryArray, *, is_whole: bool) -> NDArray[np.int64]:
    """The time that each value begins with, behind a flag of null unless values are whole; a null lives on."""
    data, ranges = ranges_in(values)
    chunk = Chunk(data, "stored values")
    if is_whole:
        return numbers_at(chunk, ranges, _TIME_SIZE)
    is_there = numbers_at(chunk, ranges, 1) == 0
    there = Ranges(ranges.starts[is_there] + 1, ranges.ends[is_there])
    times = np.full(len(values), np.iinfo(np.int64).max)
    times[is_there] = numbers_at(chunk, there, _TIME_SIZE)
    return times
