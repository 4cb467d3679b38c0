"""Finds state, key and value of each entry in the key-group sections of canonical files.

| bytes         | field | meaning                                                           |
|---------------|-------|-------------------------------------------------------------------|
| u16           | state | index of the state in the file's header; FFFF ends the section    |
| i32, n bytes  | key   | the entry's key; 80 in its first byte: a state follows the value  |
| i32, n bytes  | value |                                                                   |

Flink: ``FullSnapshotAsyncWriter``, ``FullSnapshotRestoreOperation``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.errors import FormatError, TruncatedError
from savepoint_formats.program.kernel import (
    BAD_SIZE,
    CUT,
    DONE,
    FULL,
    NO_STATE,
    NONE_FOREIGN,
    UNKNOWN_STATE,
    FramesJob,
    find_frames,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from savepoint_formats.bytes.chunk import Chunk

LEAST_FRAME_SIZE = 9
"""Both sizes and a key of one byte."""

EXPECTED_FRAME_SIZE = 18
"""Both sizes and a key of a long: an estimate for the first allocation.

Each allocation of more than 32 MiB would come from the system anew, page by page."""


@dataclass(frozen=True, slots=True)
class FramesStart:
    """Position of the next entry, and its state; NO_STATE if the state's id comes first."""

    position: int
    state: int = NO_STATE


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """Entries of sections, in their order; positions count in the chunk.

    Attributes:
        run_states: State of each run of entries.
        run_starts: First entry of each run.
        ranges: Four rows: start and end of each key with its prefix, start and end of its value.
        next: Start of the unread bytes of the last section; behind its end mark if all are read.
        is_end: Whether the end mark of the last section was found.
        wanted: Where the chunk must end at least, if it ends within an entry.
        foreign: First entry of another key group than its section's; NONE_FOREIGN if none is.
    """

    run_states: npt.NDArray[np.int32]
    run_starts: npt.NDArray[np.int64]
    ranges: npt.NDArray[np.int64]
    next: FramesStart
    is_end: bool
    wanted: int
    foreign: int

    def __len__(self) -> int:
        return len(self.ranges[0])

    def runs(self) -> Iterator[tuple[int, slice]]:
        """Id of the state and entries of each run."""
        borders = pairwise([*self.run_starts.tolist(), len(self)])
        for state, (start, end) in zip(self.run_states.tolist(), borders, strict=True):
            yield state, slice(start, end)

    def by_state(self) -> dict[int, npt.NDArray[np.int64]]:
        """Ranges of each state that has entries, by its id."""
        parts: dict[int, list[npt.NDArray[np.int64]]] = {}
        for state, entries in self.runs():
            parts.setdefault(state, []).append(self.ranges[:, entries])
        return {
            state: entries[0] if len(entries) == 1 else np.concatenate(entries, axis=1)
            for state, entries in parts.items()
        }


class FramesTable:
    """Finds the entries of a chunk, section by section.

    Without a ``prefix_size``, key groups of entries are not compared.
    """

    def __init__(self, chunk: Chunk, states: int, prefix_size: int = 0) -> None:
        self._chunk = chunk
        self._states = states
        self._prefix_size = prefix_size
        # One more than there can be, so that the end mark is seen.
        self._limit = len(chunk) // LEAST_FRAME_SIZE + 1
        self._count = self._runs = self._room = 0
        self._ranges = np.empty((4, 0), np.int64)
        self._run_states = np.empty(0, np.int32)
        self._run_starts = np.empty(0, np.int64)
        self._make_room(min(len(chunk) // EXPECTED_FRAME_SIZE + 1, self._limit))
        self._foreign = NONE_FOREIGN

    def add(self, start: FramesStart, end: int, key_group: int = 0) -> Frames:
        """Finds the entries of a section up to ``end``; returns those of earlier sections too.

        Raises:
            FormatError: A state is unknown, or a size is impossible.
            ValueError: The section begins after its end, or is outside the chunk.
        """
        chunk = self._chunk
        chunk.size_from(end)
        if start.position > end:
            raise ValueError(f"position {start.position}, behind the end at {end}")
        chunk.size_from(start.position)
        job = FramesJob(
            data=self._chunk.address,
            position=start.position,
            end=end,
            state=start.state,
            states=self._states,
            prefix_size=self._prefix_size,
            key_group=key_group,
            first=self._count,
            total=self._room,
            first_run=self._runs,
            run_states=self._run_states.ctypes.data,
            run_starts=self._run_starts.ctypes.data,
            key_starts=self._ranges[0].ctypes.data,
            key_ends=self._ranges[1].ctypes.data,
            value_starts=self._ranges[2].ctypes.data,
            value_ends=self._ranges[3].ctypes.data,
        )
        status, count, runs, position, state, wanted, foreign = find_frames(job)
        if status == FULL and self._room < self._limit:
            # Going on would make two runs of the last one.
            self._make_room(self._limit)
            return self.add(start, end, key_group)
        self._count, self._runs = count, runs
        if self._foreign == NONE_FOREIGN:
            self._foreign = foreign
        if status == UNKNOWN_STATE:
            raise chunk.error(f"state {state} of {self._states}", position, FormatError)
        if status == BAD_SIZE:
            size = chunk.view(position, len(chunk)).read_int()
            error = chunk.error(f"a key or value of {size} bytes", position, FormatError)
            error.state = state
            raise error
        return Frames(
            run_states=self._run_states[: self._runs],
            run_starts=self._run_starts[: self._runs],
            ranges=self._ranges[:, : self._count],
            next=FramesStart(position, state),
            is_end=status == DONE,
            wanted=wanted if status == CUT else 0,
            foreign=self._foreign,
        )

    def _make_room(self, room: int) -> None:
        ranges, states, starts = self._ranges, self._run_states, self._run_starts
        self._room = room
        self._ranges = np.empty((4, room), np.int64)
        self._run_states = np.empty(room, np.int32)
        self._run_starts = np.empty(room, np.int64)
        self._ranges[:, : self._count] = ranges[:, : self._count]
        self._run_states[: self._runs] = states[: self._runs]
        self._run_starts[: self._runs] = starts[: self._runs]

    def add_section(self, start: int, end: int, key_group: int = 0) -> Frames:
        """Finds all entries of a section; returns those of earlier sections too.

        Raises ``FormatError`` unless the section ends at its end mark.
        """
        frames = self.add(FramesStart(start), end, key_group)
        expect_end(self._chunk, frames, end)
        return frames


def section_frames(chunk: Chunk, position: int, states: int) -> Frames:
    """All entries of the section that begins at ``position`` and ends with the chunk."""
    return FramesTable(chunk, states).add_section(position, len(chunk))


def expect_end(chunk: Chunk, read: Frames, end: int) -> None:
    """Raises ``FormatError`` unless the last section ends at its end mark, and that at ``end``."""
    position = read.next.position
    if not read.is_end:
        error = chunk.error("the key group has no end mark", position, TruncatedError)
        error.state = read.next.state
        raise error
    if position != end:
        message = f"{end - position} bytes behind the end mark of the key group"
        raise chunk.error(message, position, FormatError)
