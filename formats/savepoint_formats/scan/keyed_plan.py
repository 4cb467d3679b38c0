"""Divides keyed state among tasks.

A split has whole key groups, so that rows are complete. A key group that is larger than a split
may be read by several tasks; each gives the rows of its share. Entries are found one behind the
other: each task walks over the entries of all shares, and decodes its own.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from savepoint_formats.errors import SavepointError
from savepoint_formats.key_groups.ranges import PORTION_SIZE, WHOLE, KeyGroupRange, Share
from savepoint_formats.metadata import IncrementalHandle, KeyedHandleType, KeyGroupsHandle
from savepoint_formats.scan.raw_state import RawKeyedSplit
from savepoint_formats.scan.splits import KeyedSplit, even_pieces, key_group_sizes, pieces_of
from savepoint_formats.state_files.rocksdb.states import RocksDbState
from savepoint_formats.tables.catalog import raw_keyed_handle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import KeyedStateHandle, OperatorState
    from savepoint_formats.scan.filter import KeyFilter
    from savepoint_formats.scan.splits import Sizes

MAX_SHARES = 16
"""Of a key group. Each of those who read one walks over entries of the others."""

# Tables of RocksDB are opened to see what key groups have, if they make more splits than this, and
# are of the size at least from which on a key group is divided.
_FEW_SPLITS = 2


@dataclass(frozen=True, slots=True)
class KeyedPlan:
    """Plan of the splits of a table of keyed state.

    Attributes:
        directory: Where the savepoint is.
        operator: Operator of the table.
        states: Names of the table's states.
        key_filter: Wanted keys.
        size: Approximate bytes of a split.
        largest: Bytes of the largest key group that one task reads; None for any.
    """

    directory: SnapshotDirectory
    operator: OperatorState
    states: Sequence[str]
    key_filter: KeyFilter
    size: int
    largest: int | None = None

    def splits(self, *, has_timers: bool) -> Iterator[KeyedSplit | RawKeyedSplit]:
        """Splits, of raw keyed state too if that has timers."""
        for subtask in self.operator.subtasks:
            managed, raw = subtask.managed_keyed_state, raw_keyed_handle(subtask)
            if managed is not None:
                for part, share in self._parts(managed):
                    yield KeyedSplit(subtask.index, managed, part, share)
            if raw is not None and has_timers:
                for wanted in self.key_filter.parts(raw.key_groups):
                    for part in pieces_of(raw, wanted, self.size):
                        yield RawKeyedSplit(subtask.index, raw, part)

    def _parts(self, handle: KeyedStateHandle) -> Iterator[tuple[KeyGroupRange, Share]]:
        parts = list(self.key_filter.parts(handle.key_groups))
        if not parts:
            return
        start = handle.key_groups.start
        sizes, largest = self._sizes(handle)
        for wanted in parts:
            for is_large, run in groupby(
                wanted, lambda group: bool(sizes[group - start] > largest)
            ):
                groups = list(run)
                if is_large:
                    for group in groups:
                        yield from self._shares(group, int(sizes[group - start]))
                else:
                    part = KeyGroupRange(groups[0], groups[-1])
                    for piece in even_pieces(part, sizes[part.start - start :], self.size):
                        yield piece, WHOLE

    def _shares(self, group: int, size: int) -> Iterator[tuple[KeyGroupRange, Share]]:
        count = min(max(1, -(-size // self.size)), MAX_SHARES)
        for index in range(count):
            yield KeyGroupRange(group, group), Share(index, count)

    def _sizes(self, handle: KeyedStateHandle) -> tuple[Sizes, int]:
        """Bytes of each key group of a handle, and those of the largest that is not divided."""
        sizes = key_group_sizes(handle)
        largest = sys.maxsize if self.largest is None else self.largest
        if isinstance(handle, KeyGroupsHandle):
            # Entries of heap files are found only by decoding them.
            is_canonical = handle.type is KeyedHandleType.CANONICAL_SAVEPOINT
            return sizes, largest if is_canonical else sys.maxsize
        few = max(_FEW_SPLITS * self.size, PORTION_SIZE)
        # Rows of a few keys are in one share.
        is_look_up = self.key_filter.keys is not None
        if is_look_up or not isinstance(handle, IncrementalHandle) or sizes.sum() <= few:
            return sizes, sys.maxsize
        try:
            files = RocksDbState(self.directory, handle, self.operator.max_parallelism)
            return files.key_group_sizes(self.states, handle.key_groups), largest
        except SavepointError:
            # Whoever reads the tables says what is wrong with them.
            return sizes, sys.maxsize
