"""Keyed states of an operator, as entries or as runs of a new savepoint."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.pass_through.divided_entries import DividedEntries
from savepoint_formats.pass_through.stored_runs import PassThrough, raw_timer_runs, stored_runs
from savepoint_formats.scan.splits import check_subtasks, pieces_of
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_source
from savepoint_formats.sources.raw_keyed_source import RawKeyedSource
from savepoint_formats.tables.catalog import raw_keyed_handle

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    import pyarrow as pa

    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import KeyedStateHandle, KeyGroupsHandle, OperatorState
    from savepoint_formats.state_files.state_piece import StatePiece
    from savepoint_formats.values.kryo.dialect import KryoDialect


@dataclass(frozen=True)
class StoredStates:
    """Keyed state of an operator in any format."""

    directory: SnapshotDirectory
    record: OperatorState
    key: Layout
    kryo: KryoDialect | None = None

    @property
    def settings(self) -> SourceSettings:
        """Settings for reading the files."""
        return SourceSettings(self.record.max_parallelism, self.kryo)

    def stretches(self, size: int, borders: Collection[int] = ()) -> tuple[KeyGroupRange, ...]:
        """Ranges of key groups of about ``size`` bytes, ascending; a large key group is alone.

        A range begins at each of the ``borders``. Raises ``FormatError`` if subtasks have wrong key
        groups.
        """
        check_subtasks(self.record, self.directory.metadata_path)
        ranges = []
        for subtask in self.record.subtasks:
            handle = subtask.managed_keyed_state or raw_keyed_handle(subtask)
            if handle is None:
                continue
            for piece in pieces_of(handle, handle.key_groups, size):
                inner = sorted(border for border in borders if piece.start < border <= piece.end)
                starts = [piece.start, *inner, piece.end + 1]
                ranges += [KeyGroupRange(start, end - 1) for start, end in pairwise(starts)]
        return tuple(sorted(ranges, key=lambda key_groups: key_groups.start))

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """The stored entries of these states, some megabytes at a time."""
        for managed, wanted in self._managed(key_groups):
            source = keyed_source(self.directory, managed, self.key, self.settings)
            yield from source.pieces(names, wanted)
        for raw, wanted in self._raw(key_groups):
            timers = RawKeyedSource(self.directory, raw, self.kryo, self.record.max_parallelism)
            yield from timers.pieces(names, wanted)

    def divided(self, names: frozenset[str], key_groups: KeyGroupRange) -> DividedEntries:
        """The entries of these states, to be divided by keys."""
        return DividedEntries(self.pieces(names, key_groups), self.kryo)

    def runs(self, ids: Mapping[str, int], key_groups: KeyGroupRange) -> Iterator[pa.RecordBatch]:
        """All entries of these states as runs of a new savepoint with the same max parallelism.

        ``ids`` maps names of states to indexes in the new header.
        """
        target = PassThrough(ids, self.record.max_parallelism)
        for managed, wanted in self._managed(key_groups):
            yield from stored_runs(self.directory, managed, self.key, self.settings, wanted, target)
        for raw, wanted in self._raw(key_groups):
            yield from raw_timer_runs(self.directory, raw, self.settings, wanted, target)

    def _managed(
        self, key_groups: KeyGroupRange
    ) -> Iterator[tuple[KeyedStateHandle, KeyGroupRange]]:
        for subtask in self.record.subtasks:
            handle = subtask.managed_keyed_state
            if handle is not None and (wanted := handle.key_groups.intersection(key_groups)):
                yield handle, wanted

    def _raw(self, key_groups: KeyGroupRange) -> Iterator[tuple[KeyGroupsHandle, KeyGroupRange]]:
        for subtask in self.record.subtasks:
            handle = raw_keyed_handle(subtask)
            if handle is not None and (wanted := handle.key_groups.intersection(key_groups)):
                yield handle, wanted
