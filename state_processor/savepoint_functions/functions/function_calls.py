"""The one loop that calls a function: for rows, and for timers that fire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from savepoint_functions.functions.process_functions import (
    KeyedCoProcessFunction,
    KeyedStateBootstrapFunction,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from savepoint_functions.functions.process_functions import KeyedContext, KeyedFunction

    Call = Callable[[Any, Any], Iterable[Any] | None]


class FunctionCalls:
    """Calls ``process`` for rows, and ``on_timer`` for timers, with one context.

    ``given`` has the rows that the function has returned; the caller empties it. ``fired`` counts
    timers.
    """

    def __init__(self, process: Call, context: Any, on_timer: Call | None = None) -> None:
        self.given: list[Any] = []
        self.fired = 0
        self._process = process
        self._context = context
        self._on_timer = on_timer

    @classmethod
    def of(cls, function: KeyedFunction, context: KeyedContext) -> Self:
        """The calls of a function with keys; rows of two inputs are pairs of input and row."""
        # Each kind has these methods, with a context of its own.
        methods: Any = function
        is_of_two = isinstance(function, KeyedCoProcessFunction)
        process = _of_two(methods) if is_of_two else methods.process_element
        has_timers = not isinstance(function, KeyedStateBootstrapFunction)
        return cls(process, context, methods.on_timer if has_timers else None)

    def process(self, rows: Iterable[tuple[int | None, Any]]) -> None:
        """Calls the function for pairs of timestamp and row."""
        process, context, give = self._process, self._context, self.given.extend
        for context.timestamp, row in rows:
            outputs = process(row, context)
            if outputs is not None:
                give(outputs)

    def fire(self, due: Iterable[tuple[str, int]]) -> None:
        """Fires timers of the current key: pairs of time domain and timestamp in ms."""
        on_timer, context = self._on_timer, self._context
        if on_timer is None:
            return
        for context.time_domain, context.timestamp in due:
            self.fired += 1
            outputs = on_timer(context.timestamp, context)
            if outputs is not None:
                self.given.extend(outputs)
        context.time_domain = None


def _of_two(function: KeyedCoProcessFunction) -> Call:
    calls = function.process_element1, function.process_element2

    def process(row: tuple[int, Any], context: KeyedContext) -> Iterable[Any] | None:
        number, value = row
        return calls[number](value, context)

    return process


def expect_kind(function: object, *kinds: type) -> None:
    """Raises ``TypeError`` if a function is of none of these kinds."""
    if not isinstance(function, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{type(function).__name__} is no {expected}")
