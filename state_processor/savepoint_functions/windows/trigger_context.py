"""The context of a trigger: timers and states of the window that it is called for.

Flink: ``WindowOperator.Context``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_functions.functions.backends.namespaces import plain
from savepoint_functions.windows.merging_window_set import merge_namespaces
from savepoint_functions.windows.window_timers import WindowTimer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_database.types.descriptors import StateDescriptor
    from savepoint_functions.functions.backends import TimerService
    from savepoint_functions.windows.window_assigners import Window
    from savepoint_spark.reading.states import State


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

    def get_partitioned_state(self, descriptor: StateDescriptor) -> Any:
        """The state of the window that a descriptor of the trigger describes.

        Raises:
            ValueError: The trigger doesn't name the descriptor.
        """
        state = self._state(descriptor)
        state.set_current_namespace(plain(self.window))
        return state

    def merge_partitioned_state(self, descriptor: StateDescriptor) -> None:
        """Moves a state of all merged windows into that of the window; only for ``on_merge``.

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
