"""Keyed state of an operator, counted by the tasks of Spark: some key groups each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from savepoint_spark.savepoint.spark_tasks import done_by_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from savepoint_formats.state_files.state import State
    from savepoint_formats.statistics.keyed_statistics import KeyedCounts
    from savepoint_formats.statistics.operator_statistics import WeighedOperator


@dataclass(frozen=True, slots=True)
class SparkCounts:
    """Counts in tasks of a session what the keyed state of an operator has."""

    spark: SparkSession

    def __call__(self, weighed: WeighedOperator, states: Sequence[State]) -> KeyedCounts:
        """What these states have, in all key groups.

        Raises:
            SavepointError: As ``WeighedOperator.keyed``.
        """
        states, total = tuple(states), weighed.keyed(states, ())
        parts = [(part,) for part in weighed.parts()]
        for counts in done_by_tasks(self.spark, partial(weighed.keyed, states), parts):
            total.merge(counts)
        return total
