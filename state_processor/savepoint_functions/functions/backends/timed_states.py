"""State with TTL: each value carries the time of its last access, as the job would store it.

What is kept is what the serializer of such a state writes: the time in ms, and the value. Writing
is the access that counts; reading is as well, where the descriptor says so. A value whose time has
run out is removed when it is looked for. Elements of a list and entries of a map have their own times.

Flink: ``TtlStateFactory``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_formats.layout import Long, Struct, Ttl
from savepoint_functions.functions.backends.held_states import WrappingState, pairs, present
from savepoint_spark.reading.states import ListState, MapState, ValueState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from savepoint_database.types.state_ttl import StateTtlConfig
    from savepoint_formats.layout import Layout

    Clock = Callable[[], int]

_TIMESTAMP, _VALUE = "timestamp", "value"


def timed_layout(layout: Layout) -> Layout:
    """The layout, with the time as a number, which the clock gives, and not as a date."""
    if isinstance(layout, Ttl):
        return Struct((_TIMESTAMP, _VALUE), (Long(), layout.value))
    return layout


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """When values of a state have been accessed, and whether their time has run out.

    Attributes:
        clock: Gives the time, in ms.
        ttl: How long they live; None for ever.
    """

    clock: Clock
    ttl: StateTtlConfig | None = None

    def timed(self, value: Any) -> dict[str, Any]:
        """A value that is accessed now."""
        return {_TIMESTAMP: self.clock(), _VALUE: value}

    @property
    def reads_prolong(self) -> bool:
        """Whether reading counts as access."""
        return self.ttl is not None and self.ttl.reads_prolong

    @property
    def shows_expired(self) -> bool:
        """Whether a value is seen when its time has run out, and it has not been removed yet."""
        return self.ttl is None or self.ttl.shows_expired

    def is_expired(self, timed: dict[str, Any]) -> bool:
        """Whether the time of a value has run out."""
        return self.ttl is not None and self.ttl.is_expired(timed[_TIMESTAMP], self.clock())


class TimedValueState(WrappingState[ValueState], ValueState):
    """A value with a time.

    Args:
        timed: Holds both.
        lifetimes: Says what the times mean.
    """

    def __init__(self, timed: ValueState, lifetimes: Lifetimes) -> None:
        super().__init__(timed)
        self._lifetimes = lifetimes

    def value(self) -> Any:
        """The value; None if the key has none."""
        timed = self._inner.value()
        if timed is None:
            return None
        if self._lifetimes.is_expired(timed):
            self._inner.clear()
            return timed[_VALUE] if self._lifetimes.shows_expired else None
        if self._lifetimes.reads_prolong:
            self._inner.update(self._lifetimes.timed(timed[_VALUE]))
        return timed[_VALUE]

    def update(self, value: Any) -> None:
        """Replaces the value; None clears it."""
        self._inner.update(None if value is None else self._lifetimes.timed(value))


class TimedListState(WrappingState[ListState], ListState):
    """A list of elements, each with a time.

    Args:
        timed: Holds both.
        lifetimes: Says what the times mean.
    """

    def __init__(self, timed: ListState, lifetimes: Lifetimes) -> None:
        super().__init__(timed)
        self._lifetimes = lifetimes

    def get(self) -> list[Any]:
        """The elements; empty if the key has none."""
        timed, lifetimes = self._inner.get(), self._lifetimes
        living = [element for element in timed if not lifetimes.is_expired(element)]
        if living and lifetimes.reads_prolong:
            self._inner.update([lifetimes.timed(element[_VALUE]) for element in living])
        elif len(living) < len(timed):
            self._inner.update(living)
        return [element[_VALUE] for element in (timed if lifetimes.shows_expired else living)]

    def add(self, value: Any) -> None:
        """Adds an element at the end."""
        self._inner.add(self._lifetimes.timed(present(self, value)))

    def add_all(self, values: Iterable[Any]) -> None:
        """Adds elements at the end."""
        for value in values:
            self.add(value)

    def update(self, values: Iterable[Any]) -> None:
        """Replaces the elements."""
        self._inner.update([self._lifetimes.timed(present(self, value)) for value in values])


class TimedMapState(WrappingState[MapState], MapState):
    """A map whose values have times.

    Args:
        timed: Holds both.
        lifetimes: Says what the times mean.
    """

    def __init__(self, timed: MapState, lifetimes: Lifetimes) -> None:
        super().__init__(timed)
        self._lifetimes = lifetimes

    def get(self, key: Any) -> Any:
        """The value of a user key; None if there is none, or if it is null."""
        timed = self._inner.get(key)
        return timed[_VALUE] if timed is not None and self._is_seen(key, timed) else None

    def contains(self, key: Any) -> bool:
        """Whether the map has this user key, be its value null."""
        timed = self._inner.get(key)
        return timed is not None and self._is_seen(key, timed)

    def put(self, key: Any, value: Any) -> None:
        """Gives a user key a value."""
        self._inner.put(key, self._lifetimes.timed(value))

    def put_all(self, entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Gives user keys values; a dict, or pairs."""
        for key, value in pairs(entries):
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Removes a user key, if the map has it."""
        self._inner.remove(key)

    def items(self) -> list[tuple[Any, Any]]:
        """The entries, as pairs of user key and value."""
        return [
            (key, timed[_VALUE]) for key, timed in self._inner.items() if self._is_seen(key, timed)
        ]

    def is_empty(self) -> bool:
        """Whether the key has no entry."""
        return self._inner.is_empty() or not self.items()

    def _is_seen(self, key: Any, timed: dict[str, Any]) -> bool:
        """Whether an entry is seen; reading it removes it if its time has run out."""
        if self._lifetimes.is_expired(timed):
            self._inner.remove(key)
            return self._lifetimes.shows_expired
        if self._lifetimes.reads_prolong:
            self._inner.put(key, self._lifetimes.timed(timed[_VALUE]))
        return True
