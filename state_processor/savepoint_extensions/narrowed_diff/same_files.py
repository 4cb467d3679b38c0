"""Files that two snapshots have in common: the same place, or the same bytes on a local disk.

The bytes of a store are not compared, since both files would have to be fetched. There, only a handle
that leads both snapshots to the same place is the same file.
"""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.metadata import FileStream, InlineStream, RelativeFile, SegmentStream
from savepoint_formats.scan import key_group_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations import SnapshotDirectory, StateFile
    from savepoint_formats.metadata import KeyGroupsHandle, StreamHandle

_AT_ONCE = 1 << 20
"""Bytes that are compared at once; they stay in a core's caches."""


@dataclass(frozen=True)
class SnapshotFile:
    """A file of a snapshot, or a segment of one."""

    directory: SnapshotDirectory
    stream: StreamHandle

    @property
    def size(self) -> int:
        return self.stream.size

    @cached_property
    def place(self) -> object:
        """Different for different places, except of stores; see ``is_at``."""
        if isinstance(self.stream, InlineStream):
            return self.stream.data
        if self.directory.is_local:
            location = self._file.location
            try:
                if location is None or not location.is_local:
                    return object()  # missing files are not the same: a read raises the error
                status = os.stat(location.path)
            except OSError:
                return object()
            return status.st_dev, status.st_ino, self._file.start, self.size
        if isinstance(self.stream, RelativeFile):
            path = posixpath.join(self.directory.absolute_uri, self.stream.path)
            return posixpath.normpath(path), 0, self.size
        return self.stream

    def is_at(self, other: SnapshotFile) -> bool:
        """Whether the other file has the same bytes by its place, or by itself in ``_metadata``."""
        if self.place != other.place:
            return False
        ours, theirs = self.directory.location, other.directory.location
        has_other_way = isinstance(self.stream, FileStream | SegmentStream) and (
            posixpath.dirname(ours.path) != posixpath.dirname(theirs.path)
            or not ours.filesystem.equals(theirs.filesystem)
        )
        if self.directory.is_local or not has_other_way:
            return True
        # The same absolute path leads a moved snapshot to its own copy.
        return self._file.location is not None and self._file.location == other._file.location

    def has_same_bytes(self, other: SnapshotFile) -> bool:
        """Whether the other file is known to have the same bytes; reads files of a local disk."""
        if self.size != other.size:
            return False
        return self.is_at(other) or self.has_same_range(other, 0, 0, self.size)

    def has_same_range(self, other: SnapshotFile, start: int, begin: int, size: int) -> bool:
        """Whether ``size`` bytes from ``start``, and those of the other from ``begin``, are the same."""
        if not (self._is_at_hand and other._is_at_hand):
            return False
        return all(
            self._file.read(start + at, start + min(at + _AT_ONCE, size))
            == other._file.read(begin + at, begin + min(at + _AT_ONCE, size))
            for at in range(0, size, _AT_ONCE)
        )

    @property
    def _is_at_hand(self) -> bool:
        """Whether its bytes are on a local disk or in ``_metadata``; a missing file says so when read."""
        if isinstance(self.stream, InlineStream):
            return True
        location = self._file.location if self.directory.is_local else self.directory.location
        return location is None or location.is_local

    @cached_property
    def _file(self) -> StateFile:
        return self.directory.file(self.stream)


@dataclass(frozen=True)
class Sections:
    """The key groups of a file with a section for each."""

    file: SnapshotFile
    handle: KeyGroupsHandle

    @cached_property
    def _borders(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Start and end of each key group; both are 0 if nothing was written for it."""
        offsets = np.array(self.handle.groups.offsets, np.int64)
        starts = np.where(offsets > 0, offsets, 0)
        return starts, np.where(starts > 0, starts + key_group_sizes(self.handle), 0)

    def _section(self, key_group: int) -> tuple[int, int]:
        starts, ends = self._borders
        place = key_group - self.handle.key_groups.start
        return int(starts[place]), int(ends[place])

    @cached_property
    def _header_size(self) -> int:
        starts = self._borders[0]
        return int(starts[starts > 0].min(initial=self.file.size))

    def different(self, other: Sections, key_groups: KeyGroupRange) -> Iterator[int]:
        """Key groups that are not known to have the same bytes."""
        if self.handle.groups == other.handle.groups and self.file.is_at(other.file):
            return
        if not self._has_same_header(other):
            yield from key_groups
            return
        for run, place, other_place, size in self._runs(other, key_groups):
            if size < 0 or not self.file.has_same_range(other.file, place, other_place, size):
                yield from run

    def _runs(
        self, other: Sections, key_groups: KeyGroupRange
    ) -> Iterator[tuple[list[int], int, int, int]]:
        """Key groups that are compared at once, where they begin in both files, and their size.

        Sections of different sizes have the size -1.
        """
        run, first, second, size = list[int](), 0, 0, 0
        for key_group in key_groups:
            (start, end), (begin, stop) = self._section(key_group), other._section(key_group)
            is_next = (start, begin) == (first + size, second + size) and size < _AT_ONCE
            if run and not (is_next and end - start == stop - begin):
                yield run, first, second, size
                run = []
            if not run:
                first, second, size = start, begin, 0
            run.append(key_group)
            size += end - start
            if end - start != stop - begin:
                yield run, first, second, -1
                run = []
        if run:
            yield run, first, second, size

    def _has_same_header(self, other: Sections) -> bool:
        # Sections name states by their numbers in the header.
        size = self._header_size
        return size == other._header_size and self.file.has_same_range(other.file, 0, 0, size)
