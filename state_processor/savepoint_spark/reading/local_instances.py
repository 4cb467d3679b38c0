"""Instances of local state at one key: merged when the value is asked for, and not before.

A key has several instances where subtasks that had one each became fewer. They are merged on the
first access, by the function of the descriptor; without one it is an error to ask for them.
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
    """What makes one of two instances of a state; None if the descriptor does not say."""
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
    """The value that instances of a state make.

    Args:
        name: The state.
        instances: One or more.
        merge: Makes one of two.

    Raises:
        MergeError: There are several, and no function for them.
    """
    if len(instances) > 1 and merge is None:
        raise MergeError(
            f"state {name!r} is local and has {len(instances)} instances of this key, which nothing"
            " merges: give its descriptor a function, that of a reducing or aggregating state, or"
            " merge_function=… of a value or map"
        )
    return instances[0] if merge is None else reduce(merge, instances)


class _Instances(State):
    """A state that is read from its instances.

    Args:
        name: As in its descriptor.
        merge: Makes one of two instances.
    """

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
        """What the instances make."""
        return merged(self.name, instances, self._merge)


class _LocalValueState(_Instances, ValueState):
    """A value."""


class _LocalReducingState(_Instances, ReducingState):
    """A value, to which others were reduced."""


class _LocalAggregatingState(_Instances, AggregatingState):
    """An accumulator."""


class _LocalMapState(_Instances, MapState):
    """A map, each value of which has instances of its own."""

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
    """The state that a reader function gets for a descriptor of local state.

    It is held by its instances: a list, or of a map a list of user keys and lists. The instances of
    a list state come as one list.
    """
    if issubclass(kind, ListState):
        return kind(descriptor.name)
    instances = _LOCAL[kind](descriptor.name, merge_function(descriptor))
    assert isinstance(instances, kind)  # as the table has it
    return instances
