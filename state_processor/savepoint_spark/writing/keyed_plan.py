"""The keyed state of an operator that will be written: rows become runs, and runs become files.

Rows are sent to the subtask of their key group, and sorted by key group. A task writes all runs of
a key group after each other into a canonical file. It holds one run at a time and, if no key may
occur twice, the hashes of a key group's keys.
"""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from savepoint_formats.errors import DuplicateKeyError
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.metadata import KeyGroupRangeOffsets, RelativeFile
from savepoint_formats.pass_through import PlacedRuns
from savepoint_formats.state_files import CanonicalFile, KeyedBackendHeader, expect_synchronous
from savepoint_spark.session.tasks import run_through, typed_errors
from savepoint_spark.writing.routed_rows import routed
from savepoint_spark.writing.run_encoding import HASH_SIZE
from savepoint_spark.writing.shuffled_runs import FILE, ShuffledRuns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Self

    from numpy.typing import NDArray
    from pyspark.sql import Column, Row

    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.new_snapshot import NewSnapshot
    from savepoint_formats.pass_through import StoredSections
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import Run, StateMetaInfo
    from savepoint_spark.writing.shuffled_runs import RunRow, RunSource
    from savepoint_spark.writing.write_context import WriteContext

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

_BYTES_PER_BATCH = "spark.sql.execution.arrow.maxBytesPerBatch"
_NO_LIMIT = 2**31 - 1

# Spark 3.5 only limits rows; a run has a task's bytes of a key group.
_ROWS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
_FEW_ROWS = "8"

_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class KeyedFiles:
    """Writes the keyed state of an operator as files, one per subtask."""

    target: NewSnapshot
    header: KeyedBackendHeader
    max_parallelism: int
    parallelism: int

    order: ClassVar[tuple[str, ...]] = ("key_group",)

    def write(self, runs: DataFrame) -> dict[int, KeyGroupsHandle]:
        """Runs the job that writes the files; ``runs`` have the form of ``shuffled_runs``.

        Returns handles by subtask; subtasks without state have none. ``DuplicateKeyError`` says that a key has two rows.
        """
        by_owner = routed(runs, self.parallelism, self.owner())
        files = by_owner.sortWithinPartitions(*self.order).mapInArrow(self._task, WRITTEN)
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
        with ShuffledRuns(self.target) as runs:
            written = self._written(subtask, runs.rows(batches))
        # The first file lists the states, even if no key has any. Other empty files are not
        # referred to, so the commit of the savepoint deletes them.
        if subtask and not any(written["offsets"]):
            return
        yield pa.RecordBatch.from_pylist([written], WRITTEN_SCHEMA)

    def _written(self, subtask: int, rows: Iterable[RunRow]) -> dict[str, Any]:
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


def in_arrow_batches_of(size: int, data: DataFrame) -> DataFrame:
    """The rows, in batches of at most ``size`` bytes unless a single row has more; 8 rows in Spark 3.5.

    The session keeps its own setting. Spark Connect can't copy a session, so there the session's
    setting is used.
    """
    if not hasattr(data, "_jdf"):
        return data
    # Spark reads settings when stages begin, and other queries of the session may run then. Spark
    # itself copies a session for each of its streams in this way.
    spark = data.sparkSession
    copy = type(spark)(spark.sparkContext, spark._jsparkSession.cloneSession())
    classes: Any = spark._jvm
    if spark.version.startswith("3."):
        copy.conf.set(_ROWS_PER_BATCH, _FEW_ROWS)
        datasets = classes.org.apache.spark.sql.Dataset
    else:
        copy.conf.set(_BYTES_PER_BATCH, str(min(size, _NO_LIMIT)))
        datasets = getattr(classes, "org.apache.spark.sql.classic.Dataset")
    plan = data._jdf.queryExecution().analyzed()
    return DataFrame(datasets.ofRows(copy._jsparkSession, plan), copy)


