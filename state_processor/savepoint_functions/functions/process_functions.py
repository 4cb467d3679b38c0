"""Functions that users write: they make state and rows from rows, with one call per row.

They look as in Flink: ``open`` registers states by their descriptors, and in each call the state
objects show the state of the key of the row. All rows of a key come one after another, in the order
of their timestamps if they have any. Its timers fire after the last row. A function goes to the
executors by pickle; ``open`` makes things that can't be pickled, such as a connection.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from savepoint_database.types import Place
from savepoint_functions.functions.backends.timers import USER_TIMERS, TimerService

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_database.types import ListStateDescriptor, MapStateDescriptor
    from savepoint_functions.functions.backends import (
        KeyedStateBackend,
        OperatorStateStore,
    )
    from savepoint_functions.functions.backends.backend import Clock
    from savepoint_functions.functions.keyed_runtime_context import KeyedRuntimeContext
    from savepoint_functions.functions.outputs import OutputTag, SideOutputs
    from savepoint_spark.reading import ListState, MapState, OutputRow


class KeyedContext:
    """The row, or the timer, that a function is called for.

    Attributes:
        timestamp: The timestamp of the row in ms, None if it has none; in ``on_timer`` the timer's
            timestamp.
        current_key: The key.
        timer_service: The timers of the key, and the time.
        time_domain: ``EVENT_TIME`` or ``PROCESSING_TIME`` in ``on_timer``, None elsewhere.
    """

    __slots__ = (
        "_side_outputs",
        "current_key",
        "time_domain",
        "timer_service",
        "timestamp",
    )

    def __init__(
        self, timer_service: TimerService, side_outputs: SideOutputs | None = None
    ) -> None:
        self.timestamp: int | None = None
        self.current_key: Any = None
        self.timer_service = timer_service
        self.time_domain: str | None = None
        self._side_outputs = side_outputs

    def output(self, tag: OutputTag, row: OutputRow) -> None:
        """Gives a row to a side output.

        Args:
            tag: One of the function's ``side_outputs``.
            row: A row of its schema, as ``KeyedProcessFunction.process_element`` gives rows.

        Raises:
            ValueError: The function does not name the tag.
            TypeError: The function runs over a stream, which has no side outputs.

        Example:
            >>> context.output(LATE, (context.current_key, value.cents))
        """
        if self._side_outputs is None:
            raise TypeError(
                f"side output {tag.name!r}: a stream has one output here; give its rows as rows of"
                " the function"
            )
        self._side_outputs.add(tag, Place(self.current_key), row)

    def set_current_key(self, *_: Any) -> NoReturn:
        """Raises ``TypeError``, because a function only sees the key of its row."""
        raise TypeError(
            "a function sees the state of the key of its row alone, because other keys are in other"
            " tasks: give each key that a row concerns a row of its own, with explode or unionAll,"
            " before key_by(…)"
        )

    def apply_to_all_keys(self, *_: Any) -> NoReturn:
        """Raises ``TypeError``, because only one key is there at a time."""
        raise TypeError(
            "a bounded run goes from key to key, each done before the next one begins, so nothing"
            " can be applied to the state of all keys: read the savepoint that is written, or make"
            " what they share a broadcast state"
        )


@dataclass(frozen=True, slots=True)
class RecordAttributes:
    """Attributes of the rows that come next.

    Attributes:
        is_backlog: Whether they are a backlog, so that results are not urgent.
    """

    is_backlog: bool


class KeyedFunction:
    """A function with keyed state.

    Attributes:
        side_outputs: The tags that it gives rows to with ``context.output``. ``run`` keeps these
            rows; ``process`` and the like drop them.
        fired_timers: The name of the timer service whose timers fire.
        fires_by_itself: Whether it fires timers itself when it gets a row.
    """

    side_outputs: ClassVar[tuple[OutputTag, ...]] = ()
    fired_timers: ClassVar[str] = USER_TIMERS
    fires_by_itself: ClassVar[bool] = False

    def _make_timer_service(self, backend: KeyedStateBackend, *, flows: bool) -> TimerService:
        """The timers that fire: timers of keys, unless the function is an operator of its own."""
        return TimerService(backend, flows=flows)

    def _in_stream(self) -> Self:
        """The function for rows that come as they arrive, with a watermark after many of them."""
        return self

    def _expect_watermark(self, out_of_orderness_ms: int) -> None:
        """Raises ``ValueError`` if the function has another watermark than its job."""

    def open(self, runtime_context: KeyedRuntimeContext) -> None:
        """Registers the states of the function.

        It is called once in every task, and before that on the driver, on a copy of the function,
        to learn its states.

        Args:
            runtime_context: Gives the states.

        Raises:
            ValueError: A descriptor lacks a type, or its function; or two have the same name.
        """

    def process_record_attributes(self, attributes: RecordAttributes) -> None:
        """Learns which rows come next, if a stream follows a backlog.

        For a backlog it is called before the first row of each task. It is called again when all
        keys of the task are done, with their due timers. A bounded run has no backlog, and does
        not call it.

        Args:
            attributes: The new attributes.

        Example:
            >>> def process_record_attributes(self, attributes):
            ...     self.is_live = not attributes.is_backlog
        """

    def close(self) -> None:
        """Frees the resources of ``open``; called at the end of a task, even if it fails."""


class KeyedStateBootstrapFunction(KeyedFunction, ABC):
    """Makes keyed state of rows.

    Timers do not fire, but become timers of the savepoint.

    Example:
        >>> class Totals(KeyedStateBootstrapFunction):
        ...     def open(self, runtime_context):
        ...         descriptor = ValueStateDescriptor("total", Types.DOUBLE())
        ...         self.total = runtime_context.get_state(descriptor)
        ...
        ...     def process_element(self, value, context):
        ...         self.total.update((self.total.value() or 0.0) + value.amount)
        >>> sales = OperatorTransformation.bootstrap_with(df).key_by("account").transform(Totals())
    """

    @abstractmethod
    def process_element(self, value: Any, context: KeyedContext) -> None:
        """Changes the state of a key by a row.

        Args:
            value: The row, a named tuple of its columns.
            context: Its key and timestamp, and the timers of the key.
        """


class KeyedProcessFunction(KeyedFunction, ABC):
    """Makes rows of rows, with keyed state and timers.

    Example:
        >>> class Counts(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         descriptor = ValueStateDescriptor("count", Types.LONG())
        ...         self.count = runtime_context.get_state(descriptor)
        ...
        ...     def process_element(self, value, context):
        ...         self.count.update((self.count.value() or 0) + 1)
        ...         context.timer_service.register_event_time_timer(2**63 - 1)
        ...
        ...     def on_timer(self, timestamp, context):
        ...         yield context.current_key, self.count.value()
        >>> words = OperatorTransformation.bootstrap_with(df).key_by("word")
        >>> words.process(Counts(), schema="word STRING, count BIGINT").show()
    """

    @abstractmethod
    def process_element(self, value: Any, context: KeyedContext) -> Iterable[OutputRow] | None:
        """Rows for a row, most simply by ``yield``; or None.

        Args:
            value: The row, a named tuple of its columns.
            context: Its key and timestamp, and the timers of the key.

        Returns:
            Rows of the schema. A dict or a ``Row`` goes by names, and a missing column is null; a
            tuple goes by position.
        """

    def on_timer(self, timestamp: int, context: KeyedContext) -> Iterable[OutputRow] | None:
        """Rows for a timer, which fires after all rows of its key.

        Args:
            timestamp: The timestamp of the timer, in ms.
            context: Its key and time domain, and the timers of the key.
        """


class KeyedCoProcessFunction(KeyedFunction, ABC):
    """Makes rows, or state, of the rows of two inputs with the same keys.

    With timestamps, rows of both inputs come in their order; without, those of the first input come
    first.
    """

    @abstractmethod
    def process_element1(self, value: Any, context: KeyedContext) -> Iterable[OutputRow] | None:
        """Rows for a row of the first input; see ``KeyedProcessFunction.process_element``."""

    @abstractmethod
    def process_element2(self, value: Any, context: KeyedContext) -> Iterable[OutputRow] | None:
        """Rows for a row of the second input."""

    def on_timer(self, timestamp: int, context: KeyedContext) -> Iterable[OutputRow] | None:
        """Rows for a timer; see ``KeyedProcessFunction.on_timer``."""


class OperatorRuntimeContext:
    """Gives a function list state that belongs to no key, in ``open`` and nowhere else."""

    def __init__(self, store: OperatorStateStore) -> None:
        self._store = store

    def get_list_state(self, descriptor: ListStateDescriptor) -> ListState:
        """A list whose elements Flink spreads over the subtasks.

        Example:
            >>> descriptor = ListStateDescriptor("elements", Types.STRING())
            >>> self.elements = runtime_context.get_list_state(descriptor)
        """
        return self._store.list_state(descriptor)

    def get_union_list_state(self, descriptor: ListStateDescriptor) -> ListState:
        """A list whose elements Flink gives to each subtask.

        Example:
            >>> descriptor = ListStateDescriptor("offsets", Types.LONG())
            >>> self.offsets = runtime_context.get_union_list_state(descriptor)
        """
        return self._store.union_list_state(descriptor)


class OperatorContext:
    """The row that a function without keys is called for.

    Attributes:
        timestamp: The timestamp of the row in ms, None if it has none.
    """

    __slots__ = ("_clock", "timestamp")

    def __init__(self, clock: Clock) -> None:
        self.timestamp: int | None = None
        self._clock = clock

    def current_processing_time(self) -> int:
        """The time of the machine's clock, in ms since the epoch."""
        return self._clock()


class BroadcastContext(OperatorContext):
    """The row for which a function that makes broadcast state is called."""

    __slots__ = ("_store",)

    def __init__(self, clock: Clock, store: OperatorStateStore) -> None:
        super().__init__(clock)
        self._store = store

    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> MapState:
        """A map that each subtask will have.

        Example:
            >>> context.get_broadcast_state(RATES).put(value.currency, value.rate)
        """
        return self._store.broadcast_state(descriptor)


class StateBootstrapFunction(ABC):
    """Makes operator list state of rows.

    Example:
        >>> class Elements(StateBootstrapFunction):
        ...     def open(self, runtime_context):
        ...         descriptor = ListStateDescriptor("elements", Types.STRING())
        ...         self.elements = runtime_context.get_list_state(descriptor)
        ...
        ...     def process_element(self, value, context):
        ...         self.elements.add(value.name)
    """

    @abstractmethod
    def open(self, runtime_context: OperatorRuntimeContext) -> None:
        """Registers the states of the function, on the driver and in every task."""

    @abstractmethod
    def process_element(self, value: Any, context: OperatorContext) -> None:
        """Changes the state by a row, a named tuple of its columns."""

    def snapshot_state(self) -> None:  # noqa: B027  # most have all in their state already
        """Called after all rows of the task, before its state is taken."""

    def close(self) -> None:  # noqa: B027  # most have taken nothing
        """Frees the resources of ``open``; called at the end of a task, even if it fails."""


class BroadcastStateBootstrapFunction(ABC):
    """Makes broadcast state of rows, all of which come to one task.

    Attributes:
        descriptors: The broadcast states that ``process_element`` uses.

    Example:
        >>> RATES = MapStateDescriptor("rates", Types.STRING(), Types.DOUBLE())
        >>> class Rates(BroadcastStateBootstrapFunction):
        ...     descriptors = (RATES,)
        ...
        ...     def process_element(self, value, context):
        ...         context.get_broadcast_state(RATES).put(value.currency, value.rate)
    """

    descriptors: tuple[MapStateDescriptor, ...] = ()

    def open(self, runtime_context: OperatorRuntimeContext) -> None:  # noqa: B027  # most need nothing
        """Called on the driver, on a copy of the function, and in the task before the first row."""

    @abstractmethod
    def process_element(self, value: Any, context: BroadcastContext) -> None:
        """Changes the state by a row, a named tuple of its columns."""

    def close(self) -> None:  # noqa: B027  # most have taken nothing
        """Frees the resources of ``open``; called at the end, even after an error."""
