"""Divides tables into splits, which any process can read; remarks on columns.

A split of keyed state has whole key groups, so its rows are complete. A key group that is larger
than a split may be read by several tasks; each gives the rows of its ``GroupSplit``. Entries are
found one after the other: each task walks over the entries of all splits, and decodes its own.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.key_groups import CHUNK_SIZE, WHOLE, GroupSplit, KeyGroupRange
from savepoint_formats.metadata import (
    ChangelogHandle,
    IncrementalHandle,
    KeyedHandleType,
    KeyGroupsHandle,
)
from savepoint_formats.metadata.references import keyed_streams
from savepoint_formats.scan.operator_scan import (
    CoordinatorSplit,
    OperatorStateSplit,
    RawKeyedSplit,
    RawOperatorSplit,
    RawSplit,
)
from savepoint_formats.sources.changed_source import ChangedHandle
from savepoint_formats.state_files.canonical_file import NOTHING_WRITTEN
from savepoint_formats.state_files.rocksdb.states import RocksDbState
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.tables.catalog import base_handles, raw_keyed_handle
from savepoint_formats.tables.tables import KEY, SUBTASK
from savepoint_formats.values.undecoded import remarks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import KeyedStateHandle, OperatorState, StreamHandle
    from savepoint_formats.scan.look_up import KeyFilter
    from savepoint_formats.scan.scan import TableScan

    Sizes = NDArray[np.int64]


def check_subtasks(operator: OperatorState, path: str) -> None:
    """Raises ``FormatError`` for an impossible subtask, or one with other key groups than its own.

    Flink gives every subtask its key groups by one formula. Other key groups would vanish, or be
    read twice. ``path`` is the name of ``_metadata`` in errors.

    Flink: ``KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex``.
    """
    seen: set[int] = set()
    for subtask in operator.subtasks:
        index = subtask.index
        if index in seen or not 0 <= index < operator.parallelism:
            again = " once more" if index in seen else ""
            message = f"subtask {index}{again}, of parallelism {operator.parallelism}"
            raise FormatError(message, path, -1)
        seen.add(index)
    everything = KeyGroupRange(0, operator.max_parallelism - 1)
    for subtask in operator.subtasks:
        own = KeyGroupRange.of_subtask(
            subtask.index, operator.parallelism, operator.max_parallelism
        )
        for handle in (subtask.managed_keyed_state, subtask.raw_keyed_state):
            # Each subtask has all key groups of local state.
            if handle is not None and handle.key_groups not in (own, everything):
                message = f"key groups {handle.key_groups}, expected {own}"
                raise FormatError(message, path, -1).within(f"subtask {subtask.index}")


MAX_GROUP_SPLITS = 16
"""Limit per key group, because each task walks over the entries of all splits."""

# Tables of RocksDB are opened to measure key groups if there are more splits than this, and if they
# are as large as a key group that is divided.
_FEW_SPLITS = 2

REASON = "reason"
"""Key of a column's metadata: the reason why some values are bytes."""

SPLIT_SIZE = 64 << 20
"""Approximate bytes of a split, unless a single key group is larger."""


@dataclass(frozen=True, slots=True, repr=False)
class KeyedSplit:
    """Some key groups of a handle of keyed state, or a split of a large one."""

    subtask: int
    handle: KeyedStateHandle
    key_groups: KeyGroupRange
    group_split: GroupSplit = WHOLE

    @property
    def is_changed(self) -> bool:
        """Whether a changelog changes the state."""
        return isinstance(self.handle, ChangelogHandle)

    def __repr__(self) -> str:
        place = f"subtask {self.subtask}, key groups {self.key_groups}"
        if not self.group_split.is_whole:
            place += f", split {self.group_split.index + 1} of {self.group_split.count}"
        return f"KeyedSplit({place})"


Split = KeyedSplit | OperatorStateSplit | RawSplit


def stream_of(split: Split) -> StreamHandle:
    """File of a split, or the first of several."""
    match split:
        case KeyedSplit() | RawKeyedSplit():
            return next(stream for _, _, stream in keyed_streams(split.handle, ""))
        case CoordinatorSplit():
            return split.stream
        case OperatorStateSplit() | RawOperatorSplit():
            return split.handle.stream


