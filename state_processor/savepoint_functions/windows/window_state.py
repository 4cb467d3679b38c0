"""Timers of windows, windows that merge, and the context that gives a trigger its timers and states.

A timer is a number, its timestamp, that knows its window. So timers of windows fire like timers of
keys. The timers of the current key are in memory and in the state.

When windows merge, state is not moved to the merged window; it stays under the first window.

Flink: ``WindowOperator.Context``, ``MergingWindowSet``, ``TimeWindow.mergeWindows``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from savepoint_functions.functions.backends.namespaces import plain
from savepoint_functions.functions.backends.timers import TimerService, timer_maps
from savepoint_functions.functions.backends.wrapping_states import FoldingAggregatingState
from savepoint_spark.reading import ListState, MapState, ReducingState, TimeWindow

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from savepoint_database.types import StateDescriptor
    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends import KeyedStateBackend
    from savepoint_functions.windows.window_assigners import Window
    from savepoint_spark.reading import State


class MergedWindows(NamedTuple):
    """A window that others were merged into, and the windows of their states.

    ``merged`` are the windows that are gone, ``target`` has the state of the new one, and
    ``sources`` have state that goes there.
    """

    window: TimeWindow
    merged: list[TimeWindow]
    target: TimeWindow
    sources: list[TimeWindow]


class MergingWindowSet:
    """The windows of the current key; ``persist`` writes them to their state."""

    def __init__(self, state: ListState) -> None:
        self._state = state
        pairs: Any = map(plain, state.get())
        self._stored = {TimeWindow(*window): TimeWindow(*of_state) for window, of_state in pairs}
        self._windows = dict(self._stored)

    def state_window(self, window: Any) -> TimeWindow | None:
        """The window that has the state of a window; None if that is gone."""
        return self._windows.get(window)

    def retire(self, window: Any) -> None:
        self._windows.pop(window, None)

    def persist(self) -> None:
        """Writes the windows to the state, if they have changed."""
        if self._windows != self._stored:
            pairs = self._windows.items()
            self._state.update((plain(window), plain(of_state)) for window, of_state in pairs)

    def add(self, new: Any) -> tuple[TimeWindow, MergedWindows | None]:
        """The window that a new one becomes, and the windows that were merged into it."""
        touching = [window for window in self._windows if _touch(window, new)]
        if not touching:
            self._windows[new] = new
            return new, None
        touching.sort(key=lambda window: window.start)
        whole = TimeWindow(
            min(new.start, touching[0].start), max(new.end, *(window.end for window in touching))
        )
        target, *sources = (self._windows.pop(window) for window in touching)
        self._windows[whole] = target
        if touching == [whole]:
            return whole, None
        return whole, MergedWindows(whole, touching, target, sources)


def _touch(window: TimeWindow, other: TimeWindow) -> bool:
    return window.start <= other.end and window.end >= other.start


def merge_namespaces(state: State, target: Hashable, sources: Iterable[Hashable]) -> None:
    """Moves contents of some namespaces of the current key into another one; ``TypeError`` for values and maps."""
    taken = []
    for source in sources:
        state.set_current_namespace(source)
        taken.append(_contents(state))
        state.clear()
    state.set_current_namespace(target)
    for contents in taken:
        _add(state, contents)


def _contents(state: State) -> Any:
    match state:
        case ListState() | ReducingState():
            return state.get()
        case FoldingAggregatingState():
            return state.accumulator
        case _:
            raise TypeError(
                f"state {state.name!r} is a {type(state).__name__}, which windows can't merge: use a"
                " list, reducing or aggregating state"
            )


def _add(state: State, contents: Any) -> None:
    match state:
        case ListState():
            state.add_all(contents)
        case ReducingState() if contents is not None:
            state.add(contents)
        case FoldingAggregatingState() if contents is not None:
            state.merge(contents)


class WindowTimer(int):
    """The timestamp of a timer, in ms, with the window as backends keep namespaces."""

    namespace: Hashable

    def __new__(cls, timestamp: int, namespace: Hashable) -> WindowTimer:
        timer = super().__new__(cls, timestamp)
        timer.namespace = namespace
        return timer

    def __lt__(self, other: Any) -> bool:
        """Timers of one time are in the order of their windows, which is the same in every run."""
        return self._order < (other._order if isinstance(other, WindowTimer) else (other,))

    @property
    def _order(self) -> tuple[Any, ...]:
        return int(self), self.namespace or ()


class WindowTimerMap(MapState):
    """The timers of the current key in one time domain, in all its windows."""

    def __init__(self, backend: KeyedStateBackend, timers: MapState) -> None:
        super().__init__(timers.name)
        self._backend = backend
        self._timers: Any = timers
        self._key_bytes: bytes | None = None
        self._of_key: dict[tuple[int, Hashable], WindowTimer] = {}

    def keys(self) -> list[WindowTimer]:
        return list(self._held().values())

    def is_empty(self) -> bool:
        return not self._held()

    def contains(self, key: WindowTimer) -> bool:
        return (int(key), key.namespace) in self._held()

    def put(self, key: WindowTimer, value: None) -> None:
        self._held()[int(key), key.namespace] = key
        self._timers.set_current_namespace(key.namespace)
        self._timers.put(int(key), value)

    def remove(self, key: WindowTimer) -> None:
        self._held().pop((int(key), key.namespace), None)
        self._timers.set_current_namespace(key.namespace)
        self._timers.remove(int(key))

    def _held(self) -> dict[tuple[int, Hashable], WindowTimer]:
        if self._key_bytes != self._backend.key_bytes:
            self._key_bytes = self._backend.key_bytes
            self._of_key = {
                (timestamp, namespace): WindowTimer(timestamp, namespace)
                for namespace, timers in self._timers.snapshot() or ()
                for timestamp, _ in timers
            }
        return self._of_key


class WindowTimerService(TimerService):
    """Timers of windows, whose event time always flows.

    A window that ends has no more timers than milliseconds, so none is refused, as in Flink.
    """

    def __init__(self, backend: KeyedStateBackend, service: str, namespace: Layout) -> None:
        maps = timer_maps(backend, service, namespace)
        timers = {domain: WindowTimerMap(backend, of_domain) for domain, of_domain in maps.items()}
        super().__init__(backend, timers, flows=True)

    def _is_bounded(self, timestamp: int) -> bool:
        window: Any = timestamp.namespace if isinstance(timestamp, WindowTimer) else None
        return window is not None and timestamp < window[1]


class TriggerContext:
    """Timers and states of a window; a trigger gets it with each call.

    Attributes:
        window: The window.
        merged: The windows that were merged into it, in ``on_merge``.
    """

    def __init__(self, states: dict[str, State]) -> None:
        self._states = states
        self.merged: Sequence[Window] = ()
        self.window: Window
        self.timers: TimerService

    def get_current_watermark(self) -> int:
        """The event time in ms; -2**63 before the first row."""
        return self.timers.current_watermark()

    def get_current_processing_time(self) -> int:
        """The time of the machine's clock, in ms since the epoch."""
        return self.timers.current_processing_time()

    def register_event_time_timer(self, time: int) -> None:
        """Asks for ``on_event_time`` when the watermark reaches a time, in ms."""
        self.timers.register_event_time_timer(self._timer(time))

    def register_processing_time_timer(self, time: int) -> None:
        """Asks for ``on_processing_time`` when the clock reaches a time, in ms."""
        self.timers.register_processing_time_timer(self._timer(time))

    def delete_event_time_timer(self, time: int) -> None:
        """Deletes a timer of ``register_event_time_timer``, if it is there."""
        self.timers.delete_event_time_timer(self._timer(time))

    def delete_processing_time_timer(self, time: int) -> None:
        """Deletes a timer of ``register_processing_time_timer``, if it is there."""
        self.timers.delete_processing_time_timer(self._timer(time))

    def _register(self, time: int, *, is_event_time: bool) -> None:
        if is_event_time:
            self.register_event_time_timer(time)
        else:
            self.register_processing_time_timer(time)

    def _delete(self, time: int, *, is_event_time: bool) -> None:
        if is_event_time:
            self.delete_event_time_timer(time)
        else:
            self.delete_processing_time_timer(time)

    def get_partitioned_state(self, descriptor: StateDescriptor) -> Any:
        """The state of the window that a descriptor of the trigger describes.

        Raises:
            ValueError: The trigger doesn't name the descriptor.
        """
        state = self._state(descriptor)
        state.set_current_namespace(plain(self.window))
        return state

    def merge_partitioned_state(self, descriptor: StateDescriptor) -> None:
        """Merges a state of all merged windows into the state of the window; only for ``on_merge``.

        Raises:
            TypeError: The state is a value or a map.
            ValueError: The trigger doesn't name the descriptor.
        """
        merge_namespaces(
            self._state(descriptor), plain(self.window), [plain(window) for window in self.merged]
        )

    def _state(self, descriptor: StateDescriptor) -> State:
        if descriptor.name not in self._states:
            raise ValueError(
                f"the trigger asks for state {descriptor.name!r}, which it does not name: add its"
                " descriptor to descriptors"
            )
        return self._states[descriptor.name]

    def _timer(self, time: int) -> WindowTimer:
        return WindowTimer(time, plain(self.window))
