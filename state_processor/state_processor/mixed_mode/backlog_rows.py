"""What one run of a function over a backlog makes, in one table: state, output rows, and counts.

Both have to come from the same run: a function may ask the clock, and rows without timestamps come in
no order, so a second run for the other half might not agree with the first. And a task that is done
again, or twice at once, may give no half of its rows twice. So all of it is written as one table by
Spark, whose committer takes the files of one attempt at each task, and is read from there.

| column    | type   | meaning                                                    |
|-----------|--------|------------------------------------------------------------|
| key_group | INT    | of a row of state, as ``run_encoding`` has it              |
| run       | BINARY | likewise                                                   |
| keys      | BINARY | likewise                                                   |
| output    | STRUCT | an output row                                              |
| counts    | STRUCT | what a task has done: one row each, see ``BacklogCounts``  |
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from state_processor.mixed_mode.backlog_run import BacklogRun
from state_processor.reading.per_key import Place
from state_processor.types.python_values import BATCH_ROWS, OutputRows
from state_processor.writing.run_encoding import BATCH_SIZE, RUN_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from state_processor.functions.function_task import FunctionTask
    from state_processor.functions.state_runs import StateRows, StateRuns
    from state_processor.mixed_mode.backlog_progress import BacklogTally

OUTPUT, COUNTS = "output", "counts"


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """What a task has done.

    Attributes:
        rows: How many rows the function was given.
        keys: How many keys it had.
        output_rows: How many rows it gave.
        state_reads: How often the state of a key was read; None if that is not known.
        state_writes: How often it was written; likewise.
        watermark: The greatest watermark of the backlog, in ms, which all tasks share.
    """

    rows: int
    keys: int
    output_rows: int
    state_reads: int | None
    state_writes: int | None
    watermark: int

    @classmethod
    def of(cls, run: BacklogRun, output_rows: int) -> Self:
        """Those of a task that is done."""
        return cls(run.rows, run.keys, output_rows, *run.state_accesses, run.watermark)


COUNT_NAMES = tuple(field.name for field in fields(TaskCounts))
_COUNT_TYPE = pa.struct([(name, pa.int64()) for name in COUNT_NAMES])


def table_schema(output: StructType) -> StructType:
    """The columns of the table. A row that is no output row is null there, whatever the schema is."""
    nullable = [StructField(field.name, field.dataType) for field in output]
    return StructType(
        [
            StructField("key_group", IntegerType()),
            StructField("run", BinaryType()),
            StructField("keys", BinaryType()),
            StructField(OUTPUT, StructType(nullable)),
            StructField(
                COUNTS, StructType([StructField(name, LongType()) for name in COUNT_NAMES])
            ),
        ]
    )


@dataclass(frozen=True)
class BacklogRows:
    """A function whose state and output rows become one table.

    Attributes:
        task: The function.
        state: How its state becomes runs.
        output: The schema of its output rows.
        watermark: The greatest watermark of the backlog, in ms.
        tally: Where tasks count what they have done, for whoever watches.
    """

    task: FunctionTask
    state: StateRuns
    output: pa.Schema
    watermark: int
    tally: BacklogTally

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The table of a partition."""
        with self.task.running(partial(BacklogRun, watermark=self.watermark)) as run:
            made = _Made(self)
            for _ in run.steps(self.task.rows.spans(batches)):
                made.take(run)
                yield from made.full()
            yield from made.rest()
            self.tally.add(run.rows, run.keys)
            yield self._batch(COUNTS, _row(TaskCounts.of(run, made.output_rows)))

    def of_state(self, columns: Iterable[StateRows]) -> Iterator[pa.RecordBatch]:
        """Rows of state."""
        for runs in self.state.encoded(columns):
            nothing = [pa.nulls(runs.num_rows, kind) for kind in (self._output_type, _COUNT_TYPE)]
            yield pa.RecordBatch.from_arrays([*runs.columns, *nothing], schema=self._schema)

    def of_output(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Output rows."""
        output = pa.StructArray.from_arrays(rows.columns, fields=list(self._output_type))
        return self._batch(OUTPUT, output)

    @property
    def _output_type(self) -> pa.StructType:
        return pa.struct([field.with_nullable(True) for field in self.output])

    @property
    def _schema(self) -> pa.Schema:
        return pa.schema(
            [*RUN_SCHEMA, pa.field(OUTPUT, self._output_type), pa.field(COUNTS, _COUNT_TYPE)]
        )

    def _batch(self, name: str, values: pa.Array) -> pa.RecordBatch:
        """Rows that have but this column."""
        columns = [
            values if field.name == name else pa.nulls(len(values), field.type)
            for field in self._schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _row(counts: TaskCounts) -> pa.StructArray:
    return pa.array([{name: getattr(counts, name) for name in COUNT_NAMES}], _COUNT_TYPE)


class _Made:
    """What a function has made that is not yet given on.

    Attributes:
        output_rows: How many output rows there were.
    """

    def __init__(self, rows: BacklogRows) -> None:
        self.output_rows = 0
        self._rows = rows
        self._outputs = OutputRows(rows.output, type(rows.task.function).__name__)
        self._given: list[tuple[Place, Any]] = []
        self._ended: list[tuple[Place, list[Any]]] = []
        self._columns: list[StateRows] = []

    def take(self, run: BacklogRun) -> None:
        """Takes what the function has made since the last time."""
        if run.given:
            place = Place(run.backend.current_key)
            self._given += [(place, row) for row in run.given]
            self.output_rows += len(run.given)
            run.given.clear()
        if run.ended:
            self._ended += run.ended
            run.ended.clear()

    def full(self) -> Iterator[pa.RecordBatch]:
        """Batches of what has come to enough rows."""
        if len(self._given) >= BATCH_ROWS:
            yield from self._output()
        if len(self._ended) >= BATCH_ROWS:
            self._encode()
            if sum(rows.batch.nbytes for rows in self._columns) >= BATCH_SIZE:
                yield from self._state()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Batches of all that is left."""
        yield from self._output()
        self._encode()
        yield from self._state()

    def _output(self) -> Iterator[pa.RecordBatch]:
        given, self._given = self._given, []
        yield from map(self._rows.of_output, self._outputs.batches(given))

    def _encode(self) -> None:
        ended, self._ended = self._ended, []
        self._columns += self._rows.state.columns(ended)

    def _state(self) -> Iterator[pa.RecordBatch]:
        columns, self._columns = self._columns, []
        yield from self._rows.of_state(columns)
