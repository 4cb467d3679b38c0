"""The stored entries of one state after the changes of a changelog.

Whatever no change touches passes through; of what is touched, only keys and namespaces, user keys
and elements are told from each other, by their bytes. Changes are few beside the entries.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import UndecodableError
from savepoint_formats.layout import MapOf, Struct
from savepoint_formats.pass_through.stored_edits import StoredEdit, StoredEditReader
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.spans import Spans, bytes_of, spans_in
from savepoint_formats.sources.state_edits import EditKind
from savepoint_formats.state_files.state import State, StateKind, key_layout, namespace_layout
from savepoint_formats.state_files.state_piece import StatePiece
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.state_entries import DELIMITER, Sized, entry_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.program.program import Program
    from savepoint_formats.state_files.changelog import KeyedChange
    from savepoint_formats.values.kryo.dialect import KryoDialect

    Items = dict[bytes | int, bytes]
    """Of a map, value by user key; of all else, the value, or elements of a list in order."""

_COMMA = bytes([DELIMITER])


class ChangedEntries:
    """Entries of a state, and changes of them in order.

    Args:
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(self, kryo: KryoDialect | None) -> None:
        self._kryo = kryo
        self._edits: list[StoredEdit] = []
        self._reader: StoredEditReader | None = None
        self._contents: dict[bytes, Items] = {}
        self._places = 0
        self._sizes: dict[State, Program] = {}

    @property
    def state(self) -> State:
        """The state, as it was when it was last changed."""
        if self._reader is None:
            raise ValueError("no change, hence no state that it is of")
        return self._reader.state

    def add(self, state: State, change: KeyedChange) -> None:
        """Another change.

        Raises:
            FormatError: It is damaged.
            UndecodableError: It cannot be told where something in it ends.
        """
        if self._reader is None or self._reader.state is not state:
            self._reader = StoredEditReader(state, self._kryo)
        self._edits += self._reader.edits(change)

    def untouched(self, piece: StatePiece) -> StatePiece:
        """Entries of before without those that were changed, which are kept for ``after``.

        Raises:
            UndecodableError: The values were of another type before.
        """
        identities = self._identities(piece)
        touched = pc.is_in(identities, value_set=self._changed)
        if pc.any(touched).as_py():
            self._check_type(piece.state)
            self._keep(piece.entries, identities, touched)
        rest = pc.invert(touched)
        entries = StoredEntries(piece.entries.keys.filter(rest), piece.entries.values.filter(rest))
        is_rest = rest.to_numpy(zero_copy_only=False)
        return StatePiece(piece.state, entries, piece.key_groups[is_rest])

    @cached_property
    def _changed(self) -> pa.LargeBinaryArray:
        """All identities that are changed, once no more changes come."""
        names = {name for edit in self._edits for name in (edit.identity, *edit.sources)}
        return pa.array(sorted(names), pa.large_binary())

    def after(self) -> StatePiece:
        """What there is after the changes, of what was changed.

        Raises:
            UndecodableError: Values were merged as only the job's function can.
        """
        key_groups = {
            name: edit.key_group for edit in self._edits for name in (edit.identity, *edit.sources)
        }
        for edit in self._edits:
            self._apply(edit)
        # What was cleared or replaced later needs no merging.
        merges = {one.identity: one for one in self._edits if one.edit.kind is EditKind.MERGE}
        for merge in merges.values():
            self._check_merged(merge)
        found = [
            (key_groups[identity], identity + name, value)
            for identity, items in self._contents.items()
            for name, value in self._entries_of(items)
        ]
        groups, keys, values = zip(*found, strict=True) if found else ((), (), ())
        entries = StoredEntries(
            pa.array(keys, pa.large_binary()), pa.array(values, pa.large_binary())
        )
        return StatePiece(self.state, entries, np.array(groups, np.uint16))

    def _identities(self, piece: StatePiece) -> pa.LargeBinaryArray:
        """Key and namespace of each entry: all of its key, but for the user key of a map."""
        state, keys = piece.state, piece.entries.keys
        if state.kind is not StateKind.MAP or not isinstance(state.stored, MapOf):
            return keys
        if state not in self._sizes:
            stored = entry_key(0, key_layout(state), namespace_layout(state), state.stored.key)
            parts = tuple(map(Sized, stored.fields[1:]))
            self._sizes[state] = program(Struct(stored.names[1:], parts), self._kryo)
        data, spans = spans_in(keys)
        sizes = decode(self._sizes[state], Chunk(data), spans.starts, spans.ends)
        both = pc.add(sizes.field("key"), sizes.field("namespace"))
        return bytes_of(Chunk(data), Spans(spans.starts, spans.starts + np.asarray(both)))

    def _check_type(self, before: State) -> None:
        was, is_now = arrow_type(before.stored), arrow_type(self.state.stored)
        if was != is_now:
            message = (
                f"state {before.name!r} was of type {was} when it was materialized, and is of type"
                f" {is_now} in the changelog: take a savepoint of the job"
            )
            raise self._edits[0].view.error(message, UndecodableError)

    def _keep(
        self, entries: StoredEntries, identities: pa.LargeBinaryArray, touched: pa.BooleanArray
    ) -> None:
        columns = (identities, entries.keys, entries.values)
        for identity, key, value in zip(
            *(column.filter(touched).to_pylist() for column in columns), strict=True
        ):
            self._put(identity, key[len(identity) :], value)

    def _put(self, identity: bytes, user_key: bytes | None, value: bytes) -> None:
        """Puts an entry into a map, appends to all else."""
        name: bytes | int = self._places
        if self.state.kind is StateKind.MAP and user_key is not None:
            name = user_key
        self._contents.setdefault(identity, {})[name] = value
        self._places += 1

    def _apply(self, one: StoredEdit) -> None:
        kind, edit = one.edit.kind, one.edit
        if kind in (EditKind.CLEAR, EditKind.REPLACE):
            self._contents.pop(one.identity, None)
        if kind is EditKind.REMOVE:
            found = self._contents.get(one.identity, {})
            for user_key in edit.user_keys:
                found.pop(user_key, None)
        elif kind in (EditKind.ADD, EditKind.REPLACE):
            for user_key, value in zip(edit.user_keys, edit.values, strict=True):
                self._put(one.identity, user_key, value)
        elif kind is EditKind.MERGE:
            for source in one.sources:
                for name, value in self._contents.pop(source, {}).items():
                    self._put(one.identity, name if isinstance(name, bytes) else None, value)

    def _check_merged(self, one: StoredEdit) -> None:
        found = self._contents.get(one.identity, {})
        if self.state.kind not in (StateKind.LIST, StateKind.MAP) and len(found) > 1:
            message = (
                f"state {self.state.name!r} has {len(found)} values whose namespaces were"
                " merged, which only the job's function can: take a savepoint of the job"
            )
            raise one.view.error(message, UndecodableError)

    def _entries_of(self, items: Items) -> Iterator[tuple[bytes, bytes]]:
        """What is stored behind the identity in the key, and the value, of each entry."""
        if self.state.kind is StateKind.MAP:
            yield from ((name, value) for name, value in items.items() if isinstance(name, bytes))
        elif items:
            yield b"", _COMMA.join(items.values())
