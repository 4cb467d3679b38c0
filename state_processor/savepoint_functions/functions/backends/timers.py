"""Timers of the current key, and in its namespaces, such as windows.

Timers are state: two map states of the backend, one for each time domain, with timestamps as user
keys. So every backend keeps them, and a timer is there once, however often it is registered.

Flink: ``TimerService``, ``InternalTimerService``.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from savepoint_database.types import MapStateDescriptor, Types
from savepoint_formats.errors import EndlessTimersError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import Clock, KeyedStateBackend
    from savepoint_spark.reading import MapState


RowT = TypeVar("RowT")

MIN_WATERMARK: Final = -(2**63)
MAX_WATERMARK: Final = 2**63 - 1

_MAX_REPEATS = 10_000
"""Timers that ``on_timer`` may register for the time that has come already, or at the end of time."""

EVENT_TIME, PROCESSING_TIME = "EVENT_TIME", "PROCESSING_TIME"

# Flink: InternalTimeServiceManagerImpl. No state of a user has such a name.
TIMER_STATE_PREFIX: Final = "_timer_state/"
_DOMAINS = {EVENT_TIME: "event", PROCESSING_TIME: "processing"}


def timer_states(service: str) -> dict[str, str]:
    """Time domain -> the state with the timers of a service."""
    return {domain: f"{TIMER_STATE_PREFIX}{word}_{service}" for domain, word in _DOMAINS.items()}


USER_TIMERS: Final = "user-timers"
"""The timer service of Flink's process functions."""

_STATES = timer_states(USER_TIMERS)


def timer_maps(
    backend: KeyedStateBackend, service: str, namespace: Layout | None = None
) -> dict[str, MapState]:
    """Time domain -> the timers of a service: a map state with timestamps as user keys."""
    return {
        domain: cast(
            "MapState",
            backend.state(MapStateDescriptor(name, Types.LONG(), Types.VOID()), namespace),
        )
        for domain, name in timer_states(service).items()
    }


