"""The frames of a key-group section: where each key and each value lies.

A run of entries of one state begins with its id. The first bit of a key says that the run ends
with this entry; then comes the next run's id, or the end mark.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_int,
    load_native_int,
    load_unsigned_short,
    store_int,
    store_long,
)
from savepoint_formats.program.kernel.key_lookup import key_group_at
from savepoint_formats.program.kernel.status import DONE, FULL

NO_STATE = -1
"""No state: its id comes next."""

CUT = -3
"""Bytes that end within a frame."""

UNKNOWN_STATE = -4
"""A state id that the file's header does not know."""

BAD_SIZE = -5
"""A key without bytes, or a negative size."""

NONE_FOREIGN = -1
"""No frame of another key group."""

_TRIED = 16
"""Frames between two checks whether entries have the same sizes; a vain check costs time."""

_END_MARK = 0xFFFF
_IS_LAST = 0x80


class FramesJob(NamedTuple):
    """Bytes to search for frames; all but the numbers are addresses."""

    data: int  # the bytes
    position: int  # where the search begins
    end: int  # where it ends
    state: int  # state of the next frame, or NO_STATE
    states: int  # number of states
    prefix_size: int  # bytes of the key group in front of each key: 0, 1 or 2
    key_group: int  # the expected key group
    first: int  # number of frames before this search
    total: int  # room for frames and runs
    first_run: int  # number of runs before this search
    run_states: int  # i32 per run of frames of one state
    run_starts: int  # i64 per run: its first frame
    key_starts: int  # i64 per frame, positions in data; likewise below
    key_ends: int
    value_starts: int
    value_ends: int


@entry
def find_frames(  # noqa: PLR0912 - a branch per way to end
    job: FramesJob,
) -> tuple[int, int, int, int, int, int, int]:
    """Finds frames until the section, the bytes or the room end.

    Returns the status, the number of frames, the number of runs, the position and state to go on
    with, where the bytes must end at least for another frame, and the first frame whose key is of
    another key group, or NONE_FOREIGN.
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
    """Stores frames with the sizes, state and key group of the frame before; returns their count.

    It need not read where the next frame begins, so the processor need not wait.
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
