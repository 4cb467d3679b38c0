"""A function over keyed rows before it runs: its inputs, and the states that it registers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from savepoint_functions.functions.initial_state import with_marks
from savepoint_functions.functions.sorted_inputs import routed, task_borders
from savepoint_spark.writing.keyed_plan import KeyedPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, Row

    from savepoint_functions.functions.initial_state import InitialState, InitialTask
    from savepoint_functions.functions.sorted_inputs import KeyedInput
    from savepoint_functions.functions.state_runs import FunctionState
    from savepoint_spark.writing.handed_runs import RunSource

MAX_PARALLELISM = 128
"""Number of key groups that nobody has given."""


@dataclass(frozen=True)
class FunctionPlan:
    """A function over the rows of one or two DataFrames, whose keys have the same type.

    ``states`` are the states that it registers, timers included, and ``initial`` is the state with
    which it begins, if any.
    """

    inputs: tuple[KeyedInput, ...]
    states: tuple[FunctionState, ...]
    initial: InitialState | None

    def plan(self) -> KeyedPlan:
        infos = tuple(state.new.info for state in self.states)
        return KeyedPlan(self.inputs[0].key.snapshot, infos, (self,))

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        raise NotImplementedError

    def duplicates(self, limit: int) -> list[Row]:  # noqa: ARG002  # the protocol's signature
        return []

    def max_parallelism(self, given: int | None) -> int:
        """The number of key groups that the user gives, or that of the state, or the usual one."""
        if given is not None:
            return given
        return MAX_PARALLELISM if self.initial is None else self.initial.max_parallelism

    def initial_task(
        self, max_parallelism: int, ids: Mapping[str, int] | None, reached: Mapping[str, int]
    ) -> InitialTask | None:
        """The initial state for tasks; arguments and errors are those of ``InitialState.task``."""
        if self.initial is None:
            return None
        self.initial.expect(max_parallelism)
        borders = task_borders(self.inputs[0].data.sparkSession, max_parallelism)
        return self.initial.task(borders, ids, reached)

    def routed_rows(
        self,
        initial: InitialTask | None,
        max_parallelism: int,
        *,
        is_sorted: bool = True,
        is_stored: bool = True,
    ) -> DataFrame:
        """The rows of all inputs in the tasks of their keys.

        If not ``is_stored``, key groups only spread the rows, and may be any numbers.
        """
        frames = [
            rows.rows(number, self.inputs, max_parallelism, wraps=not is_stored)
            for number, rows in enumerate(self.inputs)
        ]
        whole = reduce(lambda rows, other: rows.unionAll(other), frames)
        if initial is not None:
            whole = with_marks(whole, initial)
        return routed(whole, max_parallelism, is_sorted=is_sorted)
