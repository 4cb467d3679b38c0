"""Runs become files: the reduce side of writing keyed state.

Rows are sent to the subtask of their key group, and sorted by key group. A task writes all runs of
a key group after each other into a canonical file. It holds one run at a time and, if no key may
occur twice, the hashes of a key group's keys.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F

from savepoint_formats.errors import DuplicateKeyError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.metadata import KeyGroupRangeOffsets, RelativeFile
from savepoint_formats.pass_through.placed_runs import PlacedRuns
from savepoint_formats.state_files.canonical_file import CanonicalFile
from savepoint_spark.session.tasks import typed_errors
from savepoint_spark.writing.arrow_batches import in_arrow_batches_of
from savepoint_spark.writing.handed_runs import FILE, HandedRuns
from savepoint_spark.writing.run_encoding import HASH_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.new_snapshot.directory import NewSnapshot
    from savepoint_formats.pass_through.copied_sections import StoredSections
    from savepoint_formats.state_files.canonical_file import Run
    from savepoint_formats.state_files.header import KeyedBackendHeader
    from savepoint_spark.writing.handed_runs import RunRow

# A row of runs may have megabytes. By default Spark gathers 64 MB of rows, in memory that grows by
# doubling. Small batches reuse their memory, and are faster as well.
_BATCH_SIZE = 1 << 20

_COPIES_AT_ONCE = 4

WRITTEN = "subtask INT, path STRING, size BIGINT, offsets ARRAY<BIGINT>"
"""The row of a task for a file that it has written."""

WRITTEN_SCHEMA = pa.schema(
    {
        "subtask": pa.int32(),
        "path": pa.string(),
        "size": pa.int64(),
        "offsets": pa.list_(pa.int64()),
    }
)


@dataclass(frozen=True, slots=True)
class KeyedFiles:
    """Writes the keyed state of an operator as files, one per subtask."""

    target: NewSnapshot
    header: KeyedBackendHeader
    max_parallelism: int
    parallelism: int

    order: ClassVar[tuple[str, ...]] = ("key_group",)

    def write(self, runs: DataFrame) -> dict[int, KeyGroupsHandle]:
        """Runs the job that writes the files; ``runs`` have the form of ``handed_runs``.

        Returns:
            Subtask -> handle of its file; subtasks without state have none.

        Raises:
            DuplicateKeyError: A key has two rows.
            SavepointError: A task has raised it.
        """
        routed = runs.repartitionById(self.parallelism, self.owner())
        files = routed.sortWithinPartitions(*self.order).mapInArrow(self._task, WRITTEN)
        with typed_errors():
            written = [row.asDict() for row in in_arrow_batches_of(_BATCH_SIZE, files).collect()]
        # Spark starts no task if it knows that there are no rows.
        if not written:
            written = [self._written(0, ())]
        return {row["subtask"]: self._handle(**row) for row in written}

    def assembled(self, places: DataFrame) -> dict[int, KeyGroupsHandle]:
        """Runs the job that leaves runs in files, and joins these; see ``RunSource.placed``."""
        with typed_errors():
            rows = places.collect()
        return self.copied(PlacedRuns.of((row[FILE], row["places"]) for row in rows))

    def copied(self, sections: StoredSections | PlacedRuns) -> dict[int, KeyGroupsHandle]:
        """Writes the files from contents of other files, without a job of Spark."""
        # The first file lists the states, even if no key has any.
        subtasks = [
            subtask
            for subtask in range(self.parallelism)
            if not subtask or self.key_groups(subtask) in sections
        ]
        with ThreadPoolExecutor(_COPIES_AT_ONCE) as pool:
            return dict(
                zip(subtasks, pool.map(partial(self._copied, sections), subtasks), strict=True)
            )

    def _copied(self, sections: StoredSections | PlacedRuns, subtask: int) -> KeyGroupsHandle:
        name, key_groups = f"keyed-{subtask}", self.key_groups(subtask)
        path, file = sections.write(self.target, name, self.header, key_groups)
        return file.handle(RelativeFile(path, file.size))

    def owner(self) -> Column:
        """The subtask of a row."""
        return owner_of("key_group", self.parallelism, self.max_parallelism)

    def key_groups(self, subtask: int) -> KeyGroupRange:
        return KeyGroupRange.of_subtask(subtask, self.parallelism, self.max_parallelism)

    def sections(self, rows: Iterable[RunRow]) -> Iterator[tuple[int, Iterator[Run]]]:
        """The runs of each key group; they raise ``DuplicateKeyError`` for a key with two rows."""
        for key_group, of_group in groupby(rows, lambda row: row.key_group):
            yield key_group, runs_of(key_group, of_group)

    def _handle(
        self, subtask: int, path: str, size: int, offsets: Iterable[int]
    ) -> KeyGroupsHandle:
        groups = KeyGroupRangeOffsets(self.key_groups(subtask), tuple(offsets))
        return CanonicalFile(groups, size).handle(RelativeFile(path, size))

    def _task(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes the file of a subtask, whose number is that of the partition."""
        context = TaskContext.get()
        assert context is not None  # it runs in a task
        subtask = context.partitionId()
        with HandedRuns(self.target) as runs:
            written = self._written(subtask, runs.rows(batches))
        # The first file lists the states, even if no key has any. Other empty files are not
        # referred to, so the commit of the savepoint deletes them.
        if subtask and not any(written["offsets"]):
            return
        yield pa.RecordBatch.from_pylist([written], WRITTEN_SCHEMA)

    def _written(self, subtask: int, rows: Iterable[RunRow]) -> dict[str, Any]:
        """Writes the file of a subtask; returns a row of ``WRITTEN``."""
        with self.target.create(f"keyed-{subtask}") as file:
            written = CanonicalFile.write(
                file, self.header, self.key_groups(subtask), self.sections(rows)
            )
        return {
            "subtask": subtask,
            "path": file.path,
            "size": file.size,
            "offsets": written.offsets,
        }


def owner_of(number: str, parallelism: int, count: int) -> Column:
    """The subtask of one of ``count`` key groups; ``number`` is an expression."""
    # Flink: KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup.
    return F.expr(f"CAST({number} * {parallelism} DIV {count} AS INT)")


def runs_of(key_group: int, rows: Iterable[RunRow]) -> Iterator[bytes]:
    """The runs of a key group; after the last one, equal keys raise ``DuplicateKeyError``."""
    hashes: list[bytes] = []
    for row in rows:
        if row.keys is not None:
            hashes.append(row.keys)
        if row.run is not None:
            yield row.run
    keys = np.frombuffer(b"".join(hashes), np.uint64).reshape(-1, HASH_SIZE // 8)
    if _has_equal_rows(keys):
        raise DuplicateKeyError(f"a key of key group {key_group} has two rows")


def _has_equal_rows(keys: NDArray[np.uint64]) -> bool:
    # The first halves nearly always differ, so whole rows are hardly ever compared.
    firsts = np.sort(keys[:, 0])
    if not (firsts[1:] == firsts[:-1]).any():
        return False
    return len(np.unique(keys, axis=0)) < len(keys)
