"""Entries of one state become runs, one per key group: sized first, then written in one pass.

An entry goes where the run of its key group has come to, so that entries may come in any order
and keep it within their run; nothing is sorted.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.machine_code import entry, part
from savepoint_formats.program.kernel.memory import (
    copy,
    load_byte,
    load_native_long,
    load_native_unsigned_short,
    store_big_int,
    store_big_short,
    store_byte,
    store_long,
)
from savepoint_formats.program.kernel.status import DONE, REFUSED

RUN_HEAD_SIZE = 2
"""The state's id."""

_FRAME_SIZE = 8
_MAX_SIZE = (1 << 31) - 1
_IS_LAST = 0x80


class RunsJob(NamedTuple):
    """What to make runs of; all but the numbers are addresses.

    | field         | what                                                                  |
    |---------------|-----------------------------------------------------------------------|
    | keys, values  | the bytes                                                             |
    | key_offsets   | i64 per entry, and one more; so are ``value_offsets``                 |
    | key_groups    | u16 per entry                                                         |
    | total         | how many entries there are                                            |
    | state         | its id                                                                |
    | prefix_size   | of each key: 1 or 2 bytes                                             |
    | group_count   | how many key groups there can be                                      |
    | sizes         | i64 per key group: the bytes of its run, 0 if it has none             |
    | positions     | i64 per key group: the address at which its run goes on               |
    | last_keys     | i64 per key group: the address of the last key of its run             |
    """

    keys: int
    key_offsets: int
    values: int
    value_offsets: int
    key_groups: int
    total: int
    state: int
    prefix_size: int
    group_count: int
    sizes: int
    positions: int
    last_keys: int


@entry
def size_runs(job: RunsJob) -> tuple[int, int]:
    """Adds up the size of each run.

    Returns:
        The status, and the entry that it is of: REFUSED if there is no such key group, or if key
        or value have more bytes than 31 bits count.
    """
    for index in range(job.total):
        key_group = load_native_unsigned_short(job.key_groups + 2 * index)
        key_size = job.prefix_size + _size(job.key_offsets, index)
        value_size = _size(job.value_offsets, index)
        if key_group >= job.group_count or key_size > _MAX_SIZE or value_size > _MAX_SIZE:
            return REFUSED, index
        place = job.sizes + 8 * key_group
        size = load_native_long(place)
        if size == 0:
            size = RUN_HEAD_SIZE
        store_long(place, size + _FRAME_SIZE + key_size + value_size)
    return DONE, job.total


@entry
def write_runs(job: RunsJob) -> tuple[int, int]:
    """Writes the runs, after ``size_runs`` has sized them.

    Returns:
        The status, and how many entries were written.
    """
    for key_group in range(job.group_count):
        if load_native_long(job.sizes + 8 * key_group):
            start = load_native_long(job.positions + 8 * key_group)
            store_big_short(start, job.state)
            store_long(job.positions + 8 * key_group, start + RUN_HEAD_SIZE)
    for index in range(job.total):
        key_group = load_native_unsigned_short(job.key_groups + 2 * index)
        place = job.positions + 8 * key_group
        position = load_native_long(place)
        size = _size(job.key_offsets, index)
        store_big_int(position, job.prefix_size + size)
        position += 4
        store_long(job.last_keys + 8 * key_group, position)
        if job.prefix_size == 1:
            store_byte(position, key_group)
        else:
            store_big_short(position, key_group)
        position += job.prefix_size
        copy(position, job.keys + load_native_long(job.key_offsets + 8 * index), size)
        position += size
        size = _size(job.value_offsets, index)
        store_big_int(position, size)
        position += 4
        copy(position, job.values + load_native_long(job.value_offsets + 8 * index), size)
        store_long(place, position + size)
    for key_group in range(job.group_count):
        if load_native_long(job.sizes + 8 * key_group):
            last_key = load_native_long(job.last_keys + 8 * key_group)
            store_byte(last_key, load_byte(last_key) | _IS_LAST)
    return DONE, job.total


@part
def _size(offsets: int, index: int) -> int:
    """The bytes of a value."""
    return load_native_long(offsets + 8 * index + 8) - load_native_long(offsets + 8 * index)
