"""The entries of a canonical file as they are stored, piece by piece.

Where max parallelism stays, what a section has between its first byte and its end mark is taken
over as it lies: runs of entries, each with the id of its state in front. Only the ids change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.snappy import decompress
from savepoint_formats.entries.frames import FramesStart
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import within
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.pass_through.stored_state import RUN_SCHEMA, StatePiece
from savepoint_formats.program.kernel import NO_STATE
from savepoint_formats.program.spans import Spans, bytes_of
from savepoint_formats.sources.entry_source import BATCH_SIZE
from savepoint_formats.sources.section_frames import SectionFrames
from savepoint_formats.state_files.sections import batches_of, read_sections, sections_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.entries.frames import Frames
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.locations.file_io import StateFile
    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.state_files.sections import Section
    from savepoint_formats.state_files.state import State

ID_SIZE = 2
_KEY_SIZE_SIZE = 4
_IS_LAST = 0x80
_DROPPED = -1


@dataclass(frozen=True, slots=True, eq=False)
class EntryBlock:
    """Whole runs of entries.

    Attributes:
        chunk: Where they lie, the id of its state in front of each run.
        found: The entries; their positions are the chunk's.
        key_groups: The key group of each run.
    """

    chunk: Chunk
    found: Frames
    key_groups: NDArray[np.uint16]

    def runs(self, new_ids: NDArray[np.int32]) -> pa.RecordBatch:
        """The runs of each key group, without those of states whose new id is negative."""
        ids = new_ids[self.found.run_states]
        kept = np.flatnonzero(ids != _DROPPED)
        key_starts, _, _, value_ends = self.found.spans
        starts = key_starts[self.found.run_starts[kept]] - _KEY_SIZE_SIZE - ID_SIZE
        ends = value_ends[np.append(self.found.run_starts[1:], len(self.found))[kept] - 1]
        chunk = self.chunk
        if not np.array_equal(ids[kept], self.found.run_states[kept]):
            chunk = _with_ids(chunk, starts, ids[kept])
        return _by_key_group(self.key_groups[kept], bytes_of(chunk, Spans(starts, ends)))

    def pieces(self, states: Mapping[int, State], prefix: int) -> Iterator[StatePiece]:
        """The entries of each of these states, by their ids."""
        sizes = np.diff(self.found.run_starts, append=len(self.found))
        for state_id, spans in self.found.by_state().items():
            if state_id in states:
                key_starts, key_ends, value_starts, value_ends = spans
                entries = StoredEntries(
                    bytes_of(self.chunk, Spans(key_starts + prefix, key_ends)),
                    bytes_of(self.chunk, Spans(value_starts, value_ends)),
                )
                is_own = self.found.run_states == state_id
                groups = np.repeat(self.key_groups[is_own], sizes[is_own])
                yield StatePiece(states[state_id], entries, groups)


def _with_ids(chunk: Chunk, starts: NDArray[np.int64], ids: NDArray[np.int32]) -> Chunk:
    """A chunk whose runs begin with other ids."""
    data = chunk.data.copy()
    data[starts], data[starts + 1] = ids >> 8, ids & 0xFF
    return replace(chunk, data=data)


def _by_key_group(groups: NDArray[np.uint16], found: pa.LargeBinaryArray) -> pa.RecordBatch:
    """Runs that lie one behind the other, those of a key group as one."""
    firsts = np.flatnonzero(np.diff(groups, prepend=-1)) if len(groups) else groups[:0]
    _, offsets, data = found.buffers()
    borders = np.frombuffer(offsets, np.int64)[np.append(firsts, len(groups))]
    whole = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(firsts), [None, pa.py_buffer(borders), data]
    )
    key_groups = pa.array(groups[firsts].astype(np.int32))
    return pa.RecordBatch.from_arrays([key_groups, whole], schema=RUN_SCHEMA)


class StoredCanonical:
    """A canonical file.

    Args:
        file: The file.
        handle: Its handle.
        states: Its states, by id.
        max_parallelism: That of the operator.
        is_compressed: Whether each of its key groups is snappy-compressed.
        block_size: Bytes that are read at once, unless a single entry is larger.
    """

    def __init__(
        self,
        file: StateFile,
        handle: KeyGroupsHandle,
        states: Sequence[State],
        max_parallelism: int,
        *,
        is_compressed: bool,
        block_size: int = BATCH_SIZE,
    ) -> None:
        self._file = file
        self._handle = handle
        self._states = states
        self._prefix = prefix_size(max_parallelism)
        self._is_compressed = is_compressed
        self._block_size = block_size
        self._frames = SectionFrames(states, self._prefix)

    def runs(
        self, state_ids: Mapping[str, int], key_groups: KeyGroupRange
    ) -> Iterator[pa.RecordBatch]:
        """The runs of these states as they lie, with the ids given.

        Raises:
            FormatError: The file is damaged.
        """
        ids = [state_ids.get(state.name, _DROPPED) for state in self._states]
        new_ids = np.array(ids, np.int32)
        for block in self.blocks(key_groups):
            found = block.runs(new_ids)
            if len(found):
                yield found

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """The entries of these states.

        Raises:
            FormatError: The file is damaged.
        """
        wanted = {index: one for index, one in enumerate(self._states) if one.name in names}
        for block in self.blocks(key_groups):
            yield from block.pieces(wanted, self._prefix)

    def blocks(self, key_groups: KeyGroupRange) -> Iterator[EntryBlock]:
        """All entries of these key groups, some megabytes at a time.

        Raises:
            FormatError: The file is damaged.
        """
        sections = sections_of(self._handle.groups, self._file, key_groups)
        for is_large, part in groupby(sections, lambda section: section.size > self._block_size):
            read = self._large if is_large else self._small
            yield from (block for block in read(part) if len(block.found))

    def _small(self, sections: Iterable[Section]) -> Iterator[EntryBlock]:
        """Several sections at a time."""
        for batch in batches_of(sections, self._block_size):
            content, base = read_sections(self._file, batch), batch[0].start
            if self._is_compressed:
                for section in batch:
                    start = section.start - base
                    yield self._decompressed(section, content[start : start + section.size])
            else:
                chunk = Chunk(np.frombuffer(content, np.uint8), self._file.path, base)
                yield self._block(chunk, batch)

    def _block(self, chunk: Chunk, sections: Sequence[Section]) -> EntryBlock:
        """All entries of sections in a chunk."""
        base = chunk.base
        placed = [(one, one.start - base, one.end - base) for one in sections]
        return EntryBlock(chunk, *self._frames.of_sections(chunk, placed))

    def _decompressed(self, section: Section, content: bytes) -> EntryBlock:
        with within(f"key group {section.key_group}"):
            data = np.frombuffer(decompress(content, self._file.path, section.start), np.uint8)
        path = f"{self._file.path}, decompressed from byte {section.start}"
        return self._block(Chunk(data, path), (replace(section, start=0, end=len(data)),))

    def _large(self, sections: Iterable[Section]) -> Iterator[EntryBlock]:
        """A section at a time."""
        for section in sections:
            if self._is_compressed:
                # It is one stream, which is decompressed as a whole.
                yield self._decompressed(section, read_sections(self._file, (section,)))
            else:
                yield from self._divided(section)

    def _divided(self, section: Section) -> Iterator[EntryBlock]:
        """A section from its beginning; a run that goes on in another block becomes two."""
        position, state, size = section.start, NO_STATE, self._block_size
        is_end = False
        while not is_end:
            part = replace(section, start=position, end=min(position + size, section.end))
            chunk = self._continued(part, state)
            found = self._frames.of_block(chunk, FramesStart(ID_SIZE, state), section, part.end)
            is_end = found.is_end
            if found.next.state != NO_STATE and len(found):
                chunk.data[found.spans[0, -1]] |= _IS_LAST
            groups = np.full(len(found.run_states), section.key_group, np.uint16)
            yield EntryBlock(chunk, found, groups)
            position = chunk.base + found.next.position
            state, size = found.next.state, max(self._block_size, found.wanted)

    def _continued(self, part: Section, state: int) -> Chunk:
        """The bytes of a part of a section, and in front of them the id of the run that goes on."""
        data = np.empty(ID_SIZE + part.size, np.uint8)
        data[:ID_SIZE] = state >> 8 & 0xFF, state & 0xFF
        data[ID_SIZE:] = np.frombuffer(read_sections(self._file, (part,)), np.uint8)
        return Chunk(data, self._file.path, part.start - ID_SIZE)
