"""Canonical files: the keyed state of one subtask in a form for every backend; and sections.

| bytes | field    | meaning                                                                    |
|-------|----------|----------------------------------------------------------------------------|
| …     | header   | ``KeyedBackendHeader``; key groups are not compressed                      |
| …     | sections | of each key group that has entries, in any order; the handle tells where   |

A section is a sequence of runs, and ``FF FF``. A run is entries of one state:

| bytes  | field    | meaning                                                                   |
|--------|----------|---------------------------------------------------------------------------|
| u16    | state id | index of the state in the header                                          |
| i32, … | key      | size, key-group prefix and key; of the last entry, the first bit is set   |
| i32, … | value    | size, bytes; then the next key                                            |

A run does not depend on its place, and a state may have many runs in a key group. A key group
without entries has no section and the offset 0; Flink fails at an empty section.

Flink: ``FullSnapshotAsyncWriter``.

Canonical and heap files have a section per key group. Its handle says only where each one begins.
A section ends where the next one begins, or where the file ends as its handle says. So all bytes
belong to the header or to a key group. A section that holds more or less than its own key group
was displaced, and its reader reports that.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import FormatError, TruncatedError
from savepoint_formats.metadata import KeyedHandleType, KeyGroupRangeOffsets, KeyGroupsHandle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import PlainStream
    from savepoint_formats.state_files.header import KeyedBackendHeader

    Run: TypeAlias = bytes | memoryview | pa.Buffer


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


END_OF_SECTION = b"\xff\xff"

# State id, size and one byte of a key, size of a value.
_LEAST_RUN = 2 + 4 + 1 + 4


class Output(Protocol):
    """Anything that takes the bytes of a file."""

    def write(self, data: Run, /) -> object:
        """Appends bytes."""


@dataclass(frozen=True, slots=True)
class CanonicalFile:
    """A written file: where each key group begins, and its bytes."""

    groups: KeyGroupRangeOffsets
    size: int

    @property
    def offsets(self) -> tuple[int, ...]:
        """Start of each key group; 0 for one without entries."""
        return self.groups.offsets

    def handle(self, stream: PlainStream) -> KeyGroupsHandle:
        return KeyGroupsHandle(KeyedHandleType.CANONICAL_SAVEPOINT, self.groups, stream)

    @classmethod
    def write(
        cls,
        output: Output,
        header: KeyedBackendHeader,
        key_groups: KeyGroupRange,
        sections: Iterable[tuple[int, Iterable[Run]]],
    ) -> Self:
        """Writes a whole file; the runs of a key group are read before the next one is asked for.

        Raises ``ValueError`` if a key group is none of the subtask or comes twice, a run is empty
        or of an unknown state, or the header says that key groups are compressed.
        """
        if header.is_compressed:
            raise ValueError("a header of compressed key groups, which are not written")
        starts: dict[int, int] = {}
        view = DataOutputView()
        header.write(view)
        output.write(view.to_bytes())
        size = view.position
        for key_group, runs in sections:
            if key_group not in key_groups or key_group in starts:
                reason = "comes twice" if key_group in starts else f"is not in {key_groups}"
                raise ValueError(f"key group {key_group} {reason}")
            written = _write_section(output, _checked(runs, key_group, len(header.states)))
            if written:
                starts[key_group] = size
                size += written
        return cls._of_starts(starts, key_groups, size)

    @classmethod
    def of_sections(
        cls, header_size: int, key_groups: KeyGroupRange, sizes: Mapping[int, int]
    ) -> Self:
        """A file of copied sections with their end marks; ``sizes`` has them in their order."""
        ends = [*accumulate(sizes.values(), initial=header_size)]
        return cls._of_starts(dict(zip(sizes, ends, strict=False)), key_groups, ends[-1])

    @classmethod
    def _of_starts(cls, starts: Mapping[int, int], key_groups: KeyGroupRange, size: int) -> Self:
        offsets = tuple(starts.get(key_group, NOTHING_WRITTEN) for key_group in key_groups)
        return cls(KeyGroupRangeOffsets(key_groups, offsets), size)


def _write_section(output: Output, runs: Iterator[Run]) -> int:
    """Returns the section's size. Without runs nothing is written."""
    size = 0
    first = next(runs, None)
    if first is None:
        return 0
    for run in chain([first], runs, [END_OF_SECTION]):
        output.write(run)
        size += memoryview(run).nbytes
    return size


def _checked(runs: Iterable[Run], key_group: int, states: int) -> Iterator[Run]:
    """Refuses bytes that can't be a run: a restore would fail without a clear reason."""
    for run in runs:
        view = memoryview(run).cast("B")
        if len(view) < _LEAST_RUN:
            raise ValueError(f"a run of {len(view)} bytes in key group {key_group}")
        state_id = int.from_bytes(view[:2], "big")
        if state_id >= states:
            raise ValueError(
                f"a run of state {state_id} in key group {key_group}, expected 0 to {states - 1}"
            )
        yield run
