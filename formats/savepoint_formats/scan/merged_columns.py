"""Columns of local state whose instances are merged while they are read.

| state                        | as it is                  | merged              |
|------------------------------|---------------------------|---------------------|
| value, reducing, aggregating | an array of the instances | the value           |
| map                          | a map to arrays of them   | a map to values     |
| list                         | an array of all elements  | the same            |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated, without_ttl
from savepoint_formats.printable import alternatives
from savepoint_formats.program.merge_rules import merge_rule
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.element_rows import Collections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from savepoint_formats.program.merge_rules import MergeInstances

_NEEDS_NO_RULE = (StateKind.LIST, StateKind.TIMERS)


def instance_layout(state: State) -> Layout:
    """Layout of one instance of a local state; for a map that of one instance of a value.

    Raises ``ValueError`` for other states, and for timers.
    """
    match state.local_kind, state.stored:
        case StateKind.MAP, MapOf(_, Nullable(Repeated(value)) | Repeated(value)):
            return value
        case StateKind.MAP | StateKind.TIMERS | None, _:
            raise ValueError(f"state {state.name!r} has no instances that are values")
        case _, Repeated(instance):
            return instance
    raise ValueError(f"state {state.name!r} is local, but stored as no list")


def mergeable_states(states: Iterable[State], names: Iterable[str], owner: str) -> dict[str, State]:
    """Local states whose instances need a rule to be merged, by name.

    ``names`` are those with a rule; ``owner`` is the owner of the states in errors.
    """
    local = {state.name: state for state in states if state.scope.is_local}
    if not local:
        raise StateNotFoundError(
            f"{owner} has no local keyed state, so that there is nothing to merge"
        )
    for name in names:
        if name not in local:
            raise StateNotFoundError(
                f"{owner} has no local state {name!r}; {alternatives(name, local)}"
            )
        if local[name].job_kind in _NEEDS_NO_RULE:
            raise ValueError(
                f"the instances of {local[name].job_kind.value} state {name!r} are appended: leave"
                " it out of merge"
            )
    return {name: state for name, state in local.items() if state.job_kind not in _NEEDS_NO_RULE}


def merge_of(state: State, merge: str | MergeInstances) -> MergeInstances:
    """Function that merges the instances of a state; a text is the name of a rule.

    Raises ``ValueError`` for an unknown rule, ``ColumnTypeError`` if it can't merge this type.
    """
    if not isinstance(merge, str):
        return merge
    return merge_rule(merge, arrow_type(without_ttl(instance_layout(state))))


@dataclass(frozen=True)
class MergedColumns:
    """Merges the instances of states by a function each, with the times of TTL if wanted."""

    merges: Mapping[str, MergeInstances]
    with_times: bool = False

    def type_of(self, state: State, given: pa.DataType) -> pa.DataType:
        """Type of a state's column, which was ``given`` before."""
        if state.name not in self.merges:
            return given
        if pa.types.is_map(given):
            return pa.map_(given.key_type, given.item_type.value_type)
        if state.job_kind is not StateKind.MAP:
            return given.value_type
        key, value = given.value_type
        return pa.list_(pa.struct([key, value.with_type(value.type.value_type)]))

    def values_of(self, state: State, values: pa.Array) -> pa.Array:
        """Values of a state's column; raises ``MergeError`` if instances can't be merged."""
        if state.name not in self.merges:
            return values
        merge = self.merges[state.name]
        if state.has_ttl and self.with_times:
            merge = TimedMerge(merge)
        if state.job_kind is not StateKind.MAP:
            return merged_lists(values, merge)
        maps = Collections(values)
        if pa.types.is_map(values.type):
            items = merged_lists(maps.items, merge)
            return pa.MapArray.from_arrays(maps.offsets, maps.keys, items)
        keys, lists = maps.elements.flatten()
        entries = pa.StructArray.from_arrays(
            [keys, merged_lists(lists, merge)],
            fields=list(self.type_of(state, values.type).value_type),
        )
        return pa.ListArray.from_arrays(maps.offsets, entries)


@dataclass(frozen=True)
class TimedMerge:
    """Merges values that come with the time of their last access: the latest time stays."""

    merge: MergeInstances

    def __call__(self, lists: pa.ListArray) -> pa.Array:
        collections = Collections(lists)
        offsets = pa.array(np.append(0, np.cumsum(collections.lengths)), pa.int32())
        times, values = (
            pa.ListArray.from_arrays(offsets, pc.struct_field(collections.elements, name))
            for name in ("timestamp", "value")
        )
        latest = merge_rule("max", times.type.value_type)(times)
        fields = list(lists.type.value_type)
        return pa.StructArray.from_arrays([latest, self.merge(values)], fields=fields)


def merged_lists(lists: pa.ListArray, merge: Callable[[pa.ListArray], pa.Array]) -> pa.Array:
    """One value per list of instances: null if it is empty, the instance if there is only one."""
    collections = Collections(lists)
    several = np.flatnonzero(collections.lengths > 1)
    firsts = np.cumsum(collections.lengths) - collections.lengths
    elements, sources = collections.elements, firsts
    if len(several):
        made = merge(lists.take(pa.array(several)))
        sources[several] = len(elements) + np.arange(len(several))
        elements = pa.concat_arrays([elements, made.cast(elements.type)])
    return elements.take(pa.array(sources, mask=collections.lengths == 0))
