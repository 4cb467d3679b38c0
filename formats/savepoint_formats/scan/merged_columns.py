"""Columns of local state, with instances merged during the read.

| state                        | as it is                  | merged              |
|------------------------------|---------------------------|---------------------|
| value, reducing, aggregating | an array of the instances | the value           |
| map                          | a map to arrays of them   | a map to values     |
| list                         | an array of all elements  | the same            |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import ColumnTypeError, MergeError, StateNotFoundError
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated, without_ttl
from savepoint_formats.printable import alternatives
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.tables.visible import joined_instances
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.element_rows import Collections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    MergeInstances = Callable[[pa.ListArray], pa.Array]
    """Merges the elements of each list; no list is null or empty. Raises ``MergeError``."""


_EXACT = 2.0**62
"""If the sum as doubles is below this, the sum of longs has not wrapped."""


def merge_rule(name: str, element_type: pa.DataType) -> MergeInstances:
    """The rule ``sum``, ``min``, ``max`` or ``concat`` for values of a type.

    | rule     | values                                | result                                          |
    |----------|---------------------------------------|-------------------------------------------------|
    | sum      | numbers, structs of numbers           | the sum, in structs of each field               |
    | min, max | ordered values, structs of such       | the least or greatest, in structs of each field |
    | concat   | lists                                 | one list of all elements                        |

    A sum that its type does not hold is an error. Nulls in fields of structs are ignored.

    Raises:
        ValueError: There is no such rule.
        ColumnTypeError: It cannot merge such values.

    Example:
        >>> merge_rule("sum", pa.int64())(pa.array([[1, 2], [3]]))
        [3, 3]
    """
    if name not in MERGE_RULES:
        raise ValueError(f"merge={name!r}, expected one of {', '.join(MERGE_RULES)}")
    rule = MERGE_RULES[name]
    try:
        rule(pa.array([], pa.list_(element_type)))
    except (pa.ArrowNotImplementedError, TypeError) as error:
        raise ColumnTypeError(f"values of {element_type} have no {name}") from error
    return rule


def _concatenated(lists: pa.ListArray) -> pa.Array:
    if not pa.types.is_list(lists.type.value_type):
        raise TypeError(f"{lists.type.value_type} is no list")
    return joined_instances(lists).cast(lists.type.value_type)


def _aggregated(function: str, lists: pa.ListArray) -> pa.Array:
    wanted = lists.type.value_type
    if pa.types.is_struct(wanted):
        fields = [_aggregated(function, field) for field in _fields(lists)]
        return pa.StructArray.from_arrays(fields, fields=list(wanted))
    if pa.types.is_boolean(wanted) and function == "sum":
        raise TypeError("truth values have no sum")
    merged = _grouped(function, lists)
    if function == "sum" and pa.types.is_int64(wanted):
        _expect_exact(lists)
    try:
        return merged.cast(wanted)
    except pa.ArrowInvalid as error:
        raise MergeError(f"a {function} that is no {wanted}: {error}") from error


def _fields(lists: pa.ListArray) -> list[pa.ListArray]:
    """A list of each field of lists of structs."""
    collections = Collections(lists)
    return [collections.with_elements(column) for column in collections.elements.flatten()]


def _grouped(function: str, lists: pa.ListArray) -> pa.Array:
    """The aggregate of the elements of each list."""
    collections = Collections(lists)
    table = pa.table({"row": collections.rows, "value": collections.elements})
    grouped = table.group_by("row", use_threads=False).aggregate([("value", function)])
    return grouped.column(f"value_{function}").combine_chunks()


def _expect_exact(lists: pa.ListArray) -> None:
    """Raises ``MergeError`` if a sum of longs has wrapped."""
    collections = Collections(lists)
    doubles = collections.elements.cast(pa.float64(), safe=False)
    about = _grouped("sum", collections.with_elements(doubles))
    for row in np.flatnonzero(np.abs(about.fill_null(0).to_numpy()) >= _EXACT).tolist():
        exact = sum(element for element in lists[row].as_py() if element is not None)
        if not -(1 << 63) <= exact < 1 << 63:
            raise MergeError(f"a sum of {exact}, which no long holds")


MERGE_RULES: dict[str, MergeInstances] = {
    "sum": partial(_aggregated, "sum"),
    "min": partial(_aggregated, "min"),
    "max": partial(_aggregated, "max"),
    "concat": _concatenated,
}


_NEEDS_NO_RULE = (StateKind.LIST, StateKind.TIMERS)


def instance_layout(state: State) -> Layout:
    """Layout of one instance of a local state; for a map, of one instance of a value.

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
        raise StateNotFoundError(f"{owner} has no local keyed state, so there is nothing to merge")
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
        return Collections(values).with_items(lambda items: merged_lists(items, merge))


@dataclass(frozen=True)
class TimedMerge:
    """Merges values that come with the time of their last access: the latest time stays."""

    merge: MergeInstances

    def __call__(self, lists: pa.ListArray) -> pa.Array:
        collections = Collections(lists)
        times, values = (
            collections.with_elements(pc.struct_field(collections.elements, name))
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
