"""Keyed state of an operator, counted by the tasks of Spark: some key groups each."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from state_processor.snapshot.task_errors import typed_errors
from state_processor.types.spark_types import spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from savepoint_formats.state_files.state import State
    from savepoint_formats.statistics.keyed_statistics import KeyedCounts
    from savepoint_formats.statistics.operator_statistics import Part, WeighedOperator

_COUNTS = pa.schema({"counts": pa.binary()})


@dataclass(frozen=True, slots=True)
class SparkCounts:
    """Counts in tasks of a session what the keyed state of an operator has."""

    spark: SparkSession

    def __call__(self, weighed: WeighedOperator, states: Sequence[State]) -> KeyedCounts:
        """What these states have, in all key groups.

        Raises:
            SavepointError: As ``WeighedOperator.keyed``.
        """
        parts = tuple(weighed.parts())
        found = weighed.keyed(states, ())
        if parts:
            task = _Task(weighed, tuple(states), parts)
            numbers = self.spark.range(0, len(parts), 1, len(parts))
            with typed_errors():
                counted = numbers.mapInArrow(task.run, spark_schema(_COUNTS)).toArrow()
            for one in counted.column("counts").to_pylist():
                found.merge(pickle.loads(one))  # our own task has made it
        return found


@dataclass(frozen=True, slots=True)
class _Task:
    """The parts of an operator that are to be counted, by their numbers."""

    weighed: WeighedOperator
    states: tuple[State, ...]
    parts: tuple[Part, ...]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What the parts have whose numbers are the rows."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                counts = self.weighed.keyed(self.states, [self.parts[number]])
                yield pa.RecordBatch.from_pylist([{"counts": pickle.dumps(counts)}], _COUNTS)
