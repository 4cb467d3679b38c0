"""Writes entries of one state as runs, one per key group, after it has sized the runs.

An entry is appended to the run of its key group. Entries may come in any order and keep it within
their run; nothing is sorted.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
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
    """Entries of one state; all but the numbers are addresses."""

    keys: int  # bytes of the keys
    keys_size: int
    key_starts: int  # i64 per entry, positions in the bytes
    key_ends: int
    values: int  # bytes of the values
    values_size: int
    value_starts: int  # i64 per entry, positions in the bytes
    value_ends: int
    key_groups: int  # u16 per entry
    total: int  # number of entries
    state: int  # the state's id
    prefix_size: int  # bytes of the new prefix: 1 or 2
    group_count: int  # number of key groups
    sizes: int  # i64 per key group: bytes of its run, or 0
    positions: int  # i64 per key group: address where its run goes on
    last_keys: int  # i64 per key group: address of the run's last key


@entry
def size_runs(job: RunsJob) -> tuple[int, int]:
    """Adds up the size of each run.

    Returns the status and its entry: REFUSED if there is no such key group, or if key or value have
    2 GiB, or do not lie within the bytes.
    """
    for index in range(job.total):
        key_group = load_native_unsigned_short(job.key_groups + 2 * index)
        start, end = _range(job.key_starts, job.key_ends, index)
        key_size = job.prefix_size + end - start
        if not 0 <= start <= end <= job.keys_size:
            return REFUSED, index
        start, end = _range(job.value_starts, job.value_ends, index)
        value_size = end - start
        if not 0 <= start <= end <= job.values_size:
            return REFUSED, index
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
    """Writes the runs that ``size_runs`` has sized; returns DONE and the number of entries."""
    for key_group in range(job.group_count):
        if load_native_long(job.sizes + 8 * key_group):
            start = load_native_long(job.positions + 8 * key_group)
            store_big_short(start, job.state)
            store_long(job.positions + 8 * key_group, start + RUN_HEAD_SIZE)
    for index in range(job.total):
        key_group = load_native_unsigned_short(job.key_groups + 2 * index)
        place = job.positions + 8 * key_group
        position = load_native_long(place)
        start, end = _range(job.key_starts, job.key_ends, index)
        size = end - start
        store_big_int(position, job.prefix_size + size)
        position += 4
        store_long(job.last_keys + 8 * key_group, position)
        if job.prefix_size == 1:
            store_byte(position, key_group)
        else:
            store_big_short(position, key_group)
        position += job.prefix_size
        copy(position, job.keys + start, size)
        position += size
        start, end = _range(job.value_starts, job.value_ends, index)
        size = end - start
        store_big_int(position, size)
        position += 4
        copy(position, job.values + start, size)
        store_long(place, position + size)
    for key_group in range(job.group_count):
        if load_native_long(job.sizes + 8 * key_group):
            last_key = load_native_long(job.last_keys + 8 * key_group)
            store_byte(last_key, load_byte(last_key) | _IS_LAST)
    return DONE, job.total


@part
def _range(starts: int, ends: int, index: int) -> tuple[int, int]:
    """Where a key or value begins and ends."""
    return load_native_long(starts + 8 * index), load_native_long(ends + 8 * index)
