"""What a function makes of keyed rows: output rows as a DataFrame, or state as runs for a savepoint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from pyspark import cloudpickle

from savepoint_database.types.python_values import OutputRows
from savepoint_database.types.user_frames import user_frames_first
from savepoint_formats.errors import ColumnTypeError
from savepoint_functions.functions.backends import TimerService
from savepoint_functions.functions.backends.timers import MAX_WATERMARK
from savepoint_functions.functions.function_task import FunctionTask, registered
from savepoint_functions.functions.initial_state import InitialState, with_marks
from savepoint_functions.functions.key_spans import RowTypes
from savepoint_functions.functions.sorted_inputs import KeyedInput, routed, task_borders
from savepoint_functions.functions.state_runs import FunctionState, StateRuns
from savepoint_spark.reading.per_key import row_types
from savepoint_spark.writing.handed_runs import RunSource
from savepoint_spark.writing.keyed_plan import KeyedPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.types import StructType

    from savepoint_database.snapshot.operator import Operator
    from savepoint_functions.functions.broadcast_run import HeldBroadcast
    from savepoint_functions.functions.execution_options import ExecutionOptions
    from savepoint_functions.functions.process_functions import KeyedFunction

END_OF_INPUT = {TimerService.EVENT: MAX_WATERMARK, TimerService.PROCESSING: MAX_WATERMARK}
"""State of timers -> the time in ms that it reaches where there are no more rows."""

MAX_PARALLELISM = 128
"""The number of key groups where nobody has given one."""


@dataclass(frozen=True)
class FunctionRows:
    """A function over the rows of one or two DataFrames.

    Attributes:
        inputs: The rows; keys of all of them have the same type.
        task: The function.
        states: The states that it registers, and timers.
        initial: The state with which it begins, if not with nothing.
    """

    inputs: tuple[KeyedInput, ...]
    task: FunctionTask
    states: tuple[FunctionState, ...]
    initial: InitialState | None = None

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
    ) -> Self:
        """The function, after a copy of it has said which states it registers.

        Args:
            inputs: The rows.
            function: The function.
            options: How it is run.
            keeps_state: As ``FunctionTask`` has it.
            initial: The operator whose state it begins with.
            broadcast: The broadcast states, of rows that were connected with broadcast rows.

        Raises:
            ColumnTypeError: The keys of two inputs are of different types.
            UnstableKeyError: Equal keys may have different bytes.
            ValueError: A column gives the key groups of one input, and none those of the other;
                or the function has timers in namespaces, and its timers fire.
        """
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
        task = FunctionTask(
            function, rows, options.for_function(function), keeps_state, broadcast=broadcast
        )
        states = tuple(
            FunctionState.of(descriptor, first.snapshot, namespace)
            for descriptor, namespace in registered(copy, layout)
        )
        made = cls(inputs, task, states)
        if initial is not None:
            initial_state = InitialState.of(initial, first.snapshot, states)
            made = replace(made, states=initial_state.states, initial=initial_state)
        if not keeps_state:
            made.expect_no_internal_timers()
        return made

    def expect_no_internal_timers(self) -> None:
        """Raises ``ValueError`` if the function has timers in namespaces, which nothing would fire."""
        for state in self.states:
            if state.is_timers and state.namespace is not None:
                raise ValueError(
                    f"{type(self.task.function).__name__} has timers in namespaces,"
                    f" {state.new.name!r}, which only Flink fires: make state of them with"
                    " transform(…), or use context.timer_service"
                )

    def plan(self) -> KeyedPlan:
        """The state that the function leaves, as what is to be written."""
        infos = tuple(state.new.info for state in self.states)
        return KeyedPlan(self.inputs[0].key.snapshot, infos, (self,))

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``."""
        told = self.told(max_parallelism, ids=ids)
        runs = told.state_runs(ids, max_parallelism)
        return RunSource(told.routed_rows(max_parallelism), runs.run)

    def max_parallelism(self, given: int | None) -> int:
        """The number of key groups that the user gives, or that of the state, or the usual one."""
        if given is not None:
            return given
        return MAX_PARALLELISM if self.initial is None else self.initial.max_parallelism

    def told(
        self,
        max_parallelism: int,
        *,
        ids: Mapping[str, int] | None = None,
        reached: Mapping[str, int] = MappingProxyType({}),
    ) -> Self:
        """The same, whose tasks know where the state lies with which they begin.

        Args:
            max_parallelism: The number of key groups.
            ids: State -> its index in the header of the files; None if nothing is written.
            reached: State of timers -> the time in ms with which its timers up to it fire, those of
                keys without rows, too.

        Raises:
            RescaleError: The state has another number of key groups.
        """
        if self.initial is None:
            return self
        self.initial.expect(max_parallelism)
        spark = self.inputs[0].data.sparkSession
        borders = task_borders(spark, max_parallelism)
        task = self.initial.task(borders, ids, reached)
        return replace(self, task=replace(self.task, initial=task))

    def state_runs(self, ids: Mapping[str, int], max_parallelism: int) -> StateRuns:
        """How state becomes runs; arguments are those of ``runs``."""
        key = self.inputs[0].key
        return StateRuns.of(self.task, self.states, key, ids, max_parallelism)

    def duplicates(self, limit: int) -> list[Row]:  # noqa: ARG002  # the protocol's signature
        """None: a function ends each key once."""
        return []

    def output(self, schema: StructType | str | None) -> DataFrame:
        """The rows that the function gives.

        Args:
            schema: Their columns.

        Raises:
            ValueError: There is no schema, or it has no columns.
        """
        spark_schema, arrow_schema = row_types(schema, self.task.function)
        if self.initial is not None:
            told = self.told(self.initial.max_parallelism, reached=END_OF_INPUT)
            routed_rows = told.routed_rows(self.initial.max_parallelism)
        else:
            told, routed_rows = self, self.routed_rows(MAX_PARALLELISM, is_stored=False)
        return routed_rows.mapInArrow(OutputRun(told.task, arrow_schema).run, spark_schema)

    def routed_rows(self, max_parallelism: int, *, is_stored: bool = True) -> DataFrame:
        """The rows of all inputs, as a task takes them.

        Args:
            max_parallelism: The number of key groups.
            is_stored: Whether these are those of a savepoint, and do not only spread the rows.
        """
        frames = [
            rows.rows(number, self.inputs, max_parallelism, wraps=not is_stored)
            for number, rows in enumerate(self.inputs)
        ]
        whole = reduce(lambda rows, other: rows.unionAll(other), frames)
        if self.task.initial is not None:
            whole = with_marks(whole, self.task.initial)
        return routed(whole, max_parallelism, is_sorted=self.task.options.is_sorted)


@dataclass(frozen=True)
class OutputRun:
    """A function whose output rows become batches.

    Attributes:
        task: The function.
        schema: That of the rows.
    """

    task: FunctionTask
    schema: pa.Schema

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The output of a partition."""
        rows = OutputRows(self.schema, type(self.task.function).__name__)
        yield from rows.batches(self.task.outputs(batches))
