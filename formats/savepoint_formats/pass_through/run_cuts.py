"""Runs of a canonical file out of which entries were cut: which of its bytes are left, and these bytes.

What is left between two entries that are gone is copied as one range. So a run without a few of its
entries costs little more than a copy.

A range is four numbers of i64:

| field | meaning                                                                             |
|-------|-------------------------------------------------------------------------------------|
| start | where it begins in the chunk, with the size of an entry's key                       |
| end   | where it ends in the chunk, behind an entry's value                                 |
| state | the id of its state, if a run begins with it; or -1                                 |
| last  | where the key of the last entry of its run begins, if the run ends with it; or -1   |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from savepoint_formats.program.spans import Spans, bytes_of, spans_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.state_files.canonical_entries import EntryBlock

_ID_SIZE = 2
_KEY_SIZE_SIZE = 4
_IS_LAST = 0x80
_NONE = -1
_FIELDS = 4


class RunCuts(NamedTuple):
    """What is left of runs.

    Attributes:
        ranges: A row of four numbers for each range, those of a run one behind the other.
        key_groups: The key group of each range, ascending where those of the file are.
    """

    ranges: NDArray[np.int64]
    key_groups: NDArray[np.uint16]

    @classmethod
    def of(
        cls, block: EntryBlock, new_ids: NDArray[np.int32], is_kept: NDArray[np.bool_]
    ) -> RunCuts:
        """What is left of a block.

        Args:
            block: The block.
            new_ids: Of each state of the file its id in the new one.
            is_kept: Whether each entry is left.
        """
        frames = block.frames
        key_starts, _, _, value_ends = frames.spans
        is_first = np.zeros(len(frames) + 1, np.bool_)
        is_first[frames.run_starts] = is_first[-1] = True
        # A range begins where the entry before is gone or of another run, and ends likewise.
        gone_before = np.append(True, ~is_kept[:-1]) if len(is_kept) else is_kept
        gone_behind = np.append(~is_kept[1:], True) if len(is_kept) else is_kept
        firsts = np.flatnonzero(is_kept & (is_first[:-1] | gone_before))
        lasts = np.flatnonzero(is_kept & (is_first[1:] | gone_behind))
        runs = np.searchsorted(frames.run_starts, firsts, "right") - 1
        is_other = np.append(True, runs[1:] != runs[:-1])[: len(runs)]
        is_end = np.append(is_other[1:], True)[: len(runs)]
        ranges = np.empty((len(firsts), _FIELDS), np.int64)
        ranges[:, 0] = key_starts[firsts] - _KEY_SIZE_SIZE
        ranges[:, 1] = value_ends[lasts]
        ranges[:, 2] = np.where(is_other, new_ids[frames.run_states[runs]], _NONE)
        ranges[:, 3] = np.where(is_end, key_starts[lasts], _NONE)
        return cls(ranges, block.key_groups[runs])


def cut_runs(chunk: Chunk, ranges: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The runs of some ranges, out of the chunk that they are of."""
    starts, ends, states, lasts = ranges.T
    heads = np.flatnonzero(states != _NONE)
    # The state's id takes the place of the two bytes in front of the range, whatever they are.
    starts = np.where(states == _NONE, starts, starts - _ID_SIZE)
    data, spans = spans_in(bytes_of(chunk, Spans(starts, ends)))
    runs: NDArray[np.uint8] = data if data.flags.writeable else data.copy()
    places, ids = spans.starts[heads], states[heads]
    runs[places], runs[places + 1] = ids >> 8, ids & 0xFF
    tails = np.flatnonzero(lasts != _NONE)
    runs[spans.ends[tails] - (ends[tails] - lasts[tails])] |= _IS_LAST
    return runs