class RunRows(Protocol):
    """Anything that becomes runs: rows of a DataFrame, or existing state."""

    @abstractmethod
    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """The runs; ``ids`` has the indices of states in the header. See ``run_encoding``."""

    def duplicates(self, limit: int) -> list[Row]:  # noqa: ARG002  # most have none
        """Some keys, or keys and namespaces, with several rows where one is allowed."""
        return []


@dataclass(frozen=True)
class KeyedPlan:
    """The contents of an operator's files of keyed state.

    ``states`` are in the order of the header. The runs of the first ``numbered`` states have their
    indices already. State V2, which these files can't hold, is a ``ConversionError``.
    """

    key: TypeSerializerSnapshot
    states: tuple[StateMetaInfo, ...]
    rows: tuple[RunRows, ...]
    numbered: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        expect_synchronous(self.states)

    @property
    def header(self) -> KeyedBackendHeader:
        return KeyedBackendHeader(is_compressed=False, key_serializer=self.key, states=self.states)

    def with_rows(self, other: KeyedPlan) -> Self:
        """The plan with the rows of another one, which have the same keys."""
        states, rows = (*self.states, *other.states), (*self.rows, *other.rows)
        return replace(self, states=states, rows=rows)

    def beside(
        self, passing: Iterable[StateMetaInfo], rows: Iterable[RunRows], order: Iterable[str]
    ) -> Self:
        """The plan with ``passing`` states, which are copied.

        All states stay in their old ``order``, the order of columns, and new ones follow. States
        that already have numbers come first.
        """
        places = {name: place for place, name in enumerate(order)}
        others = (*self.states[self.numbered :], *passing)
        in_order = sorted(others, key=lambda info: places.get(info.name, len(places)))
        states = (*self.states[: self.numbered], *in_order)
        return replace(self, states=states, rows=(*rows, *self.rows))

    def files(self, context: WriteContext) -> KeyedFiles:
        return KeyedFiles(context.target, self.header, context.max_parallelism, context.parallelism)

    def check(self, max_parallelism: int) -> None:
        """Makes all runs as ``write`` does, and writes nothing; equal keys are not looked for."""
        for source in self._sources(max_parallelism):
            run_through(source.frame())

    def _sources(self, max_parallelism: int) -> list[RunSource]:
        ids = {state.name: number for number, state in enumerate(self.states)}
        return [rows.runs(ids, max_parallelism) for rows in self.rows]

    def write(self, context: WriteContext) -> dict[int, KeyGroupsHandle]:
        """Runs the job; returns handles by subtask. ``DuplicateKeyError`` names some keys with two rows."""
        sources = self._sources(context.max_parallelism)
        written = self._of_one(sources[0], context) if len(sources) == 1 else None
        if written is not None:
            return written
        try:
            return self._shuffled(sources, context)
        except DuplicateKeyError as error:
            raise self._with_examples(error) from error

    def _of_one(
        self, source: RunSource, context: WriteContext
    ) -> dict[int, KeyGroupsHandle] | None:
        """Writes the state of one savepoint; None if runs must meet in tasks."""
        files = self.files(context)
        sections = source.sections()
        if sections is not None and sections.can_be_copied_to(context.target):
            return files.copied(sections)
        if source.is_assembled_in(context.target):
            return files.assembled(source.placed(context.target))
        return None

    def _shuffled(
        self, sources: list[RunSource], context: WriteContext
    ) -> dict[int, KeyGroupsHandle]:
        runs = [source.handed_over(context.target) for source in sources]
        united = reduce(lambda frame, other: frame.unionAll(other), runs)
        return self.files(context).write(united)

    def _with_examples(self, error: DuplicateKeyError) -> DuplicateKeyError:
        rows_of_keys = [row for rows in self.rows for row in rows.duplicates(_EXAMPLES)]
        examples = "; ".join(
            ", ".join(f"{name} {value!r}" for name, value in row.asDict().items())
            for row in rows_of_keys
        )
        return DuplicateKeyError(
            f"{error}: e.g. {examples}; make one row of them first, or give with_state(…, merge=…)"
        )
