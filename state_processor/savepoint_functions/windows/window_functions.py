"""Functions that make rows of the contents of a window, with state of their own.

Flink: ``ProcessWindowFunction``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from savepoint_functions.functions.backends.namespaces import plain
from savepoint_spark.reading import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_database.types import StateDescriptor, TypeInformation
    from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
    from savepoint_functions.functions.outputs import OutputTag
    from savepoint_functions.functions.process_functions import KeyedContext
    from savepoint_functions.windows.window_assigners import Window
    from savepoint_spark.reading import OutputRow


def registered_states(
    runtime_context: KeyedRuntimeContext,
    descriptors: Iterable[StateDescriptor],
    namespace: TypeInformation | None,
) -> dict[str, State]:
    """The states of descriptors by name."""
    return {
        descriptor.name: runtime_context._state(descriptor, State, namespace)
        for descriptor in descriptors
    }


class WindowStateStore:
    """The states of a window, or of its key, that a function names."""

    def __init__(self, states: Mapping[str, State], attribute: str) -> None:
        self._states = states
        self._attribute = attribute
        self.namespace: Any = None

    def get_state(self, descriptor: StateDescriptor) -> Any:
        """The state of a descriptor, of any kind.

        Raises:
            ValueError: The function doesn't name the descriptor.

        Example:
            >>> times_fired = context.window_state().get_state(TIMES_FIRED)
        """
        if descriptor.name not in self._states:
            raise ValueError(
                f"the function asks for state {descriptor.name!r}, which it does not name: add its"
                f" descriptor to {self._attribute}"
            )
        state = self._states[descriptor.name]
        state.set_current_namespace(self.namespace)
        return state

    get_list_state = get_map_state = get_reducing_state = get_aggregating_state = get_state


class WindowContext:
    """The window that a function is called for."""

    def __init__(self, window: WindowStateStore, of_key: WindowStateStore) -> None:
        self._window_state = window
        self._global_state = of_key
        self._window: Window
        self._context: KeyedContext

    def window(self) -> Window:
        """The window: a ``TimeWindow``, or the ``GlobalWindow``."""
        return self._window

    def current_watermark(self) -> int:
        """The event time in ms."""
        return self._context.timer_service.current_watermark()

    def current_processing_time(self) -> int:
        """The time of the machine's clock, in ms since the epoch."""
        return self._context.timer_service.current_processing_time()

    def window_state(self) -> WindowStateStore:
        """The states of this key and window; ``clear`` of the function has to clear them."""
        return self._window_state

    def global_state(self) -> WindowStateStore:
        """The states of this key, which all its windows share."""
        return self._global_state

    def output(self, tag: OutputTag, row: OutputRow) -> None:
        """Gives a row to a side output of the function; see ``KeyedContext.output``."""
        self._context.output(tag, row)

    def at(self, window: Window, context: KeyedContext) -> WindowContext:
        """The context of a window of the current key."""
        self._window, self._context = window, context
        self._window_state.namespace = plain(window)
        return self


class ProcessWindowFunction(ABC):
    """Makes rows of the elements of a window.

    Attributes:
        side_outputs: The tags that it gives rows to with ``context.output``.
        window_states: Descriptors of the states of ``context.window_state()``. Windows that merge
            can't have any, as in Flink.
        global_states: Descriptors of the states of ``context.global_state()``.

    Example:
        >>> class Counts(ProcessWindowFunction):
        ...     def process(self, key, context, elements):
        ...         yield key, context.window().end, len(elements)
        >>> hourly = keyed.window(TumblingWindows(3_600_000)).process(Counts(), Types.LONG(), "cents")
        >>> hourly.rows("shop STRING, end BIGINT, n INT").show()
    """

    side_outputs: ClassVar[tuple[OutputTag, ...]] = ()
    window_states: tuple[StateDescriptor, ...] = ()
    global_states: tuple[StateDescriptor, ...] = ()

    def open(self, runtime_context: KeyedRuntimeContext) -> None:  # noqa: B027  # most need nothing
        """Called once in every task, and before that on the driver, on a copy of the function."""

    @abstractmethod
    def process(
        self, key: Any, context: WindowContext, elements: list[Any]
    ) -> Iterable[OutputRow] | None:
        """Rows for a window that fires.

        Args:
            key: The key.
            context: The window, its states and the time.
            elements: The elements of the window; after ``reduce`` and ``aggregate`` the only
                result.
        """

    def clear(self, context: WindowContext) -> None:  # noqa: B027  # most have no states
        """Clears the states of a window that is gone.

        Example:
            >>> def clear(self, context):
            ...     context.window_state().get_state(TIMES_FIRED).clear()
        """

    def close(self) -> None:  # noqa: B027  # most have taken nothing
        """Frees the resources of ``open``; called at the end of a task, even if it fails."""


class ResultRows(ProcessWindowFunction):
    """Gives each result of a window as a row."""

    def process(self, key: Any, context: WindowContext, elements: list[Any]) -> Iterable[OutputRow]:
        # A scalar is the only column of its row.
        return [
            element if isinstance(element, tuple | dict) else (element,) for element in elements
        ]
