"""Entries of keyed state as bytes, and the runs of canonical files that they become.

A run is what a section of a canonical file has of one state. It doesn't say where it lies: a
section is any runs of its key group, one behind the other, and an end mark.

| bytes        | field | meaning                                                               |
|--------------|-------|-----------------------------------------------------------------------|
| u16          | state | index of the state in the file's header                               |
| i32, n bytes | key   | key group in 1 or 2 bytes, then the entry's key; the first bit of the |
|              |       | last key of the run is set                                            |
| i32, n bytes | value |                                                                       |

Key and value are there once per entry of the run.

Flink: ``FullSnapshotAsyncWriter``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.entries.joined_runs import RunEntries, joined_runs
from savepoint_formats.key_groups.ranges import MAX_PARALLELISM
from savepoint_formats.program.kernel import DistinctHashesJob, hash_distinctly
from savepoint_formats.program.spans import spans_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GROUP_COUNTS = {1: 1 << 7, 2: MAX_PARALLELISM}
"""By the size of the prefix; its first bit is no part of the key group."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredEntries:
    """Entries of one state.

    Attributes:
        keys: Key, namespace and user key of each, with the sizes among them, as
            ``state_entries.entry_key`` has them behind the prefix.
        values: Value of each.
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


def runs(
    entries: StoredEntries, key_groups: NDArray[np.uint16], state_id: int, prefix_size: int
) -> pa.RecordBatch:
    """Runs of a state's entries, one per key group; within a run, entries keep their order.

    Returns:
        Columns ``key_group`` and ``run``, ascending, a row for each key group that occurs.

    Raises:
        ValueError: A key group needs more bytes, a key or value is larger than 2 GiB, or there
            are not as many key groups as entries.
    """
    if len(key_groups) != len(entries) or prefix_size not in _GROUP_COUNTS:
        facts = f"{len(key_groups)} key groups of {prefix_size} bytes, {len(entries)} entries"
        raise ValueError(f"{facts}: expected as many, of 1 or 2 bytes")
    groups = np.ascontiguousarray(key_groups, np.uint16)
    (key_data, keys), (value_data, values) = spans_in(entries.keys), spans_in(entries.values)
    placed = RunEntries(state_id, groups, key_data, keys, value_data, values)
    return joined_runs([placed], prefix_size, _GROUP_COUNTS[prefix_size])


def distinct_hashes(keys: pa.LargeBinaryArray) -> NDArray[np.uint64]:
    """Hash of 128 bits of each key, by which equal keys are found in little memory.

    Returns two numbers per key. Raises ``ValueError`` for nulls.
    """
    if keys.type != pa.large_binary() or keys.null_count:
        raise ValueError(f"{keys.null_count} nulls of {keys.type}, expected large_binary")
    hashes = np.empty((len(keys), 2), np.uint64)
    data, offsets = _buffers(keys)
    job = DistinctHashesJob(data, offsets, len(keys), hashes.ctypes.data)
    hash_distinctly(job)
    return hashes


def _buffers(values: pa.LargeBinaryArray) -> tuple[int, int]:
    """Addresses of the bytes of values, and of their first offset."""
    _, offsets, data = values.buffers()
    first = offsets.address + 8 * values.offset if offsets else 0
    return data.address if data else 0, first
