"""Entries of keyed state as bytes, and the runs of canonical files that they become.

A run has the entries of one state in a section of a canonical file. It can stand anywhere: a section
is a sequence of any runs of its key group, and an end mark.

| bytes        | field | meaning                                                               |
|--------------|-------|-----------------------------------------------------------------------|
| u16          | state | index of the state in the file's header                               |
| i32, n bytes | key   | key group in 1 or 2 bytes, then the entry's key; the first bit of the |
|              |       | last key of the run is set                                            |
| i32, n bytes | value |                                                                       |

Key and value are repeated for each entry of the run.

Flink: ``FullSnapshotAsyncWriter``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_ranges import EntryRanges
from savepoint_formats.key_groups import MAX_PARALLELISM
from savepoint_formats.program.byte_ranges import Ranges, bytes_of, large_binary, ranges_in
from savepoint_formats.program.kernel import (
    DONE,
    DistinctHashesJob,
    RunsJob,
    hash_distinctly,
    size_runs,
    write_runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from numpy.typing import NDArray


RUN_SCHEMA = pa.schema({"key_group": pa.int32(), "run": pa.large_binary()})
"""A sequence of runs of a key group of the new savepoint."""

_MAX_SIZE = (1 << 31) - 1


@dataclass(frozen=True, slots=True, eq=False)
class RunEntries:
    """Entries of one state: bytes, with the borders of keys and values.

    The first ``skip`` bytes of each key, the prefix of an older key group, are left out.
    """

    state_id: int
    key_groups: NDArray[np.uint16]
    key_data: NDArray[np.uint8]
    keys: Ranges
    value_data: NDArray[np.uint8]
    values: Ranges
    skip: int = 0

    def __len__(self) -> int:
        return len(self.keys)

    def refusal(self, index: int, count: int) -> ValueError:
        """Reason why an entry can't be in a run, if there are ``count`` key groups."""
        key_group = int(self.key_groups[index])
        if key_group >= count:
            return ValueError(
                f"entry {index} is of key group {key_group}, expected 0 to {count - 1}"
            )
        key, value = int(self.keys.sizes[index]), int(self.values.sizes[index])
        what = f"entry {index} has a key of {key} bytes and a value of {value}"
        if max(key, value) > _MAX_SIZE - self.skip:
            return ValueError(f"{what}, expected less than 2 GiB")
        return ValueError(f"{what}, outside of their bytes")


def joined_runs(
    entries: Sequence[RunEntries], prefix_size: int, group_count: int
) -> pa.RecordBatch:
    """Runs of all states, grouped by key group; entries keep their order."""
    sizes, positions, last_keys = np.zeros((3, len(entries), group_count), np.int64)
    jobs = []
    for number, of_state in enumerate(entries):
        job = RunsJob(
            keys=of_state.key_data.ctypes.data,
            keys_size=len(of_state.key_data),
            key_starts=of_state.keys.starts.ctypes.data,
            key_ends=of_state.keys.ends.ctypes.data,
            skip=of_state.skip,
            values=of_state.value_data.ctypes.data,
            values_size=len(of_state.value_data),
            value_starts=of_state.values.starts.ctypes.data,
            value_ends=of_state.values.ends.ctypes.data,
            key_groups=of_state.key_groups.ctypes.data,
            total=len(of_state),
            state=of_state.state_id,
            prefix_size=prefix_size,
            group_count=group_count,
            sizes=sizes[number].ctypes.data,
            positions=positions[number].ctypes.data,
            last_keys=last_keys[number].ctypes.data,
        )
        status, index = size_runs(job)
        if status != DONE:
            raise of_state.refusal(index, group_count)
        jobs.append(job)
    # In the order of the rows: all states of a key group, then the next one.
    ends = np.cumsum(sizes.T).reshape(group_count, len(entries)).T
    of_groups = sizes.sum(axis=0)
    data = np.empty(int(of_groups.sum()), np.uint8)
    positions[:] = ends - sizes + data.ctypes.data
    for job in jobs:
        write_runs(job)
    (groups,) = np.nonzero(of_groups)
    offsets = np.append(0, np.cumsum(of_groups[groups]))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    made = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(groups), buffers)
    columns = [pa.array(groups.astype(np.int32)), made]
    return pa.RecordBatch.from_arrays(columns, schema=RUN_SCHEMA)


