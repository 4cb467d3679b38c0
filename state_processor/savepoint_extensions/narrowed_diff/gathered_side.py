"""A side of a diff whose entries are in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.metadata import (
    InlineStream,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    SubtaskState,
)
from savepoint_formats.sources.changed_source import ChangedHandle
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.state_files import HeaderBytes, KeyedBackendHeader, keyed_states
from savepoint_formats.tables import base_handles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from savepoint_database.checks.table_diff import Side
    from savepoint_formats.locations import SnapshotDirectory
    from savepoint_formats.metadata import IncrementalHandle, KeyGroupsHandle
    from savepoint_formats.state_files import State, StateChunk


def settings_of(side: Side) -> SourceSettings:
    """How the state of a side is read."""
    operator = side.operator
    return SourceSettings(side.max_parallelism, operator.kryo, names=operator.names)


def header_of(side: Side) -> bytes | None:
    """A header that describes all states of the table; None without any, or if another contradicts."""
    known = {state.name: state for state in side.table.states}
    headers = (
        HeaderBytes.of_keyed_state(side.operator.directory, handle)
        for subtask in side.operator.record.subtasks
        for handle in base_handles(subtask.managed_keyed_state)
    )
    whole = None
    for header in {each.data: each for each in headers}.values():
        states = {state.name: state for state in _states(side, header)}
        if any(known.get(name, state) != state for name, state in states.items()):
            return None  # each subtask's values are decoded as its own header says
        if known.keys() <= states.keys():
            whole = whole or header.data
    return whole


def header_of_handle(side: Side, handle: IncrementalHandle | KeyGroupsHandle) -> bytes | None:
    """The header of a handle; None if it describes a state of the table in another way."""
    header = HeaderBytes.of_keyed_state(side.operator.directory, handle)
    return header.data if set(side.table.states) <= set(_states(side, header)) else None


def _states(side: Side, header: HeaderBytes) -> Iterator[State]:
    return map(settings_of(side).applied, keyed_states(KeyedBackendHeader.parse(header)))


def gathered_side(side: Side, header: bytes, entries: Iterable[StateChunk]) -> Side:
    """The same table with these entries only."""
    count = side.max_parallelism
    handle = ChangedHandle(
        KeyedHandleType.CANONICAL_SAVEPOINT,
        KeyGroupRangeOffsets(KeyGroupRange(0, count - 1), (0,) * count),
        InlineStream("gathered entries", header),
        entries=GatheredEntries(tuple(entries), count),
    )
    subtasks = (SubtaskState(0, managed_keyed_state=handle),)
    record = replace(side.operator.record, parallelism=1, subtasks=subtasks)
    return replace(side, operator=replace(side.operator, record=record))


@dataclass(frozen=True, slots=True)
class GatheredEntries:
    """Entries in memory, of key groups from 0 to before ``count``; they are ``ChangedEntries``."""

    chunks: tuple[StateChunk, ...]
    count: int

    def state_chunks(
        self, _: SnapshotDirectory, names: frozenset[str], key_groups: KeyGroupRange
    ) -> Iterator[StateChunk]:
        """Entries of these states and key groups."""
        for chunk in self.chunks:
            if chunk.state.name in names:
                groups = chunk.key_groups
                yield chunk.chosen((groups >= key_groups.start) & (groups <= key_groups.end))

    def key_group_sizes(self) -> NDArray[np.int64]:
        """Bytes of each key group."""
        sizes = np.zeros(self.count, np.int64)
        for chunk in self.chunks:
            stored = (chunk.entries.key_places, chunk.entries.value_places)
            lengths = sum(places.sizes for _, places in stored)
            sizes += np.bincount(chunk.key_groups, lengths, self.count).astype(np.int64)
        return sizes
