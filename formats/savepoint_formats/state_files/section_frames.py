"""Entries of the sections of a canonical file, as far as their borders and prefixes go.

The handle tells where the section of a key group begins; the section tells by its end mark where
it ends, and each entry by its prefix of which key group it is. All of these have to agree: an
offset that is damaged would move rows into another key group, or lose them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from savepoint_formats.entries.entry_spans import key_groups_at
from savepoint_formats.entries.frames import Frames, FramesStart, FramesTable, expect_end
from savepoint_formats.errors import FormatError
from savepoint_formats.program.kernel import NONE_FOREIGN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.state_files.sections import Section

    Placed: TypeAlias = tuple[Section, int, int]
    """A section, and where in a chunk it begins and ends."""


class SectionFrames:
    """Finds entries.

    Args:
        names: The states of the file, by id.
        prefix_size: The bytes of the key-group prefix.
    """

    def __init__(self, names: Sequence[str], prefix_size: int) -> None:
        self._names = names
        self._prefix_size = prefix_size

    def of_sections(
        self, chunk: Chunk, sections: Iterable[Placed]
    ) -> tuple[Frames, NDArray[np.uint16]]:
        """All entries of these sections, one at least, and the key group of each run of entries.

        Raises:
            FormatError: A section is damaged, or is that of another key group.
        """
        table = FramesTable(chunk, len(self._names), prefix_size=self._prefix_size)
        groups: list[int] = []
        counts = [0]
        placed = list(sections)
        for section, start, end in placed:
            with self._in_section(section):
                read_frames = table.add_section(start, end, section.key_group)
            groups.append(section.key_group)
            counts.append(len(read_frames.run_states))
        run_groups = np.repeat(np.array(groups, np.uint16), np.diff(counts))
        if read_frames.foreign != NONE_FOREIGN:
            entry_start = int(read_frames.spans[0, read_frames.foreign])
            (section,) = (
                placed_section
                for placed_section, first, end in placed
                if first <= entry_start < end
            )
            with self._in_section(section):
                raise self._foreign(chunk, read_frames)
        return read_frames, run_groups

    def of_block(self, chunk: Chunk, start: FramesStart, section: Section, stop: int) -> Frames:
        """The entries of a part of a section that the chunk holds up to its end.

        Args:
            chunk: The part.
            start: Where its first entry begins.
            section: The section.
            stop: Where the part ends in the file, or in the decompressed section.

        Raises:
            FormatError: The section is damaged, or is that of another key group.
        """
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
        """What is wrong with the first entry that is of another key group."""
        entry = read_frames.foreign
        start, end = read_frames.spans[:2, entry].tolist()
        message = f"a key of {end - start} bytes, without its key group"
        if end - start >= self._prefix_size:
            (group,) = key_groups_at(chunk, read_frames.spans[0, [entry]], self._prefix_size)
            message = f"a key of key group {group}"
        error = chunk.error(message, start, FormatError)
        error.state = read_frames.state_of(entry)
        return error

    @contextmanager
    def _in_section(self, section: Section) -> Iterator[None]:
        """Tells errors in the entries of a section what they are in."""
        try:
            yield
        except FormatError as error:
            if error.state >= 0:
                error.within(f"state {self._names[error.state]!r}")
            error.within(f"key group {section.key_group}")
            raise
