"""Splits of a table: each can be read by itself, in any process; and what a column says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.metadata import ChangelogHandle, KeyedHandleType, KeyGroupsHandle
from savepoint_formats.metadata.references import keyed_streams
from savepoint_formats.scan.operator_scan import OperatorStateSplit
from savepoint_formats.scan.raw_state import (
    CoordinatorSplit,
    RawKeyedSplit,
    RawOperatorSplit,
    RawSplit,
)
from savepoint_formats.tables.catalog import base_handles
from savepoint_formats.values.undecoded import notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.layout import Layout
    from savepoint_formats.metadata import KeyedStateHandle, OperatorState, StreamHandle

REASON = "reason"
"""Key of a column's metadata that says why something of it is shown as bytes."""

SPLIT_SIZE = 64 << 20
"""Bytes of state that one split has, unless a single key group is larger."""


@dataclass(frozen=True, slots=True, repr=False)
class KeyedSplit:
    """Some key groups of a handle of keyed state."""

    subtask: int
    handle: KeyedStateHandle
    key_groups: KeyGroupRange

    def __repr__(self) -> str:
        return f"KeyedSplit(subtask {self.subtask}, key groups {self.key_groups})"


Split = KeyedSplit | OperatorStateSplit | RawSplit


def stream_of(split: Split) -> StreamHandle:
    """The file that a split is read from, or the first of several."""
    match split:
        case KeyedSplit() | RawKeyedSplit():
            return next(stream for _, _, stream in keyed_streams(split.handle, ""))
        case CoordinatorSplit():
            return split.stream
        case OperatorStateSplit() | RawOperatorSplit():
            return split.handle.stream


HEAP_REASON = "in heap files the bytes of an entry may be followed by those of others"


def reasons(layout: Layout, *, is_heap: bool = False) -> dict[str, str] | None:
    """Metadata of a column of which something can be shown as bytes only: the reasons."""
    texts = list(dict.fromkeys(notes(layout)))
    if texts and is_heap:
        texts.append(HEAP_REASON)
    return {REASON: "; ".join(texts)} if texts else None


def pieces_of(
    handle: KeyedStateHandle, wanted: KeyGroupRange, size: int
) -> Iterator[KeyGroupRange]:
    """Runs of the wanted key groups that have ``size`` bytes at most, about, and as many each."""
    total = sum(max(stream.size, 0) for _, _, stream in keyed_streams(handle, ""))
    share = total * len(wanted) // len(handle.key_groups)
    count = min(max(1, -(-share // size)), len(wanted))
    borders = [wanted.start + len(wanted) * piece // count for piece in range(count + 1)]
    for start, end in pairwise(borders):
        yield KeyGroupRange(start, end - 1)


def operator_splits(operator: OperatorState) -> Iterator[OperatorStateSplit]:
    """The files with operator state, by subtask."""
    # A handle that does not name the state leads to a file that must not have it either.
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
    """Whether some keyed state is what a changelog has made of another."""
    return any(
        isinstance(subtask.managed_keyed_state, ChangelogHandle) for subtask in operator.subtasks
    )
