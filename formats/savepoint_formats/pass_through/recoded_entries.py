"""Entries of states whose values are written anew: for another Flink, or for classes renamed.

See ``values.recoding`` and ``values.class_names``. An object of Kryo may be in the key of an entry,
its namespace, a key of a map, the value or a timer. The key groups of keys stay: the objects are the
same, and so are their hash codes, which Flink asks of objects, and not of their bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import within
from savepoint_formats.layout import MapOf, Nullable, Repeated
from savepoint_formats.program.recoding import BulkRecoding
from savepoint_formats.state_files.state import StateKind, key_layout, namespace_layout
from savepoint_formats.values.class_names import Renaming, may_name_classes
from savepoint_formats.values.recoding import Recoding, holds_kryo
from savepoint_formats.values.state_entries import Delimited, NullableRest, entry_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_formats.layout import Layout
    from savepoint_formats.snapshots.class_names import ClassRename
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_piece import StatePiece
    from savepoint_formats.values.kryo.dialect import KryoDialect


def entry_layouts(state: State) -> tuple[Layout, Layout | None]:
    """How keys and values of a state's entries lie; timers have no values."""
    if state.kind is StateKind.TIMERS:
        return state.stored, None
    key, namespace = key_layout(state), namespace_layout(state)
    match state.kind, state.stored:
        case StateKind.LIST, Repeated(element):
            return entry_key(0, key, namespace), Delimited(element)
        case StateKind.MAP, MapOf(user_key, Nullable(value)):
            return entry_key(0, key, namespace, user_key), NullableRest(value)
        case _:
            return entry_key(0, key, namespace), state.stored


@dataclass(frozen=True)
class RecodedStates:
    """The states that are written anew.

    Attributes:
        states: Name -> the state as it is to be.
        reads: The Kryo that wrote its objects.
        writes: The Kryo that is to read them.
        renames: The classes that get another name in all states, in order.
    """

    states: Mapping[str, State]
    reads: KryoDialect
    writes: KryoDialect
    renames: tuple[ClassRename, ...] = ()

    def entries(self, piece: StatePiece) -> StoredEntries:
        """The entries of a piece anew, or as they are.

        Raises:
            UndecodableError: An object is of a class that nobody can read.
            UnencodableError: One can't be written for the other Kryo.
            SchemaChangeError: One has the old name of a class where it can't be changed.
            FormatError: An entry is damaged.
        """
        state, entries, kryo = piece.state, piece.entries, self.reads
        with within(f"state {state.name!r}"):
            new = self.states.get(state.name)
            if new is not None:
                entries = self._recoded(entries, state, new)
                state, kryo = new, self.writes
            return _renamed(entries, state, kryo, self.renames) if self.renames else entries

    def _recoded(self, entries: StoredEntries, state: State, new: State) -> StoredEntries:
        (old_key, old_value), (new_key, new_value) = map(entry_layouts, (state, new))
        keys, values = self._anew(entries.keys, old_key, new_key), entries.values
        if old_value is not None and new_value is not None:
            values = self._anew(values, old_value, new_value)
        return StoredEntries(keys, values)

    def _anew(self, data: pa.LargeBinaryArray, old: Layout, new: Layout) -> pa.LargeBinaryArray:
        if old == new and not holds_kryo(old):
            return data
        return recoded(data, old, new, self.reads, self.writes)


def recoded(
    data: pa.LargeBinaryArray, old: Layout, new: Layout, reads: KryoDialect, writes: KryoDialect
) -> pa.LargeBinaryArray:
    """The bytes of each value anew, in bulk as far as that goes.

    Raises:
        UndecodableError: An object is of a class that nobody can read.
        UnencodableError: One can't be written for the other Kryo.
        FormatError: A value is damaged.
    """
    one_by_one, bulk = Recoding(old, new, reads, writes), BulkRecoding.of(old, new, reads, writes)
    if bulk is None:
        return pa.array(map(one_by_one.of, data.to_pylist()), pa.large_binary())
    return bulk.recoded(data, one_by_one.of)


def _renamed(
    entries: StoredEntries, state: State, kryo: KryoDialect, renames: tuple[ClassRename, ...]
) -> StoredEntries:
    key, value = entry_layouts(state)
    keys, values = _with_names(entries.keys, key, kryo, renames), entries.values
    if value is not None:
        values = _with_names(values, value, kryo, renames)
    return StoredEntries(keys, values)


def _with_names(
    data: pa.LargeBinaryArray, layout: Layout, kryo: KryoDialect, renames: tuple[ClassRename, ...]
) -> pa.LargeBinaryArray:
    likely = (pc.any(may_hold_name(data, rename)).as_py() for rename in renames)
    if not may_name_classes(layout) or not any(likely):
        return data
    renaming = Renaming(layout, kryo, renames)
    return pa.array(map(renaming.of, data.to_pylist()), pa.large_binary())


def may_hold_name(data: pa.Array, rename: ClassRename) -> pa.BooleanArray:
    """Which bytes may hold the old name of a class; the others do not."""
    # Kryo marks the last letter.
    return pc.fill_null(pc.match_substring(data, rename.old[:-1]), fill_value=False)
