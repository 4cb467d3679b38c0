"""The states of a heap file that may have values that nobody can decode, and where they lie.

An entry that cannot be decoded hides where it ends. What lies behind it is found all the same where
``heap_borders`` proves it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.layout import (
    JavaObject,
    Kryo,
    Layout,
    Opaque,
    Pojo,
    Struct,
    parts,
    with_open_pojos,
)
from savepoint_formats.state_files.heap_borders import HeapBorders, HeapState, KeyGroupEntries
from savepoint_formats.state_files.state import State, StateKind, key_layout, namespace_layout
from savepoint_formats.values.kryo.structs import column_type, is_described

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.values.kryo.dialect import KryoDialect

    Skip = Callable[[int, int, int], int]


class DoubtfulStates:
    """Knows which states of a heap file may hide where they end.

    Args:
        states: All states of the file, by id.
        max_parallelism: Of the operator.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(
        self, states: Sequence[State], max_parallelism: int, kryo: KryoDialect | None
    ) -> None:
        self._states = states
        self._max_parallelism = max_parallelism
        self._kryo = kryo
        self._ids = frozenset(
            state_id for state_id, state in enumerate(states) if is_doubtful(state.stored)
        )

    def __contains__(self, state_id: int) -> bool:
        return state_id in self._ids

    def may_explain(self, error: FormatError) -> bool:
        """Whether an error may come of a state that cannot be decoded, rather than of damage."""
        stored = (self._states[state_id].stored for state_id in self._ids)
        return isinstance(error, UndecodableError) or any(map(is_unknown, stored))

    def borders(self, chunk: Chunk, group: int, skip: Skip) -> tuple[HeapState, ...] | None:
        """Where the states of a key group lie; None if that is not certain.

        Args:
            chunk: The states of the key group.
            group: The key group.
            skip: Tells where so many entries of a state end, from a position on; raises
                ``FormatError`` if they cannot be decoded. Its arguments are the state, the
                position and the number of entries.
        """
        if any(is_unknown(layout) for state in self._states for layout in identity_parts(state)):
            return None  # without its key nothing is known of an entry

        def may_begin(state_id: int, position: int) -> bool:
            entries = self._entries(chunk, state_id, group)
            return entries is None or entries.may_begin(position)

        entries = list(map(_entry, self._states))
        return HeapBorders(chunk, entries, self._ids, skip, may_begin).states()

    def starts(self, chunk: Chunk, state: HeapState, group: int, skip: Skip) -> list[int]:
        """Where the entries of a state begin; if that is not certain, of those that decoding tells.

        The last one has the bytes of all behind it then.
        """
        entries = self._entries(chunk, state.id, group)
        if entries and (places := entries.starts(state)):
            return list(places)
        starts = [state.start]
        with suppress(FormatError):
            while len(starts) < state.count:
                end = skip(state.id, starts[-1], 1)
                if not starts[-1] < end < state.end:
                    break
                starts.append(end)
        return starts

    def _entries(self, chunk: Chunk, state_id: int, group: int) -> KeyGroupEntries | None:
        """What knows the entries of a state; nothing does if it is one of timers."""
        state, place = self._states[state_id], (group, self._max_parallelism)
        if state.kind is StateKind.TIMERS:
            return None
        return KeyGroupEntries(chunk, _entry(state), place, self._kryo)


def _entry(state: State) -> Struct:
    """The layout of an entry of a heap file."""
    if state.kind is StateKind.TIMERS:
        return Struct(("entry",), (state.stored,))
    value = with_open_pojos(state.stored)
    return Struct(("namespace", "key", "value"), (*identity_parts(state), value))


def is_doubtful(layout: Layout) -> bool:
    """Whether a value may be one that nobody can decode: its class is known to the value alone."""
    if isinstance(layout, Pojo):
        return True  # a subclass of which the snapshot says nothing
    return is_unknown(layout) or any(map(is_doubtful, parts(layout)))


def is_unknown(layout: Layout) -> bool:
    """The same, but for subclasses of POJOs."""
    match layout:
        case Opaque() | JavaObject():
            return True
        case Kryo():
            return column_type(layout) is None or is_described(layout)
        case _:
            return any(map(is_unknown, parts(layout)))


def identity_parts(state: State) -> tuple[Layout, Layout]:
    """The layouts of an entry's namespace and key, in this order."""
    return namespace_layout(state), key_layout(state)
