"""Instances of local state at one key, merged on the first access.

A key has several instances after subtasks with one each became fewer. The descriptor's function
merges them; without one, access to several instances is an error.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_database.types.descriptors import (
    AggregatingStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from savepoint_formats.errors import MergeError
from savepoint_spark.reading.states import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    State,
    ValueState,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.types.descriptors import StateDescriptor

    MergeFunction = Callable[[Any, Any], Any]

StateT = TypeVar("StateT", bound=State)


def merge_function(descriptor: StateDescriptor) -> MergeFunction | None:
    """The descriptor's function that merges two instances, if it has one."""
    match descriptor:
        case ReducingStateDescriptor():
            return descriptor.reduce_function
        case AggregatingStateDescriptor():
            return getattr(descriptor.aggregate_function, "merge", None)
        case ValueStateDescriptor() | MapStateDescriptor():
            return descriptor.merge_function
        case _:
            return None


def merged(name: str, instances: list[Any], merge: MergeFunction | None) -> Any:
    """The merged instances; ``MergeError`` if there are several and no function."""
    if len(instances) > 1 and merge is None:
        raise MergeError(
            f"state {name!r} is local and has {len(instances)} instances of this key, which nothing"
            " merges: give its descriptor a function, that of a reducing or aggregating state, or"
            " merge_function=… of a value or map"
        )
    return instances[0] if merge is None else reduce(merge, instances)


class _Instances(State):
    """A state that is read from its instances."""

    _instances: list[Any] | None
    _merged: Any

    def __init__(self, name: str, merge: MergeFunction | None) -> None:
        self._merge = merge
        super().__init__(name)

    @property
    def _value(self) -> Any:
        if self._instances is not None:
            self._merged, self._instances = self._of(self._instances), None
        return self._merged

    @_value.setter
    def _value(self, instances: list[Any] | None) -> None:
        self._instances, self._merged = instances or None, None

    def _of(self, instances: list[Any]) -> Any:
        """The merged value."""
        return merged(self.name, instances, self._merge)


class _LocalValueState(_Instances, ValueState):
    """Local value state."""


class _LocalReducingState(_Instances, ReducingState):
    """Local reducing state."""


class _LocalAggregatingState(_Instances, AggregatingState):
    """Local aggregating state, read as its accumulator."""


class _LocalMapState(_Instances, MapState):
    """Local map state; each user key has instances of its own."""

    def __init__(self, name: str, merge: MergeFunction | None) -> None:
        super().__init__(name, merge)
        self._indexed, self._index = None, {}

    def _of(self, instances: list[Any]) -> Any:
        return [
            (key, values and merged(self.name, values, self._merge)) for key, values in instances
        ]


_LOCAL: dict[type[State], type[_Instances]] = {
    ValueState: _LocalValueState,
    ReducingState: _LocalReducingState,
    AggregatingState: _LocalAggregatingState,
    MapState: _LocalMapState,
}


def read_state(kind: type[StateT], descriptor: StateDescriptor) -> StateT:
    """The state object of a reader function for a descriptor of local state.

    Its value is a list of instances; of a map a list of pairs of user key and instances. Instances
    of a list state come as one list.
    """
    if issubclass(kind, ListState):
        return kind(descriptor.name)
    instances = _LOCAL[kind](descriptor.name, merge_function(descriptor))
    assert isinstance(instances, kind)  # as the table has it
    return instances
