"""Stored entries on their way through changes: keys are chosen, and entries written anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.pass_through.new_key_groups import NewKeyGroups
from savepoint_formats.scan.splits import key_group_sizes
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.state_files.operator_state import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from savepoint_formats.entries.stored_entries import StoredEntries
    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.pass_through.divided_entries import KeyChoice
    from savepoint_formats.pass_through.new_key_groups import KeyGroups
    from savepoint_formats.sources.keyed_source import StoredHandle
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_chunk import StateChunk
    from savepoint_formats.values.kryo.dialect import KryoDialect


class EntryChange(Protocol):
    """Writes entries anew. With ``moves_keys`` it changes keys, and with them their hash codes."""

    @property
    def moves_keys(self) -> bool: ...

    def entries(self, state_chunk: StateChunk) -> StoredEntries:
        """The new entries, in the order of the old ones."""

    def key_groups(self, state_chunk: StateChunk, new: StoredEntries, count: int) -> KeyGroups:
        """The key group of each new entry, out of ``count``."""


@runtime_checkable
class GatheringChange(EntryChange, Protocol):
    """A change after which entries may be equal: it sees all entries of a state, and merges them."""

    def gathered(self, state_chunks: Iterator[StateChunk]) -> Iterator[StateChunk]:
        """The old entries, without those that others stand for."""


@dataclass(frozen=True, slots=True)
class EntryChanges:
    """What becomes of entries: only the keys that all ``choices`` take remain, and are ``recoded``."""

    choices: tuple[KeyChoice, ...] = ()
    recoded: EntryChange | None = None

    @property
    def keeps_entries(self) -> bool:
        """Whether all entries stay as they are."""
        return not self.choices and self.recoded is None

    def changed(
        self,
        state_chunks: Iterable[StateChunk],
        kryo: KryoDialect | None,
        groups: NewKeyGroups,
        count: int,
    ) -> Iterator[StateChunk]:
        """The new entries, of the old states, in key groups out of ``count``.

        ``groups`` are for keys that don't change.
        """
        recoded = self.recoded
        for choice in self.choices:
            state_chunks = choice.chosen(state_chunks, kryo)
        if isinstance(recoded, GatheringChange):
            state_chunks = recoded.gathered(iter(state_chunks))
        for state_chunk in state_chunks:
            if not len(state_chunk.entries):
                continue
            moves = recoded is not None and recoded.moves_keys
            key_groups = groups.of(state_chunk, is_checked=moves)
            entries = state_chunk.entries if recoded is None else recoded.entries(state_chunk)
            if recoded is not None and moves:
                key_groups = recoded.key_groups(state_chunk, entries, count)
            yield replace(state_chunk, entries=entries, key_groups=key_groups)


@dataclass(frozen=True)
class ChangedHandles:
    """The handles of a subtask, and the changes of their entries; see ``ChangedEntries``.

    ``states`` has the new state by the name of the old one; others are left out. The states of
    ``made`` come from elsewhere.
    """

    handles: tuple[StoredHandle, ...]
    key: Layout
    kryo: KryoDialect | None
    max_parallelism: int
    states: Mapping[str, State]
    changes: EntryChanges
    hash_keys: HashKeys | None = None
    made: frozenset[str] = frozenset()

    def key_group_sizes(self) -> NDArray[np.int64]:
        """Bytes of each stored key group."""
        sizes = [key_group_sizes(stored.handle) for stored in self.handles]
        total: NDArray[np.int64] = np.sum(
            sizes or [np.zeros(self.max_parallelism, np.int64)], axis=0, dtype=np.int64
        )
        return total

    def state_chunks(
        self, directory: SnapshotDirectory, names: frozenset[str], key_groups: KeyGroupRange
    ) -> Iterator[StateChunk]:
        """Changed entries of states of these new names, from these stored key groups."""
        if unread := names & self.made:
            raise SchemaChangeError(UNREADABLE).within(f"state {min(unread)!r}")
        settings = SourceSettings(self.max_parallelism, self.kryo)
        count = self.max_parallelism
        old = frozenset(name for name, state in self.states.items() if state.name in names)
        for stored in self.handles:
            source = stored.source(directory, self.key, settings)
            state_chunks = source.state_chunks(old, key_groups)
            groups = NewKeyGroups(count, count, self.kryo, self.hash_keys)
            for changed in self.changes.changed(state_chunks, self.kryo, groups, count):
                yield replace(changed, state=self.states[changed.state.name])
