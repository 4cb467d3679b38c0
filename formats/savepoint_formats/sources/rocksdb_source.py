"""Keyed state and timers in the files of RocksDB: native savepoints, incremental checkpoints."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import within
from savepoint_formats.sources.entry_source import (
    BATCH_SIZE,
    BLOCK_SIZE,
    EntrySource,
    SourceSettings,
)
from savepoint_formats.sources.state_rows import EntrySpans
from savepoint_formats.state_files.rocksdb.states import RocksDbState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from savepoint_formats.entries.entry_chunk import EntryChunk
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import IncrementalHandle
    from savepoint_formats.sources.entry_source import Part
    from savepoint_formats.state_files.state import State


class RocksDbSource(EntrySource):
    """The files of a handle.

    Args:
        directory: Where the savepoint is.
        handle: The handle.
        states: The states of its header.
        settings: How it is read.
    """

    def __init__(
        self,
        directory: SnapshotDirectory,
        handle: IncrementalHandle,
        states: Sequence[State],
        settings: SourceSettings,
    ) -> None:
        super().__init__(states, settings, directory.uri)
        self._directory = directory
        self._handle = handle

    def parts(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        wanted = [state.name for state in self.states if state.name in names]
        there = [state.name for state in self.states]
        max_parallelism = self.settings.max_parallelism
        with (
            within(f"key groups {key_groups}"),
            RocksDbState(self._directory, self._handle, max_parallelism, there) as files,
        ):
            for part in files.batches(wanted, key_groups, size=BATCH_SIZE):
                size = files.size(wanted, part) if len(part) == 1 else 0
                if self.is_large(size):
                    yield from self._large_parts(files, wanted, part, size)
                else:
                    yield one_chunk(self._chunks(files, wanted, part), self._directory.uri)

    def _chunks(
        self, files: RocksDbState, wanted: list[str], part: KeyGroupRange
    ) -> dict[str, list[EntryChunk]]:
        found: dict[str, list[EntryChunk]] = {}
        for name in wanted:
            with within(f"state {name!r}"):
                found[name] = list(files.chunks(name, part, chunk_size=sys.maxsize))
        return found

    def _large_parts(
        self, files: RocksDbState, wanted: list[str], key_group: KeyGroupRange, size: int
    ) -> Iterator[Part]:
        def blocks() -> Iterator[Part]:
            for name in wanted:
                with within(f"state {name!r}"):
                    for chunk in files.chunks(name, key_group, chunk_size=BLOCK_SIZE):
                        yield one_chunk({name: [chunk]}, self._directory.uri)

        yield from self.portions(frozenset(wanted), size, blocks)


def one_chunk(chunks: dict[str, list[EntryChunk]], path: str) -> Part:
    """Chunks of several states put together, so that their keys can be compared."""
    position = 0
    data: list[np.ndarray] = []
    entries: dict[str, EntrySpans] = {}
    for name, found in chunks.items():
        spans: list[EntrySpans] = []
        for chunk in found:
            spans.append(
                EntrySpans(
                    chunk.key_starts + position,
                    chunk.key_ends + position,
                    chunk.value_starts + position,
                    chunk.value_ends + position,
                )
            )
            data.append(chunk.data)
            position += len(chunk.data)
        if any(map(len, spans)):
            entries[name] = _concatenated(spans)
    whole = np.concatenate(data) if data else np.empty(0, np.uint8)
    return Chunk(whole, path), entries


def _concatenated(spans: Iterable[EntrySpans]) -> EntrySpans:
    parts = list(spans)
    return EntrySpans(
        np.concatenate([part.key_starts for part in parts]),
        np.concatenate([part.key_ends for part in parts]),
        np.concatenate([part.value_starts for part in parts]),
        np.concatenate([part.value_ends for part in parts]),
    )
