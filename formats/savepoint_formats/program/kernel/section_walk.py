"""The frames of key-group sections: where each key and each value of a state lies.

A run of entries of one state begins with its id. The first bit of a key says that the run ends
with this entry; then comes the next run's id, or the end mark. Entries of all sections stand one
behind the other, state by state.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_int,
    load_native_int,
    load_native_long,
    load_unsigned_short,
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

FRAMES_FIELDS = 6
"""Numbers of a state, an i64 each: its entries so far, their room, and the addresses of four arrays
with an i64 per entry: where key and value begin and end, positions in data."""

_ROOM, _KEY_STARTS, _KEY_ENDS, _VALUE_STARTS, _VALUE_ENDS = (8 * field for field in range(1, 6))

_SECTION_SIZE = 24

_TRIED = 16
"""Frames between two checks whether entries have the same sizes; a vain check costs time."""

_END_MARK = 0xFFFF
_IS_LAST = 0x80


class FramesJob(NamedTuple):
    """Sections to search for frames; all but the numbers are addresses."""

    data: int  # the bytes
    sections: int  # i64 three times per section: where it begins and ends, its key group
    total: int  # number of sections
    section: int  # the first section to search
    position: int  # where the search begins in it
    state: int  # state of the next frame, or NO_STATE
    states: int  # number of states
    prefix_size: int  # bytes of the key group in front of each key: 0, 1 or 2
    tables: int  # ``FRAMES_FIELDS`` numbers per state
    foreign: int  # state of the first frame of another key group, or NO_STATE
    foreign_key: int  # where its key begins


@entry
def find_frames(  # noqa: PLR0912 - a branch per way to end
    job: FramesJob,
) -> tuple[int, int, int, int, int, int, int]:
    """Finds frames until the sections, the bytes or the room of a state end.

    Returns the status, and the section, position and state to go on with; where the bytes must end
    at least for another frame; and state and key of the first frame of another key group. A section
    that ends before its bytes do is the last.
    """
    data, position, state, section = job.data, job.position, job.state, job.section
    end, key_group = _end_of(job, section)
    foreign, foreign_key = job.foreign, job.foreign_key
    while True:
        if state == NO_STATE:
            if end - position < 2:
                return CUT, section, position, state, position + 2, foreign, foreign_key
            state = load_unsigned_short(data + position)
            if state == _END_MARK:
                state = NO_STATE
                position += 2
                if position != end or section + 1 == job.total:
                    return DONE, section, position, state, 0, foreign, foreign_key
                section += 1
                position = load_native_long(job.sections + _SECTION_SIZE * section)
                end, key_group = _end_of(job, section)
                continue
            if state >= job.states:
                return UNKNOWN_STATE, section, position, state, 0, foreign, foreign_key
            position += 2
        if end - position < 4:
            return CUT, section, position, state, position + 4, foreign, foreign_key
        key_size = load_int(data + position)
        key_start = position + 4
        key_end = key_start + key_size
        if key_size < 1:
            return BAD_SIZE, section, position, state, 0, foreign, foreign_key
        if end - key_end < 4:
            return CUT, section, position, state, key_end + 4, foreign, foreign_key
        value_size = load_int(data + key_end)
        value_start = key_end + 4
        if value_size < 0:
            return BAD_SIZE, section, key_end, state, 0, foreign, foreign_key
        value_end = value_start + value_size
        if end - value_start < value_size:
            return CUT, section, position, state, value_end, foreign, foreign_key
        table = job.tables + 8 * FRAMES_FIELDS * state
        index = load_native_long(table)
        if index == load_native_long(table + _ROOM):
            return FULL, section, position, state, 0, foreign, foreign_key
        if foreign == NO_STATE and not _is_own(job, key_start, key_size, key_group):
            foreign, foreign_key = state, key_start
        store_long(load_native_long(table + _KEY_STARTS) + 8 * index, key_start)
        store_long(load_native_long(table + _KEY_ENDS) + 8 * index, key_end)
        store_long(load_native_long(table + _VALUE_STARTS) + 8 * index, value_start)
        store_long(load_native_long(table + _VALUE_ENDS) + 8 * index, value_end)
        index += 1
        if load_byte(data + key_start) & _IS_LAST:
            state = NO_STATE
        elif index % _TRIED == 0:
            size = value_end - position
            count = _alike(job, table, index, position, end, key_size)
            index += count
            value_end += size * count
        store_long(table, index)
        position = value_end


@part
def _end_of(job: FramesJob, section: int) -> tuple[int, int]:
    """End of a section, and its key group."""
    border = job.sections + _SECTION_SIZE * section
    return load_native_long(border + 8), load_native_long(border + 16)


@part
def _alike(job: FramesJob, table: int, index: int, frame: int, end: int, key_size: int) -> int:
    """Stores frames with the sizes, state and key group of the frame before; returns their count.

    It need not read where the next frame begins, so the processor need not wait.
    """
    data, first, room = job.data, index, load_native_long(table + _ROOM)
    key_starts = load_native_long(table + _KEY_STARTS)
    key_ends = load_native_long(table + _KEY_ENDS)
    value_starts = load_native_long(table + _VALUE_STARTS)
    value_ends = load_native_long(table + _VALUE_ENDS)
    key_word = load_native_int(data + frame)
    value_word = load_native_int(data + frame + 4 + key_size)
    size = 8 + key_size + load_int(data + frame + 4 + key_size)
    bits = 0xFFFF if job.prefix_size == 2 else 0xFF00 if job.prefix_size == 1 else _IS_LAST << 8
    prefix = load_unsigned_short(data + frame + 4) & bits
    position = frame + size
    while (
        index < room
        and end - position >= size
        and load_native_int(data + position) == key_word
        and load_native_int(data + position + 4 + key_size) == value_word
        and load_unsigned_short(data + position + 4) & bits == prefix
    ):
        store_long(key_starts + 8 * index, position + 4)
        store_long(key_ends + 8 * index, position + 4 + key_size)
        store_long(value_starts + 8 * index, position + 8 + key_size)
        position += size
        store_long(value_ends + 8 * index, position)
        index += 1
    return index - first


@part
def _is_own(job: FramesJob, start: int, size: int, key_group: int) -> bool:
    """Whether a key is of the section's key group."""
    if size < job.prefix_size:
        return False
    return key_group_at(job.data + start + job.prefix_size, job.prefix_size) == key_group
