"""What a run of a function over a backlog makes: the table of ``run_table``, with one more column.

| column    | type   | meaning                                                    |
|-----------|--------|------------------------------------------------------------|
| counts    | STRUCT | what a task has done: one row each, see ``BacklogCounts``  |
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import pyarrow as pa
from pyspark.sql.types import LongType, StructField, StructType

from savepoint_functions.functions.outputs import in_column
from savepoint_functions.functions.run_table import RunTable
from savepoint_functions.mixed_mode.backlog_run import BacklogRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_functions.functions.function_task import FunctionRun
    from savepoint_functions.mixed_mode.backlog_progress import BacklogTally

COUNTS = "counts"


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


@dataclass(frozen=True, kw_only=True)
class BacklogRows(RunTable):
    """A function over a backlog; ``tally`` counts what tasks have done, for whoever watches."""

    kind = BacklogRun
    tally: BacklogTally

    @property
    def spark_schema(self) -> StructType:
        counts = StructType([StructField(name, LongType()) for name in COUNT_NAMES])
        return StructType([*super().spark_schema, StructField(COUNTS, counts)])

    @property
    def schema(self) -> pa.Schema:
        return super().schema.append(pa.field(COUNTS, _COUNT_TYPE))

    def end(self, run: FunctionRun, output_rows: int) -> Iterator[pa.RecordBatch]:
        """The counts of a task that is done."""
        assert isinstance(run, BacklogRun)  # as ``kind`` says
        self.tally.add(run.rows, run.keys)
        counts = TaskCounts.of(run, output_rows)
        row = {name: getattr(counts, name) for name in COUNT_NAMES}
        yield in_column(self.schema, COUNTS, pa.array([row], _COUNT_TYPE))
