"""The backend of one key: the state objects hold the state of the current key as Python objects.

| state | object                                                          |
|-------|-----------------------------------------------------------------|
| value | the value                                                       |
| list  | a list                                                          |
| map   | a dict, from a hashable form of a user key to its key and value |

A value that a function changes in place is changed in the state, as on Flink's heap. Other backends
see only the changes of ``update`` and ``put``. The state of a key is gone when the next key comes.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from savepoint_functions.functions.backends.backend import KeyedStateBackend
from savepoint_functions.functions.backends.namespaces import plain_namespace
from savepoint_functions.functions.backends.value_codec import shape_of
from savepoint_functions.functions.backends.wrapping_states import (
    ChangeableListState,
    ChangeableMapState,
    present,
)
from savepoint_spark.reading import State, ValueState, hashable

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import Clock
    from savepoint_functions.functions.backends.value_codec import Shape


_HASHABLE = (int, str, bytes)
_DOUBLE = struct.Struct(">d")


class HeldState(State):
    """State of the current key, in the current namespace.

    ``is_as_held`` says that a snapshot has the object itself. ``shape`` gives values the form in
    which a function takes them; None if they have it already.
    """

    is_as_held: ClassVar[bool] = False

    def __init__(
        self, name: str, *, has_namespaces: bool = False, shape: Shape | None = None
    ) -> None:
        super().__init__(name)
        self.has_namespaces = has_namespaces
        self._shape = shape
        self._namespace: Hashable = None
        self._others: dict[Hashable, Any] = {}

    def clear(self) -> None:
        self._value = None

    def set_current_namespace(self, namespace: Hashable) -> None:
        namespace = plain_namespace(self, namespace, has_namespaces=self.has_namespaces)
        if namespace != self._namespace:
            if self._value is not None:
                self._others[self._namespace] = self._value
            self._value = self._others.pop(namespace, None)
            self._namespace = namespace

    def snapshot(self) -> Any:
        if not self.has_namespaces:
            return self.contents(self._value)
        by_namespace = self.taken() or {}
        self.hold(by_namespace)
        contents = [(namespace, self.contents(held)) for namespace, held in by_namespace.items()]
        return [pair for pair in contents if pair[1] is not None] or None

    def restore(self, contents: Any) -> None:
        if self.has_namespaces:
            self.hold({namespace: self.held(stored) for namespace, stored in contents})
        else:
            self._value = self.held(contents)

    def taken(self) -> Any:
        """The state of the current key in all namespaces, which is removed."""
        held, self._value = self._value, None
        if not self.has_namespaces:
            return held
        others, self._others = self._others, {}
        if held is not None:
            others[self._namespace] = held
        return others or None

    def hold(self, taken: Any) -> None:
        """Holds what ``taken`` gave; nothing if it is None."""
        if self.has_namespaces:
            self._others = dict(taken or {})
            taken = self._others.pop(self._namespace, None)
        self._value = taken

    def contents(self, held: Any) -> Any:
        """The contents for a snapshot; None for nothing."""
        return held or None

    def held(self, contents: Any) -> Any:
        """The object for the contents of a snapshot."""
        return contents


class HeldValueState(HeldState, ValueState):
    """A value."""

    is_as_held = True

    def update(self, value: Any) -> None:
        self._value = value if self._shape is None else self._shape(value)

    def contents(self, held: Any) -> Any:
        return held


class HeldListState(HeldState, ChangeableListState):
    """A list."""

    def add(self, value: Any) -> None:
        value = self._shaped(value)
        if self._value is None:
            self._value = [value]
        else:
            self._value.append(value)

    def update(self, values: Iterable[Any]) -> None:
        self._value = [self._shaped(value) for value in values]

    def _shaped(self, value: Any) -> Any:
        value = present(self, value)
        return value if self._shape is None else self._shape(value)


class HeldMapState(HeldState, ChangeableMapState):
    """A map; ``key_shape`` is for its user keys what ``shape`` is for its values."""

    def __init__(
        self,
        name: str,
        *,
        has_namespaces: bool = False,
        shape: Shape | None = None,
        key_shape: Shape | None = None,
    ) -> None:
        super().__init__(name, has_namespaces=has_namespaces, shape=shape)
        self._key_shape = key_shape

    def get(self, key: Any) -> Any:
        if not self._value:
            return None
        value = self._value.get(self._place_of(key))
        return value and value[1]

    def contains(self, key: Any) -> bool:
        return bool(self._value) and self._place_of(key) in self._value

    def put(self, key: Any, value: Any) -> None:
        if self._value is None:
            self._value = {}
        if self._key_shape is not None:
            key = self._key_shape(key)
        if self._shape is not None:
            value = self._shape(value)
        self._value[key if type(key) in _HASHABLE else _index(key)] = (key, value)

    def remove(self, key: Any) -> None:
        if self._value:
            self._value.pop(self._place_of(key), None)

    def items(self) -> list[tuple[Any, Any]]:
        return list(self._value.values()) if self._value else []

    def contents(self, held: Any) -> Any:
        return list(held.values()) if held else None

    def held(self, contents: Any) -> Any:
        return {_index(key): (key, value) for key, value in contents}

    def _place_of(self, key: Any) -> Any:
        if self._key_shape is not None:
            return _index(self._key_shape(key))
        return key if type(key) in _HASHABLE else _index(key)


def _index(key: Any) -> Hashable:
    if type(key) in _HASHABLE:
        index: Hashable = key
        return index
    # As keys in Java, 0.0 and -0.0 differ, and NaN equals itself.
    return _DOUBLE.pack(key) if isinstance(key, float) else hashable(key)


HeldT = TypeVar("HeldT", bound=HeldState)


class SingleKeyBackend(KeyedStateBackend):
    """State of the current key, and of no other."""

    name = "single_key"

    def __init__(self, key: Layout, clock: Clock | None = None) -> None:
        super().__init__(key, clock)
        self._held: list[HeldState] = []
        self._plain: list[HeldState] = []
        self._namespaced: list[HeldState] = []

    def set_current_key(self, key: Any, key_bytes: bytes) -> None:
        if key_bytes == self.key_bytes:
            return
        self.current_key, self.key_bytes = key, key_bytes
        for plain in self._plain:
            # Like ``hold(None)``, without a call, which costs time if each key has one row.
            plain._value = None
        for state in self._namespaced:
            state.hold(None)

    def snapshot_current_key(self) -> list[Any]:
        return [
            state.snapshot()
            if state.has_namespaces or (state._value is not None and not state.is_as_held)
            else state._value
            for state in self._held
        ]

    def value_state(self, name: str, stored: Layout, namespace: Layout | None) -> HeldValueState:
        shape = shape_of(stored, f"state {name!r}")
        return self._added(HeldValueState(name, has_namespaces=namespace is not None, shape=shape))

    def list_state(self, name: str, element: Layout, namespace: Layout | None) -> HeldListState:
        shape = shape_of(element, f"state {name!r}")
        return self._added(HeldListState(name, has_namespaces=namespace is not None, shape=shape))

    def map_state(
        self, name: str, user_key: Layout, user_value: Layout, namespace: Layout | None
    ) -> HeldMapState:
        return self._added(
            HeldMapState(
                name,
                has_namespaces=namespace is not None,
                shape=shape_of(user_value, f"state {name!r}"),
                key_shape=shape_of(user_key, f"the user keys of state {name!r}"),
            )
        )

    def _added(self, state: HeldT) -> HeldT:
        self._held.append(state)
        (self._namespaced if state.has_namespaces else self._plain).append(state)
        return state
