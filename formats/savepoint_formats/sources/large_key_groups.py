"""Reads key groups that are too large to be decoded at once.

The states of a key group follow each other, so its rows are complete only when all entries were
read. The entries of a large key group are therefore divided among chunks by a hash of their
identity, and each chunk is decoded by itself. The bytes of chunks are in memory; if they are too
many, the key group is read again for the other chunks. So memory is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_ranges import EntryRanges
from savepoint_formats.program.kernel import DONE, ChunksJob, copy_chunks, find_chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from savepoint_formats.entries.entry_ranges import Part

    Positions = NDArray[np.int64]
    Identities = Callable[[str, Chunk, EntryRanges], tuple[Positions, Positions]]
    Sizes = NDArray[np.int32]

GATHERED_SIZE = 96 << 20
"""Bytes of the chunks that one pass over a key group gathers."""


class Memory:
    """One allocation for many small arrays; larger needs than ``size`` get memory of their own.

    Many small allocations would not go back to the system, because others lie between them.
    """

    def __init__(self, size: int) -> None:
        self._memory = np.empty(size, np.uint8)
        self._used = 0

    def take(self, size: int) -> NDArray[np.uint8]:
        taken = self._memory[self._used : self._used + size]
        if len(taken) < size:
            return np.empty(size, np.uint8)
        self._used += size
        return taken


@dataclass(frozen=True, slots=True, eq=False)
class CopiedEntries:
    """Copies of entries, key and value behind each other, and the sizes of each."""

    data: NDArray[np.uint8]
    key_sizes: Sizes
    value_sizes: Sizes

    def __len__(self) -> int:
        return len(self.key_sizes)


def divided(
    chunk: Chunk, ranges: tuple[Positions, ...], count: int, wanted: range, memory: Memory
) -> list[CopiedEntries]:
    """Copies the entries of the wanted chunks into memory.

    ``ranges`` are start and end of each entry's identity, key and value.
    Raises ``ValueError`` if an entry lies outside of the chunk.
    """
    ranges = tuple(np.ascontiguousarray(each, np.int64) for each in ranges)
    starts, ends, key_starts, key_ends, value_starts, value_ends = ranges
    chunks = np.empty(len(starts), np.int32)
    entries, sizes = np.zeros((2, count), np.int64)
    job = ChunksJob(
        data=chunk.address,
        size=len(chunk),
        starts=starts.ctypes.data,
        ends=ends.ctypes.data,
        key_starts=key_starts.ctypes.data,
        key_ends=key_ends.ctypes.data,
        value_starts=value_starts.ctypes.data,
        value_ends=value_ends.ctypes.data,
        total=len(starts),
        chunks=chunks.ctypes.data,
        chunk_count=count,
        entries=entries.ctypes.data,
        sizes=sizes.ctypes.data,
        target=0,
        key_sizes=0,
        value_sizes=0,
    )
    status, done = find_chunks(job)
    if status != DONE:
        raise ValueError(f"entry {done}, outside of the chunk of {len(chunk)} bytes")
    chosen = slice(wanted.start, wanted.stop, wanted.step)
    borders, byte_borders = _borders(entries[chosen]), _borders(sizes[chosen])
    data = memory.take(byte_borders[-1])
    key_sizes, value_sizes = memory.take(8 * borders[-1]).view(np.int32).reshape(2, -1)
    entries[:] = -1
    entries[chosen], sizes[chosen] = borders[:-1], byte_borders[:-1]
    copying = job._replace(
        target=data.ctypes.data,
        key_sizes=key_sizes.ctypes.data,
        value_sizes=value_sizes.ctypes.data,
    )
    copy_chunks(copying)
    return [
        CopiedEntries(
            data[byte_borders[index] : byte_borders[index + 1]],
            key_sizes[borders[index] : borders[index + 1]],
            value_sizes[borders[index] : borders[index + 1]],
        )
        for index in range(len(wanted))
    ]


def _borders(sizes: Positions) -> list[int]:
    """Start of each of several adjacent values of these sizes, and the end of the last."""
    return [0, *np.cumsum(sizes).tolist()]


def chunks_of_key_group(
    blocks: Callable[[], Iterator[Part]],
    size: int,
    count: int,
    chosen: range,
    identities: Identities,
    path: str,
    *,
    at_once: int,
) -> Iterator[Part]:
    """Reads a key group of ``size`` bytes chunk by chunk; a key's entries are in one chunk.

    ``blocks`` reads the key group from its beginning, ``identities`` finds the borders of
    identities, and each pass gathers ``at_once`` of the ``chosen`` chunks.
    """
    passes = -(-len(chosen) // at_once)
    for wanted in (chosen[number::passes] for number in range(passes)):
        memory = Memory(size * len(wanted) // count)
        gathered = _gathered(blocks, count, wanted, identities, memory)
        while gathered:
            # Nothing else refers to these copies, so that its memory is freed when it is done.
            yield _joined(gathered.pop(0), path)


def _gathered(
    blocks: Callable[[], Iterator[Part]],
    count: int,
    wanted: range,
    identities: Identities,
    memory: Memory,
) -> list[dict[str, list[CopiedEntries]]]:
    """Copies of the entries of each wanted chunk, by state. Its last block is freed at its end."""
    gathered: list[dict[str, list[CopiedEntries]]] = [{} for _ in wanted]
    for chunk, by_state in blocks():
        for name, ranges in by_state.items():
            own = identities(name, chunk, ranges)
            parts = divided(chunk, (*own, *ranges.arrays()), count, wanted, memory)
            for copies, entries in zip(gathered, parts, strict=True):
                if len(entries):
                    copies.setdefault(name, []).append(entries)
    return gathered


def _joined(by_state: dict[str, list[CopiedEntries]], path: str) -> Part:
    """Copied entries in one chunk, state behind state."""
    base = 0
    ranges: dict[str, EntryRanges] = {}
    for name, copies in by_state.items():
        key_sizes = np.concatenate([entries.key_sizes for entries in copies])
        sizes = np.concatenate([entries.value_sizes for entries in copies]).astype(np.int64)
        sizes += key_sizes
        ends = np.cumsum(sizes) + base
        starts = np.subtract(ends, sizes, out=sizes)
        key_ends = starts + key_sizes
        ranges[name] = EntryRanges(starts, key_ends, key_ends, ends)
        base = int(ends[-1])
    data = [entries.data for copies in by_state.values() for entries in copies]
    # A single value may be as large as all memory that is left.
    joined = data[0] if len(data) == 1 else np.concatenate([np.empty(0, np.uint8), *data])
    return Chunk(joined, path), ranges
