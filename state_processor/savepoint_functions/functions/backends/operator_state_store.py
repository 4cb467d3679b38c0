"""Operator state while a function runs: lists and maps that belong to no key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_formats.metadata import DistributionMode
from savepoint_functions.functions.backends.in_memory import HeldListState, HeldMapState
from savepoint_functions.functions.backends.value_codec import shape_of

if TYPE_CHECKING:
    from savepoint_database.types import ListStateDescriptor, MapStateDescriptor, StateDescriptor
    from savepoint_spark.reading import ListState, MapState

HeldT = TypeVar("HeldT", HeldListState, HeldMapState)


class OperatorStateStore:
    """The operator states of a task; a name with another descriptor raises ``ValueError``."""

    def __init__(self) -> None:
        self._states: dict[
            str, tuple[StateDescriptor, DistributionMode, HeldListState | HeldMapState]
        ] = {}

    def list_state(self, descriptor: ListStateDescriptor) -> ListState:
        """A list whose elements Flink spreads over the subtasks."""
        return self._list(descriptor, DistributionMode.SPLIT_DISTRIBUTE)

    def union_list_state(self, descriptor: ListStateDescriptor) -> ListState:
        """A list whose elements Flink gives to each subtask."""
        return self._list(descriptor, DistributionMode.UNION)

    def broadcast_state(self, descriptor: MapStateDescriptor) -> MapState:
        """A map that each subtask has."""
        name = descriptor.name
        state = HeldMapState(
            name,
            shape=shape_of(descriptor.user_value.layout(), f"state {name!r}"),
            key_shape=shape_of(descriptor.user_key.layout(), f"the user keys of state {name!r}"),
        )
        return self._registered(descriptor, DistributionMode.BROADCAST, state)

    def contents(self) -> list[tuple[StateDescriptor, DistributionMode, list[Any]]]:
        """The elements of each list state, and the pairs of key and value of each map state."""
        return [
            (descriptor, mode, state.snapshot() or [])
            for descriptor, mode, state in self._states.values()
        ]

    def _list(self, descriptor: ListStateDescriptor, mode: DistributionMode) -> ListState:
        if descriptor.has_ttl:
            raise ValueError(f"operator state {descriptor.name!r} can have no time to live")
        shape = shape_of(descriptor.element.layout(), f"state {descriptor.name!r}")
        return self._registered(descriptor, mode, HeldListState(descriptor.name, shape=shape))

    def _registered(self, descriptor: StateDescriptor, mode: DistributionMode, new: HeldT) -> HeldT:
        known = self._states.setdefault(descriptor.name, (descriptor, mode, new))
        if known[:2] != (descriptor, mode):
            raise ValueError(
                f"operator state {descriptor.name!r} is registered as {known[0]} of mode"
                f" {known[1].name}, and cannot be {descriptor} of mode {mode.name} as well"
            )
        state = known[2]
        assert isinstance(state, type(new))  # a descriptor and mode have one kind
        return state
