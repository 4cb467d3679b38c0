"""Keyed state that is stored as entries, in canonical files or in RocksDB."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_ranges import EntryRanges
from savepoint_formats.errors import within
from savepoint_formats.key_groups import CHUNK_SIZE, WHOLE, GroupSplit
from savepoint_formats.sources.large_key_groups import GATHERED_SIZE, chunks_of_key_group
from savepoint_formats.sources.state_rows import EntryDecoders
from savepoint_formats.state_files.rocksdb.sst_merge import Room
from savepoint_formats.state_files.rocksdb.states import RocksDbState
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.state_files.state_chunk import state_chunks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from savepoint_formats.entries.entry_ranges import Part
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import IncrementalHandle
    from savepoint_formats.sources.keyed_batch import KeyedBatch
    from savepoint_formats.state_files.canonical_entries import CanonicalEntries
    from savepoint_formats.state_files.canonical_file import Section
    from savepoint_formats.state_files.state import StateNames
    from savepoint_formats.state_files.state_chunk import StateChunk
    from savepoint_formats.tables.visible import TimerRows
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.undecoded import Hides

_SPARE_ROOM = 1 << 20
"""Bytes for entries of neighbouring key groups, which blocks hold too."""

BATCH_SIZE = 8 << 20
"""Bytes of state in a batch."""

JOINED_SIZE = 4 << 20
"""Bytes of a canonical file in a batch: a core's caches hold its keys until they are joined."""

