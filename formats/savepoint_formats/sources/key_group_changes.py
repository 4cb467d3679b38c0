"""Changes of a key group that wait until the entries that they change are read.

A change is applied when the entries of its identity (key and namespace) are read. Identities that
never come are new; they are added at the end. Identities that a change merges may come in any
order, or not at all, so they wait until the end.

Changed entries are told apart by their bytes: user keys in a map, elements behind each other in a
list. Changes are few compared to entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.errors import UndecodableError
from savepoint_formats.sources.state_edits import EditKind, EditReader
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.state_entries import DELIMITER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from savepoint_formats.sources.state_edits import Edit
    from savepoint_formats.state_files.changelog import KeyedChange
    from savepoint_formats.state_files.state import State
    from savepoint_formats.values.kryo.dialect import KryoDialect

    StateChange = tuple[State, KeyedChange]
    """A change, and the state of its number at that time."""

    Items = dict[bytes | int, bytes]
    """User keys of a map -> values; else places -> the value, or elements of a list."""

_COMMA = bytes([DELIMITER])


@dataclass(frozen=True, slots=True, eq=False)
class _Numbered:
    """An edit, and the number of edits before it."""

    order: int
    state: State
    edit: Edit


class KeyGroupChanges:
    """Changes of a key group, at least one.

    Attributes:
        states: Name -> each changed state, as it was at its last change.
        merged: Identities that changes merge with others.
        undecided: State and operation -> changes of states of which one change has a key without a
            certain end: the contents of such a state are unknown.
    """

    def __init__(
        self, key_group: int, changes: Sequence[StateChange], reader: Callable[[State], EditReader]
    ) -> None:
        self.key_group = key_group
        self.states: dict[str, State] = {}
        self.merged: set[bytes] = set()
        self.undecided: dict[tuple[str, str], list[bytes]] = {}
        self._edits: dict[bytes, list[_Numbered]] = {}
        self._contents: dict[str, dict[bytes, Items]] = {}
        self._places = 0
        starts = [change.body.position for _, change in changes]
        edits_of = [list(reader(state).edits(change)) for state, change in changes]
        doubtful = {
            state.name
            for (state, _), edits in zip(changes, edits_of, strict=True)
            if any(edit.kind is EditKind.UNDECIDED for edit in edits)
        }
        for order, (state, change) in enumerate(changes):
            self.states[state.name] = state
            if state.name in doubtful:
                whole = reader(state).whole(change.body, starts[order])
                self.undecided.setdefault((state.name, change.operation.name), []).append(whole)
                continue
            for edit in edits_of[order]:
                self._edits.setdefault(edit.identity, []).append(_Numbered(order, state, edit))
                for source in edit.sources:
                    self._edits.setdefault(source, [])
                    self.merged.update((edit.identity, source))

    @property
    def waiting(self) -> Collection[bytes]:
        """Identities whose changes are not applied yet."""
        return self._edits.keys()

    def takes(self, name: str, identity: bytes) -> bool:
        """Whether a state's entries of an identity belong to ``put``."""
        if identity in self.merged:
            return True
        return any(edit.state.name == name for edit in self._edits[identity])

    def may_touch(self, name: str) -> bool:
        """Whether any entry of a state may be changed, or wait for a merge."""
        return name in self.states or bool(self.merged)

    def expect_type(self, before: State) -> None:
        """Raises ``UndecodableError`` if values of a state had another type before."""
        was, is_now = arrow_type(before.stored), arrow_type(self.states[before.name].stored)
        if was != is_now:
            message = (
                f"state {before.name!r} was of type {was} when it was materialized, and is of type"
                f" {is_now} in the changelog: take a savepoint of the job"
            )
            edits = (edit for edits in self._edits.values() for edit in edits)
            first = next(edit.edit for edit in edits if edit.state.name == before.name)
            raise first.view.error(message, UndecodableError)

    def applied(
        self, identities: Iterable[bytes]
    ) -> Iterator[tuple[str, list[tuple[bytes, bytes]]]]:
        """Entries of some identities after the changes, which are done then.

        Returns names of states, keys without the key group, and values. Raises ``UndecodableError``
        for values that only the job's function can merge.
        """
        done = list(identities)
        edits = [numbered for identity in done for numbered in self._edits.pop(identity)]
        edits.sort(key=lambda numbered: numbered.order)
        for numbered in edits:
            self._apply(numbered)
        self._check_merged(edits)
        for name, contents in self._contents.items():
            entries = [
                (identity + suffix, value)
                for identity in done
                for suffix, value in _entries_of(contents.pop(identity, {}))
            ]
            if entries:
                yield name, entries

    def put(self, state: State, identity: bytes, user_key: bytes | None, value: bytes) -> None:
        """Puts an entry into a map; appends to all other states."""
        name: bytes | int = self._places
        if state.kind is StateKind.MAP and user_key is not None:
            name = user_key
        self._contents.setdefault(state.name, {}).setdefault(identity, {})[name] = value
        self._places += 1

    def _apply(self, numbered: _Numbered) -> None:
        state, edit = numbered.state, numbered.edit
        contents = self._contents.setdefault(state.name, {})
        if edit.kind in (EditKind.CLEAR, EditKind.REPLACE):
            contents.pop(edit.identity, None)
        if edit.kind is EditKind.REMOVE:
            for user_key in edit.user_keys:
                if user_key is not None:
                    contents.get(edit.identity, {}).pop(user_key, None)
        elif edit.kind in (EditKind.ADD, EditKind.REPLACE):
            for user_key, value in zip(edit.user_keys, edit.values, strict=True):
                self.put(state, edit.identity, user_key, value)
        elif edit.kind is EditKind.MERGE:
            for source in edit.sources:
                for name, value in contents.pop(source, {}).items():
                    self.put(state, edit.identity, name if isinstance(name, bytes) else None, value)

    def _check_merged(self, edits: Iterable[_Numbered]) -> None:
        # Values that were cleared or replaced later needed no merging.
        for numbered in edits:
            state, edit = numbered.state, numbered.edit
            if edit.kind is not EditKind.MERGE or state.kind in (StateKind.LIST, StateKind.MAP):
                continue
            contents = self._contents[state.name].get(edit.identity, {})
            if len(contents) > 1:
                message = (
                    f"state {state.name!r} has {len(contents)} values whose namespaces were"
                    " merged, which only the job's function can: take a savepoint of the job"
                )
                raise edit.view.error(message, UndecodableError)


