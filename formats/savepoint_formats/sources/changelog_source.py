"""Keyed state and timers of a changelog: the materialized state, with the changes applied.

The changes of a key group are applied when its materialized state is read; whatever no change
touches stays as it was decoded. Changes are small beside the state: they take the general path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.sources.changed_batch import changed_batch, remaining_batch
from savepoint_formats.sources.changed_timers import ChangedTimers
from savepoint_formats.sources.key_group_changes import WaitingChanges
from savepoint_formats.state_files.changelog import (
    StateRegistration,
    read_changes,
)
from savepoint_formats.state_files.state import State, StateKind, keyed_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import ChangelogHandle
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.sources.keyed_batch import KeyedBatch
    from savepoint_formats.sources.keyed_source import KeyedSource
    from savepoint_formats.state_files.changelog import KeyedChange
    from savepoint_formats.tables.timer_rows import TimerRows

StateChange = tuple[State, "KeyedChange"]
"""A change, and the state that its number stood for."""


class ChangelogSource:
    """A changelog.

    Args:
        directory: Where the savepoint is.
        handle: Its handle.
        bases: The sources of the materialized state, and the key groups that each has.
        key: The layout of keys, which no change tells.
        settings: How it is read.
    """

    def __init__(
        self,
        directory: SnapshotDirectory,
        handle: ChangelogHandle,
        bases: Sequence[tuple[KeyedSource, KeyGroupRange]],
        key: Layout,
        settings: SourceSettings,
    ) -> None:
        self._directory = directory
        self._handle = handle
        self._bases = bases
        self._key = key
        self._settings = settings

    def batches(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[KeyedBatch]:
        """The entries of these states and key groups, batch by batch."""
        waiting = self._waiting(names, key_groups)
        for base, held in self._bases_of(key_groups):
            for batch in base.batches(names, held):
                found = waiting.of(_key_groups_of(batch))
                changed = changed_batch(batch, found) if found else batch
                if changed.states:
                    yield changed
        for changes in waiting.all():
            remaining = remaining_batch(changes, self._settings.kryo)
            if remaining.states:
                yield remaining

    def _waiting(self, names: frozenset[str], key_groups: KeyGroupRange) -> WaitingChanges:
        changes = WaitingChanges(self._settings.kryo)
        for state, change in self._changes(key_groups):
            if state.name in names and state.kind is not StateKind.TIMERS:
                changes.add(state, change)
        return changes

    def _changes(self, key_groups: KeyGroupRange) -> Iterator[StateChange]:
        return state_changes(
            self._directory, self._handle, key_groups, self._key, self._settings.applied
        )

    def _bases_of(self, key_groups: KeyGroupRange) -> Iterator[tuple[KeyedSource, KeyGroupRange]]:
        """The sources that have some of these key groups, which may have more than the handle."""
        for base, held in self._bases:
            if wanted := held.intersection(key_groups).intersection(self._handle.key_groups):
                yield base, wanted

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """The timers of these key groups, some at a time."""
        changes: dict[str, ChangedTimers] = {}
        for state, change in self._changes(key_groups):
            if state.kind is StateKind.TIMERS:
                timers = changes.setdefault(state.name, ChangedTimers(state, self._settings.kryo))
                timers.add(change)
        added = [timers.added() for timers in changes.values()]
        for base, held in self._bases_of(key_groups):
            for rows in base.timers(held):
                yield changes[rows.state].untouched(rows) if rows.state in changes else rows
        yield from added


def _key_groups_of(batch: KeyedBatch) -> set[int]:
    if not batch.prefix_size:
        return {batch.key_group}
    starts = [rows.starts for rows in batch.states.values()]
    return set(np.unique(batch.key_groups_at(np.concatenate(starts))).tolist())


def state_changes(
    directory: SnapshotDirectory,
    handle: ChangelogHandle,
    key_groups: KeyGroupRange,
    key: Layout,
    applied: Callable[[State], State],
) -> Iterator[StateChange]:
    """The changes of these key groups in order.

    Args:
        directory: Where the savepoint is.
        handle: The handle of the changelog.
        key_groups: The key groups.
        key: The layout of keys, which no change tells.
        applied: Tells how a state is read.

    Raises:
        FormatError: A change is damaged, or of a state that is not registered.
    """
    states: dict[int, State] = {}
    for change in read_changes(directory, handle, key_groups):
        if isinstance(change, StateRegistration):
            states[change.number] = applied(keyed_state(change.info, key))
        elif change.state in states:
            yield states[change.state], change
        else:
            message = f"a change of state {change.state}, of which it was not said what it is"
            raise change.body.error(message)
