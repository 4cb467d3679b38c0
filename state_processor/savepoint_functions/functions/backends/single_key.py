"""The backend of sorted input: the state of one key, which is over when the next one comes.

Nothing is looked up, because each state object holds the state of the key.
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
            # What ``hold(None)`` does: a key may have but one row, so that a call counts.
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

    def value_state(self, name: str, _: Layout, namespace: Layout | None) -> HeldValueState:
        return self._added(HeldValueState(name, has_namespaces=namespace is not None))

    def list_state(self, name: str, _: Layout, namespace: Layout | None) -> HeldListState:
        return self._added(HeldListState(name, has_namespaces=namespace is not None))

    def map_state(self, name: str, _: Layout, __: Layout, namespace: Layout | None) -> HeldMapState:
        return self._added(HeldMapState(name, has_namespaces=namespace is not None))

    def _added(self, state: HeldT) -> HeldT:
        self._held.append(state)
        (self._namespaced if state.has_namespaces else self._plain).append(state)
        return state
