"""The windows of a key that merge, and the window under which each has its state.

When windows merge, state isn't moved to the merged window; it stays where that of the first was.

Flink: ``MergingWindowSet``, ``TimeWindow.mergeWindows``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from savepoint_functions.functions.backends.namespaces import plain
from savepoint_functions.functions.backends.wrapping_states import FoldingAggregatingState
from savepoint_spark.reading.functions import TimeWindow
from savepoint_spark.reading.states import ListState, ReducingState

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from savepoint_spark.reading.states import State


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
        """The window that a new one becomes, and what was merged for that."""
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
    """Moves the contents of some namespaces of the current key into another one.

    Raises:
        TypeError: They can't be merged, because the state is a value or a map.
    """
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
