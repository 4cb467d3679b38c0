"""State that DataFrames make, and that later changes of the same write change as bytes.

Rows are encoded as runs for the state as it was when they were given. In the same task, these runs
become entries again, go through the later changes, and become runs of the new savepoint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.bytes import Chunk
from savepoint_formats.entries import (
    StoredEntries,
    key_groups_at,
    runs,
    section_frames,
)
from savepoint_formats.errors import within
from savepoint_formats.key_groups import prefix_size
from savepoint_formats.metadata import DistributionMode
from savepoint_formats.pass_through import NewKeyGroups
from savepoint_formats.state_files import END_OF_SECTION, StateChunk
from savepoint_spark.session.tasks import run_through
from savepoint_spark.writing.keyed_plan import RunRows
from savepoint_spark.writing.operator_plan import ELEMENT_SCHEMA, ELEMENTS
from savepoint_spark.writing.run_encoding import run_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, Row

    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.pass_through import EntryChanges
    from savepoint_formats.state_files import State, Step
    from savepoint_formats.values import KryoDialect
    from savepoint_spark.writing.operator_plan import ElementRows, NewOperatorState
    from savepoint_spark.writing.shuffled_runs import MakeRuns, RunSource

_COUNT_SIZE = 4
"""Bytes in front of the entries of a map."""


@dataclass(frozen=True)
class MadeRows(RunRows):
    """Rows whose entries are changed after they were encoded.

    ``states`` has the states of the operator that the rows were given to, by name; all rows of that
    operator have the same ``numbers`` for them.
    """

    rows: RunRows
    numbers: Mapping[str, int]
    states: Mapping[str, State]
    max_parallelism: int
    kryo: KryoDialect | None
    changes: EntryChanges
    hash_keys: HashKeys | None = None

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``; states without an id are left out."""
        source = self.source()
        entries = self.entries(source.make)
        change = _Change(entries, self.changes, dict(ids), max_parallelism, self.hash_keys)
        return replace(source, make=change.run)

    def source(self) -> RunSource:
        """The runs before they are changed."""
        return self.rows.runs(self.numbers, self.max_parallelism)

    def entries(self, make: MakeRuns | None) -> MadeEntries:
        states = {number: self.states[name] for name, number in self.numbers.items()}
        return MadeEntries(make, states, self.max_parallelism, self.kryo)

    def duplicates(self, limit: int) -> list[Row]:
        return self.rows.duplicates(limit)


def check_made(rows: Iterable[MadeRows], names: Iterable[str], max_parallelism: int) -> None:
    """Makes the runs of some states as a write does, and writes nothing."""
    ids = {name: number for number, name in enumerate(sorted(names))}
    for made in rows:
        run_through(made.runs(ids, max_parallelism).frame())


@dataclass(frozen=True)
class MadeEntries:
    """Reads runs as entries, in a task; ``states`` have the numbers of the runs."""

    make: MakeRuns | None
    states: Mapping[int, State]
    max_parallelism: int
    kryo: KryoDialect | None

    def state_chunks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[StateChunk]:
        """The entries of a partition."""
        for batch in self.batches(batches):
            yield from self.of_batch(batch)

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Runs of a partition, and hashes of keys."""
        yield from batches if self.make is None else self.make(batches)

    def of_batch(self, batch: pa.RecordBatch) -> Iterator[StateChunk]:
        """The entries of some runs."""
        whole = b"".join((*filter(None, batch.column("run").to_pylist()), END_OF_SECTION))
        if len(whole) == len(END_OF_SECTION):
            return
        chunk = Chunk(np.frombuffer(whole, np.uint8), "made state")
        size = prefix_size(self.max_parallelism)
        for number, ranges in section_frames(chunk, 0, len(self.states)).by_state.items():
            groups = key_groups_at(chunk, ranges.key_starts, size).astype(np.uint16)
            yield StateChunk(self.states[number], StoredEntries.of(chunk, ranges, size), groups)


@dataclass(frozen=True)
class _Change:
    """Changes entries, in a task."""

    entries: MadeEntries
    changes: EntryChanges
    ids: Mapping[str, int]
    count: int
    hash_keys: HashKeys | None

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Runs of the new savepoint for a partition."""
        before, kryo = self.entries.max_parallelism, self.entries.kryo
        groups = NewKeyGroups(before, self.count, kryo, self.hash_keys)
        prefix = prefix_size(self.count)
        for batch in self.entries.batches(batches):
            yield from self._hashes(batch, before)
            wanted = (it for it in self.entries.of_batch(batch) if it.state.name in self.ids)
            for chunk in self.changes.changed(wanted, kryo, groups, self.count):
                made = runs(chunk.entries, chunk.key_groups, self.ids[chunk.state.name], prefix)
                yield run_rows(made.column("key_group"), made.column("run"))

    def _hashes(self, batch: pa.RecordBatch, before: int) -> Iterator[pa.RecordBatch]:
        """Hashes of keys; equal ones must meet, in whatever key group."""
        hashes = batch.filter(batch.column("keys").is_valid())
        if hashes.num_rows:
            groups: NDArray[np.int64] = np.asarray(hashes.column("key_group"), np.int64)
            moved = pa.array(groups * self.count // before)
            yield run_rows(moved, hashes=hashes.column("keys"))


@dataclass(frozen=True)
class MadeElements:
    """Elements of operator state that become ``state``, and that ``steps`` write anew."""

    rows: ElementRows
    state: NewOperatorState
    steps: tuple[Step, ...]

    def elements(self, index: int, parallelism: int) -> DataFrame:
        """See ``ElementRows``."""
        made = self.rows.elements(index, parallelism)
        return made.mapInArrow(self._changed, ELEMENTS) if self.steps else made

    def _changed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with within(f"state {self.state.name!r}"):
            for batch in batches:
                keys, elements = batch.column("key"), batch.column("element")
                if self.state.mode is DistributionMode.BROADCAST and not keys.null_count:
                    keys, elements = self._changed_entries(keys, elements)
                else:
                    elements = self._stepped(elements.cast(pa.large_binary()))
                columns = [batch.column("subtask"), batch.column("state"), keys, elements]
                cast = [
                    it.cast(field.type) for it, field in zip(columns, ELEMENT_SCHEMA, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(cast, schema=ELEMENT_SCHEMA)

    def _stepped(self, elements: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
        for step in self.steps:
            elements = step(elements)
        return elements

    def _changed_entries(self, keys: pa.Array, values: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Entries of maps; each goes through the steps as a map of its own."""
        count = (1).to_bytes(_COUNT_SIZE, "big")
        pairs = zip(keys.to_pylist(), values.to_pylist(), strict=True)
        maps = pa.array([count + key + value for key, value in pairs], pa.large_binary())
        entries = [it[_COUNT_SIZE:] for it in self._stepped(maps).to_pylist()]
        return pa.array(entries, pa.binary()), pa.array([b""] * len(entries), pa.binary())
