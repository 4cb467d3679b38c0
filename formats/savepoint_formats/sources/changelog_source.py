"""Keyed state and timers of a changelog: the materialized state, with the changes applied.

The changes of a key group are applied to its stored entries when its materialized state is read.
All entries without changes stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.entries.entry_ranges import key_groups_at
from savepoint_formats.key_groups import KeyGroupRange, prefix_size
from savepoint_formats.layout import Framed, Opaque, nodes_of
from savepoint_formats.sources.changed_part import (
    ChangedPart,
    changed_part,
    remaining_part,
    undecided_parts,
)
from savepoint_formats.sources.heap_source import HeapSource
from savepoint_formats.sources.key_group_changes import WaitingChanges
from savepoint_formats.sources.state_rows import EntryDecoders, StateRows
from savepoint_formats.state_files.changelog import StateRegistration, read_changes
from savepoint_formats.state_files.state import State, StateKind, key_layout, keyed_state
from savepoint_formats.state_files.state_chunk import state_chunks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from savepoint_formats.entries.entry_ranges import Part
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import ChangelogHandle
    from savepoint_formats.sources.entry_source import EntrySource, SourceSettings
    from savepoint_formats.sources.key_group_changes import StateChange
    from savepoint_formats.sources.keyed_batch import KeyedBatch
    from savepoint_formats.state_files.state_chunk import StateChunk
    from savepoint_formats.tables.visible import TimerRows

    BaseSource = EntrySource | HeapSource


class ChangelogSource:
    """Source of a changelog.

    ``bases`` are the sources of the materialized state with their key groups. ``key`` is the layout
    of keys, which changes don't have.
    """

    def __init__(
        self,
        directory: SnapshotDirectory,
        handle: ChangelogHandle,
        bases: Sequence[tuple[BaseSource, KeyGroupRange]],
        key: Layout,
        settings: SourceSettings,
    ) -> None:
        self._directory = directory
        self._handle = handle
        self._bases = bases
        self._key = key
        self._settings = settings

    def batches(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[KeyedBatch]:
        """Entries of these states and key groups, batch by batch."""
        # A change shows the end of an unknown key; an entry of a base does not.
        is_framed = not self._bases and any(nodes_of(self._key, Opaque))
        waiting = self._waiting(
            key_groups, lambda state: state.name in names, has_framed_keys=is_framed
        )
        states = self._states(waiting)
        if is_framed:
            states = tuple(replace(state, key=Framed(key_layout(state))) for state in states)
        after = EntryDecoders(states, self._settings)
        for base, groups, is_changed in self._runs(key_groups, waiting):
            if not is_changed:
                yield from base.batches(names, groups)
                continue
            for part in self._shown(base, names, groups, waiting):
                rows = self._untouched_rows(base, part)
                for name, of_state in after.rows((part.chunk, part.changed)).items():
                    rows[name] = rows[name].joined(of_state) if name in rows else of_state
                if rows:
                    yield base.decoders.batch(part.chunk, rows)
        for changes in waiting.all():
            part = remaining_part(changes, self._prefix_size)
            rows = after.rows((part.chunk, part.changed))
            if rows:
                yield after.batch(part.chunk, rows)
            for state, part in undecided_parts(changes, self._prefix_size):
                decoders = EntryDecoders((state,), self._settings)
                yield decoders.batch(part.chunk, decoders.rows((part.chunk, part.changed)))

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """Timers of these key groups, some at a time."""
        waiting = self._waiting(key_groups, lambda state: state.kind is StateKind.TIMERS)
        after = EntryDecoders(self._states(waiting), self._settings)
        for base, groups, is_changed in self._runs(key_groups, waiting):
            if not is_changed:
                yield from base.timers(groups)
                continue
            names = frozenset(state.name for state in base.states if state.kind is StateKind.TIMERS)
            for part in self._changed(base, names, groups, waiting):
                yield from base.decoders.timers((part.chunk, part.untouched))
                yield from after.timers((part.chunk, part.changed))
        for part in self._remaining(waiting):
            yield from after.timers((part.chunk, part.changed))

    def state_chunks(
        self, names: frozenset[str], key_groups: KeyGroupRange
    ) -> Iterator[StateChunk]:
        """Entries of these states as canonical files store them.

        Raises ``UndecodableError`` for a change that can't be applied.
        """
        waiting = self._waiting(key_groups, lambda state: state.name in names)
        after = self._states(waiting)
        for base, groups, is_changed in self._runs(key_groups, waiting):
            if not is_changed:
                yield from base.state_chunks(names, groups)
                continue
            for part in self._changed(base, names, groups, waiting):
                yield from state_chunks_of(
                    (part.chunk, part.untouched), base.states, self._prefix_size
                )
                yield from state_chunks_of((part.chunk, part.changed), after, self._prefix_size)
        for part in self._remaining(waiting):
            yield from state_chunks_of((part.chunk, part.changed), after, self._prefix_size)

    @property
    def _prefix_size(self) -> int:
        return prefix_size(self._settings.max_parallelism)

    def _waiting(
        self,
        key_groups: KeyGroupRange,
        is_wanted: Callable[[State], bool],
        *,
        has_framed_keys: bool = False,
    ) -> WaitingChanges:
        """Changes of the wanted states."""
        changes = WaitingChanges(
            self._settings.kryo,
            has_framed_keys=has_framed_keys,
            shows_undecided=has_framed_keys and self._settings.shows_undecided,
        )
        own = self._own(key_groups)
        applied = self._settings.applied
        for state, change in state_changes(self._directory, self._handle, own, self._key, applied):
            if is_wanted(state):
                changes.add(state, change)
        return changes

    def _states(self, waiting: WaitingChanges) -> tuple[State, ...]:
        """States after the changes, with unchanged ones, whose entries may wait for a merge."""
        before = {state.name: state for base, _ in self._bases for state in base.states}
        return tuple((before | waiting.states).values())

    def _own(self, key_groups: KeyGroupRange) -> KeyGroupRange:
        """Key groups, except those that only bases and changes have."""
        return key_groups.intersection(self._handle.key_groups)

    def _runs(
        self, key_groups: KeyGroupRange, waiting: WaitingChanges
    ) -> Iterator[tuple[BaseSource, KeyGroupRange, bool]]:
        """Each base with its key groups, and whether any of these has changes."""
        for base, materialized in self._bases:
            wanted = materialized.intersection(self._own(key_groups))
            if isinstance(base, HeapSource):
                # Key groups without changes are decoded from the file as it is.
                for is_changed, run in groupby(wanted, waiting.__contains__):
                    groups = list(run)
                    yield base, KeyGroupRange(groups[0], groups[-1]), is_changed
            elif wanted:
                yield base, wanted, any(map(waiting.__contains__, wanted))

    def _changed(
        self,
        base: BaseSource,
        names: frozenset[str],
        key_groups: KeyGroupRange,
        waiting: WaitingChanges,
    ) -> Iterator[ChangedPart]:
        """Entries of a base after the changes of their identities."""
        for part in base.parts(names, key_groups):
            yield self._with_changes(base, part, {}, waiting)

    def _shown(
        self,
        base: BaseSource,
        names: frozenset[str],
        key_groups: KeyGroupRange,
        waiting: WaitingChanges,
    ) -> Iterator[ChangedPart]:
        """Like ``_changed``, but entries without changes may be undecodable bytes."""
        if not isinstance(base, HeapSource):
            yield from self._changed(base, names, key_groups, waiting)
            return

        def is_untouched(key_group: int, name: str) -> bool:
            return not waiting.may_touch(key_group, name)

        for part, values in base.shown_parts(names, key_groups, is_untouched):
            yield self._with_changes(base, part, values, waiting)

    def _with_changes(
        self, base: BaseSource, part: Part, values: Mapping[str, pa.Array], waiting: WaitingChanges
    ) -> ChangedPart:
        chunk, by_state = part
        starts = [ranges.key_starts for ranges in by_state.values() if len(ranges)]
        groups = np.unique(
            key_groups_at(chunk, np.concatenate(starts), self._prefix_size) if starts else []
        )
        changes = waiting.of(set(groups.tolist()))
        if changes:
            return changed_part(part, base.decoders, changes, values)
        return ChangedPart(chunk, by_state, {}, values)

    def _untouched_rows(self, base: BaseSource, part: ChangedPart) -> dict[str, StateRows]:
        whole = {name: ranges for name, ranges in part.untouched.items() if name not in part.values}
        rows = base.decoders.rows((part.chunk, whole))
        for name, values in part.values.items():
            ranges = part.untouched[name]
            rows[name] = StateRows(ranges.key_starts, ranges.key_ends, values)
        return rows

    def _remaining(self, waiting: WaitingChanges) -> Iterator[ChangedPart]:
        for changes in waiting.all():
            yield remaining_part(changes, self._prefix_size)


def state_changes(
    directory: SnapshotDirectory,
    handle: ChangelogHandle,
    key_groups: KeyGroupRange,
    key: Layout,
    applied: Callable[[State], State],
) -> Iterator[StateChange]:
    """Changes of these key groups in order; ``applied`` says how a state is read.

    Raises ``FormatError`` for a change of a state that is not registered.
    """
    states: dict[int, State] = {}
    for change in read_changes(directory, handle, key_groups):
        if isinstance(change, StateRegistration):
            states[change.number] = applied(keyed_state(change.info, key))
        elif change.state in states:
            yield states[change.state], change
        else:
            message = f"a change of state {change.state}, which nothing before it describes"
            raise change.body.error(message)
