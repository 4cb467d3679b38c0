"""A function run row by row, as a stream does: rows of all keys in the order in which they arrive.

It is the measure of runs that sort, cache or spread rows, so it does none of that: state lies in
hash tables, and timers in sets, of which each look takes the least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_functions.functions.backends import state_backend
from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
from savepoint_functions.functions.process_functions import KeyedContext, RecordAttributes
from support.backend_states import AllKeys

if TYPE_CHECKING:
    from savepoint_database.types.types import TypeInformation
    from state_processor import KeyedProcessFunction

EVENT, PROCESSING = "EVENT_TIME", "PROCESSING_TIME"
MIN_WATERMARK = -(2**63)


class Timers:
    """The timers of all keys, as a function sees those of the current one."""

    def __init__(self, now: int) -> None:
        self.of: dict[Any, dict[str, set[int]]] = {}
        self.key: Any = None
        self.watermark = MIN_WATERMARK
        self.now = now

    def current_watermark(self) -> int:
        return self.watermark

    def current_processing_time(self) -> int:
        return self.now

    def _current(self, domain: str) -> set[int]:
        return self.of.setdefault(self.key, {EVENT: set(), PROCESSING: set()})[domain]

    def register_event_time_timer(self, timestamp: int) -> None:
        self._current(EVENT).add(timestamp)

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._current(PROCESSING).add(timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._current(EVENT).discard(timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._current(PROCESSING).discard(timestamp)

    def next(self, domain: str, until: int) -> tuple[int, Any] | None:
        """The first timer of any key that is due, taken out; None if there is none."""
        due = [
            (timestamp, key)
            for key, timers in self.of.items()
            for timestamp in timers[domain]
            if timestamp <= until
        ]
        if not due:
            return None
        timestamp, key = min(due, key=lambda timer: (timer[0], repr(timer[1])))
        self.of[key][domain].remove(timestamp)
        return timestamp, key


class RowByRow:
    """A function at work.

    Args:
        function: The function; it is opened.
        key: The type of keys.
        now: What the clock says, in ms.

    Attributes:
        output: The rows that it has given.
    """

    def __init__(self, function: KeyedProcessFunction, key: TypeInformation, now: int) -> None:
        self.output: list[Any] = []
        self._function = function
        self._timers = Timers(now)
        backend = state_backend("single_key", key.layout, lambda: now)
        self._keys = AllKeys(backend)
        self._context = KeyedContext(self._timers)  # type: ignore[arg-type]
        function.open(KeyedRuntimeContext(backend))

    def tell(self, *, is_backlog: bool) -> None:
        """Tells the function what rows come next."""
        self._function.process_record_attributes(RecordAttributes(is_backlog))

    def process(self, key: Any, timestamp: int | None, row: Any) -> None:
        """Gives the function a row; what the clock has made due fires behind it."""
        self._switch(key)
        self._context.timestamp = timestamp
        self.output.extend(self._function.process_element(row, self._context) or ())
        self._fire(PROCESSING, self._timers.now)

    def advance(self, watermark: int) -> None:
        """Event time is at a watermark now: timers up to it fire."""
        self._timers.watermark = watermark
        self._fire(EVENT, watermark)
        self._fire(PROCESSING, self._timers.now)

    def state(self) -> dict[Any, list[Any]]:
        """Key -> what it has in each state, for keys that have anything; maps and sets sorted."""
        return self._keys.contents()

    def timers(self) -> list[tuple[Any, str, int]]:
        """Key, time domain and timestamp of the timers that have not fired, sorted."""
        return sorted(
            (key, domain, timestamp)
            for key, domains in self._timers.of.items()
            for domain, timestamps in domains.items()
            for timestamp in timestamps
        )

    def _switch(self, key: Any) -> None:
        self._keys.switch(key)
        self._timers.key = self._context.current_key = key

    def _fire(self, domain: str, until: int) -> None:
        while due_timer := self._timers.next(domain, until):
            timestamp, key = due_timer
            self._switch(key)
            self._context.timestamp, self._context.time_domain = timestamp, domain
            self.output.extend(self._function.on_timer(timestamp, self._context) or ())
        self._context.time_domain = None
