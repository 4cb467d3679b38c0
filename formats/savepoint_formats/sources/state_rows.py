"""Decodes the entries of one state: identities that distinguish rows, and values.

Both forms of stored keyed state become the same rows. In entries (canonical files and RocksDB) a
key is prefix, key, namespace; lists are delimited and a map has an entry per user key. In heap
files namespace, key and value lie back to back, and a collection is a single value.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.entries.entry_ranges import key_groups_at
from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.key_groups import prefix_size
from savepoint_formats.layout import MapOf, Struct
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.sources.keyed_batch import KeyedBatch
from savepoint_formats.state_files.state import (
    State,
    StateKind,
    entry_layouts,
    key_layout,
    namespace_layout,
)
from savepoint_formats.tables.visible import TimerRows
from savepoint_formats.values.patience import Patience
from savepoint_formats.values.state_entries import KeyPrefix, Sized, entry_key
from savepoint_formats.values.undecoded import hidden_advice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.entries.entry_ranges import EntryRanges, Part
    from savepoint_formats.program.program import Program
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.state_files.heap_entries import HeapEntries
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.undecoded import Hides

    Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class StateRows:
    """Decoded entries of a state, and the borders of their identities: bytes of key and namespace.

    An identity begins behind its key group, if the file has one in front of each: ``starts`` are those
    of key groups then.
    If a map has an entry per user key, values are those of user keys.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    values: pa.Array
    user_keys: pa.Array | None = None

    def joined(self, other: StateRows) -> StateRows:
        """These entries, followed by others of the same state and chunk."""
        user_keys = None
        if self.user_keys is not None and other.user_keys is not None:
            user_keys = pa.concat_arrays([self.user_keys, other.user_keys])
        return StateRows(
            np.concatenate([self.starts, other.starts]),
            np.concatenate([self.ends, other.ends]),
            pa.concat_arrays([self.values, other.values]),
            user_keys,
        )

    def column_type(self, wanted: pa.DataType) -> pa.DataType:
        """Type of the column; only the kind of collection for a map comes from ``wanted``."""
        if self.user_keys is None:
            return self.values.type
        if pa.types.is_map(wanted):
            return pa.map_(self.user_keys.type, self.values.type)
        names = ("key", "value")
        types = (self.user_keys.type, self.values.type)
        return pa.list_(pa.struct(list(zip(names, types, strict=True))))


