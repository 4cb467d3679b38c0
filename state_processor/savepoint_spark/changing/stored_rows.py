"""State of an existing operator on its way into a new savepoint, as bytes.

Each task reads splits of state files, as reads of tables do, and decodes no value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.errors import within
from savepoint_formats.pass_through import EntryChanges, PassThrough, StoredSections, stored_runs
from savepoint_formats.scan import SPLIT_SIZE, check_subtasks, key_group_sizes, ranges_of_handle
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_spark.changing.local_write import LOCAL_RUNS, of_subtask
from savepoint_spark.session.session import is_remote, tasks_at_once
from savepoint_spark.writing.keyed_plan import RunRows
from savepoint_spark.writing.run_encoding import RUNS, run_rows
from savepoint_spark.writing.shuffled_runs import RunSource
from savepoint_spark.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from savepoint_database.snapshot import Operator
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through import EntryChange, KeyChoice
    from savepoint_formats.sources.keyed_source import StoredHandle
    from savepoint_formats.state_files import StateChunk

_SPLITS_OF_TASK = 8
"""Limit of splits per task; its memory does not grow with them."""


@dataclass(frozen=True)
class StoredSplit:
    """A split of a state file."""

    subtask: int
    stored: StoredHandle
    key_groups: KeyGroupRange

    @property
    def size(self) -> int:
        """The approximate bytes of these key groups."""
        handle = self.stored.handle
        sizes = key_group_sizes(handle)[self.key_groups.start - handle.key_groups.start :]
        return int(sizes[: len(self.key_groups)].sum())


@dataclass(frozen=True)
class StoredKeyedRows(RunRows):
    """Keyed states of an operator, unchanged.

    ``hash_code`` gives the user's hash codes if key groups change. ``choices`` select keys. ``recoded``
    has the states whose entries are written anew. Runs of local state have a column ``subtask``.
    """

    spark: SparkSession | None
    operator: Operator
    names: frozenset[str]
    key: Layout
    hash_code: HashKeys | None = None
    choices: tuple[KeyChoice, ...] = ()
    is_local: bool = False
    recoded: EntryChange | None = None

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``; needs the session."""
        assert self.spark is not None  # where jobs run
        reading = self.reading(ids, max_parallelism)
        count = len(reading.splits)
        return RunSource(
            self.spark.range(0, count, 1, _task_count(self.spark, count)),
            reading.run,
            LOCAL_RUNS if self.is_local else RUNS,
            sections=partial(self._sections, ids, reading.target),
            stored_size=None if self.is_local else sum(split.size for split in reading.splits),
        )

    def check(self, max_parallelism: int) -> None:
        """Reads the states as ``runs`` does, without Spark, raises its errors, and writes nothing."""
        ids = {name: number for number, name in enumerate(sorted(self.names))}
        reading = replace(self, is_local=False).reading(ids, max_parallelism)
        for split in reading.splits:
            for _ in reading.runs(split):
                pass

    def splits(self) -> tuple[StoredSplit, ...]:
        """The splits of all state files."""
        return tuple(_splits(self.operator))

    def state_chunks(self, split: StoredSplit) -> Iterator[StateChunk]:
        """The stored entries of the chosen keys in a split."""
        settings = SourceSettings(self.operator.record.max_parallelism, self.operator.kryo)
        source = split.stored.source(self.operator.directory, self.key, settings)
        state_chunks = source.state_chunks(self.names, split.key_groups)
        for choice in self.choices:
            state_chunks = choice.chosen(state_chunks, settings.kryo)
        return state_chunks

    def reading(self, ids: Mapping[str, int], max_parallelism: int) -> _Reading:
        """What tasks need, to read splits as runs."""
        wanted = {name: number for name, number in ids.items() if name in self.names}
        target = PassThrough(wanted, max_parallelism, EntryChanges(self.choices, self.recoded))
        return _Reading(
            self.operator, self.splits(), self.key, target, self.hash_code, self.is_local
        )

    def _sections(self, ids: Mapping[str, int], target: PassThrough) -> StoredSections | None:
        """The stored sections, if the new files can have them unchanged."""
        record = self.operator.record
        keeps_all = target.changes.keeps_entries and target.state_ids == ids and not self.is_local
        if not keeps_all or record.max_parallelism != target.max_parallelism:
            return None
        return StoredSections.of(self.operator.directory, record, sorted(ids, key=ids.__getitem__))


def stored_chunks(operator: Operator, name: str) -> Iterator[StateChunk]:
    """The entries of a keyed state, from the first subtask to the last."""
    settings = SourceSettings(operator.record.max_parallelism, operator.kryo)
    key = StoredTypes.of(operator).key.layout()
    for split in _splits(operator):
        if not split.stored.is_raw:
            source = split.stored.source(operator.directory, key, settings)
            yield from source.state_chunks(frozenset([name]), split.key_groups)


def _task_count(spark: SparkSession, splits: int) -> int:
    """The number of tasks; one may read several splits, because starting a task takes time."""
    if is_remote(spark):
        return max(splits, 1)
    at_once = tasks_at_once(spark)
    rounds = -(-splits // (at_once * _SPLITS_OF_TASK))
    return max(min(splits, at_once * rounds), 1)


def _splits(operator: Operator) -> Iterator[StoredSplit]:
    with within(f"operator {operator.name}"):
        check_subtasks(operator.record, operator.directory.metadata_path)
    for subtask in operator.record.subtasks:
        for stored in keyed_handles(subtask):
            handle = stored.handle
            for key_groups in ranges_of_handle(handle, handle.key_groups, SPLIT_SIZE):
                yield StoredSplit(subtask.index, stored, key_groups)


@dataclass(frozen=True)
class _Reading:
    """The facts that a task needs to read splits."""

    operator: Operator
    splits: tuple[StoredSplit, ...]
    key: Layout
    target: PassThrough
    hash_code: HashKeys | None
    is_local: bool

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The runs of the splits whose numbers are the rows."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                split = self.splits[number]
                for runs in self.runs(split):
                    rows = run_rows(runs.column("key_group"), runs.column("run"))
                    yield of_subtask(rows, split.subtask) if self.is_local else rows

    def runs(self, split: StoredSplit) -> Iterator[pa.RecordBatch]:
        directory, record = self.operator.directory, self.operator.record
        settings = SourceSettings(record.max_parallelism, self.operator.kryo)
        how = (self.key, settings, split.key_groups, self.target, self.hash_code)
        with within(f"operator {self.operator.name}"):
            yield from stored_runs(directory, split.stored, *how)
