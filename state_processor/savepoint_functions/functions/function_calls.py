"""Calls a function of keyed rows, for rows and for timers that fire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_functions.functions.broadcast_functions import KeyedBroadcastProcessFunction
from savepoint_functions.functions.process_functions import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_functions.functions.process_functions import KeyedContext, KeyedFunction

    Process = Callable[[Any, KeyedContext], Iterable[Any] | None]

_WITH_TIMERS = (KeyedProcessFunction, KeyedCoProcessFunction, KeyedBroadcastProcessFunction)


class FunctionCalls:
    """The calls of a function, and what it has given.

    Args:
        function: The function.
        context: The context of its calls.

    Attributes:
        given: The rows that the function has given.
        left: The keys that the function has left by itself; emptied where that is seen.
        fired: The number of timers that have fired.
    """

    def __init__(self, function: KeyedFunction, context: KeyedContext) -> None:
        self.given: list[Any] = []
        self.left: list[bytes | None] = []
        self.fired = 0
        self._function = function
        self._context = context
        # Each kind has ``process_element``, with a context of its own.
        of_one: Any = function
        is_of_two = isinstance(function, KeyedCoProcessFunction)
        self._process: Process = _of_two(of_one) if is_of_two else of_one.process_element

    def process(self, rows: Iterator[tuple[int | None, Any]]) -> bool:
        """Calls the function for rows, until it has left the key.

        Args:
            rows: The rows, each behind its timestamp. A row of two inputs comes with the number of its
                own.

        Returns:
            Whether the function has left the key, which may have more rows.
        """
        process, context = self._process, self._context
        give, left = self.given.extend, self.left
        for context.timestamp, row in rows:
            outputs = process(row, context)
            if outputs is not None:
                give(outputs)
            if left:
                return True
        return False

    def fire(self, due: Iterable[tuple[str, int]]) -> None:
        """Fires timers of the current key."""
        function, context = self._function, self._context
        if not isinstance(function, _WITH_TIMERS):
            return
        for context.time_domain, context.timestamp in due:
            self.fired += 1
            outputs = function.on_timer(context.timestamp, context)  # type: ignore[arg-type]
            if outputs is not None:
                self.given.extend(outputs)
        context.time_domain = None


def _of_two(function: KeyedCoProcessFunction) -> Process:
    """The call for a row of either input, which comes behind the number of its input."""
    calls = function.process_element1, function.process_element2

    def process(row: tuple[int, Any], context: KeyedContext) -> Iterable[Any] | None:
        number, value = row
        return calls[number](value, context)

    return process
