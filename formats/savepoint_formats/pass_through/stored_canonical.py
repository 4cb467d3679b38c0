"""The runs of a canonical file, taken over as they lie.

Where max parallelism stays, what a section has between its first byte and its end mark is taken
over: runs of entries, each with the id of its state in front. Only the ids change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.entries.stored_entries import RUN_SCHEMA
from savepoint_formats.program.spans import Spans, bytes_of
from savepoint_formats.sources.entry_source import BATCH_SIZE
from savepoint_formats.state_files.canonical_entries import ID_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.state_files.canonical_entries import CanonicalEntries, EntryBlock

_KEY_SIZE_SIZE = 4
DROPPED = -1
"""The id of states that are left out."""


def canonical_runs(
    entries: CanonicalEntries,
    new_ids: NDArray[np.int32],
    key_groups: KeyGroupRange,
    block_size: int = BATCH_SIZE,
) -> Iterator[pa.RecordBatch]:
    """The runs of a canonical file as they lie, with other ids.

    Args:
        entries: The file.
        new_ids: Of each of its states; ``DROPPED`` for those to leave out.
        key_groups: The key groups.
        block_size: Bytes that are read at once, unless a single entry is larger.

    Raises:
        FormatError: The file is damaged.
    """
    for block in entries.blocks(key_groups, block_size):
        runs = _runs(block, new_ids)
        if len(runs):
            yield runs


def _runs(block: EntryBlock, new_ids: NDArray[np.int32]) -> pa.RecordBatch:
    """The runs of each key group, without those of states that are left out."""
    chunk, frames = block.chunk, block.frames
    ids = new_ids[frames.run_states]
    kept = np.flatnonzero(ids != DROPPED)
    key_starts, _, _, value_ends = frames.spans
    starts = key_starts[frames.run_starts[kept]] - _KEY_SIZE_SIZE - ID_SIZE
    ends = value_ends[np.append(frames.run_starts[1:], len(frames))[kept] - 1]
    if not np.array_equal(ids[kept], frames.run_states[kept]):
        chunk = _with_ids(chunk, starts, ids[kept])
    return _by_key_group(block.key_groups[kept], bytes_of(chunk, Spans(starts, ends)))


def _with_ids(chunk: Chunk, starts: NDArray[np.int64], ids: NDArray[np.int32]) -> Chunk:
    """A chunk whose runs begin with other ids."""
    data = chunk.data.copy()
    data[starts], data[starts + 1] = ids >> 8, ids & 0xFF
    return replace(chunk, data=data)


def _by_key_group(groups: NDArray[np.uint16], runs: pa.LargeBinaryArray) -> pa.RecordBatch:
    """Runs that lie one behind the other, those of a key group as one."""
    firsts = np.flatnonzero(np.diff(groups, prepend=-1)) if len(groups) else groups[:0]
    _, offsets, data = runs.buffers()
    borders = np.frombuffer(offsets, np.int64)[np.append(firsts, len(groups))]
    whole = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(firsts), [None, pa.py_buffer(borders), data]
    )
    key_groups = pa.array(groups[firsts].astype(np.int32))
    return pa.RecordBatch.from_arrays([key_groups, whole], schema=RUN_SCHEMA)
