"""Joins entries of several states to runs per key group, wherever the bytes of the entries lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.program.kernel import DONE, RunsJob, size_runs, write_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from savepoint_formats.program.spans import Spans

RUN_SCHEMA = pa.schema({"key_group": pa.int32(), "run": pa.large_binary()})
"""A run of entries, or several one behind the other, of a key group of the new savepoint."""

_MAX_SIZE = (1 << 31) - 1


@dataclass(frozen=True, slots=True, eq=False)
class RunEntries:
    """Entries of one state.

    Attributes:
        state_id: Index of the state in the file's header.
        key_groups: Key group of each entry.
        key_data: Bytes that ``keys`` lie in.
        keys: Borders of each key.
        value_data: Bytes that ``values`` lie in.
        values: Borders of each value.
        skip: Bytes to leave out in front of each key: the prefix of an older key group.
    """

    state_id: int
    key_groups: NDArray[np.uint16]
    key_data: NDArray[np.uint8]
    keys: Spans
    value_data: NDArray[np.uint8]
    values: Spans
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
    """Runs of all states, those of a key group behind each other; entries keep their order.

    Returns:
        Columns ``key_group`` and ``run``, ascending, a row for each key group that occurs.

    Raises:
        ValueError: There is no such key group, a key or value is larger than 2 GiB, or lies outside
            of its bytes.
    """
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
