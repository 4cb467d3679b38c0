"""Keyed state and timers in the files of RocksDB: native savepoints, incremental checkpoints."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_spans import EntrySpans
from savepoint_formats.errors import within
from savepoint_formats.key_groups.ranges import WHOLE
from savepoint_formats.sources.entry_source import (
    BATCH_SIZE,
    BLOCK_SIZE,
    EntrySource,
    SourceSettings,
)
from savepoint_formats.state_files.rocksdb.sst_merge import Room
from savepoint_formats.state_files.rocksdb.states import RocksDbState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.entries.entry_spans import Part
    from savepoint_formats.key_groups.ranges import KeyGroupRange, Share
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import IncrementalHandle
    from savepoint_formats.state_files.state import State


_SPARE_ROOM = 1 << 20
"""Blocks hold entries of key groups beside those that are read, too."""


class RocksDbSource(EntrySource):
    """Source of the files of a handle."""

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
        wanted = self._wanted(names)
        with self._opened(key_groups) as files:
            for part in files.batches(wanted, key_groups, size=BATCH_SIZE):
                size = files.size(wanted, part)
                if len(part) == 1 and self.is_large(size):
                    blocks = partial(self._blocks, files, wanted, part, BLOCK_SIZE)
                    yield from self.portions(size, blocks)
                else:
                    room = Room(size + size // 2 + _SPARE_ROOM)
                    whole = self._blocks(files, wanted, part, sys.maxsize, room)
                    yield _one_chunk(list(whole), room, self._directory.uri)

    def blocks(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        with self._opened(key_groups) as files:
            share = self.settings.share
            yield from self._blocks(
                files, self._wanted(names), key_groups, self.block_size, share=share
            )

    def _wanted(self, names: frozenset[str]) -> list[str]:
        return [state.name for state in self.states if state.name in names]

    @contextmanager
    def _opened(self, key_groups: KeyGroupRange) -> Iterator[RocksDbState]:
        there = [state.name for state in self.states]
        max_parallelism = self.settings.max_parallelism
        with within(f"key groups {key_groups}"):
            yield RocksDbState(
                self._directory, self._handle, max_parallelism, there, self.settings.keys
            )

    def _blocks(
        self,
        files: RocksDbState,
        wanted: list[str],
        key_groups: KeyGroupRange,
        size: int,
        room: Room | None = None,
        share: Share = WHOLE,
    ) -> Iterator[Part]:
        """Entries of one state after the other."""
        for name in wanted:
            with within(f"state {name!r}"):
                chunks = files.chunks(name, key_groups, chunk_size=size, room=room, share=share)
                for data, spans in chunks:
                    yield Chunk(data, self._directory.uri), {name: spans}


def _one_chunk(blocks: Sequence[Part], room: Room, path: str) -> Part:
    """Joins blocks of several states, so that their keys can be compared."""
    positions = [room.position(chunk.data) for chunk, _ in blocks]
    if None in positions:
        borders = np.cumsum([0, *(len(chunk) for chunk, _ in blocks)]).tolist()
        positions, data = borders[:-1], np.empty(borders[-1], np.uint8)
        for (chunk, _), start, end in zip(blocks, positions, borders[1:], strict=True):
            data[start:end] = chunk.data
    else:
        data = room.data[: room.used]
    states: dict[str, list[EntrySpans]] = {}
    for (_, by_state), position in zip(blocks, positions, strict=True):
        for name, spans in by_state.items():
            if len(spans):
                states.setdefault(name, []).append(spans.moved(position) if position else spans)
    return Chunk(data, path), {
        name: parts[0] if len(parts) == 1 else EntrySpans.joined(parts)
        for name, parts in states.items()
    }
