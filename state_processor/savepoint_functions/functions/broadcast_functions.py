"""Functions over rows that are connected with broadcast rows, all of which every task sees.

The broadcast rows come first, as in Flink's bounded jobs: what they have put into broadcast state is
there when the first other row comes, and does not change any more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from savepoint_functions.functions.backends.held_states import HeldMapState
from savepoint_functions.functions.process_functions import (
    KeyedContext,
    KeyedFunction,
    OperatorContext,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from savepoint_database.types.descriptors import MapStateDescriptor
    from savepoint_functions.functions.backends import TimerService
    from savepoint_functions.functions.backends.backend import Clock
    from savepoint_functions.functions.side_outputs import OutputTag, SideOutputs
    from savepoint_spark.reading.functions import OutputRow
    from savepoint_spark.reading.states import MapState


class ReadOnlyBroadcastState(HeldMapState):
    """Broadcast state as a row sees it that is not broadcast: nothing can change it."""

    def put(self, key: Any, value: Any) -> None:  # noqa: ARG002  # Flink's signature
        """Raises ``TypeError``."""
        self._refuse_change()

    def remove(self, key: Any) -> None:  # noqa: ARG002  # Flink's signature
        """Raises ``TypeError``."""
        self._refuse_change()

    def clear(self) -> None:
        """Raises ``TypeError``."""
        self._refuse_change()

    def _refuse_change(self) -> NoReturn:
        raise TypeError(
            f"broadcast state {self.name!r} is changed by broadcast rows alone, or its tasks would"
            " not agree: change it in process_broadcast_element"
        )


class BroadcastStates:
    """The broadcast states of a task.

    Args:
        states: The states by name.
        descriptors: Their descriptors.
    """

    def __init__(
        self, states: Mapping[str, MapState], descriptors: Iterable[MapStateDescriptor]
    ) -> None:
        self._states = states
        self._descriptors = {descriptor.name: descriptor for descriptor in descriptors}

    def get(self, descriptor: MapStateDescriptor) -> MapState:
        """The state of a descriptor.

        Raises:
            ValueError: The broadcast rows were given no such descriptor.
        """
        if self._descriptors.get(descriptor.name) != descriptor:
            raise ValueError(
                f"broadcast state {descriptor} is not one of the broadcast rows: give its descriptor"
                f" to broadcast(…); they have: {', '.join(map(str, self._descriptors.values()))}"
            )
        return self._states[descriptor.name]


class ReadOnlyContext(OperatorContext):
    """What a function can ask of a row without a key that is not broadcast.

    Args:
        clock: Gives the processing time, in ms.
        states: The broadcast states.
        side_outputs: Takes rows of side outputs.
    """

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
    """What a function can ask of a broadcast row; it may change broadcast state."""

    __slots__ = ()

    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> MapState:
        """A broadcast state.

        Example:
            >>> context.get_broadcast_state(RATES).put(value.currency, value.rate)
        """
        return self._states.get(descriptor)

    def apply_to_keyed_state(self, *_: Any) -> None:
        """Does nothing: broadcast rows come first, and no key has state then, as in Flink."""


class KeyedBroadcastContext(KeyedContext):
    """What a function can ask of a row with a key, or a timer.

    Args:
        timer_service: The timers of the current key.
        switch_key: Ends the current key and begins another one.
        side_outputs: Takes rows of side outputs.
        states: The broadcast states.
    """

    __slots__ = ("_states",)

    def __init__(
        self,
        timer_service: TimerService,
        switch_key: Callable[[Any], None],
        side_outputs: SideOutputs,
        states: BroadcastStates,
    ) -> None:
        super().__init__(timer_service, switch_key, side_outputs)
        self._states = states

    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> MapState:
        """A broadcast state; see ``ReadOnlyContext``."""
        return self._states.get(descriptor)


class BroadcastProcessFunction(ABC):
    """Makes rows of rows, with the help of broadcast state.

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

    def open(self) -> None:  # noqa: B027  # most take nothing
        """Called in every task, and in that of the broadcast rows, before the first row."""

    @abstractmethod
    def process_element(self, value: Any, context: ReadOnlyContext) -> Iterable[OutputRow] | None:
        """Rows for a row; see ``KeyedProcessFunction.process_element``."""

    @abstractmethod
    def process_broadcast_element(
        self, value: Any, context: BroadcastElementContext
    ) -> Iterable[OutputRow] | None:
        """Changes broadcast state by a broadcast row, and may give rows.

        All broadcast rows come to one task, and what they make of the states to all others: nothing
        else of the function does. In Flink each subtask gives the rows once, here they are there once.
        """

    def close(self) -> None:  # noqa: B027  # most have taken nothing
        """Gives back what ``open`` took; called at the end of a task, also of one that fails."""


class KeyedBroadcastProcessFunction(KeyedFunction, ABC):
    """Makes rows, or state, of rows with keys, with the help of broadcast state.

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
