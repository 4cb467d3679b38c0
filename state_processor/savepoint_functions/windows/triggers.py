"""Triggers: they say when a window fires, and when its contents are dropped.

A trigger has no state of its own, because one object serves all keys and windows. It names the
descriptors of its states; the context gives the state of the window.

Flink: ``Trigger`` and its subclasses, whose states have these names and types.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from savepoint_database.types import ReducingStateDescriptor, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.types import StateDescriptor, TypeInformation
    from savepoint_functions.windows.window_assigners import Window
    from savepoint_functions.windows.window_state import TriggerContext


class TriggerResult(Enum):
    """Fate of a window: whether it fires, and whether its contents are dropped."""

    CONTINUE = (False, False)
    FIRE = (True, False)
    PURGE = (False, True)
    FIRE_AND_PURGE = (True, True)

    @property
    def is_fire(self) -> bool:
        return self.value[0]

    @property
    def is_purge(self) -> bool:
        return self.value[1]


_CONTINUE, _FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE


class Trigger(ABC):
    """Decides when a window fires.

    Attributes:
        descriptors: The states that it has for each window.

    Example:
        >>> class Large(Trigger):
        ...     def on_element(self, element, timestamp, window, context):
        ...         large = element.cents > 1000
        ...         return TriggerResult.FIRE if large else TriggerResult.CONTINUE
    """

    descriptors: tuple[StateDescriptor, ...] = ()

    @abstractmethod
    def on_element(
        self, element: Any, timestamp: int | None, window: Window, context: TriggerContext
    ) -> TriggerResult:
        """The result for an element that was added to the window; its timestamp is in ms."""

    def on_event_time(self, time: int, window: Window, context: TriggerContext) -> TriggerResult:
        """The result for a timer of event time; ``time`` is its timestamp in ms."""
        return _CONTINUE

    def on_processing_time(
        self, time: int, window: Window, context: TriggerContext
    ) -> TriggerResult:
        """The result for a timer of processing time; ``time`` is its timestamp in ms."""
        return _CONTINUE

    def can_merge(self) -> bool:
        """Whether it has ``on_merge``, which windows that merge need."""
        return False

    def on_merge(self, window: Window, context: TriggerContext) -> None:
        """Moves its states and timers to a window that others were merged into."""
        raise NotImplementedError(f"{type(self).__name__} has no on_merge")

    def clear(self, window: Window, context: TriggerContext) -> None:  # noqa: B027  # it may have none
        """Removes its states and timers of a window."""


class EventTimeTrigger(Trigger):
    """Fires when the watermark has passed the end of the window; then for each late element."""

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, context: TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= context.get_current_watermark():
            return _FIRE
        context.register_event_time_timer(window.max_timestamp())
        return _CONTINUE

    def on_event_time(self, time: int, window: Window, context: TriggerContext) -> TriggerResult:
        return _FIRE if time == window.max_timestamp() else _CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, context: TriggerContext) -> None:
        if window.max_timestamp() > context.get_current_watermark():
            context.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Window, context: TriggerContext) -> None:
        context.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(Trigger):
    """Fires when the clock has passed the end of the window."""

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, context: TriggerContext
    ) -> TriggerResult:
        context.register_processing_time_timer(window.max_timestamp())
        return _CONTINUE

    def on_processing_time(
        self, time: int, window: Window, context: TriggerContext
    ) -> TriggerResult:
        return _FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, context: TriggerContext) -> None:
        if window.max_timestamp() > context.get_current_processing_time():
            context.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: Window, context: TriggerContext) -> None:
        context.delete_processing_time_timer(window.max_timestamp())


class CountTrigger(Trigger):
    """Fires when a window has had ``max_count`` elements since it last fired.

    Args:
        max_count: The number of elements.
    """

    def __init__(self, max_count: int) -> None:
        self.max_count = max_count
        self._count = ReducingStateDescriptor("count", Types.LONG(), operator.add)
        self.descriptors = (self._count,)

    @classmethod
    def of(cls, max_count: int) -> Self:
        """The trigger for ``max_count`` elements.

        Example:
            >>> keyed.window(GlobalWindows()).trigger(PurgingTrigger.of(CountTrigger.of(100)))
        """
        return cls(max_count)

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, context: TriggerContext
    ) -> TriggerResult:
        count = context.get_partitioned_state(self._count)
        count.add(1)
        if count.get() < self.max_count:
            return _CONTINUE
        count.clear()
        return _FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, context: TriggerContext) -> None:
        context.merge_partitioned_state(self._count)

    def clear(self, window: Window, context: TriggerContext) -> None:
        context.get_partitioned_state(self._count).clear()


class _ContinuousTrigger(Trigger):
    """Fires at all multiples of an interval; the state has the time at which it fires next."""

    descriptors = (ReducingStateDescriptor("fire-time", Types.LONG(), min),)
    _is_event_time: ClassVar[bool]

    def __init__(self, interval_ms: int) -> None:
        self.interval_ms = interval_ms

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, context: TriggerContext) -> None:
        context.merge_partitioned_state(self._fire_time)
        next_time = context.get_partitioned_state(self._fire_time).get()
        if next_time is not None:
            context._register(next_time, is_event_time=self._is_event_time)

    def clear(self, window: Window, context: TriggerContext) -> None:
        fire_time = context.get_partitioned_state(self._fire_time)
        next_time = fire_time.get()
        if next_time is not None:
            context._delete(next_time, is_event_time=self._is_event_time)
            fire_time.clear()

    @property
    def _fire_time(self) -> StateDescriptor:
        return self.descriptors[0]

    def _begin(self, time: int, window: Window, context: TriggerContext) -> None:
        if context.get_partitioned_state(self._fire_time).get() is None:
            # The remainder has the sign of the dividend in Java.
            past = time % self.interval_ms if time >= 0 else -(-time % self.interval_ms)
            self._set_next(time - past, window, context)

    def _has_fired(self, time: int, window: Window, context: TriggerContext) -> bool:
        """Whether a timer is the end's, or the next interval's, which is then set anew."""
        if time == window.max_timestamp():
            return True
        fire_time = context.get_partitioned_state(self._fire_time)
        if fire_time.get() != time:
            return False
        fire_time.clear()
        self._set_next(time, window, context)
        return True

    def _set_next(self, time: int, window: Window, context: TriggerContext) -> None:
        next_time = min(time + self.interval_ms, window.max_timestamp())
        context.get_partitioned_state(self._fire_time).add(next_time)
        context._register(next_time, is_event_time=self._is_event_time)


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires whenever the watermark passes a multiple of an interval, and at the end of the window.

    Args:
        interval_ms: The interval, in ms.
    """

    _is_event_time = True

    @classmethod
    def of(cls, interval_ms: int) -> Self:
        """The trigger for an interval.

        Example:
            >>> keyed.window(TumblingWindows(3_600_000)).trigger(
            ...     ContinuousEventTimeTrigger.of(60_000)
            ... )
        """
        return cls(interval_ms)

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, context: TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= context.get_current_watermark():
            return _FIRE
        if timestamp is None:
            raise ValueError("a row without a timestamp, which a trigger of event time needs")
        context.register_event_time_timer(window.max_timestamp())
        self._begin(timestamp, window, context)
        return _CONTINUE

    def on_event_time(self, time: int, window: Window, context: TriggerContext) -> TriggerResult:
        return _FIRE if self._has_fired(time, window, context) else _CONTINUE


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires whenever the clock passes a multiple of an interval.

    Args:
        interval_ms: The interval, in ms.
    """

    _is_event_time = False

    @classmethod
    def of(cls, interval_ms: int) -> Self:
        """The trigger for an interval; see ``ContinuousEventTimeTrigger.of``."""
        return cls(interval_ms)

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, context: TriggerContext
    ) -> TriggerResult:
        self._begin(context.get_current_processing_time(), window, context)
        return _CONTINUE

    def on_processing_time(
        self, time: int, window: Window, context: TriggerContext
    ) -> TriggerResult:
        return _FIRE if self._has_fired(time, window, context) else _CONTINUE


class PurgingTrigger(Trigger):
    """Drops the contents of a window whenever another trigger fires.

    Args:
        nested: The other trigger.
    """

    def __init__(self, nested: Trigger) -> None:
        self.nested = nested
        self.descriptors = nested.descriptors

    @classmethod
    def of(cls, nested: Trigger) -> Self:
        """The trigger around another one; see ``CountTrigger.of``."""
        return cls(nested)

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, context: TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested.on_element(element, timestamp, window, context))

    def on_event_time(self, time: int, window: Window, context: TriggerContext) -> TriggerResult:
        return _purging(self.nested.on_event_time(time, window, context))

    def on_processing_time(
        self, time: int, window: Window, context: TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested.on_processing_time(time, window, context))

    def can_merge(self) -> bool:
        return self.nested.can_merge()

    def on_merge(self, window: Window, context: TriggerContext) -> None:
        self.nested.on_merge(window, context)

    def clear(self, window: Window, context: TriggerContext) -> None:
        self.nested.clear(window, context)


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire else result


class DeltaTrigger(Trigger):
    """Fires when an element differs by more than a threshold from the one that fired last.

    Args:
        threshold: The threshold.
        delta_function: The difference of an older and a newer element.
        element_type: The type of the elements.
    """

    descriptors: tuple[StateDescriptor, ...]
    _name: ClassVar[str] = "last-element"

    def __init__(
        self,
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        element_type: TypeInformation,
    ) -> None:
        self.threshold = threshold
        self.delta_function = delta_function
        self.descriptors = (ValueStateDescriptor(self._name, element_type),)

    @classmethod
    def of(
        cls,
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        element_type: TypeInformation,
    ) -> Self:
        """The trigger for a threshold.

        Example:
            >>> DeltaTrigger.of(5.0, lambda older, newer: newer - older, Types.DOUBLE())
        """
        return cls(threshold, delta_function, element_type)

    def on_element(
        self, element: Any, timestamp: int | None, window: Window, context: TriggerContext
    ) -> TriggerResult:
        last = context.get_partitioned_state(self.descriptors[0])
        before = last.value()
        if before is None:
            last.update(element)
            return _CONTINUE
        if self.delta_function(before, element) <= self.threshold:
            return _CONTINUE
        last.update(element)
        return _FIRE

    def clear(self, window: Window, context: TriggerContext) -> None:
        context.get_partitioned_state(self.descriptors[0]).clear()
