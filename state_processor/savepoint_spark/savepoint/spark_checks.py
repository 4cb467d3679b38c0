"""The contents of a savepoint, looked at by the tasks of Spark: some parts of operators each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from savepoint_database.checks.contents import PART_SIZE, looked_at
from savepoint_spark.savepoint.spark_tasks import done_by_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from savepoint_database.checks.contents import Part
    from savepoint_formats.checks.entry_faults import CheckedEntries


@dataclass(frozen=True, slots=True)
class SparkChecks:
    """Looks at parts of operators in tasks of a session.

    Attributes:
        spark: The session.
        task_size: About how many bytes a task reads.
    """

    spark: SparkSession
    task_size: int = PART_SIZE

    def __call__(self, parts: Iterable[Part]) -> Iterator[CheckedEntries]:
        """What was seen of each part, in their order."""
        shares: list[list[Part]] = []
        size = self.task_size
        for part in parts:
            if size >= self.task_size:
                shares.append([])
                size = 0
            shares[-1].append(part)
            size += part.size
        return chain.from_iterable(done_by_tasks(self.spark, _looked_at, shares))


def _looked_at(parts: Iterable[Part]) -> list[CheckedEntries]:
    return list(looked_at(parts))
