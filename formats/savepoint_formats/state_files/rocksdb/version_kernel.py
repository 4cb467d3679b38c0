"""Lists each entry of SST blocks with its whole key, compiled; see ``sst_kernel`` for a block."""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import copy, load_native_long, store_long
from savepoint_formats.state_files.rocksdb.sst_kernel import (
    DAMAGED,
    OK,
    entries_end,
    read_entry_sizes,
)


class DataBlocks(NamedTuple):
    """Blocks whose entries are to be listed; all but the numbers are addresses."""

    data: int
    borders: int  # i64 per block, and one more: where it begins in the data
    blocks: int  # number of blocks
    target: int  # where keys and values go; 0 to measure them
    ends: int = 0  # i64 twice per entry: ends of its key and value in the target; 0 for none


@entry
def list_versions(job: DataBlocks) -> tuple[int, int, int]:
    """Writes key, trailer and value of each entry: old versions and deletions, too.

    Returns a status, the number of entries or the damaged block, and the bytes of all entries.
    """
    count = at = 0
    for block in range(job.blocks):
        start = load_native_long(job.borders + 8 * block)
        end = load_native_long(job.borders + 8 * block + 8)
        status, added, at = list_block(job, start, end, at, job.ends + 16 * count)
        if status != OK:
            return status, block, 0
        count += added
    return OK, count, at


@part
def list_block(job: DataBlocks, start: int, end: int, at: int, ends: int) -> tuple[int, int, int]:
    """Status, the number of entries of a block, and the end of what was written so far."""
    status, limit = entries_end(job.data, start, end)
    position, count = start, 0
    key = key_size = 0
    while status == OK and position < limit:
        shared, unshared, size, position = read_entry_sizes(job.data, position, limit)
        if position < 0 or shared > key_size or unshared > limit - position - size:
            return DAMAGED, 0, 0
        if job.target:
            copy(job.target + at, job.target + key, shared)
            copy(job.target + at + shared, job.data + position, unshared + size)
        key, key_size = at, shared + unshared
        position += unshared + size
        if job.ends:
            store_long(ends + 16 * count, at + key_size)
            store_long(ends + 16 * count + 8, at + key_size + size)
        at += key_size + size
        count += 1
    return status, count, at
