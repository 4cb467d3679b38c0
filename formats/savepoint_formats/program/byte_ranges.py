"""Ranges of a chunk, and columns of the bytes in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.errors import TruncatedError
from savepoint_formats.program.kernel import DONE, RangesJob, copy_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk

    Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Starts and ends of values in a chunk."""

    starts: Positions
    ends: Positions

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> Positions:
        """In bytes."""
        return self.ends - self.starts


def bytes_of(chunk: Chunk, *parts: Ranges) -> pa.LargeBinaryArray:
    """The bytes of each value, joined from one range of each of ``parts``.

    Raises:
        ValueError: A range lies outside of the chunk.
    """
    starts = np.stack([part.starts for part in parts], axis=1).astype(np.int64, copy=False)
    ends = np.stack([part.ends for part in parts], axis=1).astype(np.int64, copy=False)
    data = np.empty(int(np.maximum(ends - starts, 0).sum()), np.uint8)
    offsets = np.zeros(starts.size + 1, np.int64)
    job = RangesJob(
        data=chunk.address,
        size=len(chunk),
        starts=starts.ctypes.data,
        ends=ends.ctypes.data,
        total=starts.size,
        target=data.ctypes.data,
        capacity=len(data),
        offsets=offsets[1:].ctypes.data,
    )
    status, index = copy_ranges(job)
    if status != DONE:
        place = f"bytes {starts.flat[index]} to {ends.flat[index]}"
        raise ValueError(f"{place}, outside of the chunk of {len(chunk)} bytes")
    borders = np.ascontiguousarray(offsets[:: len(parts)])
    return large_binary(borders, data)


def large_binary(offsets: Positions, data: NDArray[np.uint8]) -> pa.LargeBinaryArray:
    """Values that lie back to back in ``data``; ``offsets`` has one more entry than there are values."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def numbers_at(chunk: Chunk, values: Ranges, size: int) -> NDArray[np.int64]:
    """The number of ``size`` bytes that each value begins with."""
    (short,) = np.nonzero(values.sizes < size)
    if len(short):
        message = f"a value with {values.sizes[short[0]]} bytes left, expected {size} at least"
        raise chunk.error(message, int(values.starts[short[0]]), TruncatedError)
    digits = chunk.data[values.starts[:, np.newaxis] + np.arange(size)]
    numbers: NDArray[np.int64] = digits.view(f">i{size}").ravel().astype(np.int64)
    return numbers


def ranges_in(values: pa.LargeBinaryArray) -> tuple[NDArray[np.uint8], Ranges]:
    """The bytes of values without nulls, and the range of each value."""
    _, offsets, data = values.buffers()
    borders = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    held = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return held, Ranges(borders[:-1], borders[1:])
