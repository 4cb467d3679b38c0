"""A function over keyed rows before it runs: its inputs, its states, and its output as a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from pyspark import cloudpickle

from savepoint_formats.errors import ColumnTypeError
from savepoint_functions.functions.backends.timers import (
    EVENT_TIME,
    MAX_WATERMARK,
    PROCESSING_TIME,
    timer_states,
)
from savepoint_functions.functions.function_task import FunctionTask, registered
from savepoint_functions.functions.initial_state import InitialState, with_marks
from savepoint_functions.functions.outputs import Outputs
from savepoint_functions.functions.result_table import FunctionState, ResultTable, StateEncoding
from savepoint_functions.functions.rows_by_key import RowTypes
from savepoint_functions.functions.sorted_inputs import in_key_groups, in_order, task_borders
from savepoint_spark.reading import row_types
from savepoint_spark.writing import KeyedPlan, RunRows, RunSource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_database.snapshot import Operator
    from savepoint_functions.functions.broadcast_run import HeldBroadcast
    from savepoint_functions.functions.execution_options import ExecutionOptions
    from savepoint_functions.functions.initial_state import InitialTask
    from savepoint_functions.functions.process_functions import KeyedFunction
    from savepoint_functions.functions.sorted_inputs import KeyedInput

MAX_PARALLELISM = 128
"""Default number of key groups."""


@dataclass(frozen=True)
class KeyedFunctionPlan(RunRows):
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

    def max_parallelism(self, given: int | None) -> int:
        """The number of key groups that the user gives, or of the state, or the default."""
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
        is_stored: bool = True,
    ) -> DataFrame:
        """The sorted rows of all inputs in the tasks of their keys.

        If not ``is_stored``, key groups only spread the rows, and may be any numbers.
        """
        frames = [
            rows.rows(number, self.inputs, max_parallelism, wraps=not is_stored)
            for number, rows in enumerate(self.inputs)
        ]
        whole = reduce(lambda rows, other: rows.unionAll(other), frames)
        if initial is not None:
            whole = with_marks(whole, initial)
        return in_order(in_key_groups(whole, max_parallelism), self.inputs)


@dataclass(frozen=True)
class FunctionPlan(KeyedFunctionPlan):
    """A function that is called for each row."""

    task: FunctionTask

    @classmethod
    def of(
        cls,
        inputs: tuple[KeyedInput, ...],
        function: KeyedFunction,
        options: ExecutionOptions,
        *,
        keeps_state: bool,
        initial: Operator | None = None,
        broadcast: HeldBroadcast | None = None,
        out_of_orderness_ms: int = 0,
    ) -> Self:
        """The function, after ``open`` of a copy has registered its states.

        Arguments are those of ``FunctionTask``; ``initial`` is the operator whose state it begins
        with.

        Raises:
            ColumnTypeError: The keys of two inputs are of different types.
            UnstableKeyError: Equal keys may have different bytes.
            ValueError: A column gives the key groups of only one input; or the function has timers
                in namespaces, and its timers fire; or the out-of-orderness is negative.
        """
        if out_of_orderness_ms < 0:
            raise ValueError(f"out_of_orderness_ms={out_of_orderness_ms}, expected 0 or more")
        if not options.sorted_inputs:
            inputs = tuple(replace(keyed_input, is_sorted=False) for keyed_input in inputs)
            function = function._in_stream()
        first = inputs[0].key
        for keyed_input in inputs:
            keyed_input.check()
            if keyed_input.key.snapshot != first.snapshot:
                raise ColumnTypeError(
                    f"keys of {', '.join(keyed_input.key.columns)} are of another type than those of"
                    f" {', '.join(first.columns)}: give both the same key_type"
                )
            if (keyed_input.key.key_groups is None) != (first.key_groups is None):
                raise ValueError("key groups are given for one input only: give them for both")
        layout = first.snapshot.layout()
        rows = RowTypes(
            layout,
            tuple(keyed_input.fields for keyed_input in inputs),
            any(keyed_input.timestamps is not None for keyed_input in inputs),
            first.key_groups is not None or initial is not None,
        )
        copy: KeyedFunction = cloudpickle.loads(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]
        fires_between = (
            not function.fires_by_itself
            and options.fires_between_rows(has_initial=initial is not None)
            and all(keyed_input.timestamps is not None for keyed_input in inputs)
        )
        task = FunctionTask(
            function,
            rows,
            options,
            keeps_state,
            broadcast=broadcast,
            out_of_orderness_ms=out_of_orderness_ms if fires_between else None,
        )
        states = tuple(
            FunctionState.of(descriptor, first.snapshot, namespace)
            for descriptor, namespace in registered(copy, layout)
        )
        made = cls(inputs, states, None, task)
        if initial is not None:
            initial_state = InitialState.of(initial, first.snapshot, states)
            made = replace(made, states=initial_state.states, initial=initial_state)
        if not keeps_state:
            made.expect_no_internal_timers()
        return made

    def reached(self, watermark: int, processing_time: int | None = None) -> dict[str, int]:
        """State of timers -> the time in ms that it has reached."""
        states = timer_states(self.task.function.fired_timers)
        reached = {states[EVENT_TIME]: watermark}
        if processing_time is not None:
            reached[states[PROCESSING_TIME]] = processing_time
        return reached

    def expect_no_internal_timers(self) -> None:
        """Raises ``ValueError`` for timers in namespaces that nothing fires."""
        fired = timer_states(self.task.function.fired_timers).values()
        for state in self.states:
            if state.is_timers and state.namespace is not None and state.new.name not in fired:
                raise ValueError(
                    f"{type(self.task.function).__name__} has timers in namespaces,"
                    f" {state.new.name!r}, which only Flink fires: make state of them with"
                    " transform(…), or use context.timer_service"
                )

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``."""
        table, rows = self.table(Outputs.dropped(), ids, max_parallelism)
        return RunSource(rows, table.run)

    def table(
        self,
        outputs: Outputs,
        ids: Mapping[str, int],
        max_parallelism: int,
        *,
        watermark: int | None = None,
        reached: Mapping[str, int] = MappingProxyType({}),
        kind: Callable[[FunctionTask, StateEncoding, Outputs], ResultTable] = ResultTable,
    ) -> tuple[ResultTable, DataFrame]:
        """The function for tasks, and their rows.

        Args:
            outputs: The outputs to keep.
            ids: State -> its index in the header of the files.
            max_parallelism: The number of key groups.
            watermark: As in ``FunctionTask``.
            reached: State of timers -> the time in ms up to which timers fire, even of keys without
                rows.
            kind: Makes the table.

        Raises:
            RescaleError: The initial state has another number of key groups.
        """
        initial = self.initial_task(max_parallelism, ids, reached)
        task = replace(self.task, initial=initial, watermark=watermark)
        state = StateEncoding.of(task, self.states, self.inputs[0].key, ids, max_parallelism)
        return kind(task, state, outputs), self.routed_rows(initial, max_parallelism)

    def output(self, schema: StructType | str | None) -> DataFrame:
        """The rows that the function gives; ``ValueError`` if the schema is missing, or has no columns."""
        spark_schema, arrow_schema = row_types(schema, self.task.function)
        max_parallelism = self.max_parallelism(None)
        reached = self.reached(MAX_WATERMARK, MAX_WATERMARK)
        task = replace(self.task, initial=self.initial_task(max_parallelism, None, reached))
        is_stored = self.initial is not None
        rows = self.routed_rows(task.initial, max_parallelism, is_stored=is_stored)
        return rows.mapInArrow(partial(task.output_batches, arrow_schema), spark_schema)
