"""Reads canonical files: the borders of all entries, section by section.

Sections are read whole, several at a time, or in blocks if they are large. A compressed section
is decompressed as a whole. The handle says where a section begins, the section by its end mark
where it ends, and each entry by its prefix which key group it belongs to. All three must agree:
otherwise a damaged offset would move rows into another key group, or lose them.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.snappy import decompress
from savepoint_formats.entries.entry_ranges import EntryRanges, key_groups_at
from savepoint_formats.entries.frames import (
    Frames,
    FramesStart,
    FramesTable,
    expect_end,
    section_frames,
)
from savepoint_formats.errors import FormatError, within
from savepoint_formats.key_groups import WHOLE, prefix_size
from savepoint_formats.locations.state_file import StateFile
from savepoint_formats.metadata import KeyedHandleType
from savepoint_formats.program.kernel import NO_STATE, NONE_FOREIGN
from savepoint_formats.state_files.canonical_file import (
    NOTHING_WRITTEN,
    Section,
    batches_of,
    read_ahead,
    read_sections,
    sections_of,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from savepoint_formats.entries.entry_ranges import Part
    from savepoint_formats.key_groups import GroupSplit, KeyGroupRange
    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.state_files.header import KeyedBackendHeader

    Placed: TypeAlias = tuple[Section, int, int]
    """A section, and where in a chunk it begins and ends."""

# A heap section hardly ever passes for a canonical one by chance, several never do.
_SECTIONS_TO_TRY = 8


@dataclass(frozen=True, slots=True, eq=False)
class EntryBlock:
    """Entries in a chunk, and their borders."""

    chunk: Chunk
    frames: Frames

    def part(self, names: Sequence[str], wanted: Container[str]) -> Part:
        """Entries of the wanted states; ``names`` are all states of the file, by id."""
        ranges = {
            names[state_id]: EntryRanges(*ranges)
            for state_id, ranges in sorted(self.frames.by_state().items())
            if names[state_id] in wanted
        }
        return self.chunk, ranges


class CanonicalEntries:
    """Reader of a canonical file; ``names`` are its states, by id."""

    def __init__(
        self,
        file: StateFile,
        handle: KeyGroupsHandle,
        names: Sequence[str],
        max_parallelism: int,
        *,
        is_compressed: bool,
    ) -> None:
        self._file = file
        self._handle = handle
        self._is_compressed = is_compressed
        self._names = names
        self._prefix_size = prefix_size(max_parallelism)

    def batches(self, key_groups: KeyGroupRange, size: int) -> Iterator[tuple[Section, ...]]:
        """Groups sections of these key groups to about ``size`` bytes; a larger one comes alone."""
        sections = sections_of(self._handle.groups, self._file, key_groups)
        self._file = read_ahead(self._file, sections)
        yield from batches_of(sections, size)

    def blocks(
        self, key_groups: KeyGroupRange, size: int, group_split: GroupSplit = WHOLE
    ) -> Iterator[EntryBlock]:
        """All entries of these key groups, or of a split of one, about ``size`` bytes at a time."""
        for batch in self.batches(key_groups, size):
            if batch[0].size > size:
                yield from self.divided(*self.content(batch[0]), size, group_split)
            elif group_split.index == 0:
                block = self.block(batch)
                if len(block.frames):
                    yield block

    def block(self, batch: tuple[Section, ...]) -> EntryBlock:
        """All entries of sections that are neighbours in the file."""
        data, base = read_sections(self._file, batch), batch[0].start
        starts, path = [section.start - base for section in batch], self._file.path
        if self._is_compressed:
            parts = [
                self._decompressed(section, data[start : start + section.size])
                for start, section in zip(starts, batch, strict=True)
            ]
            starts = np.cumsum([0, *map(len, parts[:-1])]).tolist()
            data, base, path = b"".join(parts), 0, self._path_of(batch[0])
        chunk = Chunk(np.frombuffer(data, np.uint8), path, base)
        placed = list(zip(batch, starts, [*starts[1:], len(data)], strict=True))
        return EntryBlock(chunk, self._of_sections(chunk, placed))

    def content(self, section: Section) -> tuple[StateFile, Section]:
        """File of a section for ``divided``; a decompressed one is a file in memory."""
        if not self._is_compressed:
            return self._file, section
        whole = self._decompressed(section, read_sections(self._file, (section,)))
        file = StateFile(self._path_of(section), data=whole)
        return file, replace(section, start=0, end=len(whole))

    def divided(
        self, file: StateFile, section: Section, size: int, group_split: GroupSplit = WHOLE
    ) -> Iterator[EntryBlock]:
        """Reads a section from its beginning in blocks; a run that crosses a border becomes two.

        Entries are found one after the other, so all entries before a split are read, too.
        """
        position, state, least, is_end = section.start, NO_STATE, size, False
        while not is_end:
            owner = group_split.owner(position - section.start, section.size)
            if owner > group_split.index:
                return
            stop = min(position + least, section.end)
            data = read_sections(file, (replace(section, start=position, end=stop),))
            chunk = Chunk(np.frombuffer(data, np.uint8), file.path, position)
            block_frames = self._of_block(chunk, FramesStart(0, state), section, stop)
            is_end = block_frames.is_end
            if len(block_frames) and owner == group_split.index:
                yield EntryBlock(chunk, block_frames)
            position = chunk.base + block_frames.next.position
            state, least = block_frames.next.state, max(size, block_frames.wanted)

    def _of_sections(self, chunk: Chunk, sections: Sequence[Placed]) -> Frames:
        """Finds all entries of these sections."""
        table = FramesTable(chunk, len(self._names), prefix_size=self._prefix_size)
        for section, start, end in sections:
            with self._in_section(section):
                read_frames = table.add_section(start, end, section.key_group)
        if read_frames.foreign != NONE_FOREIGN:
            place = int(read_frames.ranges[0, read_frames.foreign])
            displaced = next(section for section, _, end in sections if place < end)
            with self._in_section(displaced):
                raise self._foreign(chunk, read_frames)
        return read_frames

    def _of_block(self, chunk: Chunk, start: FramesStart, section: Section, stop: int) -> Frames:
        """Finds the entries of a section that the chunk holds up to ``stop`` in the section."""
        with self._in_section(section):
            table = FramesTable(chunk, len(self._names), prefix_size=self._prefix_size)
            read_frames = table.add(start, len(chunk), section.key_group)
            if stop == section.end:
                expect_end(chunk, read_frames, len(chunk))
            elif read_frames.is_end:
                expect_end(chunk, read_frames, len(chunk) + section.end - stop)
            if read_frames.foreign != NONE_FOREIGN:
                raise self._foreign(chunk, read_frames)
        return read_frames

    def _foreign(self, chunk: Chunk, read_frames: Frames) -> FormatError:
        """Error about the first entry of another key group."""
        entry = read_frames.foreign
        start, end = read_frames.ranges[:2, entry].tolist()
        message = f"a key of {end - start} bytes, without its key group"
        if end - start >= self._prefix_size:
            (group,) = key_groups_at(chunk, read_frames.ranges[0, [entry]], self._prefix_size)
            message = f"a key of key group {group}"
        error = chunk.error(message, start, FormatError)
        run = int(np.searchsorted(read_frames.run_starts, entry, "right")) - 1
        error.state = int(read_frames.run_states[run])
        return error

    @contextmanager
    def _in_section(self, section: Section) -> Iterator[None]:
        """Adds state and key group to errors in a section."""
        try:
            yield
        except FormatError as error:
            if error.state >= 0:
                error.within(f"state {self._names[error.state]!r}")
            error.within(f"key group {section.key_group}")
            raise

    def _decompressed(self, section: Section, stored: bytes) -> bytes:
        with within(f"key group {section.key_group}"):
            return decompress(stored, self._file.path, section.start)

    def _path_of(self, section: Section) -> str:
        """Name of decompressed bytes in errors; they have offsets of their own."""
        return f"{self._file.path}, decompressed from byte {section.start}"


def is_canonical(file: StateFile, handle: KeyGroupsHandle, header: KeyedBackendHeader) -> bool:
    """Whether a file has the canonical format, and not that of the heap.

    Handles of native snapshots, and all handles up to Flink 1.12, may lead to either. A heap file
    has an offset for every key group; a file is canonical if its sections parse as canonical ones.
    """
    is_told = handle.type is KeyedHandleType.CANONICAL_SAVEPOINT
    if is_told or NOTHING_WRITTEN in handle.groups.offsets:
        return True
    sections = sections_of(handle.groups, file, handle.key_groups)
    try:
        for section in islice(sections, _SECTIONS_TO_TRY):
            data = file.read(section.start, section.end)
            if header.is_compressed:
                data = decompress(data, file.path, section.start)
            chunk = Chunk(np.frombuffer(data, np.uint8), file.path, section.start)
            section_frames(chunk, 0, len(header.states))
    except FormatError:
        return False
    return True
