"""Merges the instances of local state: by a rule, or by the job's own function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa

from savepoint_database.types.python_values import given, python_values
from savepoint_formats.errors import MergeError
from savepoint_formats.layout import without_ttl
from savepoint_formats.pass_through.merged_instances import MergedInstances
from savepoint_formats.scan.merged_columns import instance_layout, merge_of, mergeable_states
from savepoint_formats.values.arrow_types import arrow_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.scan.merged_columns import MergeInstances
    from savepoint_formats.state_files.state import State

    Merge: TypeAlias = "str | Callable[[Any, Any], Any] | Merging"
    """A rule by its name, a function of two values, or an object with such a function ``merge``."""


class Merging(Protocol):
    """Merges two values, like an ``AggregateFunction``."""

    def merge(self, value: Any, other: Any) -> Any:
        """The value of two values."""


@dataclass(frozen=True)
class FunctionMerge:
    """Merges instances by a user's function, two at a time."""

    state: str
    function: Callable[[Any, Any], Any]
    value_type: pa.DataType

    def __call__(self, lists: pa.ListArray) -> pa.Array:
        """The value of each list of instances; ``MergeError`` for one of another type."""
        convert = given(self.value_type)
        merged = [reduce(self.function, instances) for instances in python_values(lists)]
        try:
            return pa.array([convert(value) for value in merged], self.value_type)
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            raise MergeError(
                f"the merge function of state {self.state!r} did not give a"
                f" {self.value_type}: {error}"
            ) from error


def merge_instances(state: State, merge: Merge) -> MergeInstances:
    """A function that merges the instances of a state, without the times of TTL.

    ``merge`` is a rule by its name, a function of two values, or an object with one called
    ``merge``.

    Raises:
        ValueError: There is no such rule.
        ColumnTypeError: The rule cannot merge values of this type.
        TypeError: ``merge`` is nothing of the kind.
    """
    if isinstance(merge, str):
        return merge_of(state, merge)
    function = getattr(merge, "merge", merge)
    if not callable(function):
        raise TypeError(
            f"merge of state {state.name!r} is {merge!r}, expected a rule such as 'sum', or a"
            " function of two values"
        )
    value_type = arrow_type(without_ttl(instance_layout(state)))
    return FunctionMerge(state.name, function, value_type)


def merged_instances(operator: Operator, merge: Mapping[str, Merge]) -> dict[str, MergedInstances]:
    """The merges of all local states of an operator, by name.

    Raises:
        MergeError: A state has nothing to merge it by.
    """
    states = operator.catalog.states
    mergeable = mergeable_states(states, merge, f"operator {operator.name}")
    functions = {
        name: merge_instances(mergeable[name], function) for name, function in merge.items()
    }
    missing = [name for name in mergeable if name not in merge]
    if missing:
        kind = mergeable[missing[0]].job_kind.value
        raise MergeError(
            f"nothing says how the instances of {kind} state {missing[0]!r} of {operator.name} are"
            " merged: give it a rule such as sum, or a function of two values"
        )
    local = (state for state in states if state.scope.is_local)
    return {
        state.name: MergedInstances(state, functions.get(state.name), operator.kryo)
        for state in local
    }
