"""The key group of a stored key where there is another number of key groups.

Of an entry nothing is decoded but its key, for the key group follows from the key's hash code.
That of the old number of key groups does, too: so it is seen at once if a hash code is not what
Flink took it for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_spans import key_groups_at
from savepoint_formats.errors import FormatError, UnstableHashError, within
from savepoint_formats.hashing.key_hash import (
    given_hashes,
    key_groups_of,
    key_hashes,
    stored_row_hashes,
)
from savepoint_formats.layout import (
    VARIABLE,
    BinaryRow,
    Framed,
    Layout,
    MapOf,
    Struct,
    TimerTimestamp,
    VoidNamespace,
    opaque_parts,
    serializer_length,
)
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.kernel import DONE, NewGroupsJob, find_new_groups
from savepoint_formats.program.spans import Spans, bytes_of, spans_in
from savepoint_formats.state_files.state import StateKind, key_layout, namespace_layout
from savepoint_formats.tables.visible import visible_key
from savepoint_formats.values.state_entries import Sized, Suffixed, entry_key, is_ambiguous

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.program.program import Program
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_piece import StatePiece
    from savepoint_formats.values.kryo.dialect import KryoDialect

    KeyGroups = NDArray[np.uint16]

_TIMESTAMP_SIZE = 8


class NewKeyGroups:
    """Key groups of stored keys.

    Args:
        before: The max parallelism of the savepoint that the entries are from.
        after: That of the new one.
        kryo: What is known of the Kryo that wrote object graphs.
        hash_keys: Gives the Java hash codes of keys, as the column ``key`` shows them; None if
            they follow from the layout.
    """

    def __init__(
        self, before: int, after: int, kryo: KryoDialect | None, hash_keys: HashKeys | None
    ) -> None:
        self._before = before
        self._after = after
        self._kryo = kryo
        self._hash_keys = hash_keys
        self._places: dict[str, KeyPlaces] = {}
        self._programs: dict[Layout, Program] = {}

    def of(self, piece: StatePiece) -> KeyGroups:
        """The key group of each entry in the new savepoint.

        Raises:
            UnstableHashError: The hash codes of the keys cannot be computed, or are not those
                by which Flink grouped them.
            HashCodeError: The function gives no hash code for each key.
            FormatError: A key is damaged.
        """
        if self._before == self._after:
            return piece.key_groups
        with within(f"state {piece.state.name!r}"):
            chunk, keys, hashes = self._hashed_piece(piece)
            self._check(piece.key_groups, chunk, keys, hashes)
        return key_groups_of(hashes, self._after)

    def of_keys(self, state: State, chunk: Chunk, keys: Spans, prefix_size: int) -> KeyGroups:
        """The same of keys that lie in a chunk with their prefixes.

        Args:
            state: Whose entries they are of.
            chunk: The chunk.
            keys: Where each lies.
            prefix_size: The bytes of a prefix.

        Raises:
            SavepointError: As ``of``.
        """
        if self._before == self._after:
            return key_groups_at(chunk, keys.starts, prefix_size).astype(np.uint16)
        with within(f"state {state.name!r}"):
            hashed = self._hashed(state, chunk, Spans(keys.starts + prefix_size, keys.ends))
            groups = np.empty(len(keys), np.uint16)
            job = NewGroupsJob(
                data=chunk.address,
                size=len(chunk),
                starts=keys.starts.ctypes.data,
                prefix_size=prefix_size,
                hashes=hashed[1].ctypes.data,
                total=len(keys),
                before=self._before,
                after=self._after,
                key_groups=groups.ctypes.data,
            )
            status, _ = find_new_groups(job)
            if status != DONE:
                self._check(key_groups_at(chunk, keys.starts, prefix_size), chunk, *hashed)
        return groups

    def expected(self, piece: StatePiece) -> KeyGroups:
        """The key group that each entry should have in the savepoint that it is from.

        Raises:
            UnstableHashError: The hash codes of the keys cannot be computed.
            FormatError: A key is damaged.
        """
        with within(f"state {piece.state.name!r}"):
            return key_groups_of(self._hashed_piece(piece)[2], self._before)

    def _hashed_piece(self, piece: StatePiece) -> tuple[Chunk, Spans, NDArray[np.int32]]:
        """The keys of entries, where they lie in a chunk, and their hash codes."""
        data, entries = spans_in(piece.entries.keys)
        chunk = Chunk(data, "stored keys")
        return chunk, *self._hashed(piece.state, chunk, entries)

    def _hashed(
        self, state: State, chunk: Chunk, entries: Spans
    ) -> tuple[Spans, NDArray[np.int32]]:
        """Where the keys lie that entries have behind their prefixes, and their hash codes."""
        if state.name not in self._places:
            self._places[state.name] = KeyPlaces.of(state, self._kryo)
        keys = self._places[state.name].keys(chunk, entries)
        return keys, np.ascontiguousarray(self._hashes(key_layout(state), chunk, keys), np.int32)

    def _hashes(self, layout: Layout, chunk: Chunk, keys: Spans) -> NDArray[np.int32]:
        if self._hash_keys is None and _is_sql_row(layout):
            # That of a row of SQL is the hash code of its bytes.
            return stored_row_hashes(bytes_of(chunk, keys))
        if layout not in self._programs:
            self._programs[layout] = program(layout, self._kryo)
        column = decode(self._programs[layout], chunk, keys.starts, keys.ends)
        if self._hash_keys is None:
            return key_hashes(layout, column)
        return given_hashes(self._hash_keys, visible_key(column))

    def _check(
        self, groups: NDArray[np.integer[Any]], chunk: Chunk, keys: Spans, hashes: NDArray[np.int32]
    ) -> None:
        """The hash codes must explain the key groups that the keys were in."""
        expected = key_groups_of(hashes, self._before)
        if np.array_equal(expected, groups):
            return
        index = int(np.flatnonzero(expected != groups)[0])
        key = chunk.data[keys.starts[index] : keys.ends[index]].tobytes()
        raise UnstableHashError(
            f"a key of the bytes {key.hex(' ')} lies in key group {groups[index]}; by its hash code,"
            f" {hashes[index]}, it belongs to {expected[index]}: its class has another hash code;"
            " give a function that computes it"
        )


@dataclass(frozen=True, slots=True, eq=False)
class KeyPlaces:
    """Where the keys of a state's entries lie.

    Attributes:
        before: The bytes in front of the key.
        size: The bytes of the key, if all have as many.
        behind: The bytes behind the key, if all have as many.
        whole: Decodes the size of ``key`` among all that is stored; None if that is not needed.
    """

    before: int
    size: int
    behind: int
    whole: Program | None

    @classmethod
    def of(cls, state: State, kryo: KryoDialect | None) -> KeyPlaces:
        """Those of a state.

        Raises:
            UnstableHashError: Nobody can tell where a key ends.
        """
        key, namespace = key_layout(state), namespace_layout(state)
        is_timer = state.kind is StateKind.TIMERS
        if is_timer and not isinstance(state.stored, Struct):
            raise _unknown_end(state.stored)
        size, behind = serializer_length(key), _stored_size(namespace)
        whole: Program | None = None
        if state.kind is StateKind.MAP:
            behind = VARIABLE
        if size == behind == VARIABLE:
            if any(opaque_parts(key)):
                raise _unknown_end(key)
            whole = program(_whole(state), kryo)
        return cls(_TIMESTAMP_SIZE if is_timer else 0, size, behind, whole)

    def keys(self, chunk: Chunk, entries: Spans) -> Spans:
        """The key in each stored key, of which only the prefix is missing.

        Raises:
            FormatError: A stored key is damaged.
        """
        starts = entries.starts + self.before
        if self.whole is not None:
            sizes = decode(self.whole, chunk, entries.starts, entries.ends).field("key")
            return Spans(starts, starts + np.asarray(sizes))
        ends = starts + self.size if self.size != VARIABLE else entries.ends - self.behind
        if bool(np.any((ends < starts) | (ends > entries.ends))):
            raise FormatError("a stored key of too few bytes", chunk.path, 0)
        return Spans(starts, ends)


def _is_sql_row(layout: Layout) -> bool:
    return isinstance(layout, Framed) and isinstance(layout.inner, BinaryRow)


def _stored_size(layout: Layout) -> int:
    # Its serializer claims to write nothing.
    return 1 if isinstance(layout, VoidNamespace) else serializer_length(layout)


def _whole(state: State) -> Struct:
    """All parts of a stored key, of which the sizes are of interest."""
    key, namespace = key_layout(state), namespace_layout(state)
    if state.kind is StateKind.TIMERS:
        names = ("timestamp", "key", "namespace")
        return Struct(names, tuple(map(Sized, (TimerTimestamp(), key, namespace))))
    user_key = state.stored.key if isinstance(state.stored, MapOf) else None
    stored = entry_key(0, key, namespace, user_key)
    size = Suffixed(Sized(key)) if is_ambiguous(key, namespace) else Sized(key)
    return Struct(stored.names[1:], (size, *map(Sized, stored.fields[2:])))


def _unknown_end(layout: Layout) -> UnstableHashError:
    reasons = ", ".join(part.note for part in opaque_parts(layout))
    return UnstableHashError(
        f"a key cannot be separated from what is stored behind it: {reasons}; its key group is known"
        " only as long as max parallelism stays what it is"
    )
