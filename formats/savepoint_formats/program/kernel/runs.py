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
    | keys, values  | the bytes, of which there are ``keys_size`` and ``values_size``       |
    | key_starts, … | i64 per entry, positions in the bytes                                 |
    | skip          | bytes in front of each key that are left out: an older prefix         |
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
    keys_size: int
    key_starts: int
    key_ends: int
    skip: int
    values: int
    values_size: int
    value_starts: int
    value_ends: int
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
        The status, and the entry that it is of: REFUSED if there is no such key group, if key or
        value have more bytes than 31 bits count, or if they do not lie within the bytes.
    """
    for index in range(job.total):
        key_group = load_native_unsigned_short(job.key_groups + 2 * index)
        start, end = _span(job.key_starts, job.key_ends, index)
        key_size = job.prefix_size + end - start - job.skip
        if not 0 <= start <= start + job.skip <= end <= job.keys_size:
            return REFUSED, index
        start, end = _span(job.value_starts, job.value_ends, index)
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
        start, end = _span(job.key_starts, job.key_ends, index)
        start += job.skip
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
        start, end = _span(job.value_starts, job.value_ends, index)
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
def _span(starts: int, ends: int, index: int) -> tuple[int, int]:
    """Where a key or value begins and ends."""
    return load_native_long(starts + 8 * index), load_native_long(ends + 8 * index)
