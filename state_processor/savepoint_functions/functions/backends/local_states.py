"""Local state of a running function: kept as its instances, seen as one value.

A backend keeps what files store of local state: a list of instances of each key, or of a map a list
of each value. So what is restored may have several instances, and a snapshot is what is written
again. Several are merged on the first access, and from then on there is one: see
``local_instances``.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from savepoint_database.types.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from savepoint_database.types.types import Types
from savepoint_functions.functions.backends.folding_states import (
    folding_aggregates,
    folding_reductions,
)
from savepoint_functions.functions.backends.held_states import pairs, present
from savepoint_spark.reading.local_instances import merge_function, merged
from savepoint_spark.reading.states import ListState, MapState, ValueState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_database.types.descriptors import StateDescriptor
    from savepoint_database.types.types import TypeInformation
    from savepoint_functions.functions.backends.backend import KeyedStateBackend
    from savepoint_spark.reading.local_instances import MergeFunction
    from savepoint_spark.reading.states import State


def local_state(backend: KeyedStateBackend, descriptor: StateDescriptor) -> State:
    """The local state of a descriptor, registered in a backend as what keeps its instances.

    Args:
        backend: Keeps the instances.
        descriptor: The state as the job has it.

    Raises:
        ValueError: The descriptor lacks a type or a function; or the backend has another state of
            the name.
        TypeError: It is no descriptor of keyed state.

    Example:
        >>> descriptor = ReducingStateDescriptor("count", Types.LONG(), operator.add)
        >>> count = local_state(backend, descriptor)
        >>> backend.set_current_key("a", b"a")
        >>> backend.state(instances_of(descriptor)).update([2, 3])
        >>> count.get()
        5
    """
    instances = backend.state(instances_of(descriptor))
    if isinstance(instances, MapState):
        return LocalMapState(instances, merge_function(descriptor))
    assert isinstance(instances, ListState)  # all but maps are lists
    if isinstance(descriptor, ListStateDescriptor):
        return LocalListState(instances)
    values = LocalValueState(instances, merge_function(descriptor))
    match descriptor:
        case ReducingStateDescriptor():
            return folding_reductions(descriptor, values)
        case AggregatingStateDescriptor():
            return folding_aggregates(descriptor, values)
        case _:
            return values


def instances_of(descriptor: StateDescriptor) -> StateDescriptor:
    """The descriptor of what keeps the instances of a local state: a list, or a map of lists.

    Raises:
        TypeError: It is no descriptor of keyed state.
    """
    match descriptor:
        case MapStateDescriptor():
            values = _list_of(descriptor.value_type)
            return replace(descriptor, value_type=values, merge_function=None)
        case ListStateDescriptor():
            return replace(descriptor, element_type=_list_of(descriptor.element_type))
        case ValueStateDescriptor() | ReducingStateDescriptor():
            instance = descriptor.value_type
        case AggregatingStateDescriptor():
            instance = descriptor.accumulator_type
        case _:
            raise TypeError(f"a {type(descriptor).__name__} is no descriptor of keyed state")
    return ListStateDescriptor(descriptor.name, instance, has_ttl=descriptor.has_ttl)


def _list_of(element: TypeInformation | None) -> TypeInformation | None:
    return None if element is None else Types.LIST(element)


class LocalValueState(ValueState):
    """A value, or what reducing and aggregating state is made of.

    Args:
        instances: Holds the instances.
        merge: Makes one of two.
    """

    def __init__(self, instances: ListState, merge: MergeFunction | None) -> None:
        super().__init__(instances.name)
        self._instances = instances
        self._merge = merge

    def value(self) -> Any:
        """The value, of which there is one instance from now on; None if the key has none.

        Raises:
            MergeError: There are several instances, and nothing merges them.
        """
        values = self._instances.get()
        if not values:
            return None
        value = merged(self.name, values, self._merge)
        if len(values) > 1:
            self._instances.update([value])
        return value

    def update(self, value: Any) -> None:
        """Replaces all instances; None clears the state."""
        if value is None:
            self._instances.clear()
        else:
            self._instances.update([value])

    def clear(self) -> None:
        """Leaves the current key with nothing."""
        self._instances.clear()


class LocalListState(ListState):
    """A list: the elements of all instances, one behind the other.

    Args:
        instances: Holds the instances, each a list.
    """

    def __init__(self, instances: ListState) -> None:
        super().__init__(instances.name)
        self._instances = instances

    def get(self) -> list[Any]:
        """The elements; empty if the key has none."""
        return list(chain.from_iterable(self._instances.get()))

    def add(self, value: Any) -> None:
        """Adds an element at the end."""
        self._instances.add([present(self, value)])

    def add_all(self, values: Iterable[Any]) -> None:
        """Adds elements at the end."""
        for value in values:
            self.add(value)

    def update(self, values: Iterable[Any]) -> None:
        """Replaces the elements."""
        instance = [present(self, value) for value in values]
        self._instances.update([instance] if instance else [])

    def clear(self) -> None:
        """Leaves the current key with nothing."""
        self._instances.clear()


class LocalMapState(MapState):
    """A map, each value of which has instances of its own.

    Args:
        instances: Holds a list of instances for each user key.
        merge: Makes one of two.
    """

    def __init__(self, instances: MapState, merge: MergeFunction | None) -> None:
        super().__init__(instances.name)
        self._instances = instances
        self._merge = merge

    def get(self, key: Any) -> Any:
        """The value of a user key; None if there is none, or if it is null.

        Raises:
            MergeError: There are several instances, and nothing merges them.
        """
        values = self._instances.get(key)
        if not values:
            return None
        value = merged(self.name, values, self._merge)
        if len(values) > 1:
            self.put(key, value)
        return value

    def contains(self, key: Any) -> bool:
        """Whether the map has this user key, be its value null."""
        return self._instances.contains(key)

    def put(self, key: Any, value: Any) -> None:
        """Gives a user key a value, instead of all its instances."""
        self._instances.put(key, None if value is None else [value])

    def put_all(self, entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Gives user keys values; a dict, or pairs."""
        for key, value in pairs(entries):
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Removes a user key, if the map has it."""
        self._instances.remove(key)

    def items(self) -> list[tuple[Any, Any]]:
        """The entries, as pairs of user key and value; errors as of ``get``."""
        return [(key, self.get(key)) for key in self._instances.keys()]  # noqa: SIM118  # no dict

    def is_empty(self) -> bool:
        """Whether the key has no entry."""
        return self._instances.is_empty()

    def clear(self) -> None:
        """Leaves the current key with nothing."""
        self._instances.clear()
