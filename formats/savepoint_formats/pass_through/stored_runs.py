"""Existing keyed state becomes runs of a new savepoint, without its values being decoded.

A canonical file has a section per key group, which is nothing but runs, in any order: u16 state
id, then entries (i32 size and bytes of the key, i32 size and bytes of the value), of which the
last has 80 in its key's first byte. Runs of any origin may follow each other in a section.

| source          | max parallelism stays            | it changes                            |
|-----------------|----------------------------------|---------------------------------------|
| canonical file  | runs as they lie, with other ids | keys are decoded, and entries sorted  |
| RocksDB         | entries as they lie              | the same                              |
| heap file       | entries put together of bytes    | the same                              |
| changelog       | entries of its base, with the    | the same                              |
|                 | changes applied byte by byte     |                                       |
| raw timers      | timers put together of bytes     | the same                              |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.entries.stored_entries import RunEntries, joined_runs, runs
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.pass_through.new_key_groups import NewKeyGroups
from savepoint_formats.pass_through.stored_canonical import DROPPED, canonical_runs
from savepoint_formats.program.spans import Spans
from savepoint_formats.sources.entry_source import CanonicalSource, EntrySource
from savepoint_formats.sources.keyed_source import keyed_source
from savepoint_formats.sources.raw_keyed_source import RawKeyedSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from savepoint_formats.entries.entry_spans import Part
    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import KeyedStateHandle, KeyGroupsHandle
    from savepoint_formats.pass_through.deleted_keys import DeletedKeys
    from savepoint_formats.pass_through.recoded_entries import RecodedStates
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_piece import StatePiece


@dataclass(frozen=True, slots=True)
class PassThrough:
    """What of existing state goes into a new savepoint.

    Attributes:
        state_ids: Name of a state -> its index in the header of the new file. Timers are states
            too; a state that is not named is left out.
        max_parallelism: That of the operator in the new savepoint.
        deleted: The keys that are left out.
        recoded: The states whose values are written anew for another Flink.
    """

    state_ids: Mapping[str, int]
    max_parallelism: int
    deleted: DeletedKeys | None = None
    recoded: RecodedStates | None = None

    @property
    def keeps_entries(self) -> bool:
        """Whether entries are taken as they lie, all of them."""
        return self.deleted is None and self.recoded is None


def stored_runs(
    directory: SnapshotDirectory,
    handle: KeyedStateHandle,
    key: Layout,
    settings: SourceSettings,
    key_groups: KeyGroupRange,
    target: PassThrough,
    hash_keys: HashKeys | None = None,
) -> Iterator[pa.RecordBatch]:
    """The entries of a handle as runs of the new savepoint.

    Args:
        directory: Where the savepoint is.
        handle: The handle.
        key: The layout of the operator's keys, which a changelog without a base does not tell.
        settings: How it is read.
        key_groups: Key groups of the handle.
        target: What of it goes where.
        hash_keys: Gives the Java hash codes of keys, where max parallelism changes and they
            cannot be computed: of the column ``key`` as tables have it, i32 for each.

    Returns:
        ``key_group`` and ``run``: of a batch, one row per key group and state, or per key group.

    Raises:
        StateFileNotFoundError: A file is gone.
        UnstableHashError: Max parallelism changes, and the hash codes of keys are not known.
        UndecodableError: Entries of a heap file or changelog have no ends that one can tell.
        FormatError: A file is damaged.
    """
    source = keyed_source(directory, handle, key, settings)
    keeps_key_groups = settings.max_parallelism == target.max_parallelism
    if isinstance(source, CanonicalSource) and keeps_key_groups and target.keeps_entries:
        ids = [target.state_ids.get(state.name, DROPPED) for state in source.states]
        yield from canonical_runs(source.entries, np.array(ids, np.int32), key_groups)
    elif isinstance(source, EntrySource) and target.keeps_entries:
        parts = source.blocks(frozenset(target.state_ids), key_groups)
        yield from _runs_of_parts(parts, source.states, settings, target, hash_keys)
    else:
        pieces = source.pieces(frozenset(target.state_ids), key_groups)
        yield from _runs(pieces, settings, target, hash_keys)


def raw_timer_runs(
    directory: SnapshotDirectory,
    handle: KeyGroupsHandle,
    settings: SourceSettings,
    key_groups: KeyGroupRange,
    target: PassThrough,
    hash_keys: HashKeys | None = None,
) -> Iterator[pa.RecordBatch]:
    """The timers of a handle of raw keyed state as runs of the queues that they would be.

    Nothing comes of raw state without timers. Arguments and errors are those of ``stored_runs``.
    """
    source = RawKeyedSource(directory, handle, settings.kryo, settings.max_parallelism)
    pieces = source.pieces(frozenset(target.state_ids), key_groups)
    yield from _runs(pieces, settings, target, hash_keys)


def _runs_of_parts(
    parts: Iterable[Part],
    states: Iterable[State],
    settings: SourceSettings,
    target: PassThrough,
    hash_keys: HashKeys | None,
) -> Iterator[pa.RecordBatch]:
    """The entries of chunks, which are copied but once."""
    prefix = prefix_size(settings.max_parallelism)
    new_prefix = prefix_size(target.max_parallelism)
    new_key_groups = NewKeyGroups(
        settings.max_parallelism, target.max_parallelism, settings.kryo, hash_keys
    )
    wanted = [state for state in states if state.name in target.state_ids]
    for chunk, by_state in parts:
        entries = []
        for state in wanted:
            if state.name not in by_state or not len(by_state[state.name]):
                continue
            arrays = (np.ascontiguousarray(of, np.int64) for of in by_state[state.name].arrays())
            key_starts, key_ends, value_starts, value_ends = arrays
            keys, values = Spans(key_starts, key_ends), Spans(value_starts, value_ends)
            groups = new_key_groups.of_keys(state, chunk, keys, prefix)
            number = target.state_ids[state.name]
            entries.append(RunEntries(number, groups, chunk.data, keys, chunk.data, values, prefix))
        if entries:
            yield joined_runs(entries, new_prefix, target.max_parallelism)


def _runs(
    pieces: Iterator[StatePiece],
    settings: SourceSettings,
    target: PassThrough,
    hash_keys: HashKeys | None,
) -> Iterator[pa.RecordBatch]:
    prefix = prefix_size(target.max_parallelism)
    new_key_groups = NewKeyGroups(
        settings.max_parallelism, target.max_parallelism, settings.kryo, hash_keys
    )
    if target.deleted is not None:
        pieces = target.deleted.without(pieces, settings.kryo)
    for piece in pieces:
        if not len(piece.entries):
            continue
        groups = new_key_groups.of(piece)
        entries = piece.entries if target.recoded is None else target.recoded.entries(piece)
        yield runs(entries, groups, target.state_ids[piece.state.name], prefix)
