"""Timers of the current key.

Timers are state: two map states of the backend, one for each time domain, with timestamps as user
keys. So every backend keeps them, and a timer is there once, however often it is registered.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Final, cast

from savepoint_database.types.descriptors import MapStateDescriptor
from savepoint_database.types.types import Types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import KeyedStateBackend
    from savepoint_spark.reading.states import MapState

MIN_WATERMARK: Final = -(2**63)
MAX_WATERMARK: Final = 2**63 - 1

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

    ``timers`` maps time domains to timers; by default to those of process functions.
    """

    EVENT: Final = _STATES[EVENT_TIME]
    PROCESSING: Final = _STATES[PROCESSING_TIME]

    def __init__(
        self, backend: KeyedStateBackend, timers: Mapping[str, MapState] | None = None
    ) -> None:
        self._clock = backend.clock
        self._timers = timers or timer_maps(backend, USER_TIMERS)
        self._due: dict[str, list[int]] = {EVENT_TIME: [], PROCESSING_TIME: []}
        # The time that each domain has reached while timers fire.
        self._reached: dict[str, int] = {}
        self._watermark = MIN_WATERMARK
        self.is_used = False

    def current_watermark(self) -> int:
        """The event time in ms: -2**63 while rows of a key come.

        While its timers fire it is 2**63 - 1; in a backlog, it is the watermark at the end of that.

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

    def restored(self) -> None:
        """Takes notice that the current key may have timers that were not registered here."""
        self.is_used = True

    def set_watermark(self, watermark: int) -> None:
        """Sets the event time, in ms; no timer fires by that."""
        self._watermark = watermark

    def due(
        self, *, watermark: int | None = None, processing_time: int | None = None
    ) -> Iterator[tuple[str, int]]:
        """The timers of the current key that fire, each with its time domain; they are removed.

        Timers up to ``watermark`` and ``processing_time``, both in ms, fire: first those of event
        time in the order of their timestamps, then those of processing time. None fires no timers
        of that domain. A timer that is registered meanwhile comes in its turn, and one that is
        deleted does not come.
        """
        reached = {EVENT_TIME: watermark, PROCESSING_TIME: processing_time}
        return self._fired({domain: time for domain, time in reached.items() if time is not None})

    @staticmethod
    def timestamps(entries: Iterable[tuple[int, Any]] | None) -> list[int] | None:
        """The timestamps in a snapshot of either state, ascending; None for none."""
        return None if entries is None else sorted(timestamp for timestamp, _ in entries)

    def _fired(self, reached: dict[str, int]) -> Iterator[tuple[str, int]]:
        """The timers that fire when domains have reached these times."""
        if not self.is_used:
            return
        # If ``on_timer`` switches keys, timers of another key fire meanwhile.
        before = self._reached, self._watermark
        self._reached = reached
        self._watermark = reached.get(EVENT_TIME, self._watermark)
        try:
            has_fired = True
            # A timer of processing time may register others of event time.
            while has_fired:
                has_fired = False
                for domain in reached:
                    if not self._timers[domain].is_empty():
                        for timer in self._fired_in(domain):
                            has_fired = True
                            yield timer
        finally:
            self._reached, self._watermark = before

    def _fired_in(self, domain: str) -> Iterator[tuple[str, int]]:
        timers, due, reached = self._timers[domain], self._due[domain], self._reached[domain]
        timestamps = timers.keys()
        due[:] = [timestamp for timestamp in timestamps if timestamp <= reached]
        heapify(due)
        while due:
            timestamp = heappop(due)
            if timers.contains(timestamp):
                timers.remove(timestamp)
                yield domain, timestamp

    def _register(self, domain: str, timestamp: int) -> None:
        self.is_used = True
        self._timers[domain].put(timestamp, None)
        if timestamp <= self._reached.get(domain, MIN_WATERMARK - 1):
            heappush(self._due[domain], timestamp)