_GROUP_COUNTS = {1: 1 << 7, 2: MAX_PARALLELISM}
"""Size of the prefix -> most key groups; the first bit of a prefix is a mark."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredEntries:
    """Entries of one state.

    Keys have namespaces and user keys, as ``state_entries.entry_key`` writes them behind the
    prefix.
    """

    keys: pa.LargeBinaryArray
    values: pa.LargeBinaryArray

    def __post_init__(self) -> None:
        for array in (self.keys, self.values):
            if array.type != pa.large_binary() or array.null_count:
                raise ValueError(f"{array.null_count} nulls of {array.type}, expected large_binary")
        if len(self.keys) != len(self.values):
            raise ValueError(f"{len(self.keys)} keys and {len(self.values)} values")

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, chunk: Chunk, ranges: EntryRanges, prefix_size: int) -> Self:
        """Entries in a chunk, without the key group in front.

        An entry that is most of the chunk stays in its memory, since it may be as large as the rest.
        """
        keys = Ranges(ranges.key_starts + prefix_size, ranges.key_ends)
        values = Ranges(ranges.value_starts, ranges.value_ends)
        if len(ranges) == 1 and int(values.sizes[0]) > len(chunk) // 2:
            return cls(*(_within(chunk, each) for each in (keys, values)))
        return cls(bytes_of(chunk, keys), bytes_of(chunk, values))

    @classmethod
    def joined(cls, several: Iterable[StoredEntries]) -> Self:
        """The entries of all of these; there must be at least one."""
        keys, values = zip(*((entries.keys, entries.values) for entries in several), strict=True)
        return cls(pa.concat_arrays(keys), pa.concat_arrays(values))

    def chosen(self, wanted: NDArray[np.bool_]) -> StoredEntries:
        """Some entries."""
        mask = pa.array(wanted)
        return StoredEntries(self.keys.filter(mask), self.values.filter(mask))

    def in_chunk(self, path: str, key_prefix: bytes = b"") -> tuple[Chunk, EntryRanges]:
        """A chunk of all keys, then all values, and their places; one that has both is not copied."""
        stored = self.keys
        if key_prefix:
            prefix, nothing = (pa.scalar(it, pa.large_binary()) for it in (key_prefix, b""))
            stored = pc.binary_join_element_wise(prefix, stored, nothing)
        (key_data, keys), (value_data, values) = ranges_in(stored), ranges_in(self.values)
        if key_data.ctypes.data == value_data.ctypes.data and len(key_data) == len(value_data):
            return Chunk(key_data, path), EntryRanges(
                keys.starts, keys.ends, values.starts, values.ends
            )
        base = len(key_data)
        places = EntryRanges(keys.starts, keys.ends, values.starts + base, values.ends + base)
        return Chunk(np.concatenate([key_data, value_data]), path), places


def _within(chunk: Chunk, place: Ranges) -> pa.LargeBinaryArray:
    """The only value of ``place``, in the memory of the chunk."""
    start, end = int(place.starts[0]), int(place.ends[0])
    if not 0 <= start <= end <= len(chunk):
        raise ValueError(f"bytes {start} to {end}, outside of the chunk of {len(chunk)} bytes")
    return large_binary(np.array([start, end], np.int64), chunk.data)


def runs(
    entries: StoredEntries, key_groups: NDArray[np.uint16], state_id: int, prefix_size: int
) -> pa.RecordBatch:
    """Runs of a state's entries, one per key group; see ``joined_runs``.

    Raises ``ValueError`` if the prefix is too small for a key group, or if the counts differ.
    """
    if len(key_groups) != len(entries) or prefix_size not in _GROUP_COUNTS:
        facts = f"{len(key_groups)} key groups of {prefix_size} bytes, {len(entries)} entries"
        raise ValueError(f"{facts}: expected equal numbers, and 1 or 2 bytes")
    groups = np.ascontiguousarray(key_groups, np.uint16)
    (key_data, keys), (value_data, values) = ranges_in(entries.keys), ranges_in(entries.values)
    placed = RunEntries(state_id, groups, key_data, keys, value_data, values)
    return joined_runs([placed], prefix_size, _GROUP_COUNTS[prefix_size])


def distinct_hashes(keys: pa.LargeBinaryArray) -> NDArray[np.uint64]:
    """Hash of 128 bits of each key, to find equal keys in little memory.

    Returns two numbers per key. Raises ``ValueError`` for nulls.
    """
    if keys.type != pa.large_binary() or keys.null_count:
        raise ValueError(f"{keys.null_count} nulls of {keys.type}, expected large_binary")
    hashes = np.empty((len(keys), 2), np.uint64)
    _, offsets, data = keys.buffers()
    first = offsets.address + 8 * keys.offset if offsets else 0
    address = data.address if data else 0
    hash_distinctly(DistinctHashesJob(address, first, len(keys), hashes.ctypes.data))
    return hashes
