"""Keyed state and timers of canonical files."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.snappy import decompress
from savepoint_formats.entries.frames import FramesStart
from savepoint_formats.errors import within
from savepoint_formats.sources.entry_source import (
    BATCH_SIZE,
    BLOCK_SIZE,
    EntrySource,
    SourceSettings,
)
from savepoint_formats.sources.section_frames import SectionFrames
from savepoint_formats.sources.state_rows import EntrySpans
from savepoint_formats.state_files.sections import (
    Section,
    batches_of,
    read_sections,
    sections_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.entries.frames import Frames
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.locations.file_io import StateFile
    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.sources.entry_source import Part
    from savepoint_formats.state_files.state import State


class CanonicalSource(EntrySource):
    """A canonical file.

    Args:
        file: The file.
        handle: Its handle.
        states: Its states, by id.
        settings: How it is read.
        is_compressed: Whether each of its key groups is snappy-compressed.
    """

    def __init__(
        self,
        file: StateFile,
        handle: KeyGroupsHandle,
        states: Sequence[State],
        settings: SourceSettings,
        *,
        is_compressed: bool,
    ) -> None:
        super().__init__(states, settings, file.path)
        self._file = file
        self._handle = handle
        self._is_compressed = is_compressed
        self._frames = SectionFrames(states, self.prefix_size)

    def parts(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        sections = sections_of(self._handle.groups, self._file, key_groups)
        for is_large, run in groupby(sections, lambda section: self.is_large(section.size)):
            if is_large:
                for section in run:
                    yield from self._large_parts(names, section)
            else:
                for batch in batches_of(run, BATCH_SIZE):
                    yield self._part(names, batch)

    def _part(self, names: frozenset[str], batch: tuple[Section, ...]) -> Part:
        data, starts, base = self._read(batch)
        chunk = Chunk(np.frombuffer(data, np.uint8), self._path_of(batch), base)
        placed = zip(batch, starts, [*starts[1:], len(data)], strict=True)
        found, _ = self._frames.of_sections(chunk, placed)
        return chunk, self._by_state(names, found)

    def _path_of(self, batch: tuple[Section, ...]) -> str:
        """What errors call the bytes of sections; decompressed, they have offsets of their own."""
        if not self._is_compressed:
            return self._file.path
        return f"{self._file.path}, decompressed from byte {batch[0].start}"

    def _by_state(self, names: frozenset[str], found: Frames) -> dict[str, EntrySpans]:
        """The entries of each state that has any."""
        return {
            self.states[state_id].name: EntrySpans(*spans)
            for state_id, spans in sorted(found.by_state().items())
            if self.states[state_id].name in names
        }

    def _read(self, batch: tuple[Section, ...]) -> tuple[bytes, list[int], int]:
        """The bytes of sections, where each begins in them, and their offset in the file."""
        data, base = read_sections(self._file, batch), batch[0].start
        starts = [section.start - base for section in batch]
        if not self._is_compressed:
            return data, starts, base
        parts: list[bytes] = []
        for start, section in zip(starts, batch, strict=True):
            with within(f"key group {section.key_group}"):
                stored = data[start : start + section.size]
                parts.append(decompress(stored, self._file.path, section.start))
        positions = np.cumsum([0, *map(len, parts[:-1])]).tolist()
        return b"".join(parts), positions, 0

    def _large_parts(self, names: frozenset[str], section: Section) -> Iterator[Part]:
        # A compressed section is one stream, which is decompressed as a whole.
        whole = self._read((section,))[0] if self._is_compressed else None
        size = section.size if whole is None else len(whole)
        yield from self.portions(names, size, lambda: self._blocks(names, section, whole))

    def _blocks(
        self, names: frozenset[str], section: Section, whole: bytes | None
    ) -> Iterator[Part]:
        """The section from its beginning, a few MB at a time."""
        path = self._path_of((section,))
        first, end = (section.start, section.end) if whole is None else (0, len(whole))
        position, size, start = first, BLOCK_SIZE, FramesStart(0)
        while True:
            stop = min(position + size, end)
            data = (
                read_sections(self._file, (replace(section, start=position, end=stop),))
                if whole is None
                else whole[position:stop]
            )
            chunk = Chunk(np.frombuffer(data, np.uint8), path, position)
            found = self._frames.of_block(chunk, start, replace(section, end=end), stop)
            if len(found):
                yield chunk, self._by_state(names, found)
            if found.is_end:
                return
            position += found.next.position
            start = FramesStart(0, found.next.state)
            size = max(BLOCK_SIZE, found.wanted)
