"""Backends in memory: the state objects hold the state of the current key as Python objects.

With sorted input the state of a key is over when the next key comes. A hash table keeps all keys:
each state has a dict for the state of other keys, by their bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_functions.functions.backends.backend import KeyedStateBackend
from savepoint_functions.functions.backends.held_states import (
    HeldListState,
    HeldMapState,
    HeldState,
    HeldValueState,
)
from savepoint_functions.functions.backends.value_codec import shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import Clock

HeldT = TypeVar("HeldT", bound=HeldState)


class SingleKeyBackend(KeyedStateBackend):
    """State of the current key, and of no other."""

    name = "single_key"
    keeps_all_keys = False

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

    def keys(self) -> Iterator[tuple[Any, bytes]]:
        if self.key_bytes is not None:
            yield self.current_key, self.key_bytes

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


class HeapBackend(SingleKeyBackend):
    """State of all keys in memory."""

    name = "heap"
    keeps_all_keys = True

    def __init__(self, key: Layout, clock: Clock | None = None) -> None:
        super().__init__(key, clock)
        self._keys: dict[bytes, Any] = {}
        self._tables: list[tuple[HeldState, dict[bytes, Any]]] = []

    def set_current_key(self, key: Any, key_bytes: bytes) -> None:
        before = self.key_bytes
        if key_bytes == before:
            return
        for state, table in self._tables:
            held = state.taken()
            if held is not None:
                table[before] = held  # type: ignore[index]  # nothing is held before the first key
            elif table:
                table.pop(before, None)  # type: ignore[arg-type]  # the same
            if table:
                state.hold(table.get(key_bytes))
        self._keys[key_bytes] = key
        self.current_key, self.key_bytes = key, key_bytes

    def keys(self) -> Iterator[tuple[Any, bytes]]:
        """Each key with its bytes, in the order in which they came."""
        for key_bytes, key in list(self._keys.items()):
            yield key, key_bytes

    def close(self) -> None:
        self._keys.clear()
        for state, table in self._tables:
            state.hold(None)
            table.clear()

    def _added(self, state: HeldT) -> HeldT:
        self._tables.append((state, {}))
        return super()._added(state)
