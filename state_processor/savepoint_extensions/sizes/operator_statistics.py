"""Weighs the state of an operator from its files."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from savepoint_extensions.sizes.contents import ContentsReader
from savepoint_extensions.sizes.keyed_statistics import KeyedCounts, StateCounts
from savepoint_formats.entries import distinct_hashes
from savepoint_formats.errors import within
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.layout import Opaque
from savepoint_formats.program.byte_ranges import bytes_of
from savepoint_formats.scan import TableScan, check_subtasks, operator_splits, ranges_of_handle
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_formats.state_files import BackToBack, State, StateKind, key_layout, stored_elements
from savepoint_formats.values import notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from savepoint_formats.bytes import Chunk
    from savepoint_formats.locations import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.program.byte_ranges import Ranges
    from savepoint_formats.tables import Table
    from savepoint_formats.values import KryoDialect

RANGE_SIZE = 32 << 20
"""Bytes of state that are counted at once; a larger key group is counted alone."""

Part = tuple[int, KeyGroupRange]
"""The number of a subtask in its operator, and some of its key groups."""

_COUNT_SIZE = 4


@dataclass(frozen=True, slots=True)
class WeighedOperator:
    """An operator whose state is weighed; parameters are those of ``KeyedCounts``."""

    directory: SnapshotDirectory
    operator: OperatorState
    kryo: KryoDialect | None
    at: int
    ttl_ms: Mapping[str, int]
    top: int

    def parts(self) -> list[Part]:
        """Work for separate processes: each a subtask and some of its key groups.

        Raises ``FormatError`` if subtasks don't have the key groups that they must have.
        """
        check_subtasks(self.operator, self.directory.metadata_path)
        return [
            (number, key_groups)
            for number, subtask in enumerate(self.operator.subtasks)
            for handle, _ in keyed_handles(subtask)[:1]
            for key_groups in ranges_of_handle(handle, handle.key_groups, RANGE_SIZE)
        ]

    def keyed(self, states: Iterable[State], parts: Iterable[Part] | None = None) -> KeyedCounts:
        """Counts keyed states in these ``parts()``, or in all.

        Raises:
            StateFileNotFoundError: A file is gone.
            UndecodableError: The ends of entries of a heap file or changelog are not known.
            FormatError: A file is damaged.
        """
        states = tuple(state.as_told(self.kryo) for state in states)
        counts = KeyedCounts(
            states,
            self.operator.max_parallelism,
            self.kryo,
            at=self.at,
            ttl_ms=self.ttl_ms,
            top=self.top,
        )
        names, key = frozenset(counts.states), key_layout(states[0])
        settings = SourceSettings(self.operator.max_parallelism, self.kryo)
        wanted = groupby(self.parts() if parts is None else parts, itemgetter(0))
        for number, own in wanted:
            subtask = self.operator.subtasks[number]
            with within(f"subtask {subtask.index}"):
                handles = keyed_handles(subtask)
                sources = [stored.source(self.directory, key, settings) for stored in handles]
                for _, key_groups in own:
                    state_chunks = (source.state_chunks(names, key_groups) for source in sources)
                    counts.add(chain.from_iterable(state_chunks))
        return counts

    def other(self, table: Table) -> StateCounts:
        """Counts the only state of a table without keyed state.

        Raises:
            StateFileNotFoundError: A file is gone.
            FormatError: A file is damaged.
        """
        (state,) = table.states
        counts = StateCounts(state, keys=None, rows=None)
        if state.kind.is_raw:
            self._add_raw(counts, table)
        elif state.kind is StateKind.BROADCAST:
            self._add_broadcast(counts)
        else:
            self._add_lists(counts)
        return counts

    def _add_raw(self, counts: StateCounts, table: Table) -> None:
        scan = TableScan(self.directory, self.operator, table, kryo=self.kryo)
        for batch in scan.batches():
            sizes = np.asarray(pc.binary_length(batch.column("value")), np.int64)
            counts.entries += len(sizes)
            counts.sizes.add(sizes)

    def _add_lists(self, counts: StateCounts) -> None:
        reader = ContentsReader(counts.state, self.kryo, None)
        counts.contents = reader.contents
        hashes = [np.empty((0, 2), np.uint64)]
        for chunk, elements in self._elements(counts.state.name):
            counts.entries += len(elements)
            counts.sizes.add(elements.sizes)
            hashes.append(distinct_hashes(bytes_of(chunk, elements)))
            reader.add(chunk, elements)
        counts.different = len(np.unique(np.concatenate(hashes), axis=0))

    def _add_broadcast(self, counts: StateCounts) -> None:
        """Counts the entries of one subtask, because all have the same; some may lack the state."""
        reader = ContentsReader(counts.state, self.kryo, None)
        counts.contents = reader.contents
        for chunk, maps in self._elements(counts.state.name):
            self._add_map(counts, reader, chunk, maps)
            return

    def _add_map(
        self, counts: StateCounts, reader: ContentsReader, chunk: Chunk, maps: Ranges
    ) -> None:
        state, start = counts.state, int(maps.starts[0])
        count = chunk.view(start, int(maps.ends[0])).read_int()
        counts.entries = counts.keys = count
        parts = (state.key or Opaque("", "no key"), state.stored)
        if any(True for part in parts for _ in notes(part)):
            counts.sizes.add(maps.sizes)
            return
        keys, values = BackToBack(parts, self.kryo).ranges(chunk, start + _COUNT_SIZE, count)[0]
        counts.sizes.add(keys.sizes + values.sizes)
        reader.add(chunk, values)

    def _elements(self, state: str) -> Iterator[tuple[Chunk, Ranges]]:
        """The elements of an operator state, subtask by subtask."""
        for split in operator_splits(self.operator):
            with within(f"state {state!r}", f"subtask {split.subtask}"):
                yield from stored_elements(self.directory, split.handle, state)
