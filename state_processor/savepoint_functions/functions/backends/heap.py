"""The backend of a hash table: state of all keys, as Python objects in dicts.

The state objects hold the state of the current key, as in the backend of one key. Each state has a
dict for the state of other keys, by their bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_functions.functions.backends.single_key import HeldT, SingleKeyBackend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import Clock
    from savepoint_functions.functions.backends.held_states import HeldState


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
