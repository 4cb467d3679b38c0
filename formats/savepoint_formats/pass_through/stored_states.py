"""Some keyed states of an operator, wherever they lie: as entries, or on their way to a new savepoint."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from savepoint_formats.key_groups.ranges import KeyGroupRange, prefix_size
from savepoint_formats.pass_through.divided_block import DividedBlock
from savepoint_formats.pass_through.divided_entries import DividedEntries
from savepoint_formats.pass_through.stored_runs import PassThrough, raw_timer_runs, stored_runs
from savepoint_formats.scan.splits import pieces_of
from savepoint_formats.scan.subtasks import check_subtasks
from savepoint_formats.sources.entry_source import BATCH_SIZE, CanonicalSource, SourceSettings
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
    """Keyed state of an operator, whichever format it has.

    Attributes:
        directory: Where the savepoint is.
        record: What ``_metadata`` says of the operator.
        key: The layout of its keys.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    directory: SnapshotDirectory
    record: OperatorState
    key: Layout
    kryo: KryoDialect | None = None

    @property
    def settings(self) -> SourceSettings:
        """How its files are read."""
        return SourceSettings(self.record.max_parallelism, self.kryo)

    def stretches(self, size: int, borders: Collection[int] = ()) -> tuple[KeyGroupRange, ...]:
        """Its key groups in stretches, ascending; those of no file are in none.

        Args:
            size: The bytes of a stretch, about, unless a single key group is larger.
            borders: Key groups with which a stretch has to begin.

        Raises:
            FormatError: Subtasks have not the key groups that they must have.
        """
        check_subtasks(self.record, self.directory.metadata_path)
        stretches = []
        for subtask in self.record.subtasks:
            handle = subtask.managed_keyed_state or raw_keyed_handle(subtask)
            if handle is None:
                continue
            for piece in pieces_of(handle, handle.key_groups, size):
                inner = sorted(border for border in borders if piece.start < border <= piece.end)
                starts = [piece.start, *inner, piece.end + 1]
                stretches += [KeyGroupRange(start, end - 1) for start, end in pairwise(starts)]
        return tuple(sorted(stretches, key=lambda stretch: stretch.start))

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """The entries of these states as they are stored, some megabytes at a time.

        Raises:
            StateFileNotFoundError: A file is gone.
            FormatError: A file is damaged.
        """
        for managed, wanted in self._managed(key_groups):
            source = keyed_source(self.directory, managed, self.key, self.settings)
            yield from source.pieces(names, wanted)
        for raw, wanted in self._raw(key_groups):
            timers = RawKeyedSource(self.directory, raw, self.kryo, self.record.max_parallelism)
            yield from timers.pieces(names, wanted)

    def divided(self, names: frozenset[str], key_groups: KeyGroupRange) -> DividedEntries:
        """The entries of these states, to be divided by keys; those of canonical files where they lie.

        Raises:
            SavepointError: As ``pieces`` does.
        """
        pieces: list[Iterator[StatePiece]] = []
        blocks: list[DividedBlock] = []
        for managed, wanted in self._managed(key_groups):
            source = keyed_source(self.directory, managed, self.key, self.settings)
            if isinstance(source, CanonicalSource):
                states = [state if state.name in names else None for state in source.states]
                for block in source.entries.blocks(wanted, BATCH_SIZE):
                    prefix = prefix_size(self.record.max_parallelism)
                    blocks.append(DividedBlock(block, states, prefix, self.kryo))
            else:
                pieces.append(source.pieces(names, wanted))
        for raw, wanted in self._raw(key_groups):
            timers = RawKeyedSource(self.directory, raw, self.kryo, self.record.max_parallelism)
            pieces.append(timers.pieces(names, wanted))
        return DividedEntries(chain.from_iterable(pieces), self.kryo, blocks)

    def runs(self, ids: Mapping[str, int], key_groups: KeyGroupRange) -> Iterator[pa.RecordBatch]:
        """All entries of these states as runs of a new savepoint, which has as many key groups.

        Args:
            ids: Name of a state -> its index in the header of the new file.
            key_groups: The key groups.

        Raises:
            SavepointError: As ``pieces`` does.
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
