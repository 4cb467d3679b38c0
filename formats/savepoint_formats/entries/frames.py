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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from savepoint_formats.entries.entry_ranges import EntryRanges, key_groups_at
from savepoint_formats.errors import FormatError, TruncatedError
from savepoint_formats.key_groups import CHUNK_SIZE
from savepoint_formats.program.kernel import (
    BAD_SIZE,
    CUT,
    DONE,
    FRAMES_FIELDS,
    FULL,
    NO_STATE,
    UNKNOWN_STATE,
    FramesJob,
    find_frames,
)

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    import numpy.typing as npt

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.entries.entry_ranges import Part

_SIZE_SIZE = 4

_EXPECTED_SHARE = 64
"""Bytes of a chunk per entry for which there is room at first; the states share it."""


class Placed(NamedTuple):
    """Start and end of a section in a chunk, and its key group."""

    start: int
    end: int
    key_group: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """Entries of sections, in their order; positions count in the chunk.

    Attributes:
        chunk: The bytes.
        by_state: Entries of each state that has any, by its id.
        section: Number of the section in which the search ended, or which has a foreign entry.
        position: Start of its unread bytes; behind its end mark if all are read.
        state: State of the entry there; NO_STATE if the state's id comes first.
        is_end: Whether the end mark was found.
        wanted: Where the chunk must end at least, if it ends within an entry.
        problem: Why the search ended before its end, or the first entry of another key group.
    """

    chunk: Chunk
    by_state: dict[int, EntryRanges]
    section: int
    position: int
    state: int
    is_end: bool
    wanted: int
    problem: FormatError | None

    def part(self, names: Sequence[str], wanted: Container[str]) -> Part:
        """Entries of the wanted states; ``names`` are all states of the file, by id."""
        by_state = self.by_state.items()
        return self.chunk, {
            names[state]: each for state, each in by_state if names[state] in wanted
        }

    def check(self, end: int | None) -> None:
        """Raises ``FormatError`` for a problem, or unless the section ends at its end mark, at ``end``."""
        if self.problem is not None:
            raise self.problem
        if end is not None and not self.is_end:
            message = "the key group has no end mark"
            raise _error(self.chunk, message, self.position, self.state, TruncatedError)
        if end is not None and self.position != end:
            message = f"{end - self.position} bytes behind the end mark of the key group"
            raise self.chunk.error(message, self.position, FormatError)


class FramesFinder:
    """Finds the entries of chunks whose sections have these numbers of states.

    Without a ``prefix_size``, key groups of entries are not compared. There is room for a few more
    entries than the chunk before had: chunks of a file are alike.
    """

    def __init__(self, states: int, prefix_size: int = 0) -> None:
        self._states = states
        self._prefix_size = prefix_size
        self._rooms: dict[int, int] = {}

    def frames(self, chunk: Chunk, sections: Sequence[Placed], state: int = NO_STATE) -> Frames:
        """Finds entries up to the end of the last section, or to a problem.

        The first section goes on with entries of a state, unless that is NO_STATE. Raises
        ``ValueError`` if a section begins after its end, or is outside the chunk.
        """
        for start, end, _ in sections:
            if chunk.size_from(start) < chunk.size_from(end):
                raise ValueError(f"position {start}, behind the end at {end}")
        places = np.array(sections, np.int64)
        tables = np.zeros((self._states, FRAMES_FIELDS), np.int64)
        ranges = {
            known: _enlarge(tables[known], np.empty((4, 0), np.int64), room)
            for known, room in self._rooms.items()
        }
        status, section, position, foreign, foreign_key = FULL, 0, sections[0].start, NO_STATE, 0
        while status == FULL:
            job = FramesJob(
                data=chunk.address,
                sections=places.ctypes.data,
                total=len(places),
                section=section,
                position=position,
                state=state,
                states=self._states,
                prefix_size=self._prefix_size,
                tables=tables.ctypes.data,
                foreign=foreign,
                foreign_key=foreign_key,
            )
            status, section, position, state, wanted, foreign, foreign_key = find_frames(job)
            if status == FULL:
                # A larger chunk has a large entry.
                share = min(len(chunk), CHUNK_SIZE) // (_EXPECTED_SHARE * self._states) + 1
                room = 2 * int(tables[state, 0]) or share
                before = ranges.get(state, np.empty((4, 0), np.int64))
                ranges[state] = _enlarge(tables[state], before, room)
        counts = {known: int(tables[known, 0]) for known in sorted(ranges)}
        self._rooms = {known: count + count // 8 + 1 for known, count in counts.items()}
        by_state = {n: EntryRanges(*ranges[n][:, :count]) for n, count in counts.items() if count}
        problem = self._problem(chunk, status, position, state)
        if problem is None and foreign != NO_STATE:
            section = next(number for number, each in enumerate(sections) if foreign_key < each.end)
            problem = self._foreign(chunk, foreign_key, foreign)
        wanted, is_end = wanted if status == CUT else 0, status == DONE
        return Frames(chunk, by_state, section, position, state, is_end, wanted, problem)

    def _problem(self, chunk: Chunk, status: int, position: int, state: int) -> FormatError | None:
        if status == UNKNOWN_STATE:
            return chunk.error(f"state {state} of {self._states}", position, FormatError)
        if status != BAD_SIZE:
            return None
        size = chunk.view(position, len(chunk)).read_int()
        return _error(chunk, f"a key or value of {size} bytes", position, state)

    def _foreign(self, chunk: Chunk, start: int, state: int) -> FormatError:
        size = chunk.view(start - _SIZE_SIZE, start).read_int()
        message = f"a key of {size} bytes, without its key group"
        if size >= self._prefix_size:
            (group,) = key_groups_at(chunk, np.array([start]), self._prefix_size)
            message = f"a key of key group {group}"
        return _error(chunk, message, start, state)


def _error(
    chunk: Chunk, message: str, position: int, state: int, kind: type[FormatError] = FormatError
) -> FormatError:
    error = chunk.error(message, position, kind)
    error.state = state
    return error


def _enlarge(
    table: npt.NDArray[np.int64], ranges: npt.NDArray[np.int64], room: int
) -> npt.NDArray[np.int64]:
    """Ranges with more room, in a state's table."""
    enlarged = np.empty((4, room), np.int64)
    enlarged[:, : ranges.shape[1]] = ranges
    table[1] = room
    table[2:] = np.arange(4) * enlarged.strides[0] + enlarged.ctypes.data
    return enlarged


def section_frames(chunk: Chunk, position: int, states: int) -> Frames:
    """All entries of the section that begins at ``position`` and ends with the chunk."""
    frames = FramesFinder(states).frames(chunk, [Placed(position, len(chunk))])
    frames.check(len(chunk))
    return frames
