"""State that folds added values into one, by the function of its descriptor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_functions.functions.backends.held_states import WrappingState, present
from savepoint_spark.reading.states import AggregatingState, ReducingState, ValueState

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.types.descriptors import (
        AggregateFunction,
        AggregatingStateDescriptor,
        ReducingStateDescriptor,
    )


class FoldingReducingState(WrappingState[ValueState], ReducingState):
    """A value, into which all added values are reduced."""

    def __init__(self, values: ValueState, reduce: Callable[[Any, Any], Any]) -> None:
        super().__init__(values)
        self._reduce = reduce

    def get(self) -> Any:
        return self._inner.value()

    def add(self, value: Any) -> None:
        held = self._inner.value()
        value = present(self, value)
        self._inner.update(value if held is None else self._reduce(held, value))


class FoldingAggregatingState(WrappingState[ValueState], AggregatingState):
    """An accumulator of all added values."""

    def __init__(self, values: ValueState, function: AggregateFunction) -> None:
        super().__init__(values)
        self._function = function

    def get(self) -> Any:
        """The result of the accumulator; None if the key has none."""
        held = self._inner.value()
        return None if held is None else self._function.get_result(held)

    def add(self, value: Any) -> None:
        held = self._inner.value()
        accumulator = self._function.create_accumulator() if held is None else held
        self._inner.update(self._function.add(present(self, value), accumulator))


def folding_reductions(descriptor: ReducingStateDescriptor, values: ValueState) -> ReducingState:
    """The reducing state of a descriptor. Raises ``ValueError`` if that has no function."""
    if descriptor.reduce_function is None:
        raise ValueError(
            f"the descriptor of state {descriptor.name!r} has no reduce_function, which adding"
            " needs; e.g. reduce_function=max"
        )
    return FoldingReducingState(values, descriptor.reduce_function)


def folding_aggregates(
    descriptor: AggregatingStateDescriptor, values: ValueState
) -> AggregatingState:
    """The aggregating state of a descriptor. Raises ``ValueError`` if that has no function."""
    if descriptor.aggregate_function is None:
        raise ValueError(
            f"the descriptor of state {descriptor.name!r} has no aggregate_function, which adding"
            " needs: an object with create_accumulator, add, get_result and merge"
        )
    return FoldingAggregatingState(values, descriptor.aggregate_function)
