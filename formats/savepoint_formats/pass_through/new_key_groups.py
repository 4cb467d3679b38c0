"""Key groups of stored keys after a change of max parallelism.

Only the key of an entry is decoded because the key group follows from its hash code. The old key
group shows whether the hash code is the one that Flink used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.errors import FormatError, UnstableHashError, within
from savepoint_formats.hashing.key_hash import given_hashes, key_hashes
from savepoint_formats.hashing.scalar_hashes import framed_hashes
from savepoint_formats.key_groups import key_groups_of
from savepoint_formats.layout import VARIABLE, Layout, Opaque, nodes_of, serializer_length
from savepoint_formats.program.assembly import program
from savepoint_formats.program.byte_ranges import Ranges, bytes_of
from savepoint_formats.program.decode import decode
from savepoint_formats.state_files.state import StateKind, key_layout, namespace_layout
from savepoint_formats.tables.visible import visible_key
from savepoint_formats.values.state_entries import Sized, Suffixed, entry_key, is_ambiguous

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.program.program import Program
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_chunk import StateChunk
    from savepoint_formats.values.kryo.dialect import KryoDialect

    KeyGroups = NDArray[np.uint16]

_TIMESTAMP_SIZE = 8


class NewKeyGroups:
    """Key groups of stored keys, with the max parallelism before and after.

    ``hash_keys`` gives Java's hash codes for a column ``key``; it is needed only if they don't follow
    from the layout.
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

    def of(self, state_chunk: StateChunk, *, is_checked: bool = False) -> KeyGroups:
        """The key group of each entry in the new savepoint.

        If max parallelism stays, they stay too, and hash codes are needed only if ``is_checked``.

        Raises ``UnstableHashError`` if hash codes are unknown or differ from Flink's, and
        ``HashCodeError`` if ``hash_keys`` does not return one per key.
        """
        if self._before == self._after and not is_checked:
            return state_chunk.key_groups
        with within(f"state {state_chunk.state.name!r}"):
            chunk, keys, hashes = self._hashed_chunk(state_chunk)
            self._check(state_chunk.key_groups, chunk, keys, hashes)
        return key_groups_of(hashes, self._after)

    def expected(self, state_chunk: StateChunk, keys: pa.Array | None = None) -> KeyGroups:
        """The right key group of each entry, whose ``keys`` may be decoded; raises the errors of ``of``."""
        layout = key_layout(state_chunk.state)
        with within(f"state {state_chunk.state.name!r}"):
            if keys is None or len(keys) != len(state_chunk.entries) or _is_sql_row(layout):
                hashes = self._hashed_chunk(state_chunk)[2]
            else:
                self._places_of(state_chunk.state)
                hashes = key_hashes(layout, keys)
            return key_groups_of(hashes, self._before)

    def _hashed_chunk(self, state_chunk: StateChunk) -> tuple[Chunk, Ranges, NDArray[np.int32]]:
        """A chunk of the keys of entries, positions of keys in it, and their hash codes."""
        data, entries = state_chunk.entries.key_places
        chunk, state = Chunk(data, "stored keys"), state_chunk.state
        keys = self._places_of(state).keys(chunk, entries)
        return chunk, keys, self._hashes(key_layout(state), chunk, keys)

    def _places_of(self, state: State) -> KeyPlaces:
        if state.name not in self._places:
            self._places[state.name] = KeyPlaces.of(state, self._kryo)
        return self._places[state.name]

    def _hashes(self, layout: Layout, chunk: Chunk, keys: Ranges) -> NDArray[np.int32]:
        if self._hash_keys is None and _is_sql_row(layout):
            # The hash code of a row of SQL is that of its bytes.
            return framed_hashes(bytes_of(chunk, keys))
        if layout not in self._programs:
            self._programs[layout] = program(layout, self._kryo)
        column = decode(self._programs[layout], chunk, keys.starts, keys.ends)
        if self._hash_keys is None:
            return key_hashes(layout, column)
        return given_hashes(self._hash_keys, visible_key(column))

    def _check(
        self,
        groups: NDArray[np.integer[Any]],
        chunk: Chunk,
        keys: Ranges,
        hashes: NDArray[np.int32],
    ) -> None:
        """Raises ``UnstableHashError`` unless hash codes explain the old key groups."""
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
    """Positions of keys in a state's entries: bytes before, in and behind the key.

    ``size`` and ``behind`` may be ``VARIABLE``. If both are, the program ``whole`` decodes the sizes.
    """

    before: int
    size: int
    behind: int
    whole: Program | None

    @classmethod
    def of(cls, state: State, kryo: KryoDialect | None) -> KeyPlaces:
        """Raises ``UnstableHashError`` if the end of a key is unknown."""
        key, namespace = key_layout(state), namespace_layout(state)
        is_timer = state.kind is StateKind.TIMERS
        if is_timer and not isinstance(state.stored, layouts.Struct):
            raise _unknown_end(state.stored)
        size, behind = serializer_length(key), stored_size(namespace)
        whole: Program | None = None
        if state.kind is StateKind.MAP:
            behind = VARIABLE
        if size == behind == VARIABLE:
            if any(nodes_of(key, Opaque)):
                raise _unknown_end(key)
            whole = program(_whole(state), kryo)
        return cls(_TIMESTAMP_SIZE if is_timer else 0, size, behind, whole)

    def keys(self, chunk: Chunk, entries: Ranges) -> Ranges:
        """The key in each stored key without a prefix."""
        starts = entries.starts + self.before
        if self.whole is not None:
            sizes = decode(self.whole, chunk, entries.starts, entries.ends).field("key")
            return Ranges(starts, starts + np.asarray(sizes))
        ends = starts + self.size if self.size != VARIABLE else entries.ends - self.behind
        if bool(np.any((ends < starts) | (ends > entries.ends))):
            raise FormatError("a stored key of too few bytes", chunk.path, 0)
        return Ranges(starts, ends)


def _is_sql_row(layout: Layout) -> bool:
    return isinstance(layout, layouts.Framed) and isinstance(layout.inner, layouts.BinaryRow)


def stored_size(layout: Layout) -> int:
    """Bytes of each stored value; ``VARIABLE`` if they differ."""
    # The serializer of VoidNamespace claims to write nothing.
    return 1 if isinstance(layout, layouts.VoidNamespace) else serializer_length(layout)


def _whole(state: State) -> layouts.Struct:
    """The layout of a stored key that decodes to sizes."""
    key, namespace = key_layout(state), namespace_layout(state)
    if state.kind is StateKind.TIMERS:
        names = ("timestamp", "key", "namespace")
        return layouts.Struct(names, tuple(map(Sized, (layouts.TimerTimestamp(), key, namespace))))
    user_key = state.stored.key if isinstance(state.stored, layouts.MapOf) else None
    stored = entry_key(0, key, namespace, user_key)
    size = Suffixed(Sized(key)) if is_ambiguous(key, namespace) else Sized(key)
    return layouts.Struct(stored.names[1:], (size, *map(Sized, stored.fields[2:])))


def _unknown_end(layout: Layout) -> UnstableHashError:
    reasons = ", ".join(part.note for part in nodes_of(layout, Opaque))
    return UnstableHashError(
        f"a key cannot be separated from what is stored behind it: {reasons}; its key group is known"
        " only as long as max parallelism stays what it is"
    )
