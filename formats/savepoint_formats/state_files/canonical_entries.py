"""Reads canonical files: the borders of all entries, section by section.

Sections are read whole, several at a time, or in blocks if they are large. A compressed section
is decompressed as a whole. The handle says where a section begins, the section by its end mark
where it ends, and each entry by its prefix which key group it belongs to. All three must agree:
otherwise a damaged offset would move rows into another key group, or lose them.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.snappy import decompress
from savepoint_formats.entries.frames import Frames, FramesFinder, Placed, section_frames
from savepoint_formats.errors import FormatError, within
from savepoint_formats.key_groups import WHOLE, prefix_size
from savepoint_formats.locations.state_file import StateFile
from savepoint_formats.metadata import KeyedHandleType
from savepoint_formats.program.kernel import NO_STATE
from savepoint_formats.state_files.canonical_file import (
    NOTHING_WRITTEN,
    Section,
    batches_of,
    read_ahead,
    read_sections,
    sections_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.key_groups import GroupSplit, KeyGroupRange
    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.state_files.header import KeyedBackendHeader

# A heap section hardly ever passes for a canonical one by chance, several never do.
_SECTIONS_TO_TRY = 8


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
        self._finder = FramesFinder(len(names), self._prefix_size)

    def batches(self, key_groups: KeyGroupRange, size: int) -> Iterator[tuple[Section, ...]]:
        """Groups sections of these key groups to about ``size`` bytes; a larger one comes alone."""
        sections = sections_of(self._handle.groups, self._file, key_groups)
        self._file = read_ahead(self._file, sections)
        yield from batches_of(sections, size)

    def blocks(
        self, key_groups: KeyGroupRange, size: int, group_split: GroupSplit = WHOLE
    ) -> Iterator[Frames]:
        """All entries of these key groups, or of a split of one, about ``size`` bytes at a time."""
        for batch in self.batches(key_groups, size):
            if batch[0].size > size:
                yield from self.divided(*self.content(batch[0]), size, group_split)
            elif group_split.index == 0:
                block = self.block(batch)
                if block.by_state:
                    yield block

    def block(self, batch: tuple[Section, ...]) -> Frames:
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
        ends, groups = [*starts[1:], len(data)], [section.key_group for section in batch]
        placed = list(map(Placed, starts, ends, groups))
        frames = self._finder.frames(chunk, placed)
        with self._in_section(batch[frames.section]):
            frames.check(ends[frames.section])
        return frames

    def content(self, section: Section) -> tuple[StateFile, Section]:
        """File of a section for ``divided``; a decompressed one is a file in memory."""
        if not self._is_compressed:
            return self._file, section
        whole = self._decompressed(section, read_sections(self._file, (section,)))
        file = StateFile(self._path_of(section), data=whole)
        return file, replace(section, start=0, end=len(whole))

    def divided(
        self, file: StateFile, section: Section, size: int, group_split: GroupSplit = WHOLE
    ) -> Iterator[Frames]:
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
            frames = self._of_block(chunk, state, section, stop)
            is_end = frames.is_end
            if frames.by_state and owner == group_split.index:
                yield frames
            position = chunk.base + frames.position
            state, least = frames.state, max(size, frames.wanted)

    def _of_block(self, chunk: Chunk, state: int, section: Section, stop: int) -> Frames:
        """Finds the entries of a section that the chunk holds up to ``stop`` in the section."""
        placed = Placed(0, len(chunk), section.key_group)
        with self._in_section(section):
            frames = self._finder.frames(chunk, [placed], state)
            is_last = stop == section.end or frames.is_end
            frames.check(len(chunk) + section.end - stop if is_last else None)
        return frames

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
