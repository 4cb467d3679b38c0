"""Entries of states whose values are written anew for another Flink; see ``values.recoding``.

An object of Kryo may be in the key of an entry, its namespace, a key of a map, the value or a timer.
The key groups of keys stay: the objects are the same, and so are their hash codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import within
from savepoint_formats.layout import MapOf, Nullable, Repeated
from savepoint_formats.state_files.state import StateKind, key_layout, namespace_layout
from savepoint_formats.values.recoding import Recoding, holds_kryo
from savepoint_formats.values.state_entries import Delimited, NullableRest, entry_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_formats.layout import Layout
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
    """

    states: Mapping[str, State]
    reads: KryoDialect
    writes: KryoDialect

    def entries(self, piece: StatePiece) -> StoredEntries:
        """The entries of a piece anew, or as they are.

        Raises:
            UndecodableError: An object is of a class that nobody can read.
            UnencodableError: One can't be written for the other Kryo.
            FormatError: An entry is damaged.
        """
        new = self.states.get(piece.state.name)
        if new is None:
            return piece.entries
        (old_key, old_value), (new_key, new_value) = map(entry_layouts, (piece.state, new))
        with within(f"state {piece.state.name!r}"):
            keys = self._recoded(piece.entries.keys, old_key, new_key)
            values = piece.entries.values
            if old_value is not None and new_value is not None:
                values = self._recoded(values, old_value, new_value)
        return StoredEntries(keys, values)

    def _recoded(self, data: pa.LargeBinaryArray, old: Layout, new: Layout) -> pa.LargeBinaryArray:
        if old == new and not holds_kryo(old):
            return data
        recoding = Recoding(old, new, self.reads, self.writes)
        return pa.array(map(recoding.of, data.to_pylist()), pa.large_binary())
