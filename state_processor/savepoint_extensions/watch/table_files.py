"""What a table of RocksDB has: bytes per key group from its index, and a sample of its entries.

A table is read once. Later checkpoints that share it get what is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from savepoint_extensions.watch.key_sample import OPERAND, VALUE, Entries, Sample, Sampler
from savepoint_formats.bytes import Chunk
from savepoint_formats.errors import RocksDbError
from savepoint_formats.program.byte_ranges import Ranges
from savepoint_formats.state_files import OK, Blocks, Sst
from savepoint_formats.state_files.rocksdb import version_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_formats.locations import StateFile
    from savepoint_formats.state_files import BlockIndex

_SLICE = 4 << 20
"""Bytes of blocks that are read at once."""

_TRAILER = 8
_DELETIONS = (0, 7)


@dataclass(frozen=True, slots=True, eq=False)
class TableFile:
    """A table of a state.

    Attributes:
        state: Name of the state.
        group_sizes: Bytes of all versions of its entries, by key group.
        sample: Sample of its entries, of ``2**-shift`` of the keys in some key groups.
        read_size: Bytes that were read of the file.
    """

    state: str
    group_sizes: NDArray[np.float32]
    sample: Sample
    shift: int
    read_size: int

    def thinned(self, shift: int) -> TableFile:
        """The table with a sample of fewer keys."""
        if shift <= self.shift:
            return self
        return replace(self, sample=self.sample.thinned(shift), shift=shift)


@dataclass(frozen=True, slots=True, eq=False)
class TableReader:
    """Reads tables of an operator.

    Attributes:
        samplers: Of each keyed state by name.
        shifts: Of each state, the part of the keys that its sample has.
        prefix_size: Bytes of the key group in front of each key.
        is_wanted: Whether a sample has a key group.
    """

    samplers: dict[str, Sampler]
    shifts: dict[str, int]
    prefix_size: int
    is_wanted: NDArray[np.bool_]

    def read(self, file: StateFile, size: int) -> TableFile:
        """Reads a file of ``size`` bytes.

        Raises:
            StateFileNotFoundError: It is gone.
            FormatError: It is damaged.
            RocksDbError: It has a feature that is not read here.
        """
        sst = Sst.open(file, size)
        state = sst.column_family
        index = sst.read_index()
        groups = index.separators.key_groups(0, len(index.separators), self.prefix_size)
        groups = np.minimum(groups, len(self.is_wanted) - 1)
        shift, sampler = self.shifts.get(state, 0), self.samplers.get(state)
        samples, read = [], 0
        for first, last in self._slices(index, groups) if sampler is not None else ():
            entries = self._entries(sst, index, first, last)
            read += int(index.sizes[first:last].sum())
            assert sampler is not None
            samples.append(sampler.sample(entries, shift))
        data_size = int(index.sizes.sum())
        return TableFile(
            state,
            _group_sizes(
                groups, (index.sizes * sst.expansion).astype(np.float64), len(self.is_wanted)
            ),
            Sample.joined(samples),
            shift,
            read + size - data_size,
        )

    def _slices(self, index: BlockIndex, groups: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Neighbouring blocks that may have wanted key groups, some at a time."""
        if not len(groups):
            return
        wanted = np.append(0, np.cumsum(self.is_wanted))
        before = np.append(0, groups[:-1])
        (numbers,) = np.nonzero(wanted[groups + 1] > wanted[before])
        if not len(numbers):
            return
        slices = np.cumsum(index.sizes[numbers]) // _SLICE
        is_border = (np.diff(numbers) != 1) | (np.diff(slices) != 0)
        for part in np.split(numbers, np.flatnonzero(is_border) + 1):
            yield int(part[0]), int(part[-1]) + 1

    def _entries(self, sst: Sst, index: BlockIndex, first: int, last: int) -> Entries:
        """All versions of the entries in some blocks that are in wanted key groups."""
        blocks = Blocks.of(sst.read_blocks(index, slice(first, last)))
        job = version_kernel.DataBlocks(
            blocks.data.ctypes.data, blocks.borders.ctypes.data, last - first, 0
        )
        status, number, size = version_kernel.list_versions(job)
        if status != OK:
            raise blocks.stored.error(number, "a damaged block")
        data, ends = np.empty(size, np.uint8), np.empty((number, 2), np.int64)
        version_kernel.list_versions(job._replace(target=data.ctypes.data, ends=ends.ctypes.data))
        starts = np.append(0, ends[:-1, 1])[:number]
        keys = Ranges(starts + self.prefix_size, ends[:, 0] - _TRAILER)
        if bool(np.any(keys.sizes < 0)):
            raise blocks.stored.error(0, "a key without a key group")
        trailers = data[keys.ends[:, np.newaxis] + np.arange(_TRAILER)].view("<u8").ravel()
        types = trailers & np.uint64(0xFF)
        if not bool(np.all(np.isin(types, (VALUE, OPERAND, *_DELETIONS)))):
            raise blocks.stored.error(0, "an entry of an unknown type", RocksDbError)
        groups = np.zeros(number, np.int64)
        for place in range(self.prefix_size):
            groups = groups << 8 | data[starts + place]
        is_wanted = self.is_wanted[np.minimum(groups, len(self.is_wanted) - 1)]
        chunk = Chunk(data)
        values = Ranges(ends[:, 0], ends[:, 1])
        entries = Entries(chunk, keys, chunk, values, groups.astype(np.uint16), trailers)
        return entries.chosen(np.flatnonzero(is_wanted))


def _group_sizes(
    groups: NDArray[np.int64], sizes: NDArray[np.float64], count: int
) -> NDArray[np.float32]:
    """Bytes per key group: a block is divided among the key groups that it has.

    ``groups`` are those at the ends of the blocks.
    """
    if not len(groups):
        return np.zeros(count, np.float32)
    last = np.append(np.diff(groups) != 0, True)
    ends, totals = groups[last] + 1, np.cumsum(sizes)[last]
    first = groups[0] if len(groups) > 1 else 0
    reached = np.interp(np.arange(count + 1), np.append(first, ends), np.append(0.0, totals))
    sizes_of_groups: NDArray[np.float32] = np.diff(reached).astype(np.float32)
    return sizes_of_groups
