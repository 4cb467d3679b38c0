"""Functions of users that read keyed state: one call per key, or per key and window.

They are written as in Flink: ``open`` registers states by their descriptors, and each call sees
their values for its key. A function is pickled for the executors, so it must make anything that
can't be pickled, such as a connection, in ``open``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_database.types import shaped
from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.layout import MapOf
from savepoint_formats.values import arrow_type
from savepoint_spark.reading.states import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    State,
    ValueState,
    read_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import Row

    from savepoint_database.types import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        StateDescriptor,
        ValueStateDescriptor,
    )
    from savepoint_formats.state_files import state

    OutputRow = dict[str, Any] | tuple[Any, ...] | Row

AnyState = TypeVar("AnyState", bound=State)


class RuntimeContext:
    """Registers the states of a function, in ``open`` and nowhere else.

    A state that the operator lacks, or that has another kind, raises ``StateNotFoundError``; its
    message lists all states.

    Args:
        operator: The name of the operator.
        states: The states that the function can read.
    """

    def __init__(self, operator: str, states: Iterable[state.State]) -> None:
        self._operator = operator
        self._known = {state.name: state for state in states}
        self._registered: dict[str, State] = {}

    def get_state(self, descriptor: ValueStateDescriptor) -> ValueState:
        """A value state.

        Example:
            >>> self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        """
        return self._state(descriptor, ValueState)

    def get_list_state(self, descriptor: ListStateDescriptor) -> ListState:
        """A list state.

        Example:
            >>> self.memos = runtime_context.get_list_state(ListStateDescriptor("memos"))
        """
        return self._state(descriptor, ListState)

    def get_map_state(self, descriptor: MapStateDescriptor) -> MapState:
        """A map state.

        Example:
            >>> self.changes = runtime_context.get_map_state(MapStateDescriptor("changes"))
        """
        return self._state(descriptor, MapState)

    def get_reducing_state(self, descriptor: ReducingStateDescriptor) -> ReducingState:
        """A reducing state.

        Example:
            >>> self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum"))
        """
        return self._state(descriptor, ReducingState)

    def get_aggregating_state(self, descriptor: AggregatingStateDescriptor) -> AggregatingState:
        """An aggregating state, which shows its accumulator.

        Example:
            >>> descriptor = AggregatingStateDescriptor("average")
            >>> self.average = runtime_context.get_aggregating_state(descriptor)
        """
        return self._state(descriptor, AggregatingState)

    @property
    def registered(self) -> dict[str, State]:
        """The registered states, by name."""
        return self._registered

    def _state(self, descriptor: StateDescriptor, kind: type[AnyState]) -> AnyState:
        name = descriptor.name
        stored = self._known.get(name)
        if stored is None or stored.job_kind not in kind.kinds:
            what = f"is a {stored.job_kind.value} state" if stored else "does not exist"
            known = ", ".join(
                f"{other.name} ({other.job_kind.value})" for other in self._known.values()
            )
            raise StateNotFoundError(
                f"{kind.__name__} {name!r} of {self._operator} {what}; it has: {known or 'none'}"
            )
        new = read_state(kind, descriptor, stored) if stored.scope.is_local else kind(name)
        if isinstance(new, MapState) and isinstance(stored.stored, MapOf):
            new.key_shape = shaped(arrow_type(stored.stored.key))
        state = self._registered.setdefault(name, new)
        assert isinstance(state, kind)  # a name has one kind, hence one class
        return state


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A window of time.

    Attributes:
        start: Its first millisecond.
        end: The millisecond after its last.
    """

    start: int
    end: int

    def max_timestamp(self) -> int:
        """The last millisecond that belongs to it."""
        return self.end - 1


@dataclass(frozen=True, slots=True)
class GlobalWindow:
    """The only window of all elements of a key, as for ``countWindow``."""

    def max_timestamp(self) -> int:
        """The last millisecond of all."""
        return 2**63 - 1