def _entries_of(items: Items) -> Iterator[tuple[bytes, bytes]]:
    """Bytes behind the identity in the key, and the value, of each entry."""
    if any(isinstance(name, bytes) for name in items):
        yield from ((name, value) for name, value in items.items() if isinstance(name, bytes))
    elif items:
        yield b"", _COMMA.join(items.values())


class WaitingChanges:
    """Changes by key group; they are read at their first use.

    Attributes:
        states: Name -> each changed state, as it was at its last change.
    """

    def __init__(
        self,
        kryo: KryoDialect | None,
        *,
        has_framed_keys: bool = False,
        shows_undecided: bool = False,
    ) -> None:
        self.states: dict[str, State] = {}
        self._kryo = kryo
        self._has_framed_keys = has_framed_keys
        self._shows_undecided = shows_undecided
        self._readers: dict[str, EditReader] = {}
        self._unread: dict[int, list[StateChange]] = {}
        self._read: dict[int, KeyGroupChanges] = {}

    def __contains__(self, key_group: int) -> bool:
        return key_group in self._unread or key_group in self._read

    def add(self, state: State, change: KeyedChange) -> None:
        self.states[state.name] = state
        self._unread.setdefault(change.key_group, []).append((state, change))

    def of(self, key_groups: Collection[int]) -> list[KeyGroupChanges]:
        for key_group in key_groups:
            changes = self._unread.pop(key_group, None)
            if changes:
                self._read[key_group] = KeyGroupChanges(key_group, changes, self._reader)
        known = (self._read.get(key_group) for key_group in sorted(key_groups))
        return [
            changes
            for changes in known
            if changes is not None and (changes.waiting or changes.undecided)
        ]

    def may_touch(self, key_group: int, name: str) -> bool:
        """Whether any entry of a state in a key group may be changed, or wait for a merge."""
        return any(changes.may_touch(name) for changes in self.of((key_group,)))

    def all(self) -> Iterator[KeyGroupChanges]:
        """Waiting changes of each key group in turn, which are then removed."""
        for key_group in sorted({*self._unread, *self._read}):
            yield from self.of((key_group,))
            self._read.pop(key_group, None)

    def _reader(self, state: State) -> EditReader:
        """Reader of the changes of a state; a name may come to mean another state."""
        reader = self._readers.get(state.name)
        if reader is None or reader.state is not state:
            reader = self._readers[state.name] = EditReader(
                state,
                self._kryo,
                has_framed_keys=self._has_framed_keys,
                shows_undecided=self._shows_undecided,
            )
        return reader
