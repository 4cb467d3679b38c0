"""What one run of a function makes, in one table: state, output rows, and side outputs.

All of it has to come from the same run: a function may ask the clock, and rows without timestamps come
in no order, so a second run for the other half might not agree with the first. And a task that is done
again, or twice at once, may give no half of its rows twice. So all of it is kept as one table by
Spark, which takes what one attempt at each task has made, and is read from there.

| column    | type   | meaning                                                    |
|-----------|--------|------------------------------------------------------------|
| key_group | INT    | of a row of state, as ``run_encoding`` has it              |
| run       | BINARY | likewise                                                   |
| keys      | BINARY | likewise                                                   |
| output    | STRUCT | an output row; not there where the function gives none     |
| side_0 …  | STRUCT | a row of the first side output                             |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from savepoint_database.rows.place import Place
from savepoint_database.types.python_values import BATCH_ROWS
from savepoint_database.types.user_frames import user_frames_first
from savepoint_functions.functions.function_task import FunctionRun
from savepoint_functions.functions.outputs import GivenRows, in_column
from savepoint_functions.functions.state_runs import PendingState
from savepoint_spark.writing.handed_runs import RunSource
from savepoint_spark.writing.run_encoding import RUN_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, Row

    from savepoint_functions.functions.backends import KeyedStateBackend
    from savepoint_functions.functions.function_rows import FunctionRows
    from savepoint_functions.functions.function_task import FunctionTask
    from savepoint_functions.functions.initial_state import InitialState
    from savepoint_functions.functions.outputs import Outputs
    from savepoint_functions.functions.state_runs import FunctionState, StateRuns
    from savepoint_functions.functions.stateful_batches import StatefulBatches
    from savepoint_spark.writing.keyed_plan import KeyedPlan


@dataclass(frozen=True)
class RunTable:
    """A function whose state and output rows become one table.

    Attributes:
        task: The function.
        state: How its state becomes runs.
        outputs: What it gives.
        watermark: Its event-time timers up to this one fire at the end of their key, in ms; None if
            all stay timers.
    """

    task: FunctionTask
    state: StateRuns
    outputs: Outputs
    watermark: int | None = None

    @property
    def spark_schema(self) -> StructType:
        """The columns of the table."""
        return spark_schema(self.outputs)

    @property
    def schema(self) -> pa.Schema:
        """The same for Arrow."""
        return table_schema(self.outputs)

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The table of a partition."""
        with self.task.running(self.kind) as run:
            made = _Made(self)
            for _ in run.steps(run.spans(batches)):
                made.take(run)
                yield from made.full(run)
                if run.has_passed:
                    yield from self.of_runs(run.passed())
            yield from made.rest(run)
            yield from self.of_runs(run.passed())
            yield from self.end(run, made.outputs.count)

    @property
    def kind(self) -> Callable[[FunctionTask, KeyedStateBackend], FunctionRun]:
        """How the function is at work."""
        if self.watermark is None:
            return FunctionRun
        return partial(WatermarkRun, watermark=self.watermark)

    def end(self, run: FunctionRun, output_rows: int) -> Iterable[pa.RecordBatch]:  # noqa: ARG002
        """What there is to say of a task that is done: nothing more."""
        return ()

    def of_runs(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of runs."""
        return with_runs(self.schema, batches)


def spark_schema(outputs: Outputs) -> StructType:
    """The columns of a table that has runs and these outputs."""
    of_runs = [
        StructField("key_group", IntegerType()),
        StructField("run", BinaryType()),
        StructField("keys", BinaryType()),
    ]
    return StructType(of_runs + outputs.fields)


def table_schema(outputs: Outputs) -> pa.Schema:
    """The same for Arrow."""
    return pa.schema([*RUN_SCHEMA, *outputs.arrow_fields])


def with_runs(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of a table that have but runs."""
    others = list(schema)[len(RUN_SCHEMA) :]
    for runs in batches:
        nothing = [pa.nulls(runs.num_rows, field.type) for field in others]
        yield pa.RecordBatch.from_arrays([*runs.columns, *nothing], schema=schema)


class WatermarkRun(FunctionRun):
    """A function at work; at the end of a key its timers up to a watermark fire, and others stay.

    Args:
        task: The function.
        backend: Has the state.
        watermark: In ms.
    """

    def __init__(self, task: FunctionTask, backend: KeyedStateBackend, watermark: int) -> None:
        super().__init__(task, backend)
        self.watermark = watermark

    def _end(self) -> None:
        self._calls.fire(self._timers.due_until(self.watermark))
        self._keep()


class _Made:
    """What a function has made that is not yet given on.

    Attributes:
        outputs: The rows that it has given.
    """

    def __init__(self, table: RunTable) -> None:
        self.outputs = GivenRows(table.outputs, table.task.function)
        self._table = table
        self._state = PendingState(table.state)

    def take(self, run: FunctionRun) -> None:
        """Takes what the function has made since the last time."""
        if run.given:
            self.outputs.take(Place(run.backend.current_key), run.given)
        self.outputs.take_sides(run.side_outputs)

    def full(self, run: FunctionRun) -> Iterator[pa.RecordBatch]:
        """Batches of what has come to enough rows."""
        yield from self._output(self.outputs.full())
        if len(run.ended) >= BATCH_ROWS:
            yield from self._table.of_runs(self._state.full(run.ended))

    def rest(self, run: FunctionRun) -> Iterator[pa.RecordBatch]:
        """Batches of all that is left."""
        yield from self._output(self.outputs.rest())
        yield from self._table.of_runs(self._state.rest(run.ended))

    def _output(self, given: Iterable[tuple[str, pa.StructArray]]) -> Iterator[pa.RecordBatch]:
        return (in_column(self._table.schema, column, rows) for column, rows in given)


@dataclass(frozen=True)
class StateInTable:
    """The state in the table of a run, as what makes a savepoint's.

    Attributes:
        rows: What has made it.
        table: The table.
        max_parallelism: The number of key groups that it was made for.
    """

    rows: FunctionRows | StatefulBatches
    table: DataFrame
    max_parallelism: int

    @property
    def states(self) -> tuple[FunctionState, ...]:
        """The states that the function registers, and timers."""
        return self.rows.states

    @property
    def initial(self) -> InitialState | None:
        """The state with which it has begun, if not with nothing."""
        return self.rows.initial

    def plan(self) -> KeyedPlan:
        """What is to be written."""
        plan = self.rows.plan()
        return replace(plan, rows=(self,), numbered=len(plan.states))

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``.

        Raises:
            ValueError: The runs were made for another savepoint.
        """
        if max_parallelism != self.max_parallelism:
            raise ValueError(
                f"the function was run for {self.max_parallelism} key groups, the savepoint has"
                f" {max_parallelism}: run it with max_parallelism={max_parallelism}"
            )
        if dict(ids) | state_ids(self.rows.states) != ids:
            raise ValueError(
                "the state of a run that is over can't come behind other keyed states of an operator:"
                " give it first, or make state alone, with transform(…)"
            )
        of_state = self.table.where(F.col("key_group").isNotNull())
        return RunSource(of_state.select(*RUN_SCHEMA.names), None)

    def duplicates(self, limit: int) -> list[Row]:  # noqa: ARG002  # the protocol's signature
        """None: a function ends each key once."""
        return []


def state_ids(states: Iterable[FunctionState]) -> dict[str, int]:
    """The numbers that states have in the runs of a table: those of a plan of them alone."""
    return {state.new.name: number for number, state in enumerate(states)}
