"""A cache in front of a state backend: state of some keys, read once and written once.

The state objects hold what the current key has, as those of one key do. A key that is not in the
cache is read from the backend behind it, all its states at once; the key that was used least recently
makes room for it, and is written, if it has anything, or had. So where rows come sorted by key, a
cache of one key costs at most one read and one write of the backend for each key.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from savepoint_functions.functions.backends.backend import KeyedStateBackend
from savepoint_functions.functions.backends.held_states import (
    HeldListState,
    HeldMapState,
    HeldState,
    HeldValueState,
)
from savepoint_spark.reading.states import ListState, MapState, ValueState

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import Kept
    from savepoint_spark.reading.states import State

HeldT = TypeVar("HeldT", bound=HeldState)


class CachedBackend(KeyedStateBackend):
    """State of the keys that were used last, in front of all state in another backend.

    Args:
        behind: Keeps the state of all keys; it is closed with the cache.
        size: Of how many keys state is held, the current one among them.

    Attributes:
        reads: How often the state of a key was read from behind.
        writes: How often it was written there.

    Raises:
        ValueError: The size is not at least 1, or the backend behind it keeps but one key.

    Example:
        >>> with CachedBackend(state_backend("rocksdb", Types.STRING().layout), 100) as backend:
        ...     total = backend.state(ValueStateDescriptor("total", Types.LONG()))
    """

    name = "cached"
    keeps_all_keys = True

    def __init__(self, behind: KeyedStateBackend, size: int) -> None:
        if size < 1 or not behind.keeps_all_keys:
            raise ValueError(
                f"a cache of {size} keys in front of {behind.name}, expected at least 1, in front of"
                " a backend that keeps all keys"
            )
        super().__init__(behind.key, behind.clock)
        self.reads = self.writes = 0
        self._behind = behind
        self._size = size
        self._cached: list[_CachedState] = []
        # The keys but the current one, the least recently used first.
        self._others: OrderedDict[bytes, _Entry] = OrderedDict()
        self._had: list[tuple[Hashable, ...]] = []

    def set_current_key(self, key: Any, key_bytes: bytes) -> None:
        """See ``KeyedStateBackend``."""
        if key_bytes == self.key_bytes:
            return
        if self.key_bytes is not None:
            self._others[self.key_bytes] = self._taken()
        entry = self._others.pop(key_bytes, None)
        if entry is None:
            if len(self._others) >= self._size:
                self._write(*self._others.popitem(last=False))
            entry = self._read(key, key_bytes)
        self.current_key, self.key_bytes = key, key_bytes
        self._hold(entry)

    def keys(self) -> Iterator[tuple[Any, bytes]]:
        """See ``KeyedStateBackend``; in the order of the backend behind it."""
        self.flush()
        yield from self._behind.keys()

    def flush(self) -> None:
        """Writes the state of all keys that are held; they are held no longer, but the current."""
        current = None if self.key_bytes is None else self._taken()
        while self._others:
            self._write(*self._others.popitem(last=False))
        if current is not None:
            assert self.key_bytes is not None  # or nothing was taken
            self._write(self.key_bytes, current)
            self._hold(self._read(current.key, self.key_bytes))

    def close(self) -> None:
        """Lets go of the state, and closes the backend behind it."""
        self._others.clear()
        self._behind.close()

    def value_state(self, name: str, stored: Layout, namespace: Layout | None) -> HeldValueState:
        behind = self._behind.value_state(name, stored, namespace)
        return self._added(HeldValueState(name, has_namespaces=namespace is not None), behind)

    def list_state(self, name: str, element: Layout, namespace: Layout | None) -> HeldListState:
        behind = self._behind.list_state(name, element, namespace)
        return self._added(HeldListState(name, has_namespaces=namespace is not None), behind)

    def map_state(
        self, name: str, user_key: Layout, user_value: Layout, namespace: Layout | None
    ) -> HeldMapState:
        behind = self._behind.map_state(name, user_key, user_value, namespace)
        return self._added(HeldMapState(name, has_namespaces=namespace is not None), behind)

    def _added(self, held: HeldT, behind: State) -> HeldT:
        self._cached.append(_CachedState(held, behind))
        return held

    def _taken(self) -> _Entry:
        """What is held of the current key, and no longer is."""
        return _Entry(self.current_key, [state.held.taken() for state in self._cached], self._had)

    def _hold(self, entry: _Entry) -> None:
        for state, held in zip(self._cached, entry.held, strict=True):
            state.held.hold(held)
        self._had = entry.had

    def _read(self, key: Any, key_bytes: bytes) -> _Entry:
        """What a key has behind."""
        self._behind.set_current_key(key, key_bytes)
        self.reads += 1
        read = [state.read() for state in self._cached]
        return _Entry(key, [held for held, _ in read], [had for _, had in read])

    def _write(self, key_bytes: bytes, entry: _Entry) -> None:
        """Gives a key that is not held any more what it has, behind."""
        self._hold(entry)
        snapshots = [state.held.snapshot() for state in self._cached]
        for state in self._cached:
            state.held.hold(None)
        if any(entry.had) or any(snapshot is not None for snapshot in snapshots):
            self._behind.set_current_key(entry.key, key_bytes)
            self.writes += 1
            for state, snapshot, had in zip(self._cached, snapshots, entry.had, strict=True):
                state.write(snapshot, had)


class _Entry(NamedTuple):
    """A key in the cache.

    Attributes:
        key: The key.
        held: What is held of each state.
        had: Of each state the namespaces in which it had something behind; the void one is None.
    """

    key: Any
    held: list[Any]
    had: list[tuple[Hashable, ...]]


class _CachedState(NamedTuple):
    """A state twice: as it is held for the current key, and as the backend behind it keeps it."""

    held: HeldState
    behind: State

    def read(self) -> tuple[Any, tuple[Hashable, ...]]:
        """What is to be held of the key that is current behind, and the namespaces that it has."""
        snapshot, held = cast("Kept", self.behind).snapshot(), self.held.held
        if snapshot is None:
            return None, ()
        if not self.held.has_namespaces:
            return held(snapshot), (None,)
        by_namespace = {namespace: held(contents) for namespace, contents in snapshot}
        return by_namespace, tuple(by_namespace)

    def write(self, snapshot: Any, had: tuple[Hashable, ...]) -> None:
        """Replaces what the key that is current behind has, in the namespaces that it had."""
        if not self.held.has_namespaces:
            if snapshot is not None or had:
                _replace(self.behind, snapshot)
            return
        by_namespace = dict.fromkeys(had) | dict(snapshot or ())
        for namespace, contents in by_namespace.items():
            cast("Kept", self.behind).set_current_namespace(namespace)
            _replace(self.behind, contents)


def _replace(state: State, contents: Any) -> None:
    """Gives a state what a snapshot has; None for nothing."""
    match state:
        case _ if contents is None:
            state.clear()
        case ValueState() | ListState():
            state.update(contents)
        case MapState():
            state.clear()
            state.put_all(contents)
