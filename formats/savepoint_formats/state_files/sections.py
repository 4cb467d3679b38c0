"""Key-group sections: the place of each key group in a state file, and its bytes.

Canonical and heap files have a section per key group. Its handle says only where each one begins.
A section ends where the next one begins, or where the file ends as its handle says. So all bytes
belong to the header or to a key group. A section that holds more or less than its own key group
was displaced, and its reader reports that.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from savepoint_formats.errors import FormatError, TruncatedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import KeyGroupRangeOffsets

NOTHING_WRITTEN = 0
NOTHING_WRITTEN_RAW = -1
"""Offset in raw keyed state, where 0 is a position."""


@dataclass(frozen=True, slots=True)
class Section:
    """A key group and its bytes in the file, ``end`` excluded."""

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
    """Sections of the wanted key groups that are not empty, in the order of the file.

    ``nothing`` is the offset of an empty key group. Raises ``FormatError`` if an offset lies
    outside the file, or the file is longer than its handle says.
    """
    pairs = zip(groups.offsets, groups.key_groups, strict=True)
    starts = sorted(pair for pair in pairs if pair[0] != nothing)
    size = file.length()
    _check(starts, size, file, is_raw=nothing == NOTHING_WRITTEN_RAW)
    borders = [*starts, (size, -1)]
    return tuple(
        Section(key_group, start, end)
        for (start, key_group), (end, _) in pairwise(borders)
        if key_group in wanted
    )


def _check(starts: list[tuple[int, int]], size: int, file: StateFile, *, is_raw: bool) -> None:
    """Raises ``FormatError`` for an impossible offset, or bytes in front of the first key group."""
    for offset, key_group in (*starts[:1], *starts[-1:]):
        if not 0 <= offset <= size:
            message = f"key group {key_group} begins at {offset}, expected 0 to {size}"
            raise FormatError(message, file.path, min(max(offset, 0), size))
    first = starts[0][0] if starts else size
    # Any other file begins with a header.
    if is_raw and first:
        raise FormatError(f"{first} bytes that belong to no key group", file.path, 0)


def batches_of(sections: Iterable[Section], size: int) -> Iterator[tuple[Section, ...]]:
    """Groups neighbouring sections to about ``size`` bytes."""
    batch: list[Section] = []
    for section in sections:
        is_gap = bool(batch) and batch[-1].end != section.start
        if batch and (is_gap or section.end - batch[0].start > size):
            yield tuple(batch)
            batch = []
        batch.append(section)
    if batch:
        yield tuple(batch)


def read_ahead(file: StateFile, sections: tuple[Section, ...]) -> StateFile:
    """The file, prepared for reads of the sections in this order."""
    runs = batches_of(sections, sys.maxsize)
    return file.read_ahead((run[0].start, run[-1].end) for run in runs)


def read_sections(file: StateFile, sections: tuple[Section, ...]) -> bytes:
    """Bytes from the first section to the end of the last."""
    start, end = sections[0].start, sections[-1].end
    data = file.read(start, end)
    if len(data) != end - start:
        message = f"{len(data)} bytes of the {end - start} that the key groups have"
        error = TruncatedError(message, file.path, start + len(data))
        cut = next(section for section in sections if section.end > start + len(data))
        raise error.within(f"key group {cut.key_group}")
    return data
