"""Key-group sections: where each key group of a state file lies, and its bytes.

Canonical and heap files have a section per key group, of which the handle tells the first byte
only. A section ends where the next one begins, or the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from savepoint_formats.errors import FormatError, TruncatedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_formats.file_io import StateFile
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.metadata import KeyGroupRangeOffsets

NOTHING_WRITTEN = 0
NOTHING_WRITTEN_RAW = -1
"""In raw keyed state, where 0 is a position."""


@dataclass(frozen=True, slots=True)
class Section:
    """A key group and the bytes of its file that hold it, ``end`` excluded."""

    key_group: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """In bytes."""
        return self.end - self.start


def sections_of(
    groups: KeyGroupRangeOffsets,
    file: StateFile,
    wanted: KeyGroupRange,
    nothing: int = NOTHING_WRITTEN,
) -> tuple[Section, ...]:
    """The sections of the wanted key groups that are not empty, in the order of the file.

    Args:
        groups: Where each key group begins.
        file: The file.
        wanted: The key groups.
        nothing: The offset of key groups of which nothing is written.

    Raises:
        StateFileNotFoundError: The file is gone.
        FormatError: An offset lies outside the file.
    """
    starts = sorted(
        (offset, key_group)
        for key_group, offset in zip(groups.key_groups, groups.offsets, strict=True)
        if offset > nothing
    )
    if not starts:
        return ()
    size = file.length()
    if starts[-1][0] > size:
        message = f"key group {starts[-1][1]} begins behind the end of the file, at {size}"
        raise FormatError(message, file.path, starts[-1][0])
    borders = [*starts, (size, -1)]
    return tuple(
        Section(key_group, start, end)
        for (start, key_group), (end, _) in pairwise(borders)
        if key_group in wanted
    )


def batches_of(sections: Iterable[Section], size: int) -> Iterator[tuple[Section, ...]]:
    """Sections that follow each other in the file, together of about ``size`` bytes."""
    batch: list[Section] = []
    for section in sections:
        is_gap = bool(batch) and batch[-1].end != section.start
        if batch and (is_gap or section.end - batch[0].start > size):
            yield tuple(batch)
            batch = []
        batch.append(section)
    if batch:
        yield tuple(batch)


def read_sections(file: StateFile, sections: tuple[Section, ...]) -> bytes:
    """The bytes from the first of the sections to the end of the last.

    Raises:
        TruncatedError: The file ends before.
    """
    start, end = sections[0].start, sections[-1].end
    data = file.read(start, end)
    if len(data) != end - start:
        message = f"{len(data)} bytes of the {end - start} that the key groups have"
        raise TruncatedError(message, file.path, start + len(data))
    return data
