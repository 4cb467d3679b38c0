"""The changes of a key group that wait for what they change to be read.

A change is applied where the entries of its identity (key and namespace) come by. What never
comes by is new; it is there when all has been read. Identities that a change merges may come by
in any order, or not at all, so that they are held back till the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.sources.changed_state import NumberedEdit, StateEntries
from savepoint_formats.sources.state_edits import EditReader
from savepoint_formats.state_files.state import key_layout, namespace_layout
from savepoint_formats.values.state_entries import is_ambiguous, length_suffix

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from savepoint_formats.state_files.changelog import KeyedChange
    from savepoint_formats.state_files.state import State
    from savepoint_formats.values.kryo.dialect import KryoDialect

    StateChange = tuple[State, KeyedChange]


@dataclass(frozen=True, slots=True)
class Identity:
    """The bytes of a key and of a namespace."""

    key: bytes
    namespace: bytes
    has_suffixes: bool

    def as_in_entries(self) -> bytes:
        """As canonical files and RocksDB have them, behind the prefix."""
        if not self.has_suffixes:
            return self.key + self.namespace
        sizes = length_suffix(len(self.key)), length_suffix(len(self.namespace))
        return self.key + sizes[0] + self.namespace + sizes[1]

    def as_in_heap_files(self) -> bytes:
        """As heap files have them."""
        return self.namespace + self.key


class KeyGroupChanges:
    """Changes of a key group.

    Args:
        key_group: The key group.
        changes: What is changed, in order; one change at least.
        reader: What reads the changes of a state.

    Attributes:
        state: One of the states that are changed.
        identities: What is changed; a number is an index of it.
        waiting: The numbers of those whose changes are not applied yet.
        merged: The numbers of those that changes merge with others.
        held: Name of a state -> entries of those that were held back.

    Raises:
        FormatError: A change is damaged.
    """

    def __init__(
        self,
        key_group: int,
        changes: Sequence[StateChange],
        reader: Callable[[State], EditReader],
    ) -> None:
        self.key_group = key_group
        self.state = changes[0][0]
        self.identities: list[Identity] = []
        self.merged: set[int] = set()
        self.held: dict[str, list[StateEntries]] = {}
        self._numbers: dict[Identity, int] = {}
        self._edits: dict[int, list[tuple[int, NumberedEdit]]] = {}
        for order, (state, change) in enumerate(changes):
            self._add(order, state, change, reader(state))
        self.waiting: set[int] = set(range(len(self.identities)))

    def _add(self, order: int, state: State, change: KeyedChange, reader: EditReader) -> None:
        found = reader.read(change.operation, change.body)
        has_suffixes = is_ambiguous(key_layout(state), namespace_layout(state))
        number, *sources = (
            self._number(Identity(found.key, namespace, has_suffixes))
            for namespace in (found.namespace, *found.edit.namespaces)
        )
        if sources:
            self.merged.update((number, *sources))
        edit = NumberedEdit(state, number, found.edit, tuple(sources), change.body)
        self._edits.setdefault(number, []).append((order, edit))

    def _number(self, identity: Identity) -> int:
        number = self._numbers.setdefault(identity, len(self.identities))
        if number == len(self.identities):
            self.identities.append(identity)
        return number

    def take(self, numbers: Iterable[int]) -> list[NumberedEdit]:
        """The edits of these identities in order, which now wait no longer."""
        taken: list[tuple[int, NumberedEdit]] = []
        for number in numbers:
            self.waiting.remove(number)
            taken += self._edits.pop(number, [])
        return [edit for _, edit in sorted(taken, key=lambda one: one[0])]

    def hold(self, name: str, entries: StateEntries) -> None:
        """Keeps entries of a state for the end."""
        self.held.setdefault(name, []).append(entries)


class WaitingChanges:
    """Changes by key group, which are read when they are first asked for.

    Args:
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(self, kryo: KryoDialect | None) -> None:
        self._kryo = kryo
        self._readers: dict[str, EditReader] = {}
        self._unread: dict[int, list[StateChange]] = {}
        self._read: dict[int, KeyGroupChanges] = {}

    def add(self, state: State, change: KeyedChange) -> None:
        """Another change."""
        self._unread.setdefault(change.key_group, []).append((state, change))

    def of(self, key_groups: Collection[int]) -> list[KeyGroupChanges]:
        """Those of some key groups, where there are any that wait.

        Raises:
            FormatError: A change is damaged.
        """
        for key_group in key_groups:
            changes = self._unread.pop(key_group, None)
            if changes:
                self._read[key_group] = KeyGroupChanges(key_group, changes, self._reader)
        found = (self._read.get(key_group) for key_group in sorted(key_groups))
        return [changes for changes in found if changes is not None and changes.waiting]

    def all(self) -> Iterator[KeyGroupChanges]:
        """Those that wait of each key group in turn; they are gone then."""
        for key_group in sorted({*self._unread, *self._read}):
            yield from self.of((key_group,))
            self._read.pop(key_group, None)

    def _reader(self, state: State) -> EditReader:
        """What reads the changes of a state; a name may come to mean another state."""
        reader = self._readers.get(state.name)
        if reader is None or reader.state is not state:
            reader = self._readers[state.name] = EditReader(state, self._kryo)
        return reader
