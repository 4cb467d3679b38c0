"""The interface of all state backends: they keep the keyed state of a running function.

States are registered by descriptors before the first key. Then the state objects show and change
the state of the current key. A backend keeps values, lists and maps. Reducing and aggregating
states are values to it, and a time to live is a time stored with each value. So no backend knows
of either.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from savepoint_database.types import ListStateDescriptor, MapStateDescriptor
from savepoint_functions.functions.backends.wrapping_states import (
    Lifetimes,
    TimedListState,
    TimedMapState,
    TimedValueState,
    folded,
    timed_layout,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from savepoint_database.types import StateDescriptor
    from savepoint_formats.layout import Layout
    from savepoint_spark.reading import ListState, MapState, State, ValueState

    Clock = Callable[[], int]
    Snapshot = list[Any]


def processing_time() -> int:
    """The time of this machine's clock, in ms since the epoch."""
    return time.time_ns() // 1_000_000


class Kept(Protocol):
    """State of one descriptor in a backend: a value, a list or a map."""

    def set_current_namespace(self, namespace: Hashable) -> None:
        """Shows the state of a namespace; at first of None, the void namespace."""

    def snapshot(self) -> Any:
        """The state of the current key; see ``KeyedStateBackend.snapshot_current_key``."""

    def restore(self, contents: Any) -> None:
        """Gives the current key, which has no state yet, the contents of a snapshot."""


class KeyedStateBackend(ABC):
    """The state of keys, one of which is current.

    Use it in a ``with`` statement, or close it: it may have files.

    Args:
        key: The layout of the keys.
        clock: Gives the processing time, in ms; by default the machine's clock.

    Attributes:
        name: Its name in the option ``state.backend.type``.
        clock: Gives the processing time, in ms.
        current_key: The current key; None before the first.
        key_bytes: The bytes of the current key, as its serializer writes them.
    """

    name: ClassVar[str]

    def __init__(self, key: Layout, clock: Clock | None = None) -> None:
        self.key = key
        self.clock = clock or processing_time
        self.current_key: Any = None
        self.key_bytes: bytes | None = None
        self._descriptors: dict[str, StateDescriptor] = {}
        self._namespaces: dict[str, Layout | None] = {}
        self._states: dict[str, State] = {}
        self._kept: dict[str, Kept] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def descriptors(self) -> tuple[StateDescriptor, ...]:
        """The registered states, in the order of a snapshot."""
        return tuple(self._descriptors.values())

    def state(self, descriptor: StateDescriptor, namespace: Layout | None = None) -> State:
        """The state of a descriptor; it is registered when it is first asked for.

        ``namespace`` is the layout of its namespaces, None for only the void one.

        Raises:
            ValueError: The descriptor lacks a type or a function; a state of the same name has
                another descriptor or namespace; or a key is current already.
        """
        known = self._descriptors.get(descriptor.name)
        if known is None:
            self._register(descriptor, namespace)
        elif (known, self._namespaces[descriptor.name]) != (descriptor, namespace):
            raise ValueError(
                f"state {descriptor.name!r} is registered as {known} with namespaces"
                f" {self._namespaces[descriptor.name]}, and cannot be {descriptor} with namespaces"
                f" {namespace} as well"
            )
        return self._states[descriptor.name]

    @abstractmethod
    def set_current_key(self, key: Any, key_bytes: bytes) -> None:
        """Makes the state objects show the state of a key; keys with the same bytes are the same."""

    def snapshot_current_key(self) -> Snapshot:
        """The contents of each state for the current key; None for nothing.

        | state                        | contents                                        |
        |------------------------------|-------------------------------------------------|
        | value, reducing, aggregating | the value, or the accumulator                   |
        | list                         | a list of the elements                          |
        | map                          | a list of pairs                                 |
        | with TTL                     | a ``Record`` of ``timestamp`` (ms) and          |
        |                              | ``value`` instead of each value                 |
        | with a namespace layout      | a list of pairs of namespace and contents       |
        """
        return [kept.snapshot() for kept in self._kept.values()]

    def restore_current_key(self, snapshot: Snapshot) -> None:
        """Gives the current key, which has no state yet, the state of a snapshot."""
        for kept, contents in zip(self._kept.values(), snapshot, strict=True):
            if contents is not None:
                kept.restore(contents)

    def close(self) -> None:  # noqa: B027  # most have nothing to give back
        """Frees files and memory; the state is gone."""

    @abstractmethod
    def value_state(self, name: str, stored: Layout, namespace: Layout | None) -> ValueState: ...

    @abstractmethod
    def list_state(self, name: str, element: Layout, namespace: Layout | None) -> ListState: ...

    @abstractmethod
    def map_state(
        self, name: str, user_key: Layout, user_value: Layout, namespace: Layout | None
    ) -> MapState: ...

    def _register(self, descriptor: StateDescriptor, namespace: Layout | None) -> None:
        if self.key_bytes is not None:
            raise ValueError(
                f"state {descriptor.name!r} is asked for while a key is processed: ask for it in"
                " open(runtime_context)"
            )
        kept, state = self._made(descriptor, namespace)
        self._kept[descriptor.name] = kept  # type: ignore[assignment]  # what it makes is ``Kept``
        self._states[descriptor.name] = state
        self._descriptors[descriptor.name] = descriptor
        self._namespaces[descriptor.name] = namespace

    def _made(self, descriptor: StateDescriptor, namespace: Layout | None) -> tuple[State, State]:
        """The state that a backend keeps, and the one that a function sees."""
        name = descriptor.name
        times = Lifetimes(self.clock, descriptor.ttl) if descriptor.has_ttl else None
        match descriptor:
            case ListStateDescriptor():
                element = timed_layout(descriptor.element.layout())
                elements = self.list_state(name, element, namespace)
                return elements, TimedListState(elements, times) if times else elements
            case MapStateDescriptor():
                user_key = descriptor.user_key.layout()
                user_value = timed_layout(descriptor.user_value.layout())
                entries = self.map_state(name, user_key, user_value, namespace)
                return entries, TimedMapState(entries, times) if times else entries
            case _:
                kept = self.value_state(name, timed_layout(descriptor.stored.layout()), namespace)
                return kept, folded(descriptor, TimedValueState(kept, times) if times else kept)
