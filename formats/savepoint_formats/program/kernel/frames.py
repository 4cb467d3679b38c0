"""The frames of a key-group section: where each key and each value lies.

A run of entries of one state begins with its id. The first bit of a key says that the run ends
with this entry; then comes the next run's id, or the end mark.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.key_rows import key_group_at
from savepoint_formats.program.kernel.machine_code import light_entry, part
from savepoint_formats.program.kernel.memory import (
    load_byte,
    load_int,
    load_native_int,
    load_unsigned_short,
    store_int,
    store_long,
)
from savepoint_formats.program.kernel.status import DONE, FULL

NO_STATE = -1
"""Where a state's id is what comes next."""

CUT = -3
"""The bytes end within a frame."""

UNKNOWN_STATE = -4
"""A state id that the file's header does not know."""

BAD_SIZE = -5
"""A key without bytes, or a negative size."""

NONE_FOREIGN = -1
"""Instead of a frame of another key group."""

_TRIED = 16
"""Whether entries have the same sizes is tried behind each of so many, for it costs time if not."""

_END_MARK = 0xFFFF
_IS_LAST = 0x80


class FramesJob(NamedTuple):
    """What to search for frames; all but the numbers are addresses.

    | field                | what                                                          |
    |----------------------|---------------------------------------------------------------|
    | data                 | the bytes                                                     |
    | position, end        | the part of them that is searched                             |
    | state                | the state of the next frame, or NO_STATE                      |
    | states               | how many states there are                                     |
    | prefix_size          | 0, 1 or 2 bytes that each key begins with: its key group      |
    | key_group            | what that is to be                                            |
    | first, total         | frames found before, and how many there is room for           |
    | first_run            | runs found before, for which there is as much room            |
    | run_states           | i32 per run of frames of one state                            |
    | run_starts           | i64 per run: its first frame                                  |
    | key_starts, …        | i64 per frame, positions in data                              |
    """

    data: int
    position: int
    end: int
    state: int
    states: int
    prefix_size: int
    key_group: int
    first: int
    total: int
    first_run: int
    run_states: int
    run_starts: int
    key_starts: int
    key_ends: int
    value_starts: int
    value_ends: int


@light_entry(lambda job: job.end - job.position)
def find_frames(  # noqa: PLR0912 - a branch per way to end
    job: FramesJob,
) -> tuple[int, int, int, int, int, int, int]:
    """Finds frames until the section, the bytes or the room end.

    Returns:
        The status, the number of frames and that of runs, the position and state to go on with,
        how far the bytes must reach at least for another frame, and the first frame whose key is
        of another key group, or NONE_FOREIGN.
    """
    data, end, state = job.data, job.end, job.state
    foreign = NONE_FOREIGN
    position, runs = job.position, job.first_run
    is_in_run = False
    index = job.first
    while index < job.total:
        if state == NO_STATE:
            if end - position < 2:
                return CUT, index, runs, position, state, position + 2, foreign
            state = load_unsigned_short(data + position)
            if state == _END_MARK:
                return DONE, index, runs, position + 2, NO_STATE, 0, foreign
            if state >= job.states:
                return UNKNOWN_STATE, index, runs, position, state, 0, foreign
            position += 2
        if end - position < 4:
            return CUT, index, runs, position, state, position + 4, foreign
        key_size = load_int(data + position)
        key_start = position + 4
        key_end = key_start + key_size
        if key_size < 1:
            return BAD_SIZE, index, runs, position, state, 0, foreign
        if end - key_end < 4:
            return CUT, index, runs, position, state, key_end + 4, foreign
        value_size = load_int(data + key_end)
        value_start = key_end + 4
        if value_size < 0:
            return BAD_SIZE, index, runs, key_end, state, 0, foreign
        if end - value_start < value_size:
            return CUT, index, runs, position, state, value_start + value_size, foreign
        if not is_in_run:
            store_int(job.run_states + 4 * runs, state)
            store_long(job.run_starts + 8 * runs, index)
            runs += 1
            is_in_run = True
        if foreign == NONE_FOREIGN and not _is_own(job, key_start, key_size):
            foreign = index
        store_long(job.key_starts + 8 * index, key_start)
        store_long(job.key_ends + 8 * index, key_end)
        store_long(job.value_starts + 8 * index, value_start)
        store_long(job.value_ends + 8 * index, value_start + value_size)
        index += 1
        if load_byte(data + key_start) & _IS_LAST:
            state = NO_STATE
            is_in_run = False
        elif index % _TRIED == 0:
            size = value_start + value_size - position
            count = _alike(job, index, position, size, key_size)
            index += count
            position += size * count
        position += 8 + key_size + value_size
    return FULL, job.total, runs, position, state, 0, foreign


@part
def _alike(job: FramesJob, index: int, frame: int, size: int, key_size: int) -> int:
    """Stores frames of the same sizes, state and key group as the one in front of them.

    Where the next frame begins need not be read then, so that the processor need not wait.

    Returns:
        How many they are.
    """
    data = job.data
    key_word = load_native_int(data + frame)
    value_word = load_native_int(data + frame + 4 + key_size)
    bits = 0xFFFF if job.prefix_size == 2 else 0xFF00 if job.prefix_size == 1 else _IS_LAST << 8
    prefix = load_unsigned_short(data + frame + 4) & bits
    position = frame + size
    first = index
    while (
        index < job.total
        and job.end - position >= size
        and load_native_int(data + position) == key_word
        and load_native_int(data + position + 4 + key_size) == value_word
        and load_unsigned_short(data + position + 4) & bits == prefix
    ):
        store_long(job.key_starts + 8 * index, position + 4)
        store_long(job.key_ends + 8 * index, position + 4 + key_size)
        store_long(job.value_starts + 8 * index, position + 8 + key_size)
        position += size
        store_long(job.value_ends + 8 * index, position)
        index += 1
    return index - first


@part
def _is_own(job: FramesJob, start: int, size: int) -> bool:
    """Whether a key is of the section's key group."""
    if size < job.prefix_size:
        return False
    return key_group_at(job.data + start + job.prefix_size, job.prefix_size) == job.key_group
