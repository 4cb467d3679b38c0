"""Copies scattered ranges, and entries, which are divided into chunks by a hash."""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    copy,
    load_native_int,
    load_native_long,
    store_int,
    store_long,
)
from savepoint_formats.program.kernel.key_lookup import hash_of
from savepoint_formats.program.kernel.status import DONE, FULL, REFUSED


class RangesJob(NamedTuple):
    """Ranges to copy; all but the numbers are addresses."""

    data: int  # the bytes
    size: int  # their number
    starts: int  # i64 per range, positions in data
    ends: int
    total: int  # number of ranges
    target: int  # where copies go
    capacity: int  # its bytes
    offsets: int  # i64 per range: where its copy ends in the target


@entry
def copy_ranges(job: RangesJob) -> tuple[int, int]:
    """Copies ranges; returns the status and its range, REFUSED if that lies outside of the bytes."""
    position = 0
    for index in range(job.total):
        start = load_native_long(job.starts + 8 * index)
        end = load_native_long(job.ends + 8 * index)
        if not 0 <= start <= end <= job.size:
            return REFUSED, index
        if end - start > job.capacity - position:
            return FULL, index
        copy(job.target + position, job.data + start, end - start)
        position += end - start
        store_long(job.offsets + 8 * index, position)
    return DONE, job.total


class ChunksJob(NamedTuple):
    """Entries to divide; all but the numbers are addresses."""

    data: int  # the bytes
    size: int  # their number
    starts: int  # i64 per entry: its identity, positions in data
    ends: int
    key_starts: int  # i64 per entry; likewise below
    key_ends: int
    value_starts: int
    value_ends: int
    total: int  # number of entries
    chunks: int  # i32 per entry: its chunk
    chunk_count: int  # number of chunks
    entries: int  # i64 per chunk: number of entries; when copying the next entry, or -1
    sizes: int  # i64 per chunk: bytes; when copying the next byte
    target: int  # where copies go
    key_sizes: int  # i32 per copied entry
    value_sizes: int  # i32 per copied entry


@entry
def find_chunks(job: ChunksJob) -> tuple[int, int]:
    """Finds the chunk of each entry, and adds up the entries and bytes of each chunk.

    Returns the status and the next entry: REFUSED if an entry is not within the data.
    """
    for index in range(job.total):
        start, size = _range(job.starts, job.ends, index)
        key_start, key_size = _range(job.key_starts, job.key_ends, index)
        value_start, value_size = _range(job.value_starts, job.value_ends, index)
        if not (
            0 <= start <= start + size <= job.size
            and 0 <= key_start <= key_start + key_size <= job.size
            and 0 <= value_start <= value_start + value_size <= job.size
        ):
            return REFUSED, index
        # The lower bits choose places in tables, which must differ within a chunk.
        chunk = (hash_of(job.data + start, size, 0) >> 33 & 0x3FFFFFFF) % job.chunk_count
        store_int(job.chunks + 4 * index, chunk)
        _add(job.entries + 8 * chunk, 1)
        _add(job.sizes + 8 * chunk, key_size + value_size)
    return DONE, job.total


@entry
def copy_chunks(job: ChunksJob) -> tuple[int, int]:
    """Copies key and value of each entry to its chunk; returns the status and the next entry."""
    for index in range(job.total):
        chunk = load_native_int(job.chunks + 4 * index)
        number = load_native_long(job.entries + 8 * chunk)
        if number >= 0:
            key_start, key_size = _range(job.key_starts, job.key_ends, index)
            value_start, value_size = _range(job.value_starts, job.value_ends, index)
            target = job.target + load_native_long(job.sizes + 8 * chunk)
            copy(target, job.data + key_start, key_size)
            copy(target + key_size, job.data + value_start, value_size)
            store_int(job.key_sizes + 4 * number, key_size)
            store_int(job.value_sizes + 4 * number, value_size)
            store_long(job.entries + 8 * chunk, number + 1)
            _add(job.sizes + 8 * chunk, key_size + value_size)
    return DONE, job.total


@part
def _range(starts: int, ends: int, index: int) -> tuple[int, int]:
    """Start and size of an entry's range."""
    start = load_native_long(starts + 8 * index)
    return start, load_native_long(ends + 8 * index) - start


@part
def _add(address: int, number: int) -> None:
    store_long(address, load_native_long(address) + number)
