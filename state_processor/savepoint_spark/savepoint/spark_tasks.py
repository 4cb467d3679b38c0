"""Work that tasks of Spark share, and that is told as objects: a few of them, small."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import pyarrow as pa

from savepoint_spark.columns.spark_types import spark_schema
from savepoint_spark.session.task_errors import typed_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

Given = TypeVar("Given")
Told = TypeVar("Told")

_TOLD = pa.schema({"number": pa.int64(), "told": pa.binary()})


def done_by_tasks(
    spark: SparkSession, work: Callable[[Given], Told], given: Sequence[Given]
) -> list[Told]:
    """What the work tells of each of these, in their order; each has a task of its own.

    Raises:
        SavepointError: As the work has raised it.
    """
    if not given:
        return []
    numbers = spark.range(0, len(given), 1, len(given))
    with typed_errors():
        rows = numbers.mapInArrow(_Task(work, given).run, spark_schema(_TOLD)).toArrow()
    told = dict(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    # Our own tasks have made them.
    return [pickle.loads(told[number]) for number in range(len(given))]


@dataclass(frozen=True, slots=True)
class _Task(Generic[Given, Told]):
    """What is to be done, for all tasks; the rows of a task say of which."""

    work: Callable[[Given], Told]
    given: Sequence[Given]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                told = pickle.dumps(self.work(self.given[number]))
                yield pa.RecordBatch.from_pylist([{"number": number, "told": told}], _TOLD)
