"""State with TTL: each value carries the time of its last access, as the job would store it.

What is kept is what the serializer of such a state writes: the time in ms, and the value. Writing
is the access that counts, as it is by default in Flink. Nothing expires while a function runs.

Flink: ``TtlStateFactory``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_formats.layout import Long, Struct, Ttl
from state_processor.state_backends.held_states import pairs, present
from state_processor.states import ListState, MapState, ValueState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from savepoint_formats.layout import Layout

    Clock = Callable[[], int]

_TIMESTAMP, _VALUE = "timestamp", "value"


def timed_layout(layout: Layout) -> Layout:
    """The layout, with the time as a number, which the clock gives, and not as a date."""
    if isinstance(layout, Ttl):
        return Struct((_TIMESTAMP, _VALUE), (Long(), layout.value))
    return layout


class TimedValueState(ValueState):
    """A value with a time.

    Args:
        timed: Holds both.
        clock: Gives the time, in ms.
    """

    def __init__(self, timed: ValueState, clock: Clock) -> None:
        super().__init__(timed.name)
        self._timed = timed
        self._clock = clock

    def value(self) -> Any:
        """The value; None if the key has none."""
        return _untimed(self._timed.value())

    def update(self, value: Any) -> None:
        """Replaces the value; None clears it."""
        self._timed.update(None if value is None else _timed(value, self._clock))

    def clear(self) -> None:
        """Leaves the current key with nothing."""
        self._timed.clear()


class TimedListState(ListState):
    """A list of elements, each with a time.

    Args:
        timed: Holds both.
        clock: Gives the time, in ms.
    """

    def __init__(self, timed: ListState, clock: Clock) -> None:
        super().__init__(timed.name)
        self._timed = timed
        self._clock = clock

    def get(self) -> list[Any]:
        """The elements; empty if the key has none."""
        return [one[_VALUE] for one in self._timed.get()]

    def add(self, value: Any) -> None:
        """Adds an element at the end."""
        self._timed.add(_timed(present(self, value), self._clock))

    def add_all(self, values: Iterable[Any]) -> None:
        """Adds elements at the end."""
        for value in values:
            self.add(value)

    def update(self, values: Iterable[Any]) -> None:
        """Replaces the elements."""
        self._timed.update([_timed(present(self, value), self._clock) for value in values])

    def clear(self) -> None:
        """Leaves the current key with nothing."""
        self._timed.clear()


class TimedMapState(MapState):
    """A map whose values have times.

    Args:
        timed: Holds both.
        clock: Gives the time, in ms.
    """

    def __init__(self, timed: MapState, clock: Clock) -> None:
        super().__init__(timed.name)
        self._timed = timed
        self._clock = clock

    def get(self, key: Any) -> Any:
        """The value of a user key; None if there is none, or if it is null."""
        return _untimed(self._timed.get(key))

    def contains(self, key: Any) -> bool:
        """Whether the map has this user key, be its value null."""
        return self._timed.contains(key)

    def put(self, key: Any, value: Any) -> None:
        """Gives a user key a value."""
        self._timed.put(key, _timed(value, self._clock))

    def put_all(self, entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Gives user keys values; a dict, or pairs."""
        for key, value in pairs(entries):
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Removes a user key, if the map has it."""
        self._timed.remove(key)

    def items(self) -> list[tuple[Any, Any]]:
        """The entries, as pairs of user key and value."""
        return [(key, _untimed(one)) for key, one in self._timed.items()]

    def is_empty(self) -> bool:
        """Whether the key has no entry."""
        return self._timed.is_empty()

    def clear(self) -> None:
        """Leaves the current key with nothing."""
        self._timed.clear()


def _timed(value: Any, clock: Clock) -> dict[str, Any]:
    return {_TIMESTAMP: clock(), _VALUE: value}


def _untimed(timed: dict[str, Any] | None) -> Any:
    return None if timed is None else timed[_VALUE]