class EntryDecoder:
    """Decodes the entries of a state in canonical files and RocksDB.

    Hidden values are null. ``hides`` are contents that may hide among the bytes of an undecodable value.
    """

    def __init__(
        self,
        state: State,
        prefix_size: int,
        kryo: KryoDialect | None,
        *,
        is_hidden: bool = False,
        hides: Hides = "nothing",
    ) -> None:
        self._is_hidden = is_hidden
        self._prefix_size = prefix_size
        key = entry_key(prefix_size, key_layout(state), namespace_layout(state))
        identity = Struct(key.names[1:], key.fields[1:])
        self.identity = program(identity, kryo, hides=hides)
        _, value = entry_layouts(state)
        self._values = program(value or state.stored, kryo, hides=hides)
        self._patience = Patience()
        self._map_keys: Program | None = None
        if state.kind is StateKind.MAP and isinstance(state.stored, MapOf):
            sizes = (Sized(key.fields[1]), Sized(key.fields[2]), state.stored.key)
            names = (*key.names[1:], "user_key")
            # Hidden fields have no size; ``_identity_ends`` raises an error for them.
            self._map_keys = program(Struct(names, sizes), kryo, hides="all")

    def rows(self, chunk: Chunk, entries: EntryRanges) -> StateRows:
        """Decodes everything but the identities."""
        if self._is_hidden:
            values = pa.nulls(len(entries.key_starts), self._values.type)
        else:
            values = self._decoded(self._values, chunk, entries.value_starts, entries.value_ends)
        if self._map_keys is None:
            return StateRows(entries.key_starts, entries.key_ends, values)
        starts = entries.key_starts + self._prefix_size
        keys = self._decoded(self._map_keys, chunk, starts, entries.key_ends)
        ends = _identity_ends(chunk, starts, keys)
        return StateRows(entries.key_starts, ends, values, keys.field("user_key"))

    def identities(
        self, chunk: Chunk, entries: EntryRanges
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Start and end of each entry's identity."""
        starts = entries.key_starts + self._prefix_size
        if self._map_keys is None:
            return starts, entries.key_ends
        keys = self._decoded(self._map_keys, chunk, starts, entries.key_ends)
        return starts, _identity_ends(chunk, starts, keys)

    def _decoded(
        self, program: Program, chunk: Chunk, starts: Positions, ends: Positions
    ) -> pa.Array:
        return decode(program, chunk, starts, ends, patience=self._patience)


class HeapDecoder:
    """Decodes the entries of a state in heap files."""

    def __init__(self, state: State, settings: SourceSettings) -> None:
        self._is_hidden = state.name in settings.hidden
        self._hides = settings.hides
        self._patience = Patience()
        layouts = namespace_layout(state), key_layout(state)
        self.identity = program(Struct(("namespace", "key"), layouts), settings.kryo)
        self._values = program(state.stored, settings.kryo, hides=settings.hides)

    def rows(self, entries: HeapEntries) -> StateRows:
        """Decodes everything but the identities; raises ``UndecodableError`` for hidden entries."""
        if self._hides != "all":
            entries.expect_all(hidden_advice("rest"))
        starts, ends = entries.values.starts, entries.values.ends
        if self._is_hidden:
            values = pa.nulls(len(entries), self._values.type)
        else:
            # The last value has the bytes of all entries that can't be separated from it.
            along = f"{entries.hidden} more entries of the key group" if entries.hidden else ""
            values = decode(
                self._values, entries.chunk, starts, ends, along=along, patience=self._patience
            )
        return StateRows(entries.namespaces.starts, entries.keys.ends, values)


def _identity_ends(
    chunk: Chunk, starts: NDArray[np.int64], keys: pa.StructArray
) -> NDArray[np.int64]:
    """End of key and namespace of each entry of a map, where the user key begins.

    Raises ``UndecodableError`` if a size is unknown.
    """
    for name in ("key", "namespace"):
        if keys.field(name).null_count:
            entry = keys.field(name).is_null().index(True).as_py()
            message = (
                f"an entry of a map whose {name} is of an unknown size because a serializer is"
            )
            message += (
                " not known; a copy without this state can be read (remove_state, remove-state)"
            )
            error = chunk.error(message, int(starts[entry]), UndecodableError)
            error.record = entry
            raise error
    key, namespace = (keys.field(name).to_numpy() for name in ("key", "namespace"))
    ends: NDArray[np.int64] = starts + key.astype(np.int64) + namespace.astype(np.int64)
    return ends


class EntryDecoders:
    """Decoders of the entries of states; each is compiled when it is first needed."""

    def __init__(self, states: Iterable[State], settings: SourceSettings) -> None:
        self.states = {state.name: state for state in states}
        self.prefix_size = prefix_size(settings.max_parallelism)
        self._settings = settings
        self._decoders: dict[str, EntryDecoder] = {}
        self._timers: dict[str, Program] = {}

    def identities(
        self, name: str, chunk: Chunk, ranges: EntryRanges
    ) -> tuple[Positions, Positions]:
        """Start and end of each entry's identity."""
        return self._decoder(name).identities(chunk, ranges)

    def rows(self, part: Part) -> dict[str, StateRows]:
        """Decoded entries of each state."""
        chunk, by_state = part
        rows: dict[str, StateRows] = {}
        for name, ranges in by_state.items():
            with self._in_entries(name, chunk, ranges):
                rows[name] = self._decoder(name).rows(chunk, ranges)
        return rows

    def batch(self, chunk: Chunk, rows: dict[str, StateRows]) -> KeyedBatch:
        """Entries of at least one state in a chunk, for their rows to be joined."""
        identity = self._decoder(next(iter(rows))).identity
        return KeyedBatch(chunk, identity, rows, prefix_size=self.prefix_size)

    def timers(self, part: Part) -> Iterator[TimerRows]:
        chunk, by_state = part
        for name, ranges in by_state.items():
            with self._in_entries(name, chunk, ranges):
                entries = decode(self._timer(name), chunk, ranges.key_starts, ranges.key_ends)
            groups = key_groups_at(chunk, ranges.key_starts, self.prefix_size)
            yield TimerRows(name, entries.field("timer"), groups)

    def _decoder(self, name: str) -> EntryDecoder:
        if name not in self._decoders:
            settings = self._settings
            self._decoders[name] = EntryDecoder(
                self.states[name],
                self.prefix_size,
                settings.kryo,
                is_hidden=name in settings.hidden,
                hides=settings.hides,
            )
        return self._decoders[name]

    def _timer(self, name: str) -> Program:
        if name not in self._timers:
            layouts = KeyPrefix(self.prefix_size), self.states[name].stored
            timer, settings = Struct(("prefix", "timer"), layouts), self._settings
            self._timers[name] = program(timer, settings.kryo, hides=settings.hides)
        return self._timers[name]

    @contextmanager
    def _in_entries(self, state: str, chunk: Chunk, ranges: EntryRanges) -> Iterator[None]:
        """Adds state and key group to errors in entries."""
        try:
            yield
        except FormatError as error:
            error.within(f"state {state!r}")
            if error.record >= 0:
                start = ranges.key_starts[error.record : error.record + 1]
                (key_group,) = key_groups_at(chunk, start, self.prefix_size)
                error.within(f"key group {key_group}")
            raise
