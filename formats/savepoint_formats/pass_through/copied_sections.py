"""Sections of canonical files that are copied to other files without being read.

A section depends on its file only by the indices of states. If max parallelism stays, and all headers
have the states in the order of the new header, then a new file is a header and ranges of other files,
which the file system copies.

``StoredSections.of`` leaves other formats, compressed sections and raw timers to ``stored_runs``.
It also leaves files that look damaged, because ``stored_runs`` reports the damage.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import SavepointError
from savepoint_formats.key_groups import prefix_size
from savepoint_formats.metadata import KeyedHandleType, KeyGroupsHandle
from savepoint_formats.new_snapshot.new_file import StoredRange
from savepoint_formats.scan.splits import check_subtasks
from savepoint_formats.state_files.canonical_file import END_OF_SECTION, CanonicalFile, sections_of
from savepoint_formats.state_files.header import HeaderBytes, KeyedBackendHeader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.new_snapshot.directory import NewSnapshot
    from savepoint_formats.state_files.canonical_file import Section

    Places = NDArray[np.int64]
    """A row per run: its key group, its offset in its file, and its size."""


PLACE_COLUMNS = 3


@dataclass(frozen=True, slots=True, eq=False)
class PlacedRuns:
    """Runs of an operator in the order of key groups, and the index of the file of each.

    Paths of files are relative to the directory. A section is all runs of its key group and a mark.
    So the file of a subtask is a header, ranges of files of runs, and marks.
    """

    files: tuple[str, ...]
    of_file: NDArray[np.int64]
    places: Places

    @classmethod
    def of(cls, parts: Iterable[tuple[str, bytes]]) -> Self:
        """Runs of files; each file comes with rows of ``Places`` as bytes."""
        parts = list(parts)
        numbers: dict[str, int] = {}
        tables = [np.frombuffer(places, np.int64).reshape(-1, PLACE_COLUMNS) for _, places in parts]
        of_file = [numbers.setdefault(file, len(numbers)) for file, _ in parts]
        whole = np.concatenate([np.empty((0, PLACE_COLUMNS), np.int64), *tables])
        file_numbers = np.repeat(np.array(of_file, np.int64), [len(table) for table in tables])
        order = np.argsort(whole[:, 0], kind="stable")
        return cls(tuple(numbers), file_numbers[order], whole[order])

    def __contains__(self, key_groups: KeyGroupRange) -> bool:
        first, end = self._rows(key_groups)
        return first < end

    def write(
        self, target: NewSnapshot, name: str, header: KeyedBackendHeader, key_groups: KeyGroupRange
    ) -> tuple[str, CanonicalFile]:
        """Writes the file of a subtask, like ``StoredSections.write``."""
        first, end = self._rows(key_groups)
        groups = self.places[first:end, 0]
        borders = np.append(np.flatnonzero(np.diff(groups, prepend=-1)), end - first) + first
        locations = [target.below(file) for file in self.files]
        sizes: dict[int, int] = {}
        view = DataOutputView()
        header.write(view)
        with target.create(name) as file:
            file.write(view.to_bytes())
            for start, stop in pairwise(borders.tolist()):
                numbers, places = self.of_file[start:stop], self.places[start:stop]
                section_start = file.size
                for number, (_, position, size) in zip(
                    numbers.tolist(), places.tolist(), strict=True
                ):
                    file.copy(StoredRange(locations[number], position, size))
                file.write(END_OF_SECTION)
                sizes[int(places[0, 0])] = file.size - section_start
        return file.path, CanonicalFile.of_sections(view.position, key_groups, sizes)

    def _rows(self, key_groups: KeyGroupRange) -> tuple[int, int]:
        groups = self.places[:, 0]
        first, end = np.searchsorted(groups, [key_groups.start, key_groups.end + 1]).tolist()
        return first, end


_ID_SIZE = 2
_KEY_SIZE_SIZE = 4
_IS_LAST = 0x80


@dataclass(frozen=True, slots=True)
class StoredSections:
    """The section of each key group of an operator that has entries."""

    ranges: Mapping[int, StoredRange]

    @classmethod
    def of(
        cls, directory: SnapshotDirectory, record: OperatorState, names: Sequence[str]
    ) -> Self | None:
        """Sections of all canonical files of an operator; None if entries must be read.

        ``names`` has the states of the new header in order.
        """
        try:
            check_subtasks(record, directory.metadata_path)
            prefix = prefix_size(record.max_parallelism)
            ranges: dict[int, StoredRange] = {}
            for subtask in record.subtasks:
                if subtask.raw_keyed_state is not None:
                    return None
                handle = subtask.managed_keyed_state
                if handle is None:
                    continue
                of_file = _ranges_of(directory, handle, names, prefix)
                if of_file is None:
                    return None
                ranges.update(of_file)
        except SavepointError:
            return None
        return cls(ranges)

    def __contains__(self, key_groups: KeyGroupRange) -> bool:
        """Whether any of these key groups has entries."""
        return any(group in self.ranges for group in key_groups)

    def can_be_copied_to(self, target: NewSnapshot) -> bool:
        """Whether the file system copies the ranges."""
        return target.copies_from(of.location for of in self.ranges.values())

    def write(
        self, target: NewSnapshot, name: str, header: KeyedBackendHeader, key_groups: KeyGroupRange
    ) -> tuple[str, CanonicalFile]:
        """Writes the file of a subtask; returns its path below the directory, and its offsets.

        Raises ``SavepointError`` if the file system refuses it, or a file has become shorter.
        """
        view = DataOutputView()
        header.write(view)
        head = view.to_bytes()
        ranges = {group: self.ranges[group] for group in key_groups if group in self.ranges}
        sizes = {group: of.size for group, of in ranges.items()}
        path = target.assembled(name, head, list(_joined(ranges.values())))
        return path, CanonicalFile.of_sections(len(head), key_groups, sizes)


def _ranges_of(
    directory: SnapshotDirectory, handle: object, names: Sequence[str], prefix: int
) -> dict[int, StoredRange] | None:
    """The sections of a file; None if they must be read."""
    if not isinstance(handle, KeyGroupsHandle):
        return None
    if handle.type is not KeyedHandleType.CANONICAL_SAVEPOINT:
        return None
    file = directory.file(handle.stream)
    header = KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, handle))
    known = [state.name for state in header.states]
    if header.is_compressed or file.location is None or known != list(names[: len(known)]):
        return None
    all_sections = sections_of(handle.groups, file, handle.key_groups)
    sections = [section for section in all_sections if section.size > len(END_OF_SECTION)]
    if not _are_whole(file, sections, len(known), prefix):
        return None
    return {
        section.key_group: StoredRange(file.location, file.start + section.start, section.size)
        for section in sections
    }


def _are_whole(file: StateFile, sections: Iterable[Section], states: int, prefix: int) -> bool:
    """Whether sections begin with an entry of their key group and end with the mark.

    In a store only the size of the file is checked: reads of a few bytes take as long as large ones.
    """
    location = file.location
    assert location is not None  # it is a file
    ends = [file.start + section.end for section in sections]
    if (location.file_size() or 0) < max(ends, default=0):
        return False
    if not location.is_local:
        return True
    with Path(location.path).open("rb", buffering=0) as stored:
        return all(
            _is_whole(stored.fileno(), section, file.start, states, prefix) for section in sections
        )


def _is_whole(file: int, section: Section, base: int, states: int, prefix: int) -> bool:
    key = _ID_SIZE + _KEY_SIZE_SIZE
    head = os.pread(file, key + prefix, base + section.start)
    mark = os.pread(file, len(END_OF_SECTION), base + section.end - len(END_OF_SECTION))
    if len(head) < key + prefix or mark != END_OF_SECTION:
        return False
    group = int.from_bytes(bytes([head[key] & ~_IS_LAST, *head[key + 1 :]]), "big")
    return int.from_bytes(head[:_ID_SIZE], "big") < states and group == section.key_group


def _joined(ranges: Iterable[StoredRange]) -> Iterator[StoredRange]:
    last: StoredRange | None = None
    for following in ranges:
        if last is not None and last.is_followed_by(following):
            last = StoredRange(last.location, last.start, last.size + following.size)
            continue
        if last is not None:
            yield last
        last = following
    if last is not None:
        yield last
