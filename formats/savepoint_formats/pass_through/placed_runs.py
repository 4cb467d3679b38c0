"""Runs that lie in files of a savepoint that is being written, and become its sections there.

A section is all runs of its key group, one behind the other, and a mark. So a file of a subtask is a
header, ranges of the files of runs, and marks: the file system copies the ranges by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.new_snapshot.stored_range import StoredRange
from savepoint_formats.state_files.canonical_file import END_OF_SECTION, CanonicalFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.new_snapshot.directory import NewSnapshot
    from savepoint_formats.state_files.header import KeyedBackendHeader

    Places = NDArray[np.int64]
    """A row per run: its key group, where in its file it begins, and its bytes."""

PLACE_COLUMNS = 3


@dataclass(frozen=True, slots=True, eq=False)
class PlacedRuns:
    """Runs of an operator.

    Attributes:
        files: The files, by their paths below the directory.
        of_file: The number of the file that each run lies in.
        places: Where in it, in the order of key groups.
    """

    files: tuple[str, ...]
    of_file: NDArray[np.int64]
    places: Places

    @classmethod
    def of(cls, parts: Iterable[tuple[str, bytes]]) -> Self:
        """The runs of all files.

        Args:
            parts: A file, and rows of ``Places`` as bytes of this machine.
        """
        parts = list(parts)
        numbers: dict[str, int] = {}
        tables = [np.frombuffer(places, np.int64).reshape(-1, PLACE_COLUMNS) for _, places in parts]
        of_file = [numbers.setdefault(file, len(numbers)) for file, _ in parts]
        whole = np.concatenate([np.empty((0, PLACE_COLUMNS), np.int64), *tables])
        file_numbers = np.repeat(np.array(of_file, np.int64), [len(table) for table in tables])
        order = np.argsort(whole[:, 0], kind="stable")
        return cls(tuple(numbers), file_numbers[order], whole[order])

    def __contains__(self, key_groups: KeyGroupRange) -> bool:
        """Whether there are runs of any of these key groups."""
        first, end = self._rows(key_groups)
        return first < end

    def write(
        self, target: NewSnapshot, name: str, header: KeyedBackendHeader, key_groups: KeyGroupRange
    ) -> tuple[str, CanonicalFile]:
        """Writes the file of a subtask; as ``StoredSections`` does.

        Raises:
            SavepointError: The file system does not take it.
            TruncatedError: A file of runs has become shorter.
        """
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
        """The first row of these key groups, and the one behind the last."""
        groups = self.places[:, 0]
        first, end = np.searchsorted(groups, [key_groups.start, key_groups.end + 1]).tolist()
        return first, end