class TimerService:
    """The timers of the current key, and the time. It is made before the first key.

    Event time ``flows`` if timers fire between rows: it advances from timer to timer, as in Flink
    if rows of other keys come all the time. ``timers`` maps time domains to timers; by default to
    those of process functions.

    ``last_watermark`` is the greatest event time in ms that rows may bring; None if no timer fires.
    ``drops_at_end`` says whether timers that are registered at the end of time are dropped.
    """

    EVENT: Final = _STATES[EVENT_TIME]
    PROCESSING: Final = _STATES[PROCESSING_TIME]

    def __init__(
        self,
        backend: KeyedStateBackend,
        timers: Mapping[str, MapState] | None = None,
        *,
        flows: bool = False,
    ) -> None:
        self._flows = flows
        self._clock = backend.clock
        self._timers = timers or timer_maps(backend, USER_TIMERS)
        # The timers of the current key in each domain that was asked for, and some deleted ones.
        self._heaps: dict[str, list[int]] = {}
        # The time that each domain has reached while timers fire.
        self._reached: dict[str, int] = {}
        self._firing = MIN_WATERMARK
        self._repeats = 0
        self._watermark = MIN_WATERMARK
        self.is_used = False
        self.last_watermark: int | None = MAX_WATERMARK
        self.drops_at_end = not flows

    def current_watermark(self) -> int:
        """The event time in ms that has been reached.

        | timers fire      | at a row                                 | at a timer                  |
        |------------------|------------------------------------------|-----------------------------|
        | after all rows   | -2**63                                   | the last watermark          |
        | between rows     | its timestamp, less the out-of-orderness | its timestamp, but never    |
        |                  | less 1 ms                                | less than before            |
        | at the end of    |                                          | 2**63 - 1                   |
        | ``process``      |                                          |                             |

        Example:
            >>> is_late = context.timestamp <= context.timer_service.current_watermark()
        """
        return self._watermark

    def current_processing_time(self) -> int:
        """The time of the machine's clock, in ms since the epoch."""
        return self._clock()

    def register_event_time_timer(self, timestamp: int) -> None:
        """Asks to be called when event time reaches a timestamp, in ms.

        Example:
            >>> context.timer_service.register_event_time_timer(context.timestamp + 60_000)
        """
        self._register(EVENT_TIME, timestamp)

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Asks to be called when the clock reaches a timestamp, in ms since the epoch."""
        self._register(PROCESSING_TIME, timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Deletes a timer of ``register_event_time_timer``, if it is there."""
        self._timers[EVENT_TIME].remove(timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Deletes a timer of ``register_processing_time_timer``, if it is there."""
        self._timers[PROCESSING_TIME].remove(timestamp)

    def event_time_timers(self) -> list[int]:
        """The event-time timers of the current key in ms, ascending, each once."""
        return sorted(self._timers[EVENT_TIME].keys())

    def processing_time_timers(self) -> list[int]:
        """The processing-time timers of the current key in ms, ascending, each once."""
        return sorted(self._timers[PROCESSING_TIME].keys())

    def begun(self, *, is_restored: bool = False) -> None:
        """Takes notice that another key is current; restored ones may have timers already."""
        self.is_used = self.is_used or is_restored
        self._watermark = MIN_WATERMARK
        self._heaps.clear()

    def set_watermark(self, watermark: int) -> None:
        """Sets the event time, in ms; this fires no timer."""
        self._watermark = watermark

    def is_due(self, domain: str, time: int) -> bool:
        """Whether the current key may have a timer up to a time in ms."""
        if not self.is_used:
            return False
        heap = self._heap(domain)
        return bool(heap) and heap[0] <= time

    def due(
        self, *, watermark: int | None = None, processing_time: int | None = None
    ) -> Iterator[tuple[str, int]]:
        """The timers of the current key that fire, each with its time domain; they are removed.

        Timers up to ``watermark`` and ``processing_time``, both in ms, fire: first those of event
        time in the order of their timestamps, then those of processing time. None fires no timers
        of that domain. A timer that is registered while timers fire comes in its turn; a deleted
        timer does not fire. At the end of time, newly registered timers may be dropped, see
        ``drops_at_end``, as in Flink's batch mode.

        Raises:
            EndlessTimersError: Timers register each other without end.
        """
        if not self.is_used:
            return
        times = {EVENT_TIME: watermark, PROCESSING_TIME: processing_time}
        reached = {domain: time for domain, time in times.items() if time is not None}
        before = self._reached, self._watermark
        self._reached, self._repeats = reached, 0
        if watermark is not None and (watermark == MAX_WATERMARK or not self._flows):
            self._watermark = watermark
        try:
            has_fired = True
            # A timer of processing time may register others of event time.
            while has_fired:
                has_fired = False
                for domain in reached:
                    for timestamp in self._taken(domain):
                        has_fired = True
                        yield domain, timestamp
        finally:
            self._reached, self._watermark = before

    def between(
        self, rows: Iterable[RowT], clock: Clock, fire: Callable[[int], None]
    ) -> Iterator[RowT]:
        """The rows of a key; before each, ``fire`` is called if the clock has reached a timer."""
        for row in rows:
            if self.is_used and self._heap(PROCESSING_TIME):
                now = clock()
                if self.is_due(PROCESSING_TIME, now):
                    fire(now)
            yield row

    @staticmethod
    def timestamps(entries: Iterable[tuple[int, Any]] | None) -> list[int] | None:
        """The timestamps in a snapshot of either state, ascending; None for none."""
        return None if entries is None else sorted(timestamp for timestamp, _ in entries)

    def _heap(self, domain: str) -> list[int]:
        heap = self._heaps.get(domain)
        if heap is None:
            heap = self._heaps[domain] = self._timers[domain].keys()
            heapify(heap)
        return heap

    def _taken(self, domain: str) -> Iterator[int]:
        """The timers of a domain that are due, removed one by one."""
        timers, reached = self._timers[domain], self._reached[domain]
        while (heap := self._heap(domain)) and heap[0] <= reached:
            timestamp = heappop(heap)
            if timers.contains(timestamp):
                timers.remove(timestamp)
                self._firing = timestamp
                if domain == EVENT_TIME:
                    self._watermark = max(self._watermark, timestamp)
                yield timestamp

    def _register(self, domain: str, timestamp: int) -> None:
        if self.drops_at_end and self._watermark == MAX_WATERMARK:
            return
        self.is_used = True
        timers = self._timers[domain]
        # Both are empty at most rows: before timers fire, nobody asks for their order.
        if self._reached and timestamp <= self._reached.get(domain, MIN_WATERMARK - 1):
            self._expect_end(domain, timestamp)
        if self._heaps:
            heap = self._heaps.get(domain)
            if heap is not None and not timers.contains(timestamp):
                heappush(heap, timestamp)
        timers.put(timestamp, None)

    def _is_bounded(self, timestamp: int) -> bool:  # noqa: ARG002  # windows know it
        """Whether timers after this one come to an end, even at the end of time."""
        return False

    def _expect_end(self, domain: str, timestamp: int) -> None:
        """Raises ``EndlessTimersError`` if timers that fire have registered too many such timers."""
        is_endless = self._reached[domain] == MAX_WATERMARK and not self._is_bounded(timestamp)
        self._repeats += is_endless or timestamp <= self._firing
        if self._repeats > _MAX_REPEATS:
            raise EndlessTimersError(
                f"on_timer has registered {_MAX_REPEATS} timers that are due at once, the last one at"
                f" {timestamp}: let it end, or give run(…) a watermark, where later timers stay"
            )


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
                f"a timer of {self._name} needs a namespace, e.g. TimeWindow(0, 60_000), not None;"
                " timers without one are in context.timer_service"
            )
        timers = self._timers[domain]
        timers.set_current_namespace(namespace)
        return timers