def bytes_of_splits(splits: Iterable[Split]) -> int:
    """Bytes of the files that are read, as ``_metadata`` counts them; no file is opened."""
    total, measured, sizes = 0, None, np.empty(0, np.int64)
    for split in splits:
        if not isinstance(split, KeyedSplit | RawKeyedSplit):
            total += max(stream_of(split).size, 0)
            continue
        if split.handle is not measured:
            measured, sizes = split.handle, key_group_sizes(split.handle)
        groups, first = split.key_groups, split.handle.key_groups.start
        size = int(sizes[groups.start - first : groups.end - first + 1].sum())
        total += size // split.group_split.count if isinstance(split, KeyedSplit) else size
    return total


HEAP_REASON = "in heap files the bytes of an entry may be followed by those of others"


def reasons(layout: Layout, *, is_heap: bool = False) -> dict[str, str] | None:
    """Metadata of a column with values that may become bytes: the reasons."""
    texts = list(dict.fromkeys(remarks(layout)))
    if texts and is_heap:
        texts.append(HEAP_REASON)
    return {REASON: "; ".join(texts)} if texts else None


def ranges_of_handle(
    handle: KeyedStateHandle, wanted: KeyGroupRange, size: int
) -> Iterator[KeyGroupRange]:
    """Divides key groups into ranges of about equal bytes, at most about ``size``."""
    sizes = key_group_sizes(handle)
    yield from even_ranges(wanted, sizes[wanted.start - handle.key_groups.start :], size)


def key_group_sizes(handle: KeyedStateHandle) -> Sizes:
    """Bytes of each key group of a handle.

    They are equal if the handle has no sections.
    """
    if isinstance(handle, ChangedHandle) and handle.entries is not None:
        return handle.entries.key_group_sizes()
    total = sum(max(stream.size, 0) for _, _, stream in keyed_streams(handle, ""))
    count = len(handle.key_groups)
    if isinstance(handle, KeyGroupsHandle):
        offsets = np.array(handle.groups.offsets, np.int64)
        starts = np.unique(offsets[(offsets > NOTHING_WRITTEN) & (offsets < total)])
        if len(starts):
            ends = np.append(starts[1:], total)[np.searchsorted(starts, offsets, "right") - 1]
            return np.where(np.isin(offsets, starts), ends - offsets, 0)
    borders = (np.arange(count + 1) * (total / max(count, 1))).astype(np.int64)
    return borders[1:] - borders[:-1]


