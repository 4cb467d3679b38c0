"""Key-group sections of canonical files, taken apart: state, key and value of each entry.

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

from savepoint_formats.columns.kernel import (
    BAD_SIZE,
    CUT,
    DONE,
    NO_STATE,
    UNKNOWN_STATE,
    FramesJob,
    find_frames,
    run,
)
from savepoint_formats.errors import FormatError, TruncatedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from savepoint_formats.columns.chunk import Chunk

LEAST_FRAME_SIZE = 9
"""Both sizes and a key of one byte."""


@dataclass(frozen=True, slots=True)
class FramesStart:
    """Where to go on.

    Attributes:
        position: In the chunk.
        state: Whose entry is the next; NO_STATE if its id comes first.
    """

    position: int
    state: int = NO_STATE


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """Entries of a section, in its order; positions count in the chunk.

    Attributes:
        state_ids: Whose entry each one is.
        key_starts: Where its key begins, with its key-group prefix.
        key_ends: Where its key ends.
        value_starts: Where its value begins.
        value_ends: Where its value ends.
        next: Where the rest of the section begins; behind its end mark if there is none.
        is_end: Whether the end mark was found.
        wanted: If the chunk ends within a frame, how far it must reach for that one, at least.
    """

    state_ids: npt.NDArray[np.int32]
    key_starts: npt.NDArray[np.int64]
    key_ends: npt.NDArray[np.int64]
    value_starts: npt.NDArray[np.int64]
    value_ends: npt.NDArray[np.int64]
    next: FramesStart
    is_end: bool
    wanted: int

    def __len__(self) -> int:
        return len(self.state_ids)

    def runs(self) -> Iterator[tuple[int, slice]]:
        """Each run of entries of one state: its id, and which they are."""
        borders = np.flatnonzero(np.diff(self.state_ids)) + 1
        edges = [0, *borders.tolist(), len(self)] if len(self) else []
        for start, end in pairwise(edges):
            yield int(self.state_ids[start]), slice(start, end)


def frames(chunk: Chunk, start: FramesStart, states: int, *, limit: int | None = None) -> Frames:
    """Finds the entries of a section, as far as the chunk holds it.

    Args:
        chunk: The bytes.
        start: The section's first byte, or ``next`` of the frames before.
        states: How many states the file's header has.
        limit: How many entries to find at most.

    Raises:
        FormatError: A state is unknown, or a size impossible.
        ValueError: The start lies outside of the chunk.
    """
    size = chunk.size_from(start.position)
    count = size // LEAST_FRAME_SIZE + 1
    if limit is not None:
        count = min(count, limit)
    state_ids = np.empty(count, np.int32)
    spans = np.empty((4, count), np.int64)
    job = FramesJob(
        data=chunk.address,
        position=start.position,
        end=len(chunk),
        state=start.state,
        states=states,
        total=count,
        state_ids=state_ids.ctypes.data,
        key_starts=spans[0].ctypes.data,
        key_ends=spans[1].ctypes.data,
        value_starts=spans[2].ctypes.data,
        value_ends=spans[3].ctypes.data,
    )
    status, found, position, state, wanted = run(find_frames, job)
    if status == UNKNOWN_STATE:
        raise chunk.error(f"state {state} of {states}", position, FormatError)
    if status == BAD_SIZE:
        size = chunk.view(position, len(chunk)).read_int()
        error = chunk.error(f"a key or value of {size} bytes", position, FormatError)
        error.state = state
        raise error
    return Frames(
        state_ids=state_ids[:found],
        key_starts=spans[0, :found],
        key_ends=spans[1, :found],
        value_starts=spans[2, :found],
        value_ends=spans[3, :found],
        next=FramesStart(position, state),
        is_end=status == DONE,
        wanted=wanted if status == CUT else 0,
    )


def section_frames(chunk: Chunk, position: int, states: int) -> Frames:
    """All entries of the section that begins there and ends where the chunk does.

    Raises:
        TruncatedError: It has no end mark.
        FormatError: Bytes follow on it, or it is damaged.
    """
    found = frames(chunk, FramesStart(position), states)
    if not found.is_end:
        error = "the key group has no end mark"
        raise chunk.error(error, found.next.position, TruncatedError)
    if found.next.position != len(chunk):
        left = len(chunk) - found.next.position
        error = f"{left} bytes behind the end mark of the key group"
        raise chunk.error(error, found.next.position, FormatError)
    return found
