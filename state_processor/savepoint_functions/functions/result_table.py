"""All results of a function in one table: state, output rows, and side outputs.

A function is called once for both halves, because a second call might not agree with the first: it
may ask the clock, and rows without timestamps have no order. Spark stores the table, with the
results of one attempt at each task. So a task that is done again, or twice at once, gives no row
twice.

| column    | type   | meaning                                                    |
|-----------|--------|------------------------------------------------------------|
| key_group | INT    | of state, see ``run_encoding``; null for rows              |
| run       | BINARY | likewise                                                   |
| keys      | BINARY | likewise                                                   |
| output    | STRUCT | an output row; missing if the function gives none          |
| side_0 …  | STRUCT | a row of the first side output                             |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from savepoint_database.types.python_values import BATCH_ROWS, Place
from savepoint_database.types.user_frames import user_frames_first
from savepoint_functions.functions.function_task import KeyLoop
from savepoint_functions.functions.outputs import OutputBuffer
from savepoint_functions.functions.state_encoding import StateBuffer
from savepoint_spark.writing.run_encoding import RUN_SCHEMA
from savepoint_spark.writing.shuffled_runs import RunSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, Row

    from savepoint_functions.functions.function_plan import KeyedFunctionPlan
    from savepoint_functions.functions.function_task import FunctionTask
    from savepoint_functions.functions.initial_state import InitialState
    from savepoint_functions.functions.outputs import Outputs
    from savepoint_functions.functions.state_encoding import FunctionState, StateEncoding
    from savepoint_spark.writing.keyed_plan import KeyedPlan


@dataclass(frozen=True)
class ResultTable:
    """A function whose state and output rows become one table."""

    task: FunctionTask
    state: StateEncoding
    outputs: Outputs
    kind: ClassVar[type[KeyLoop]] = KeyLoop

    @property
    def spark_schema(self) -> StructType:
        return spark_schema(self.outputs)

    @property
    def schema(self) -> pa.Schema:
        return table_schema(self.outputs)

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The table of a partition."""
        schema = self.schema
        outputs, state = OutputBuffer(self.outputs, self.task.function), StateBuffer(self.state)
        with self.task.running(self.kind) as loop:
            has_sides = bool(loop.side_outputs.given)
            for _ in loop.steps(loop.by_key(batches)):
                if loop.given or has_sides:
                    outputs.take(Place(loop.backend.current_key), loop.given, loop.side_outputs)
                    yield from outputs.batches(schema)
                if len(loop.ended) >= BATCH_ROWS:
                    state.take(loop.ended)
                    if state.is_full:
                        yield from with_runs(schema, state.runs())
                if loop.has_passed:
                    yield from with_runs(schema, loop.passed())
            yield from outputs.batches(schema, 1)
            state.take(loop.ended)
            yield from with_runs(schema, state.runs())
            yield from with_runs(schema, loop.passed())
            yield from self.end(loop, outputs.count)

    def end(self, loop: KeyLoop, output_rows: int) -> Iterable[pa.RecordBatch]:  # noqa: ARG002
        """More rows at the end of a task; none here."""
        return ()


def spark_schema(outputs: Outputs) -> StructType:
    """The columns of a table that has runs and these outputs."""
    of_runs = [
        StructField("key_group", IntegerType()),
        StructField("run", BinaryType()),
        StructField("keys", BinaryType()),
    ]
    return StructType(of_runs + outputs.fields)


def table_schema(outputs: Outputs) -> pa.Schema:
    """The same columns for Arrow."""
    return pa.schema([*RUN_SCHEMA, *outputs.arrow_fields])


def with_runs(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of a table that have runs and nothing else."""
    others = list(schema)[len(RUN_SCHEMA) :]
    for runs in batches:
        nothing = [pa.nulls(runs.num_rows, field.type) for field in others]
        yield pa.RecordBatch.from_arrays([*runs.columns, *nothing], schema=schema)


@dataclass(frozen=True)
class ResultState:
    """State that a function has left in a table, for so many key groups."""

    rows: KeyedFunctionPlan
    table: DataFrame
    max_parallelism: int

    @property
    def states(self) -> tuple[FunctionState, ...]:
        return self.rows.states

    @property
    def initial(self) -> InitialState | None:
        return self.rows.initial

    def plan(self) -> KeyedPlan:
        plan = self.rows.plan()
        return replace(plan, rows=(self,), numbered=len(plan.states))

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``. Raises ``ValueError`` if the runs were made for another savepoint."""
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
        return []


def state_ids(states: Iterable[FunctionState]) -> dict[str, int]:
    """The indices of states in the runs of a table, which are those of a header of them alone."""
    return {state.new.name: number for number, state in enumerate(states)}