BLOCK_SIZE = 2 << 20
"""Bytes of a large key group that are read at once."""


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Options of reading keyed state.

    Attributes:
        max_parallelism: The operator's: the key-group prefix depends on it.
        kryo: Knowledge about the Kryo that wrote object graphs.
        chunk_size: Bytes of the largest key group that is decoded at once; None for any.
        hidden: States whose values are not wanted: they are null, and need not be decodable.
        has_open_pojos: Whether undecodable POJOs become their bytes and the reason.
        hides: Contents that may hide among the bytes of an undecodable value.
        shows_undecided: Whether a change whose key has no certain end is a row of its own, with all
            bytes of the change as its key.
        has_divided_rows: Whether entries of a key may come in several batches: each is a row.
        group_split: Split of a key group that several tasks read.
        keys: Key group -> its wanted keys, serialized; None for all. Others may come too:
            only RocksDB finds a key without reading those before it.
        names: Names of fields that no file tells.
    """

    max_parallelism: int
    kryo: KryoDialect | None = None
    chunk_size: int | None = CHUNK_SIZE
    hidden: frozenset[str] = frozenset()
    has_open_pojos: bool = False
    hides: Hides = "nothing"
    shows_undecided: bool = False
    has_divided_rows: bool = False
    group_split: GroupSplit = WHOLE
    keys: Mapping[int, tuple[bytes, ...]] | None = None
    names: StateNames | None = None

    def applied(self, state: State) -> State:
        """A state of a file as it is read."""
        state = state.as_told(self.kryo).with_names(self.names)
        return state.with_open_pojos() if self.has_open_pojos else state


class EntrySource:
    """Entries of a file with these states, decoded or in stored form."""

    def __init__(self, states: Sequence[State], settings: SourceSettings, path: str) -> None:
        self.states = tuple(states)
        self.settings = settings
        self.decoders = EntryDecoders(states, settings)
        self._path = path

    def parts(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        """Entries of these states, chunk by chunk; each chunk has all entries of its keys."""
        raise NotImplementedError

    def blocks(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        """Entries of these states, some megabytes at a time; a key may have entries in several."""
        raise NotImplementedError

    def state_chunks(
        self, names: frozenset[str], key_groups: KeyGroupRange
    ) -> Iterator[StateChunk]:
        """Stored entries of these states, some megabytes at a time."""
        for part in self.blocks(names, key_groups):
            yield from state_chunks_of(part, self.states, self.decoders.prefix_size)

    def batches(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[KeyedBatch]:
        """Decoded entries of these states, batch by batch."""
        read = self.blocks if self.settings.has_divided_rows else self.parts
        # A loop would keep the bytes of its last part while others use the batch.
        return filter(None, map(self._batch, read(names, key_groups)))

    def _batch(self, part: Part) -> KeyedBatch | None:
        rows = self.decoders.rows(part)
        return self.decoders.batch(part[0], rows) if rows else None

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """Timers of these key groups, some at a time."""
        names = frozenset(state.name for state in self.states if state.kind is StateKind.TIMERS)
        for part in self.blocks(names, key_groups):
            yield from self.decoders.timers(part)

    @property
    def block_size(self) -> int:
        """Approximate bytes of a block."""
        return min(BATCH_SIZE, self.settings.chunk_size or BATCH_SIZE)

    def is_large(self, size: int) -> bool:
        """Whether a key group of ``size`` bytes is read chunk by chunk."""
        chunk_size = self.settings.chunk_size
        is_divided = not self.settings.group_split.is_whole
        return is_divided or (chunk_size is not None and size > chunk_size)

    def large_chunks(self, size: int, blocks: Callable[[], Iterator[Part]]) -> Iterator[Part]:
        """Reads a large key group chunk by chunk; ``blocks`` reads it from its beginning."""
        chunk_size = self.settings.chunk_size or max(size, 1)
        # All tasks have the same number, so that each chunk is in one split.
        count = max(-(-size // chunk_size), self.settings.group_split.count)
        yield from chunks_of_key_group(
            blocks,
            size,
            count,
            self.settings.group_split.of_numbers(count),
            self.decoders.identities,
            self._path,
            at_once=max(1, GATHERED_SIZE // chunk_size),
        )


class CanonicalSource(EntrySource):
    """Source of a canonical file; ``path`` is its name in errors."""

    def __init__(
        self,
        entries: CanonicalEntries,
        path: str,
        states: Sequence[State],
        settings: SourceSettings,
    ) -> None:
        super().__init__(states, settings, path)
        self.entries = entries
        self._names = tuple(state.name for state in states)

    def parts(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        size = min(JOINED_SIZE, self.settings.chunk_size or JOINED_SIZE)
        for batch in self.entries.batches(key_groups, size):
            if self.is_large(batch[0].size):
                yield from self._large_parts(names, batch[0])
            else:
                yield self.entries.block(batch).part(self._names, names)

    def _large_parts(self, names: frozenset[str], section: Section) -> Iterator[Part]:
        file, section = self.entries.content(section)

        def blocks() -> Iterator[Part]:
            for block in self.entries.divided(file, section, BLOCK_SIZE):
                yield block.part(self._names, names)

        yield from self.large_chunks(section.size, blocks)

    @property
    def block_size(self) -> int:
        """Bytes of a block; the tables of its entries fit into a core's caches."""
        return min(JOINED_SIZE, super().block_size)

    def blocks(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        for block in self.entries.blocks(key_groups, self.block_size, self.settings.group_split):
            yield block.part(self._names, names)


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
        there = [state.name for state in states]
        max_parallelism = settings.max_parallelism
        self._files = RocksDbState(directory, handle, max_parallelism, there, settings.keys)

    def parts(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        wanted = self._wanted(names)
        with within(f"key groups {key_groups}"):
            for part in self._files.batches(wanted, key_groups, size=BATCH_SIZE):
                size = self._files.size(wanted, part)
                if len(part) == 1 and self.is_large(size):
                    blocks = partial(self._blocks, wanted, part, BLOCK_SIZE)
                    yield from self.large_chunks(size, blocks)
                else:
                    room = Room(size + size // 2 + _SPARE_ROOM)
                    whole = self._blocks(wanted, part, sys.maxsize, room)
                    yield one_chunk(list(whole), room, self._path)

    def blocks(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        wanted, group_split = self._wanted(names), self.settings.group_split
        with within(f"key groups {key_groups}"):
            yield from self._blocks(wanted, key_groups, self.block_size, group_split=group_split)

    def _wanted(self, names: frozenset[str]) -> list[str]:
        return [state.name for state in self.states if state.name in names]

    def _blocks(
        self,
        wanted: list[str],
        key_groups: KeyGroupRange,
        size: int,
        room: Room | None = None,
        group_split: GroupSplit = WHOLE,
    ) -> Iterator[Part]:
        """Entries of one state after the other."""
        for name in wanted:
            with within(f"state {name!r}"):
                chunks = self._files.chunks(
                    name, key_groups, chunk_size=size, room=room, group_split=group_split
                )
                for data, ranges in chunks:
                    yield Chunk(data, self._path), {name: ranges}


def one_chunk(blocks: Sequence[Part], room: Room, path: str) -> Part:
    """Joins blocks of several states, to compare their keys; those in ``room`` are not copied."""
    positions = [room.position(chunk.data) for chunk, _ in blocks]
    if None in positions:
        borders = np.cumsum([0, *(len(chunk) for chunk, _ in blocks)]).tolist()
        positions, data = borders[:-1], np.empty(borders[-1], np.uint8)
        for (chunk, _), start, end in zip(blocks, positions, borders[1:], strict=True):
            data[start:end] = chunk.data
    else:
        data = room.data[: room.used]
    states: dict[str, list[EntryRanges]] = {}
    for (_, by_state), position in zip(blocks, positions, strict=True):
        for name, ranges in by_state.items():
            if len(ranges):
                states.setdefault(name, []).append(ranges.moved(position) if position else ranges)
    return Chunk(data, path), {
        name: parts[0] if len(parts) == 1 else EntryRanges.joined(parts)
        for name, parts in states.items()
    }
