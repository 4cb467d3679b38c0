"""Keyed states of an operator, as entries or as runs of a new savepoint.

A section of a canonical file consists of runs in any order and of any origin: u16 state id, then
entries (i32 size and bytes of the key, i32 size and bytes of the value). The last entry has 80 in its
key's first byte.

| source          | max parallelism stays            | it changes                            |
|-----------------|----------------------------------|---------------------------------------|
| canonical file, | entries unchanged                | keys are decoded, and entries sorted  |
| RocksDB         |                                  |                                       |
| heap file       | entries made of the stored bytes | keys are decoded, and entries sorted  |
| changelog       | entries of its base, with the    | keys are decoded, and entries sorted  |
|                 | changes applied byte by byte     |                                       |
| raw timers      | timers made of the stored bytes  | keys are decoded, and entries sorted  |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from savepoint_formats.entries.stored_entries import runs
from savepoint_formats.key_groups import KeyGroupRange, prefix_size
from savepoint_formats.pass_through.changed_entries import EntryChanges
from savepoint_formats.pass_through.divided_entries import DividedEntries
from savepoint_formats.pass_through.new_key_groups import NewKeyGroups
from savepoint_formats.scan.splits import check_subtasks, ranges_of_handle
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_handles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    import pyarrow as pa

    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.sources.keyed_source import StoredHandle
    from savepoint_formats.state_files.state_chunk import StateChunk
    from savepoint_formats.values.kryo.dialect import KryoDialect


@dataclass(frozen=True, slots=True)
class PassThrough:
    """Existing state that goes into a new savepoint.

    ``state_ids`` maps names of states to indexes in the new header. Timers are states, too; states
    that are not in it are left out. ``max_parallelism`` is for the new savepoint.
    """

    state_ids: Mapping[str, int]
    max_parallelism: int
    changes: EntryChanges = field(default_factory=EntryChanges)


def stored_runs(
    directory: SnapshotDirectory,
    stored: StoredHandle,
    key: Layout,
    settings: SourceSettings,
    key_groups: KeyGroupRange,
    target: PassThrough,
    hash_keys: HashKeys | None = None,
) -> Iterator[pa.RecordBatch]:
    """The entries of a handle as batches of runs, with columns ``key_group`` and ``run``.

    ``key`` is the layout of keys, used for a changelog without a base. ``hash_keys`` gives Java's
    hash codes for a column ``key``, needed only if max parallelism changes and they are unknown.

    Raises ``UnstableHashError`` if hash codes are needed and unknown, ``UndecodableError`` if the ends
    of entries of a heap file or changelog are unknown.
    """
    source = stored.source(directory, key, settings)
    stored_chunks = source.state_chunks(frozenset(target.state_ids), key_groups)
    yield from runs_of(stored_chunks, settings, target, hash_keys)


def runs_of(
    state_chunks: Iterable[StateChunk],
    settings: SourceSettings,
    target: PassThrough,
    hash_keys: HashKeys | None,
) -> Iterator[pa.RecordBatch]:
    """The runs of stored entries; see ``stored_runs``."""
    count, kryo = target.max_parallelism, settings.kryo
    prefix = prefix_size(count)
    groups = NewKeyGroups(settings.max_parallelism, count, kryo, hash_keys)
    for chunk in target.changes.changed(state_chunks, kryo, groups, count):
        yield runs(chunk.entries, chunk.key_groups, target.state_ids[chunk.state.name], prefix)


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

    def key_group_ranges(
        self, size: int, borders: Collection[int] = ()
    ) -> tuple[KeyGroupRange, ...]:
        """Ranges of key groups of about ``size`` bytes, ascending; a large key group is alone.

        A range begins at each of the ``borders``. Raises ``FormatError`` if subtasks have wrong key
        groups.
        """
        check_subtasks(self.record, self.directory.metadata_path)
        ranges = []
        for subtask in self.record.subtasks:
            for handle, _ in keyed_handles(subtask)[:1]:
                for whole in ranges_of_handle(handle, handle.key_groups, size):
                    inner = sorted(it for it in borders if whole.start < it <= whole.end)
                    starts = [whole.start, *inner, whole.end + 1]
                    ranges += [KeyGroupRange(start, end - 1) for start, end in pairwise(starts)]
        return tuple(sorted(ranges, key=lambda key_groups: key_groups.start))

    def state_chunks(
        self, names: frozenset[str], key_groups: KeyGroupRange | None = None
    ) -> Iterator[StateChunk]:
        """The stored entries of these states, or of some key groups, some megabytes at a time."""
        for stored, wanted in self._handles(key_groups):
            source = stored.source(self.directory, self.key, self.settings)
            yield from source.state_chunks(names, wanted)

    def divided(self, names: frozenset[str], key_groups: KeyGroupRange) -> DividedEntries:
        """The entries of these states, to be divided by keys."""
        return DividedEntries(self.state_chunks(names, key_groups), self.kryo)

    def runs(self, ids: Mapping[str, int], key_groups: KeyGroupRange) -> Iterator[pa.RecordBatch]:
        """All entries of these states as runs of a new savepoint with the same max parallelism.

        ``ids`` maps names of states to indexes in the new header.
        """
        target = PassThrough(ids, self.record.max_parallelism)
        for stored, wanted in self._handles(key_groups):
            yield from stored_runs(self.directory, stored, self.key, self.settings, wanted, target)

    def _handles(
        self, key_groups: KeyGroupRange | None
    ) -> Iterator[tuple[StoredHandle, KeyGroupRange]]:
        for subtask in self.record.subtasks:
            for stored in keyed_handles(subtask):
                own = stored.handle.key_groups
                if wanted := own if key_groups is None else own.intersection(key_groups):
                    yield stored, wanted
