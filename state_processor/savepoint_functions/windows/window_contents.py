"""The contents of windows: state ``window-contents``, by the form in which a job keeps elements.

| kind         | state       | function sees                                                 |
|--------------|-------------|---------------------------------------------------------------|
| elements     | list        | all elements                                                  |
| reduced      | reducing    | the element that all were reduced to                          |
| aggregated   | aggregating | the result of the accumulator                                 |
| with evictor | list        | what the evictor keeps; or what that is reduced, aggregated to |

Flink: ``WindowOperatorBuilder``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from savepoint_database.types import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    TypeInformation,
)
from savepoint_formats.snapshots import constructed
from savepoint_functions.windows.evictors import Evictor, TimestampedValue
from savepoint_spark.bootstrapping import CONTENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_database.types import AggregateFunction, StateDescriptor
    from savepoint_functions.windows.window_assigners import Window


@dataclass(frozen=True)
class WindowContents:
    """Contents of a window, made from its elements.

    ``results`` makes a list of what the function sees of them.
    """

    descriptor: StateDescriptor
    results: Callable[[Any], list[Any]]

    def add(self, state: Any, element: TimestampedValue) -> None:
        """Adds an element to the state of the window."""
        state.add(element.value)

    def fire(
        self, state: Any, window: Window, process: Callable[[Window, list[Any]], None]
    ) -> None:
        """Calls ``process`` for a window that fires, unless it has no contents."""
        contents = state.get()
        if contents is not None and contents != []:
            process(window, self.results(contents))


@dataclass(frozen=True)
class EvictedContents(WindowContents):
    """Elements with their timestamps; an evictor removes some when a window fires."""

    evictor: Evictor

    def add(self, state: Any, element: TimestampedValue) -> None:
        state.add(element)

    def fire(
        self, state: Any, window: Window, process: Callable[[Window, list[Any]], None]
    ) -> None:
        contents = state.get()
        if contents:
            kept = self.evictor.evict_before([_record(element) for element in contents], window)
            process(window, self.results([element.value for element in kept]))
            state.update(self.evictor.evict_after(kept, window))


def of_elements(element_type: TypeInformation) -> WindowContents:
    """All elements of a window."""
    return WindowContents(ListStateDescriptor(CONTENTS, element_type), list)


def of_reduction(
    function: Callable[[Any, Any], Any], element_type: TypeInformation
) -> WindowContents:
    """The element that all elements of a window are reduced to."""
    return WindowContents(ReducingStateDescriptor(CONTENTS, element_type, function), _alone)


def of_aggregation(
    function: AggregateFunction, accumulator_type: TypeInformation
) -> WindowContents:
    """The accumulator of all elements of a window."""
    return WindowContents(AggregatingStateDescriptor(CONTENTS, accumulator_type, function), _alone)


def evicted(
    contents: WindowContents, evictor: Evictor, element_type: TypeInformation
) -> EvictedContents:
    """Contents of a window with an evictor, which must keep all elements."""
    record = TypeInformation(
        constructed.stream_element(element_type.snapshot), f"stream element of {element_type!r}"
    )
    elements = ListStateDescriptor(CONTENTS, record)
    match contents.descriptor:
        case ReducingStateDescriptor(reduce_function=function):
            return EvictedContents(elements, _reduced(function), evictor)
        case AggregatingStateDescriptor(aggregate_function=function):
            return EvictedContents(elements, _aggregated(function), evictor)
        case _:
            return EvictedContents(elements, contents.results, evictor)


def _reduced(function: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda values: [reduce(function, values)] if values else []


def _aggregated(function: Any) -> Callable[[list[Any]], list[Any]]:
    def results(values: list[Any]) -> list[Any]:
        accumulator = function.create_accumulator()
        for value in values:
            accumulator = function.add(value, accumulator)
        return [function.get_result(accumulator)]

    return results


def _alone(result: Any) -> list[Any]:
    return [result]


def _record(element: Any) -> TimestampedValue:
    if isinstance(element, dict):
        return TimestampedValue(element["timestamp"], element["value"])
    return TimestampedValue(*element)
