"""Evictors: they remove elements of a window before, or after, its function sees them.

Flink: ``Evictor`` and its subclasses, ``EvictingWindowOperator``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_functions.windows.window_assigners import Window


class TimestampedValue(NamedTuple):
    """An element of a window, with its timestamp in ms; None if the row has none."""

    timestamp: int | None
    value: Any


class Evictor:
    """Chooses the elements of a window that stay, whenever it fires.

    Example:
        >>> class Positive(Evictor):
        ...     def evict_before(self, elements, window):
        ...         return [element for element in elements if element.value > 0]
    """

    def evict_before(
        self, elements: list[TimestampedValue], window: Window
    ) -> list[TimestampedValue]:
        """The elements that stay, before the function of the window sees them."""
        return elements

    def evict_after(
        self, elements: list[TimestampedValue], window: Window
    ) -> list[TimestampedValue]:
        """The elements that stay, after the function of the window has seen them."""
        return elements


@dataclass(eq=False)
class _EvictorOfOneTime(Evictor, ABC):
    """Evicts before the function, or after it if ``do_evict_after``."""

    do_evict_after: bool = field(default=False, kw_only=True)

    def evict_before(
        self, elements: list[TimestampedValue], window: Window
    ) -> list[TimestampedValue]:
        return elements if self.do_evict_after else self._kept(elements)

    def evict_after(
        self, elements: list[TimestampedValue], window: Window
    ) -> list[TimestampedValue]:
        return self._kept(elements) if self.do_evict_after else elements

    @abstractmethod
    def _kept(self, elements: list[TimestampedValue]) -> list[TimestampedValue]: ...


@dataclass(eq=False)
class CountEvictor(_EvictorOfOneTime):
    """Keeps the last elements.

    Attributes:
        max_count: The number of elements that stay.
        do_evict_after: Whether it evicts after the function instead of before it.
    """

    max_count: int

    @classmethod
    def of(cls, max_count: int, *, do_evict_after: bool = False) -> Self:
        """The evictor that keeps ``max_count`` elements.

        Example:
            >>> keyed.window(GlobalWindows()).trigger(CountTrigger.of(10)).evictor(CountEvictor.of(100))
        """
        return cls(max_count, do_evict_after=do_evict_after)

    def _kept(self, elements: list[TimestampedValue]) -> list[TimestampedValue]:
        return elements[max(len(elements) - self.max_count, 0) :]


@dataclass(eq=False)
class TimeEvictor(_EvictorOfOneTime):
    """Keeps the elements that are not much older than the newest one.

    Attributes:
        window_size_ms: The age in ms from which elements are removed.
        do_evict_after: Whether it evicts after the function instead of before it.
    """

    window_size_ms: int

    @classmethod
    def of(cls, window_size_ms: int, *, do_evict_after: bool = False) -> Self:
        """The evictor for an age in ms; see ``CountEvictor.of``."""
        return cls(window_size_ms, do_evict_after=do_evict_after)

    def _kept(self, elements: list[TimestampedValue]) -> list[TimestampedValue]:
        if not elements or elements[0].timestamp is None:
            return elements
        timed = [(element.timestamp, element) for element in elements]
        oldest = max(time for time, _ in timed if time is not None) - self.window_size_ms
        return [element for time, element in timed if time is not None and time > oldest]


@dataclass(eq=False)
class DeltaEvictor(_EvictorOfOneTime):
    """Removes the elements that differ from the last one by a threshold or more.

    Attributes:
        threshold: The threshold.
        delta_function: The difference of an element and the last one.
        do_evict_after: Whether it evicts after the function instead of before it.
    """

    threshold: float
    delta_function: Callable[[Any, Any], float]

    @classmethod
    def of(
        cls,
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        *,
        do_evict_after: bool = False,
    ) -> Self:
        """The evictor for a threshold; see ``CountEvictor.of``."""
        return cls(threshold, delta_function, do_evict_after=do_evict_after)

    def _kept(self, elements: list[TimestampedValue]) -> list[TimestampedValue]:
        return [
            element
            for element in elements
            if self.delta_function(element.value, elements[-1].value) < self.threshold
        ]
