"""Runs in files of a savepoint that is being written, which become its sections.

A section is all runs of its key group and a mark. So the file of a subtask is a header, ranges of files
of runs, and marks. The file system copies the ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.new_snapshot.new_file import StoredRange
from savepoint_formats.state_files.canonical_file import END_OF_SECTION, CanonicalFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.new_snapshot.directory import NewSnapshot
    from savepoint_formats.state_files.header import KeyedBackendHeader

    Places = NDArray[np.int64]
    """A row per run: its key group, its offset in its file, and its size."""

PLACE_COLUMNS = 3


@dataclass(frozen=True, slots=True, eq=False)
class PlacedRuns:
    """Runs of an operator in the order of key groups, and the index of the file of each.

    Paths of files are relative to the directory.
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
