"""State that a Python object is: the state object holds what the current key has.

| state | held as                                                          |
|-------|------------------------------------------------------------------|
| value | the value                                                        |
| list  | a list                                                           |
| map   | a dict, from what is hashable of a user key, to the pair with it |

A value that a function changes in place is changed in the state, as it is on Flink's heap; only
``update`` and ``put`` do so on every backend.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from savepoint_functions.functions.backends.namespaces import plain_namespace
from savepoint_spark.reading.states import ListState, MapState, State, ValueState, hashable

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

StateT = TypeVar("StateT", bound=State)

_HASHABLE = (int, str, bytes)
_DOUBLE = struct.Struct(">d")


class WrappingState(State, Generic[StateT]):
    """State that is kept in another one, with its name and in its namespaces.

    Args:
        inner: Keeps it.
    """

    def __init__(self, inner: StateT) -> None:
        super().__init__(inner.name)
        self._inner = inner

    def set_current_namespace(self, namespace: Hashable) -> None:
        """See ``State``."""
        self._inner.set_current_namespace(namespace)

    def clear(self) -> None:
        """Leaves the current key with nothing."""
        self._inner.clear()


class HeldState(State):
    """State that is held for the current key, in the current namespace.

    Args:
        name: As in its descriptor.
        has_namespaces: Whether it has others than the void one.

    Attributes:
        is_as_held: Whether a snapshot has what is held, as it is.
    """

    is_as_held: ClassVar[bool] = False

    def __init__(self, name: str, *, has_namespaces: bool = False) -> None:
        super().__init__(name)
        self.has_namespaces = has_namespaces
        self._namespace: Hashable = None
        self._others: dict[Hashable, Any] = {}

    def clear(self) -> None:
        """Leaves the current key with nothing."""
        self._value = None

    def set_current_namespace(self, namespace: Hashable) -> None:
        """See ``State``."""
        namespace = plain_namespace(self, namespace, has_namespaces=self.has_namespaces)
        if namespace != self._namespace:
            if self._value is not None:
                self._others[self._namespace] = self._value
            self._value = self._others.pop(namespace, None)
            self._namespace = namespace

    def snapshot(self) -> Any:
        """See ``Kept``."""
        if not self.has_namespaces:
            return self.contents(self._value)
        by_namespace = self.taken() or {}
        self.hold(by_namespace)
        contents = [(namespace, self.contents(held)) for namespace, held in by_namespace.items()]
        return [pair for pair in contents if pair[1] is not None] or None

    def restore(self, contents: Any) -> None:
        """See ``Kept``."""
        if self.has_namespaces:
            self.hold({namespace: self.held(stored) for namespace, stored in contents})
        else:
            self._value = self.held(contents)

    def taken(self) -> Any:
        """What is held for the key, and no longer is."""
        held, self._value = self._value, None
        if not self.has_namespaces:
            return held
        others, self._others = self._others, {}
        if held is not None:
            others[self._namespace] = held
        return others or None

    def hold(self, taken: Any) -> None:
        """Holds what ``taken`` gave, or nothing if it is None."""
        if self.has_namespaces:
            self._others = dict(taken or {})
            taken = self._others.pop(self._namespace, None)
        self._value = taken

    def contents(self, held: Any) -> Any:
        """What a snapshot has of it; None for nothing."""
        return held or None

    def held(self, contents: Any) -> Any:
        """What is held of what a snapshot has, which is something."""
        return contents


class HeldValueState(HeldState, ValueState):
    """A value."""

    is_as_held = True

    def update(self, value: Any) -> None:
        """Replaces the value; None clears it."""
        self._value = value

    def contents(self, held: Any) -> Any:
        return held


class HeldListState(HeldState, ListState):
    """A list."""

    def add(self, value: Any) -> None:
        """Adds an element at the end."""
        value = present(self, value)
        if self._value is None:
            self._value = [value]
        else:
            self._value.append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        """Adds elements at the end."""
        for value in values:
            self.add(value)

    def update(self, values: Iterable[Any]) -> None:
        """Replaces the elements."""
        self._value = [present(self, value) for value in values]


class HeldMapState(HeldState, MapState):
    """A map."""

    def get(self, key: Any) -> Any:
        """The value of a user key; None if there is none, or if it is null."""
        if not self._value:
            return None
        value = self._value.get(_index(key))
        return value and value[1]

    def contains(self, key: Any) -> bool:
        """Whether the map has this user key, be its value null."""
        return bool(self._value) and _index(key) in self._value

    def put(self, key: Any, value: Any) -> None:
        """Gives a user key a value."""
        if self._value is None:
            self._value = {}
        self._value[_index(key)] = (key, value)

    def put_all(self, entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Gives user keys values; a dict, or pairs."""
        for key, value in pairs(entries):
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Removes a user key, if the map has it."""
        if self._value:
            self._value.pop(_index(key), None)

    def items(self) -> list[tuple[Any, Any]]:
        """The entries, as pairs of user key and value."""
        return list(self._value.values()) if self._value else []

    def contents(self, held: Any) -> Any:
        return list(held.values()) if held else None

    def held(self, contents: Any) -> Any:
        return {_index(key): (key, value) for key, value in contents}


def present(state: State, value: Any) -> Any:
    """A value that is not null, which no element of a list is, and nothing that is added."""
    if value is None:
        raise ValueError(f"null cannot be added to state {state.name!r}")
    return value


def pairs(entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """The entries of what a user gives for a map."""
    items = getattr(entries, "items", None)
    return iter(entries if items is None else items())


def _index(key: Any) -> Hashable:
    if type(key) in _HASHABLE:
        index: Hashable = key
        return index
    # Java tells 0.0 from -0.0, and finds a NaN again.
    return _DOUBLE.pack(key) if isinstance(key, float) else hashable(key)
