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
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from state_processor.functions.function_task import FunctionRun
from state_processor.functions.side_outputs import side_outputs
from state_processor.reading.per_key import Place, row_types
from state_processor.types.python_values import BATCH_ROWS, OutputRows
from state_processor.types.user_frames import user_frames_first
from state_processor.writing.handed_runs import RunSource
from state_processor.writing.run_encoding import BATCH_SIZE, RUN_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, Row

    from state_processor.functions.backends import KeyedStateBackend
    from state_processor.functions.function_rows import FunctionRows
    from state_processor.functions.function_task import FunctionTask
    from state_processor.functions.initial_state import InitialState
    from state_processor.functions.side_outputs import OutputTag
    from state_processor.functions.state_runs import FunctionState, StateRows, StateRuns
    from state_processor.writing.keyed_plan import KeyedPlan

    Given = list[tuple[Place, Any]]

OUTPUT = "output"


@dataclass(frozen=True)
class Outputs:
    """The outputs of a function.

    Attributes:
        columns: The columns of the table that have their rows, in order.
        schemas: The columns of the rows of each, as a table has them: a row of something else is
            null there, whatever a schema says.
        strict: The same as the function must give them.
        tags: The side outputs, whose columns are the last ones.
    """

    columns: tuple[str, ...]
    schemas: tuple[StructType, ...]
    strict: tuple[pa.Schema, ...]
    tags: tuple[OutputTag, ...]

    @classmethod
    def of(cls, schema: StructType | str | None, function: object) -> Self:
        """Those of a function.

        Args:
            schema: The columns of its output rows; None if it gives none.
            function: The function.

        Raises:
            ValueError: A schema has no columns, or two side outputs have one name.
        """
        tags = side_outputs(function)
        by_column: dict[str, StructType | str] = {} if schema is None else {OUTPUT: schema}
        by_column |= {f"side_{number}": tag.schema for number, tag in enumerate(tags)}
        types = [row_types(columns, function) for columns in by_column.values()]
        schemas = tuple(
            StructType([StructField(field.name, field.dataType) for field in columns])
            for columns, _ in types
        )
        return cls(tuple(by_column), schemas, tuple(strict for _, strict in types), tags)

    def column(self, tag: OutputTag) -> str:
        """The column of a side output.

        Raises:
            ValueError: The function has no such side output.
        """
        names = [tag.name for tag in self.tags]
        if tag.name not in names:
            raise ValueError(
                f"there is no side output {tag.name!r}; the function has: {', '.join(names) or 'none'}"
            )
        return f"side_{names.index(tag.name)}"

    @property
    def fields(self) -> list[StructField]:
        """The columns as Spark has them."""
        return list(map(StructField, self.columns, self.schemas))

    @property
    def arrow_fields(self) -> list[pa.Field]:
        """The columns as Arrow has them."""
        return [
            pa.field(column, pa.struct([field.with_nullable(True) for field in schema]))
            for column, schema in zip(self.columns, self.strict, strict=True)
        ]


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
        of_runs = [
            StructField("key_group", IntegerType()),
            StructField("run", BinaryType()),
            StructField("keys", BinaryType()),
        ]
        return StructType(of_runs + self.outputs.fields)

    @property
    def schema(self) -> pa.Schema:
        """The same for Arrow."""
        return pa.schema([*RUN_SCHEMA, *self.outputs.arrow_fields])

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The table of a partition."""
        with self.task.running(self.kind) as run:
            made = _Made(self)
            for _ in run.steps(run.spans(batches)):
                made.take(run)
                yield from made.full()
                yield from self.of_runs(run.passed())
            yield from made.rest()
            yield from self.of_runs(run.passed())
            yield from self.end(run, made.output_rows)

    @property
    def kind(self) -> Callable[[FunctionTask, KeyedStateBackend], FunctionRun]:
        """How the function is at work."""
        if self.watermark is None:
            return FunctionRun
        return partial(WatermarkRun, watermark=self.watermark)

    def end(self, run: FunctionRun, output_rows: int) -> Iterable[pa.RecordBatch]:  # noqa: ARG002
        """What there is to say of a task that is done: nothing more."""
        return ()

    def of_state(self, columns: Iterable[StateRows]) -> Iterator[pa.RecordBatch]:
        """Rows of state."""
        yield from self.of_runs(self.state.encoded(columns))

    def of_runs(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of runs."""
        others = list(self.schema)[len(RUN_SCHEMA) :]
        for runs in batches:
            nothing = [pa.nulls(runs.num_rows, field.type) for field in others]
            yield pa.RecordBatch.from_arrays([*runs.columns, *nothing], schema=self.schema)

    def of_output(self, column: str, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of an output."""
        fields = self.schema.field(column).type
        return self.batch(column, pa.StructArray.from_arrays(rows.columns, fields=list(fields)))

    def batch(self, name: str, values: pa.Array) -> pa.RecordBatch:
        """Rows that have but this column."""
        columns = [
            values if field.name == name else pa.nulls(len(values), field.type)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


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
        self._fire(self._timers.due_until(self.watermark))
        self._keep()


class _Made:
    """What a function has made that is not yet given on.

    Attributes:
        output_rows: How many output rows there were, those of side outputs not counted.
    """

    def __init__(self, table: RunTable) -> None:
        self.output_rows = 0
        self._table = table
        function = type(table.task.function).__name__
        outputs = table.outputs
        self._outputs = {
            column: OutputRows(strict, function)
            for column, strict in zip(outputs.columns, outputs.strict, strict=True)
        }
        self._given: dict[str, Given] = {column: [] for column in outputs.columns}
        self._sides = [(tag.name, outputs.column(tag)) for tag in outputs.tags]
        self._ended: list[tuple[Place, list[Any]]] = []
        self._columns: list[StateRows] = []

    def take(self, run: FunctionRun) -> None:
        """Takes what the function has made since the last time."""
        if run.given:
            self._take_output(run)
        for name, column in self._sides:
            if run.side_outputs.given[name]:
                self._given[column] += run.side_outputs.given[name]
                run.side_outputs.given[name].clear()
        if run.ended:
            self._ended += run.ended
            run.ended.clear()

    def _take_output(self, run: FunctionRun) -> None:
        place = Place(run.backend.current_key)
        if OUTPUT not in self._given:
            raise ValueError(
                f"{type(self._table.task.function).__name__} gave a row for {place}, but has no"
                " columns: add schema='key STRING, total BIGINT'"
            )
        self._given[OUTPUT] += [(place, row) for row in run.given]
        self.output_rows += len(run.given)
        run.given.clear()

    def full(self) -> Iterator[pa.RecordBatch]:
        """Batches of what has come to enough rows."""
        for column, rows in self._given.items():
            if len(rows) >= BATCH_ROWS:
                yield from self._output(column)
        if len(self._ended) >= BATCH_ROWS:
            self._encode()
            if sum(rows.batch.nbytes for rows in self._columns) >= BATCH_SIZE:
                yield from self._state()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Batches of all that is left."""
        for column in self._given:
            yield from self._output(column)
        self._encode()
        yield from self._state()

    def _output(self, column: str) -> Iterator[pa.RecordBatch]:
        rows = self._given[column]
        for batch in self._outputs[column].batches(rows):
            yield self._table.of_output(column, batch)
        rows.clear()

    def _encode(self) -> None:
        ended, self._ended = self._ended, []
        self._columns += self._table.state.columns(ended)

    def _state(self) -> Iterator[pa.RecordBatch]:
        columns, self._columns = self._columns, []
        yield from self._table.of_state(columns)


@dataclass(frozen=True)
class StateInTable:
    """The state in the table of a run, as what makes a savepoint's.

    Attributes:
        rows: What has made it.
        table: The table.
        max_parallelism: The number of key groups that it was made for.
    """

    rows: FunctionRows
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
        return replace(self.rows.plan(), rows=(self,))

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