def even_ranges(wanted: KeyGroupRange, sizes: Sizes, size: int) -> Iterator[KeyGroupRange]:
    """Ranges of about equal bytes, at most ``size`` unless a key group is larger.

    ``sizes`` has the wanted key groups, and maybe later ones.
    """
    ends = np.cumsum(sizes[: len(wanted)])
    total = int(ends[-1]) if len(ends) else 0
    count = min(max(1, -(-total // size)), len(wanted))
    # As many ranges as key groups: one each, whatever their sizes.
    inner = np.arange(1, count)
    if count < len(wanted):
        inner = np.searchsorted(ends, total * inner / count) + 1
    borders = np.unique([0, *inner.tolist(), len(wanted)]) + wanted.start
    for first, end in pairwise(borders.tolist()):
        yield KeyGroupRange(first, end - 1)


def operator_splits(operator: OperatorState) -> Iterator[OperatorStateSplit]:
    """Files with operator state, by subtask."""
    # A handle without the state is included: its file must not have the state either.
    for subtask in operator.subtasks:
        handle = subtask.managed_operator_state
        if handle is not None and handle.states:
            yield OperatorStateSplit(subtask.index, handle)


def has_heap_files(operator: OperatorState) -> bool:
    """Whether some keyed state may be in the native format of the heap, which has no sizes."""
    handles = (base_handles(subtask.managed_keyed_state) for subtask in operator.subtasks)
    return any(
        isinstance(handle, KeyGroupsHandle)
        and handle.type is not KeyedHandleType.CANONICAL_SAVEPOINT
        for handle in chain.from_iterable(handles)
    )


def has_changelogs(operator: OperatorState) -> bool:
    """Whether a changelog changes some keyed state."""
    return any(
        isinstance(subtask.managed_keyed_state, ChangelogHandle) for subtask in operator.subtasks
    )


@dataclass(frozen=True, slots=True)
class KeyedPlan:
    """Plan of splits of about ``size`` bytes.

    ``largest`` are the bytes of the largest key group that one task reads; None for any.
    """

    directory: SnapshotDirectory
    operator: OperatorState
    states: Sequence[str]
    key_filter: KeyFilter
    size: int
    largest: int | None = None

    def splits(self, *, has_timers: bool) -> Iterator[KeyedSplit | RawKeyedSplit]:
        """Splits, of raw keyed state too if that has timers."""
        for subtask in self.operator.subtasks:
            managed, raw = subtask.managed_keyed_state, raw_keyed_handle(subtask)
            if managed is not None:
                for part, group_split in self._parts(managed):
                    yield KeyedSplit(subtask.index, managed, part, group_split)
            if raw is not None and has_timers:
                for wanted in self.key_filter.parts(raw.key_groups):
                    for part in ranges_of_handle(raw, wanted, self.size):
                        yield RawKeyedSplit(subtask.index, raw, part)

    def _parts(self, handle: KeyedStateHandle) -> Iterator[tuple[KeyGroupRange, GroupSplit]]:
        parts = list(self.key_filter.parts(handle.key_groups))
        if not parts:
            return
        start = handle.key_groups.start
        sizes, largest = self._sizes(handle)
        for wanted in parts:
            for is_large, run in groupby(
                wanted, lambda group: bool(sizes[group - start] > largest)
            ):
                groups = list(run)
                if is_large:
                    for group in groups:
                        count = min(
                            max(1, -(-int(sizes[group - start]) // self.size)), MAX_GROUP_SPLITS
                        )
                        for index in range(count):
                            yield KeyGroupRange(group, group), GroupSplit(index, count)
                else:
                    part = KeyGroupRange(groups[0], groups[-1])
                    for even in even_ranges(part, sizes[part.start - start :], self.size):
                        yield even, WHOLE

    def _sizes(self, handle: KeyedStateHandle) -> tuple[Sizes, int]:
        """Bytes of each key group of a handle, and of the largest one that is not divided."""
        sizes = key_group_sizes(handle)
        largest = sys.maxsize if self.largest is None else self.largest
        if isinstance(handle, KeyGroupsHandle):
            # Only decoding finds the entries of heap files.
            is_canonical = handle.type is KeyedHandleType.CANONICAL_SAVEPOINT
            return sizes, largest if is_canonical else sys.maxsize
        few = max(_FEW_SPLITS * self.size, CHUNK_SIZE)
        # One task reads the rows of a few keys.
        is_look_up = self.key_filter.keys is not None
        if is_look_up or not isinstance(handle, IncrementalHandle) or sizes.sum() <= few:
            return sizes, sys.maxsize
        try:
            files = RocksDbState(self.directory, handle, self.operator.max_parallelism)
            return files.key_group_sizes(self.states, handle.key_groups), largest
        except SavepointError:
            # The read of the tables reports the fault.
            return sizes, sys.maxsize


def rows_in(scan: TableScan, split: Split) -> int:
    """Number of rows of a split.

    Elements of list and union list state are counted in ``_metadata``; no file is read.
    """
    is_list = scan.kind in (StateKind.OPERATOR_LIST, StateKind.UNION_LIST)
    if is_list and isinstance(split, OperatorStateSplit):
        (state,) = scan.table.states
        return split.element_count(state.name)
    names, options = (
        [column.name for column in scan.table.columns],
        replace(scan.options, merge=None),
    )
    column = KEY if KEY in names else names[0]
    if scan.kind.is_keyed:
        # No byte of state is decoded for this column.
        column, options = SUBTASK, replace(options, with_subtask=True)
    counted = replace(scan, options=options.of_columns((column,)))
    return sum(batch.num_rows for batch in counted.read(split))
