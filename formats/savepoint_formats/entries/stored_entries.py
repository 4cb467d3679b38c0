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
from typing import TYPE_CHECKING, TypeAlias

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
    from collections.abc import Iterable
    from typing import Self

    from numpy.typing import NDArray


RUN_SCHEMA = pa.schema({"key_group": pa.int32(), "run": pa.large_binary()})
"""A sequence of runs of a key group of the new savepoint."""

_MAX_SIZE = (1 << 31) - 1


_GROUP_COUNTS = {1: 1 << 7, 2: MAX_PARALLELISM}
"""Size of the prefix -> most key groups; the first bit of a prefix is a mark."""


Placed: TypeAlias = tuple["NDArray[np.uint8]", Ranges]
"""Bytes, and places of keys or values in them."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredEntries:
    """Entries of one state, as columns or as places in a chunk, of which columns are copies.

    Keys have namespaces and user keys, as ``state_entries.entry_key`` writes them behind the
    prefix. In front of each key in a chunk are the ``prefix_size`` bytes of its key group.
    """

    _keys: pa.LargeBinaryArray | Placed
    _values: pa.LargeBinaryArray | Placed
    prefix_size: int = 0

    def __post_init__(self) -> None:
        for array in (self._keys, self._values):
            if isinstance(array, tuple):
                continue
            if array.type != pa.large_binary() or array.null_count:
                raise ValueError(f"{array.null_count} nulls of {array.type}, expected large_binary")
        keys, values = len(self), len(self.value_places[1])
        if keys != values:
            raise ValueError(f"{keys} keys and {values} values")

    def __len__(self) -> int:
        return len(self._keys[1] if isinstance(self._keys, tuple) else self._keys)

    @classmethod
    def of(cls, chunk: Chunk, ranges: EntryRanges, prefix_size: int) -> Self:
        """Entries in a chunk, without the key group in front."""
        keys = Ranges(ranges.key_starts + prefix_size, ranges.key_ends)
        values = Ranges(ranges.value_starts, ranges.value_ends)
        return cls((chunk.data, keys), (chunk.data, values), prefix_size)

    @property
    def keys(self) -> pa.LargeBinaryArray:
        """Column of the keys; each call copies them out of a chunk."""
        return _column(self._keys)

    @property
    def values(self) -> pa.LargeBinaryArray:
        """Column of the values, likewise."""
        return _column(self._values)

    @property
    def key_places(self) -> Placed:
        """Places of the keys, which are not copied."""
        return self._keys if isinstance(self._keys, tuple) else ranges_in(self._keys)

    @property
    def value_places(self) -> Placed:
        """Places of the values, which are not copied."""
        return self._values if isinstance(self._values, tuple) else ranges_in(self._values)

    @classmethod
    def joined(cls, several: Iterable[StoredEntries]) -> Self:
        """The entries of all of these; there must be at least one."""
        keys, values = zip(*((entries.keys, entries.values) for entries in several), strict=True)
        return cls(pa.concat_arrays(keys), pa.concat_arrays(values))

    def chosen(self, wanted: NDArray[np.bool_ | np.int64]) -> StoredEntries:
        """Copies of some entries."""
        return StoredEntries(
            *(
                _column((data, Ranges(places.starts[wanted], places.ends[wanted])))
                for data, places in (self.key_places, self.value_places)
            )
        )

    def prefixed(self, key_groups: NDArray[np.uint16], size: int) -> StoredEntries:
        """Copies whose keys begin with their key group, in ``size`` bytes."""
        prefixes = key_groups.astype(">u2").view(np.uint8).reshape(-1, 2)[:, 2 - size :]
        column = large_binary(np.arange(len(self) + 1) * size, np.ascontiguousarray(prefixes))
        nothing = pa.scalar(b"", pa.large_binary())
        return StoredEntries(pc.binary_join_element_wise(column, self.keys, nothing), self.values)

    def in_chunk(self, path: str) -> tuple[Chunk, EntryRanges]:
        """A chunk of all keys, then all values, and their places; one that has both is not copied."""
        (key_data, keys), (value_data, values) = self.key_places, self.value_places
        if key_data.ctypes.data == value_data.ctypes.data and len(key_data) == len(value_data):
            return Chunk(key_data, path), EntryRanges(
                keys.starts, keys.ends, values.starts, values.ends
            )
        base = len(key_data)
        places = EntryRanges(keys.starts, keys.ends, values.starts + base, values.ends + base)
        return Chunk(np.concatenate([key_data, value_data]), path), places


def _column(content: pa.LargeBinaryArray | Placed) -> pa.LargeBinaryArray:
    if not isinstance(content, tuple):
        return content
    data, places = content
    if len(places) == 1:
        start, end = int(places.starts[0]), int(places.ends[0])
        if 0 <= start <= start + len(data) // 2 < end <= len(data):
            # It may be as large as the rest of memory.
            return large_binary(np.array([start, end], np.int64), data)
    return bytes_of(Chunk(data), places)


def runs(
    entries: StoredEntries, key_groups: NDArray[np.uint16], state_id: int, prefix_size: int
) -> pa.RecordBatch:
    """Runs of a state's entries, one per key group; entries keep their order.

    Raises ``ValueError`` if the prefix is too small for a key group, or if the counts differ.
    """
    if len(key_groups) != len(entries) or prefix_size not in _GROUP_COUNTS:
        facts = f"{len(key_groups)} key groups of {prefix_size} bytes, {len(entries)} entries"
        raise ValueError(f"{facts}: expected equal numbers, and 1 or 2 bytes")
    groups, count = np.ascontiguousarray(key_groups, np.uint16), _GROUP_COUNTS[prefix_size]
    (key_data, keys), (value_data, values) = entries.key_places, entries.value_places
    key_starts, key_ends = _in_order(keys)
    value_starts, value_ends = _in_order(values)
    sizes, positions, last_keys = np.zeros((3, count), np.int64)
    job = RunsJob(
        keys=key_data.ctypes.data,
        keys_size=len(key_data),
        key_starts=key_starts.ctypes.data,
        key_ends=key_ends.ctypes.data,
        values=value_data.ctypes.data,
        values_size=len(value_data),
        value_starts=value_starts.ctypes.data,
        value_ends=value_ends.ctypes.data,
        key_groups=groups.ctypes.data,
        total=len(entries),
        state=state_id,
        prefix_size=prefix_size,
        group_count=count,
        sizes=sizes.ctypes.data,
        positions=positions.ctypes.data,
        last_keys=last_keys.ctypes.data,
    )
    status, index = size_runs(job)
    if status != DONE:
        raise _refusal(index, int(groups[index]), count, keys, values)
    data = np.empty(int(sizes.sum()), np.uint8)
    positions[:] = np.cumsum(sizes) - sizes + data.ctypes.data
    write_runs(job)
    (written,) = np.nonzero(sizes)
    column = large_binary(np.append(0, np.cumsum(sizes[written])), data)
    columns = [pa.array(written.astype(np.int32)), column]
    return pa.RecordBatch.from_arrays(columns, schema=RUN_SCHEMA)


def _in_order(places: Ranges) -> Iterable[NDArray[np.int64]]:
    return (np.ascontiguousarray(each, np.int64) for each in (places.starts, places.ends))


def _refusal(index: int, key_group: int, count: int, keys: Ranges, values: Ranges) -> ValueError:
    """Reason why an entry can't be in a run, if there are ``count`` key groups."""
    if key_group >= count:
        return ValueError(f"entry {index} is of key group {key_group}, expected 0 to {count - 1}")
    key, value = int(keys.sizes[index]), int(values.sizes[index])
    what = f"entry {index} has a key of {key} bytes and a value of {value}"
    if max(key, value) > _MAX_SIZE:
        return ValueError(f"{what}, expected less than 2 GiB")
    return ValueError(f"{what}, outside of their bytes")


def distinct_hashes(keys: pa.LargeBinaryArray) -> NDArray[np.uint64]:
    """Hash of 128 bits of each key, to find equal keys in little memory.

    Returns two numbers per key. Raises ``ValueError`` for nulls.
    """
    return placed_hashes(StoredEntries(keys, keys).key_places)


def placed_hashes(keys: Placed) -> NDArray[np.uint64]:
    """Like ``distinct_hashes``. Raises ``ValueError`` if a key lies outside of the bytes."""
    data, places = keys
    starts, ends = _in_order(places)
    hashes = np.empty((len(places), 2), np.uint64)
    job = DistinctHashesJob(
        data=data.ctypes.data,
        size=len(data),
        starts=starts.ctypes.data,
        ends=ends.ctypes.data,
        total=len(places),
        hashes=hashes.ctypes.data,
    )
    status, index = hash_distinctly(job)
    if status != DONE:
        raise ValueError(f"key {index} lies outside of its {len(data)} bytes")
    return hashes