class ReaderContext:
    """More about the key of a call.

    Args:
        timers: The timers of a time domain, ``EVENT_TIME`` or ``PROCESSING_TIME``.
    """

    def __init__(self, timers: Callable[[str], list[int]]) -> None:
        self._timers = timers

    def registered_event_time_timers(self) -> list[int]:
        """The event-time timers of this key (and window) in ms, ascending, each once.

        Raises:
            SavepointError: The timers cannot be read.
        """
        return self._timers("EVENT_TIME")

    def registered_processing_time_timers(self) -> list[int]:
        """The processing-time timers of this key (and window) in ms, ascending, each once.

        Raises:
            SavepointError: The timers cannot be read.
        """
        return self._timers("PROCESSING_TIME")


class WindowReaderContext(ReaderContext):
    """More about the key and window of a call.

    Args:
        timers: The timers of a time domain.
        window: The window.
    """

    def __init__(self, timers: Callable[[str], list[int]], window: Any) -> None:
        super().__init__(timers)
        self._window = window

    def window(self) -> Any:
        """The window: a ``TimeWindow`` or ``GlobalWindow``, or the namespace of another type.

        For instance, the namespace of SQL's windows is the end of a slice in ms. A merged window (a
        session) is the whole one, wherever its contents are stored.
        """
        return self._window


class ReaderFunction:
    """A function that reads state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Registers the states that the function reads.

        It is called once in every task. Before that, the driver calls it on a copy of the function,
        so that a wrong name is an error before a job starts.

        Raises:
            StateNotFoundError: The operator has no such state; the message lists its states.
        """

    def close(self) -> None:
        """Releases everything that ``open`` took; called at the end of any task."""


class KeyedStateReaderFunction(ReaderFunction, ABC):
    """Reads the keyed state of an operator, key by key.

    Example:
        >>> class Totals(KeyedStateReaderFunction):
        ...     def open(self, runtime_context):
        ...         self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        ...
        ...     def read_key(self, key, context):
        ...         timers = context.registered_event_time_timers()
        ...         yield {"key": key, "total": self.total.value(), "timers": timers}
        >>> schema = "key STRING, total DOUBLE, timers ARRAY<BIGINT>"
        >>> savepoint.read_keyed_state("summarize", Totals(), schema=schema).show()
    """

    @abstractmethod
    def open(self, runtime_context: RuntimeContext) -> None:
        """Registers the states that the function reads; see ``ReaderFunction.open``."""

    @abstractmethod
    def read_key(self, key: Any, context: ReaderContext) -> Iterable[OutputRow]:
        """Returns rows for a key, most simply by ``yield``; any number of them.

        It is called once for each key that has any of the registered states.

        Args:
            key: The key.
            context: Its timers.

        Returns:
            Rows of the schema: a dict or a ``Row`` by names, where a missing column is null; a
            tuple by position.
        """


class WindowReaderFunction(ReaderFunction, ABC):
    """Reads the state of windows, window by window.

    ``open`` may register any state of the operator. State of windows, such as that of a trigger,
    shows its value for the window; any other shows its value for the key.

    Example:
        >>> class Sizes(WindowReaderFunction):
        ...     def read_window(self, key, context, elements):
        ...         yield key, context.window().end, len(elements)
        >>> schema = "key STRING, end BIGINT, elements INT"
        >>> savepoint.read_window_state("session", Sizes(), schema=schema).show()
    """

    @abstractmethod
    def read_window(
        self, key: Any, context: WindowReaderContext, elements: Sequence[Any]
    ) -> Iterable[OutputRow]:
        """Returns rows for a key and window, most simply by ``yield``; any number of them.

        It is called once for each that has contents, or any of the registered states of windows.

        Args:
            key: The key.
            context: Its window, and the timers of both.
            elements: The elements of the window if the job stores them, or the one value or
                accumulator that they were reduced to. Empty for operators without such contents,
                which are of another kind than Flink's windows.

        Returns:
            Rows of the schema, as for ``KeyedStateReaderFunction.read_key``.
        """
