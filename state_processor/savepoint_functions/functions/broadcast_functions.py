"""Functions over rows that are connected with broadcast rows, which every task sees.

The broadcast rows come first, as in Flink's bounded jobs. Their broadcast state is complete when
the first other row comes, and does not change any more. With ``initial``, it begins with the
broadcast state of a savepoint.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from savepoint_formats.errors import RefusedError
from savepoint_functions.functions.backends.in_memory import HeldMapState
from savepoint_functions.functions.process_functions import (
    KeyedContext,
    KeyedFunction,
    OperatorContext,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_database.types import MapStateDescriptor
    from savepoint_functions.functions.backends import TimerService
    from savepoint_functions.functions.backends.backend import Clock
    from savepoint_functions.functions.outputs import OutputTag, SideOutputs
    from savepoint_spark.reading import MapState, OutputRow, RuntimeContext


class ReadOnlyBroadcastState(HeldMapState):
    """Broadcast state for other rows; methods that would change it raise ``TypeError``."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"broadcast state {self.name!r} is changed by broadcast rows alone, or its tasks would"
            " not agree: change it in process_broadcast_element"
        )

    put = put_all = remove = clear = _refuse


class BroadcastStates:
    """The broadcast states of a task, by name."""

    def __init__(
        self, states: Mapping[str, MapState], descriptors: Iterable[MapStateDescriptor]
    ) -> None:
        self._states = states
        self._descriptors = {descriptor.name: descriptor for descriptor in descriptors}

    def get(self, descriptor: MapStateDescriptor) -> MapState:
        """The state of a descriptor. Raises ``ValueError`` if the broadcast rows don't have it."""
        if self._descriptors.get(descriptor.name) != descriptor:
            raise ValueError(
                f"broadcast state {descriptor} is not one of the broadcast rows: give its descriptor"
                f" to broadcast(…); they have: {', '.join(map(str, self._descriptors.values()))}"
            )
        return self._states[descriptor.name]


class ReadOnlyContext(OperatorContext):
    """The row without a key, not a broadcast one, that a function is called for."""

    __slots__ = ("_side_outputs", "_states")

    def __init__(self, clock: Clock, states: BroadcastStates, side_outputs: SideOutputs) -> None:
        super().__init__(clock)
        self._states = states
        self._side_outputs = side_outputs

    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> MapState:
        """A broadcast state, which can't be changed here.

        Example:
            >>> rate = context.get_broadcast_state(RATES).get(value.currency)
        """
        return self._states.get(descriptor)

    def output(self, tag: OutputTag, row: OutputRow) -> None:
        """Gives a row to a side output; see ``KeyedContext.output``."""
        self._side_outputs.add(tag, "a row", row)


class BroadcastElementContext(ReadOnlyContext):
    """The broadcast row that a function is called for; it may change broadcast state."""

    __slots__ = ("_has_keyed_state",)

    def __init__(
        self,
        clock: Clock,
        states: BroadcastStates,
        side_outputs: SideOutputs,
        *,
        has_keyed_state: bool,
    ) -> None:
        super().__init__(clock, states, side_outputs)
        self._has_keyed_state = has_keyed_state

    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> MapState:
        """A broadcast state.

        Example:
            >>> context.get_broadcast_state(RATES).put(value.currency, value.rate)
        """
        return self._states.get(descriptor)

    def apply_to_keyed_state(self, *_: Any) -> None:
        """Does nothing, as in Flink: broadcast rows come first, when no key has state.

        Raises:
            RefusedError: Keys have state, because the run begins with the state of a savepoint.
        """
        if self._has_keyed_state:
            raise RefusedError(
                "apply_to_keyed_state would change keys that have no row, and a run with initial="
                " visits keys by their rows and timers: change their state with update_state first,"
                " or in process_element"
            )


class KeyedBroadcastContext(KeyedContext):
    """The row with a key, or the timer, that a function is called for."""

    __slots__ = ("_states",)

    def __init__(
        self,
        timer_service: TimerService,
        side_outputs: SideOutputs,
        states: BroadcastStates,
    ) -> None:
        super().__init__(timer_service, side_outputs)
        self._states = states

    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> MapState:
        """A broadcast state; see ``ReadOnlyContext``."""
        return self._states.get(descriptor)


class BroadcastProcessFunction(ABC):
    """Makes rows of rows, with broadcast state.

    Attributes:
        side_outputs: As for ``KeyedFunction``.

    Example:
        >>> RATES = MapStateDescriptor("rates", Types.STRING(), Types.DOUBLE())
        >>> class Converter(BroadcastProcessFunction):
        ...     def process_broadcast_element(self, value, context):
        ...         context.get_broadcast_state(RATES).put(value.currency, value.rate)
        ...
        ...     def process_element(self, value, context):
        ...         rate = context.get_broadcast_state(RATES).get(value.currency)
        ...         yield value.id, value.amount * (rate or 1.0)
        >>> rates = OperatorTransformation.bootstrap_with(rates_df).broadcast(RATES)
        >>> sales = OperatorTransformation.bootstrap_with(sales_df).connect(rates)
        >>> sales.process(Converter(), "id BIGINT, amount DOUBLE").show()
    """

    side_outputs: ClassVar[tuple[OutputTag, ...]] = ()

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027  # most need nothing
        """Called in every task, also in that of the broadcast rows, before the first row.

        The context has no states, because rows have no keys: broadcast states come with the rows.
        """

    @abstractmethod
    def process_element(self, value: Any, context: ReadOnlyContext) -> Iterable[OutputRow] | None:
        """Rows for a row; see ``KeyedProcessFunction.process_element``."""

    @abstractmethod
    def process_broadcast_element(
        self, value: Any, context: BroadcastElementContext
    ) -> Iterable[OutputRow] | None:
        """Changes broadcast state by a broadcast row, and may give rows.

        All broadcast rows come to one task. The other tasks get the broadcast states, and nothing
        else of the function. In Flink each subtask gives the rows once; here they come once in all.
        """

    def close(self) -> None:  # noqa: B027  # most have taken nothing
        """Frees the resources of ``open``; called at the end of a task, even if it fails."""


class KeyedBroadcastProcessFunction(KeyedFunction, ABC):
    """Makes rows, or state, of rows with keys, with broadcast state.

    ``open`` registers keyed state, as for ``KeyedProcessFunction``.
    """

    @abstractmethod
    def process_element(
        self, value: Any, context: KeyedBroadcastContext
    ) -> Iterable[OutputRow] | None:
        """Rows for a row; see ``KeyedProcessFunction.process_element``."""

    @abstractmethod
    def process_broadcast_element(
        self, value: Any, context: BroadcastElementContext
    ) -> Iterable[OutputRow] | None:
        """See ``BroadcastProcessFunction``; there is no key, so keyed state can't be changed."""

    def on_timer(
        self, timestamp: int, context: KeyedBroadcastContext
    ) -> Iterable[OutputRow] | None:
        """Rows for a timer; see ``KeyedProcessFunction.on_timer``."""
