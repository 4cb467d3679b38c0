"""Raw timers that lie in the place of another key group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import (
    FormatError,
)
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    CheckpointMetadata,
    KeyGroupsHandle,
    OperatorState,
)
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_formats.scan.scan import TableScan
from savepoint_formats.sources.raw_keyed_source import RawKeyedSource
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.tables.catalog import OperatorCatalog
from savepoint_formats.tables.tables import tables_of

if TYPE_CHECKING:
    from pathlib import Path


class TestPlaces:
    """Timers that lie in the place of another key group: a real file, and handles that mix it up."""

    SAMPLE = "states-2.2.1-rocksdb-heaptimers/chk-2"

    @pytest.fixture
    def stored(self, samples: Path) -> tuple[SnapshotDirectory, OperatorState]:
        directory = SnapshotDirectory.of(str(samples / self.SAMPLE))
        metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata()))
        (found,) = [
            one for one in metadata.operators if any(sub.raw_keyed_state for sub in one.subtasks)
        ]
        return directory, found

    def swapped(self, operator: OperatorState, one: int, other: int) -> OperatorState:
        """The operator whose first handle has the offsets of two key groups swapped."""
        first, *rest = operator.subtasks
        handle = first.raw_keyed_state
        assert isinstance(handle, KeyGroupsHandle)
        offsets = list(handle.groups.offsets)
        offsets[one], offsets[other] = offsets[other], offsets[one]
        groups = replace(handle.groups, offsets=tuple(offsets))
        damaged = replace(first, raw_keyed_state=replace(handle, groups=groups))
        return replace(operator, subtasks=(damaged, *rest))

    def count(
        self, directory: SnapshotDirectory, operator: OperatorState, *key_groups: int
    ) -> list[int]:
        """The number of timers of each key group."""
        states = OperatorCatalog.of(directory, operator).states
        (table,) = [one for one in tables_of(states) if one.name == "timers"]
        wanted = KeyGroupRange(min(key_groups), max(key_groups)) if key_groups else None
        options = ReadOptions(with_key_group=True, key_groups=wanted)
        scan = TableScan(directory, operator, table, options)
        found = [0] * operator.max_parallelism
        for split in scan.splits():
            for batch in scan.read(split):
                for group in batch.column("key_group").to_pylist():
                    found[group] += 1
        return found

    def pass_through(self, directory: SnapshotDirectory, operator: OperatorState) -> int:
        handle = operator.subtasks[0].raw_keyed_state
        assert isinstance(handle, KeyGroupsHandle)
        states = OperatorCatalog.of(directory, operator).states
        names = frozenset(one.name for one in states if one.kind is StateKind.TIMERS)
        timers = RawKeyedSource(directory, handle, None, operator.max_parallelism)
        return sum(len(one.entries.keys) for one in timers.state_chunks(names, handle.key_groups))

    @pytest.mark.usefixtures("slow")
    def test_swapped_offsets_are_damage(
        self, stored: tuple[SnapshotDirectory, OperatorState]
    ) -> None:
        directory, operator = stored
        counts = self.count(directory, operator)
        assert self.pass_through(directory, operator) == sum(counts[:150])
        full = [group for group in range(150) if counts[group]]
        empty = next(group for group in range(150) if not counts[group])
        for one, other in ((full[0], full[1]), (full[0], empty), (empty, full[-1])):
            damaged = self.swapped(operator, one, other)
            for key_groups in ((), (one,), (other,)):
                if key_groups and not any(counts[one + other - group] for group in key_groups):
                    continue  # the section has no timers, so that nothing of it is shown
                with pytest.raises(FormatError, match="the timers of key group"):
                    self.count(directory, damaged, *key_groups)
            with pytest.raises(FormatError, match="the timers of key group"):
                self.pass_through(directory, damaged)
