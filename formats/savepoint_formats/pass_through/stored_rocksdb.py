"""The entries in the files of RocksDB as they are stored: canonical files have the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import within
from savepoint_formats.pass_through.stored_state import StatePiece
from savepoint_formats.program.spans import Spans, bytes_of
from savepoint_formats.sources.entry_source import BATCH_SIZE
from savepoint_formats.sources.keyed_batch import key_groups_at
from savepoint_formats.state_files.rocksdb.states import RocksDbState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.entries.entry_chunk import EntryChunk
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import IncrementalHandle
    from savepoint_formats.state_files.state import State


class StoredRocksDb:
    """The files of a handle.

    Args:
        directory: Where the savepoint is.
        handle: The handle.
        states: The states of its header.
        max_parallelism: That of the operator.
    """

    def __init__(
        self,
        directory: SnapshotDirectory,
        handle: IncrementalHandle,
        states: Sequence[State],
        max_parallelism: int,
    ) -> None:
        self._directory = directory
        self._handle = handle
        self._states = states
        self._max_parallelism = max_parallelism

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """The entries of these states.

        Raises:
            StateFileNotFoundError: A file is gone.
            FormatError: A file is damaged.
        """
        there = [state.name for state in self._states]
        with (
            within(f"key groups {key_groups}"),
            RocksDbState(self._directory, self._handle, self._max_parallelism, there) as files,
        ):
            for state in self._states:
                if state.name in names:
                    with within(f"state {state.name!r}"):
                        chunks = files.chunks(state.name, key_groups, chunk_size=BATCH_SIZE)
                        yield from (self._piece(state, one) for one in chunks if len(one))

    def _piece(self, state: State, found: EntryChunk) -> StatePiece:
        chunk = Chunk(found.data, self._directory.uri)
        entries = StoredEntries(
            bytes_of(chunk, Spans(found.key_starts + found.prefix_size, found.key_ends)),
            bytes_of(chunk, Spans(found.value_starts, found.value_ends)),
        )
        groups = key_groups_at(chunk, found.key_starts, found.prefix_size)
        return StatePiece(state, entries, groups.astype(np.uint16))
