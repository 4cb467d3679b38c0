"""Work on some items, shared by tasks of Spark."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

import pyarrow as pa

from savepoint_database.types.user_frames import user_frames_first
from savepoint_spark.session.task_errors import typed_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Item = TypeVar("Item")
Result = TypeVar("Result")


def rows_of_tasks(
    spark: SparkSession,
    work: Callable[[Item], Iterable[pa.RecordBatch]],
    items: Sequence[Item],
    columns: StructType | str,
) -> DataFrame:
    """The rows of the work on each item, in a task of its own; lazy, like any DataFrame."""
    count = len(items)
    numbers = spark.range(0, count, 1, max(count, 1))
    return numbers.mapInArrow(TaskWork(work, items).run, columns)


def done_by_tasks(
    spark: SparkSession, work: Callable[[Item], Result], items: Sequence[Item]
) -> list[Result]:
    """The results of the work on each item, in order; meant for a few small objects."""
    if not items:
        return []
    pickled = partial(_pickled, work)
    with typed_errors():
        rows = rows_of_tasks(
            spark, pickled, list(enumerate(items)), "number BIGINT, result BINARY"
        ).toArrow()
    results = dict(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    # Safe to unpickle, because our own tasks have made them.
    return [pickle.loads(results[number]) for number in range(len(items))]


def run_through(rows: DataFrame) -> None:
    """Makes all rows and drops them, so that tasks raise their errors.

    Raises:
        SavepointError: The error of a task.
        PySparkException: Spark itself can't do it, such as dividing by zero.
    """
    with typed_errors():
        rows.write.format("noop").mode("overwrite").save()


def _pickled(
    work: Callable[[Item], Result], numbered: tuple[int, Item]
) -> Iterator[pa.RecordBatch]:
    number, item = numbered
    columns = [pa.array([number]), pa.array([pickle.dumps(work(item))], pa.binary())]
    yield pa.RecordBatch.from_arrays(columns, ["number", "result"])


@dataclass(frozen=True, slots=True)
class TaskWork(Generic[Item]):
    """The work and all items; the rows of a task are the numbers of its own items."""

    work: Callable[[Item], Iterable[pa.RecordBatch]]
    items: Sequence[Item]

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.work(self.items[number])
