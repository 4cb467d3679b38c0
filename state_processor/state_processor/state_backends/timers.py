"""Timers of the current key.

Timers are state: two map states of the backend, one for each time domain, whose user keys are the
timestamps. So every backend keeps them, and a timer is there once however often it is registered.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Final, cast

from state_processor.descriptors import MapStateDescriptor
from state_processor.types import Types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from state_processor.state_backends.backend import KeyedStateBackend
    from state_processor.states import MapState

MIN_WATERMARK: Final = -(2**63)
MAX_WATERMARK: Final = 2**63 - 1

EVENT_TIME, PROCESSING_TIME = "EVENT_TIME", "PROCESSING_TIME"

# Flink: InternalTimeServiceManagerImpl. No state of a user has such a name.
_EVENT = "_timer_state/event_user-timers"
_PROCESSING = "_timer_state/processing_user-timers"


class TimerService:
    """The timers of the key that a function is at, and what time it is.

    Make it before the first key.

    Args:
        backend: Keeps the timers.
    """

    EVENT: Final = _EVENT
    PROCESSING: Final = _PROCESSING

    def __init__(self, backend: KeyedStateBackend) -> None:
        self._clock = backend.clock
        self._timers = {
            domain: cast(
                "MapState", backend.state(MapStateDescriptor(name, Types.LONG(), Types.VOID()))
            )
            for domain, name in ((EVENT_TIME, _EVENT), (PROCESSING_TIME, _PROCESSING))
        }
        self._due: dict[str, list[int]] = {EVENT_TIME: [], PROCESSING_TIME: []}
        self._watermark = MIN_WATERMARK
        self.is_used = False

    def current_watermark(self) -> int:
        """The event time in ms: -2**63 while rows of a key come, 2**63 - 1 while its timers fire.

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
        """Takes back what ``register_event_time_timer`` asked for, if it did."""
        self._timers[EVENT_TIME].remove(timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Takes back what ``register_processing_time_timer`` asked for, if it did."""
        self._timers[PROCESSING_TIME].remove(timestamp)

    def event_time_timers(self) -> list[int]:
        """The event-time timers of the current key in ms, ascending, each once."""
        return sorted(self._timers[EVENT_TIME].keys())

    def processing_time_timers(self) -> list[int]:
        """The processing-time timers of the current key in ms, ascending, each once."""
        return sorted(self._timers[PROCESSING_TIME].keys())

    def due(self) -> Iterator[tuple[str, int]]:
        """The timers of a key whose rows have all come, each with its time domain, as they fire.

        Those of event time come first, in the order of their timestamps, then those of processing
        time. A timer that is registered meanwhile comes in its turn, one that is deleted does not.
        """
        if not self.is_used:
            return
        self._watermark = MAX_WATERMARK
        try:
            # A timer of processing time may register others of event time.
            while any(not timers.is_empty() for timers in self._timers.values()):
                for domain in self._timers:
                    yield from self._fired(domain)
        finally:
            self._watermark = MIN_WATERMARK

    @staticmethod
    def timestamps(entries: Iterable[tuple[int, Any]] | None) -> list[int] | None:
        """The timers of a snapshot of either state, ascending; None for none."""
        return None if entries is None else sorted(timestamp for timestamp, _ in entries)

    def _fired(self, domain: str) -> Iterator[tuple[str, int]]:
        timers, due = self._timers[domain], self._due[domain]
        due[:] = timers.keys()
        heapify(due)
        while due:
            timestamp = heappop(due)
            if timers.contains(timestamp):
                timers.remove(timestamp)
                yield domain, timestamp

    def _register(self, domain: str, timestamp: int) -> None:
        self.is_used = True
        self._timers[domain].put(timestamp, None)
        if self._watermark == MAX_WATERMARK:
            heappush(self._due[domain], timestamp)
