"""Timers in namespaces of the current key, first of all in windows.

Like timers of keys they are state: a map state for each time domain, with timestamps as user keys.
They become timers of a savepoint, which Flink fires; here they do not fire.

Flink: ``InternalTimerService``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_functions.functions.backends.timers import (
    EVENT_TIME,
    MIN_WATERMARK,
    PROCESSING_TIME,
    timer_maps,
)

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import KeyedStateBackend
    from savepoint_spark.reading.states import MapState


class InternalTimerService:
    """The timers that the current key has in each of its namespaces, under a name of their own.

    Get it from ``KeyedRuntimeContext.get_internal_timer_service``.

    Example:
        >>> timers = runtime_context.get_internal_timer_service()  # in open
        >>> timers.register_event_time_timer(window, window.max_timestamp())  # in process_element
    """

    def __init__(self, backend: KeyedStateBackend, name: str, namespace: Layout) -> None:
        self._name = name
        self._clock = backend.clock
        self._timers = timer_maps(backend, name, namespace)

    def current_watermark(self) -> int:
        """The event time in ms: -2**63 while rows of a key come."""
        return MIN_WATERMARK

    def current_processing_time(self) -> int:
        """The time of the machine's clock, in ms since the epoch."""
        return self._clock()

    def register_event_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Registers a timer that Flink fires when event time reaches it.

        A timer is there once for its key, namespace and timestamp, however often it is registered.

        Args:
            namespace: Such as a ``TimeWindow``.
            timestamp: In ms since the epoch. A window ends at ``window.max_timestamp()``, and is
                cleaned up then. A job that allows lateness cleans up later, so such a window needs
                a second timer.

        Raises:
            ValueError: The namespace is None.

        Example:
            >>> timers.register_event_time_timer(window, window.max_timestamp() + lateness_ms)
        """
        self._of(EVENT_TIME, namespace).put(timestamp, None)

    def register_processing_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Registers a timer that Flink fires by the clock; see ``register_event_time_timer``."""
        self._of(PROCESSING_TIME, namespace).put(timestamp, None)

    def delete_event_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Deletes a timer of ``register_event_time_timer``, if it is there."""
        self._of(EVENT_TIME, namespace).remove(timestamp)

    def delete_processing_time_timer(self, namespace: Any, timestamp: int) -> None:
        """Deletes a timer of ``register_processing_time_timer``, if it is there."""
        self._of(PROCESSING_TIME, namespace).remove(timestamp)

    def event_time_timers(self, namespace: Any) -> list[int]:
        """The event-time timers of the current key in a namespace in ms, ascending, each once."""
        return sorted(self._of(EVENT_TIME, namespace).keys())

    def processing_time_timers(self, namespace: Any) -> list[int]:
        """The processing-time timers of the current key in a namespace in ms, ascending, each once."""
        return sorted(self._of(PROCESSING_TIME, namespace).keys())

    def _of(self, domain: str, namespace: Any) -> MapState:
        if namespace is None:
            raise ValueError(
                f"a timer of {self._name} is of a namespace, e.g. TimeWindow(0, 60_000), not of None;"
                " timers of the key alone are in context.timer_service"
            )
        timers = self._timers[domain]
        timers.set_current_namespace(namespace)
        return timers
