"""State objects for a user's function: the state of a savepoint at the current key.

They have the methods of Flink's interfaces. State is only read here, so methods that change it
raise ``TypeError``; ``functions.backends`` has states that can change. Values are plain Python: a
struct (POJO, tuple, row) is a named tuple, a list a list, and a map a dict. A map whose keys are
not plain values is a list of pairs.

A key of local state has several instances if its subtasks became fewer in a rescale. The descriptor's
function merges them on the first access; without one, access to several instances is an error.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from savepoint_database.types import (
    AggregatingStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
    in_one_form,
)
from savepoint_formats.errors import MergeError
from savepoint_formats.layout import without_ttl
from savepoint_formats.scan import instance_layout
from savepoint_formats.state_files import StateKind
from savepoint_formats.values import arrow_type

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from savepoint_database.types import StateDescriptor
    from savepoint_formats.state_files import State as StoredState

    MergeFunction = Callable[[Any, Any], Any]


class State:
    """A state of an operator, at one key; ``name`` is that of its descriptor."""

    kinds: ClassVar[frozenset[StateKind]]

    def __init__(self, name: str) -> None:
        self.name = name
        self._value: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _refuse(self, *_: Any, **__: Any) -> Any:
        """Raises ``TypeError``."""
        raise TypeError(
            f"state {self.name!r} is read from a savepoint, and a reader function cannot change it"
        )

    clear = set_current_namespace = _refuse


def hold(states: Iterable[State], values: Iterable[Any]) -> None:
    """Gives each state its value at the next key; None if it has none."""
    for state, value in zip(states, values, strict=True):
        state._value = value


class ValueState(State):
    """A state of one value."""

    kinds = frozenset([StateKind.VALUE])

    def value(self) -> Any:
        """The value; None if the key has none.

        Example:
            >>> total = self.total.value() or 0.0
        """
        return self._value

    update = State._refuse


class ListState(State):
    """A state of a list."""

    kinds = frozenset([StateKind.LIST])

    def get(self) -> list[Any]:
        """The elements; empty if the key has none.

        Example:
            >>> newest = self.memos.get()[-1:]
        """
        return self._value or []

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    add = add_all = update = State._refuse


class MapState(State):
    """A state of a map; ``key_shape`` gives user keys the form of those that are stored."""

    kinds = frozenset([StateKind.MAP])
    key_shape: Callable[[Any], Any] | None = None

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._indexed: Any = None
        self._index: dict[Hashable, Any] = {}

    def get(self, key: Any) -> Any:
        """The value of a user key; None if there is none, or if it is null.

        Example:
            >>> euros = self.by_currency.get("EUR")
        """
        return self._by_key().get(self._place(key))

    def contains(self, key: Any) -> bool:
        """Whether the map has this user key, even if its value is null."""
        return self._place(key) in self._by_key()

    def _place(self, key: Any) -> Hashable:
        shape = None if key is None else self.key_shape
        return hashable(key if shape is None else shape(key))

    def _by_key(self) -> dict[Hashable, Any]:
        """The entries by hashable keys; made on the first access to a map."""
        if self._indexed is not self._value:
            self._indexed = self._value
            self._index = {hashable(key): value for key, value in self.items()}
        return self._index

    def items(self) -> list[tuple[Any, Any]]:
        """The entries, as pairs of user key and value.

        Example:
            >>> cents = dict(self.by_currency.items())
        """
        return self._value or []

    def keys(self) -> list[Any]:
        """The user keys."""
        return [key for key, _ in self.items()]

    def values(self) -> list[Any]:
        """The values."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Whether the key has no entry."""
        return not self._value

    def __contains__(self, key: object) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    put = put_all = remove = State._refuse


class ReducingState(State):
    """A state of one value, to which the job has reduced all that was added."""

    kinds = frozenset([StateKind.REDUCING])

    def get(self) -> Any:
        """The value; None if the key has none.

        Example:
            >>> cents = self.cents_sum.get()
        """
        return self._value

    add = State._refuse


class AggregatingState(State):
    """A state of an accumulator."""

    kinds = frozenset([StateKind.AGGREGATING, StateKind.FOLDING])

    def get(self) -> Any:
        """The accumulator, or None; the savepoint has no function that makes a result of it.

        Example:
            >>> accumulator = self.average.get()
        """
        return self._value

    add = State._refuse


def hashable(value: Any) -> Hashable:
    """A hashable value that is equal for equal values."""
    match value:
        case dict():
            return tuple((hashable(key), hashable(element)) for key, element in value.items())
        case list() | tuple():
            return tuple(map(hashable, value))
        case _:
            plain: Hashable = value
            return plain


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


def read_state(kind: type[StateT], descriptor: StateDescriptor, stored: StoredState) -> StateT:
    """The state object of a reader function for a descriptor of local state.

    Its value is a list of instances; for a map, a list of pairs of user key and instances. Instances
    of a list state come as one list.
    """
    name, merge = descriptor.name, merge_function(descriptor)
    if issubclass(kind, ListState):
        return kind(name)
    if merge is not None:
        value_type = arrow_type(without_ttl(instance_layout(stored)))
        merge = in_one_form(merge, value_type, f"state {name!r}")
    instances = _LOCAL[kind](name, merge)
    assert isinstance(instances, kind)  # as the table has it
    return instances
