"""Rows of subtasks become runs of local state: the map side of writing it.

The runs are those of keyed state with one more column, ``subtask INT``: the subtask whose instance
of the key group they belong to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import SubtaskError
from savepoint_formats.tables.tables import SUBTASK
from savepoint_spark.writing.handed_runs import RunSource
from savepoint_spark.writing.run_encoding import RUN_SCHEMA, RUNS, gathered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import Column, Row

    from savepoint_spark.writing.keyed_rows import KeyedRows
    from savepoint_spark.writing.run_encoding import RunEncoding

LOCAL_RUNS = f"{RUNS}, {SUBTASK} INT"
_SCHEMA = RUN_SCHEMA.append(pa.field(SUBTASK, pa.int32()))


def of_subtask(runs: pa.RecordBatch, subtask: int) -> pa.RecordBatch:
    """The runs with a column for their subtask."""
    subtasks = pa.repeat(pa.scalar(subtask, pa.int32()), len(runs))
    return pa.RecordBatch.from_arrays([*runs.columns, subtasks], schema=_SCHEMA)


def _local_runs(
    encoding: RunEncoding, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The runs of the rows of a partition, in a task; ``SubtaskError`` for one without subtask."""
    encoders = encoding.encoders()
    for batch in gathered(batches):
        for subtask, rows in _by_subtask(batch):
            for runs in encoding.encoded(rows, encoders):
                yield of_subtask(runs, subtask)


def _by_subtask(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each subtask; a partition usually has only one."""
    column = batch.column(SUBTASK)
    if column.null_count:
        raise SubtaskError(f"{column.null_count} rows of {len(column)} have no subtask")
    subtasks = pc.unique(column).to_pylist()
    for subtask in subtasks:
        is_whole = len(subtasks) == 1
        yield subtask, batch if is_whole else batch.filter(pc.equal(column, subtask))


@dataclass(frozen=True)
class LocalStateRows:
    """Rows of a DataFrame that become local state of the subtasks in a column."""

    rows: KeyedRows
    subtask: Column

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        columns, encoding = self.rows.encoded_columns(ids, max_parallelism)
        columns[SUBTASK] = self.subtask
        selected = self.rows.data.select(*(column.alias(name) for name, column in columns.items()))
        return RunSource(selected, partial(_local_runs, encoding), LOCAL_RUNS)

    def duplicates(self, limit: int) -> list[Row]:
        return self.rows.repeated({SUBTASK: self.subtask}, limit)
