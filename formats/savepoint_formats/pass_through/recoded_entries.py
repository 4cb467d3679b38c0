"""Entries whose objects are encoded again, for another Flink or for renamed classes.

See ``values.recoding`` and ``values.named_values``. Kryo objects may be in the key of an entry, its
namespace, a key of a map, the value or a timer. Key groups stay because the hash code of an object
does not depend on its bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import within
from savepoint_formats.layout import holds_kryo
from savepoint_formats.pass_through.new_key_groups import NewKeyGroups
from savepoint_formats.program.assembly import program
from savepoint_formats.program.byte_ranges import ranges_in
from savepoint_formats.program.decode import decode
from savepoint_formats.program.recoded_columns import BulkRecoding
from savepoint_formats.state_files.state import entry_layouts
from savepoint_formats.values.named_values import Renaming, may_name_classes, with_new_names
from savepoint_formats.values.recoding import Recoding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through.new_key_groups import KeyGroups
    from savepoint_formats.snapshots.renamed_classes import ClassRename
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_chunk import StateChunk
    from savepoint_formats.values.kryo.dialect import KryoDialect


def decoded(data: pa.LargeBinaryArray, layout: Layout, kryo: KryoDialect | None) -> pa.Array:
    """The column of stored values; raises the errors of ``decode``."""
    held, ranges = ranges_in(data)
    chunk = Chunk(held, "stored values")
    return decode(program(layout, kryo), chunk, ranges.starts, ranges.ends)


@dataclass(frozen=True)
class RecodedStates:
    """New states by name, with the Kryo that wrote their objects and the one that will read them.

    ``renames`` apply to all states, in order. With ``moves_keys`` the class of keys changes, and with it
    their hash codes.
    """

    states: Mapping[str, State]
    reads: KryoDialect
    writes: KryoDialect
    renames: tuple[ClassRename, ...] = ()
    moves_keys: bool = False

    def entries(self, chunk: StateChunk) -> StoredEntries:
        """Encodes entries again if needed; raises the errors of ``recoded``.

        Raises ``SchemaChangeError`` if an old name of a class can't be changed.
        """
        state, entries, kryo = chunk.state, chunk.entries, self.reads
        with within(f"state {state.name!r}"):
            new = self.states.get(state.name)
            if new is not None:
                entries = self._recoded(entries, state, new)
                state, kryo = new, self.writes
            return _renamed(entries, state, kryo, self.renames) if self.renames else entries

    def key_groups(self, chunk: StateChunk, new: StoredEntries, count: int) -> KeyGroups:
        """The key group of each new entry, out of ``count``, if the class of keys has changed.

        Raises ``UnstableHashError`` if hash codes are unknown.
        """
        moved = replace(chunk, state=self.states[chunk.state.name], entries=new)
        return NewKeyGroups(count, count, self.writes, None).expected(moved)

    def _recoded(self, entries: StoredEntries, state: State, new: State) -> StoredEntries:
        (old_key, old_value), (new_key, new_value) = map(entry_layouts, (state, new))
        keys, values = self._anew(entries.keys, old_key, new_key), entries.values
        if old_value is not None and new_value is not None:
            values = self._anew(values, old_value, new_value)
        return StoredEntries(keys, values)

    def _anew(self, data: pa.LargeBinaryArray, old: Layout, new: Layout) -> pa.LargeBinaryArray:
        if old == new and (self.reads == self.writes or not holds_kryo(old)):
            return data
        return recoded(data, old, new, self.reads, self.writes)


def recoded(
    data: pa.LargeBinaryArray, old: Layout, new: Layout, reads: KryoDialect, writes: KryoDialect
) -> pa.LargeBinaryArray:
    """Encodes values again, in bulk if possible.

    Raises ``UndecodableError`` for an object of an unknown class, ``UnencodableError`` if one can't be
    written for the other Kryo.
    """
    one_by_one, bulk = Recoding(old, new, reads, writes), BulkRecoding.of(old, new, reads, writes)
    return _in_bulk(data, bulk, one_by_one.of)


def _in_bulk(
    data: pa.LargeBinaryArray, bulk: BulkRecoding | None, one_by_one: Callable[[bytes], bytes]
) -> pa.LargeBinaryArray:
    if bulk is None:
        return pa.array(map(one_by_one, data.to_pylist()), pa.large_binary())
    return bulk.recoded(data, one_by_one)


def _renamed(
    entries: StoredEntries, state: State, kryo: KryoDialect, renames: tuple[ClassRename, ...]
) -> StoredEntries:
    key, value = entry_layouts(state)
    keys, values = renamed(entries.keys, key, kryo, renames), entries.values
    if value is not None:
        values = renamed(values, value, kryo, renames)
    return StoredEntries(keys, values)


def renamed(
    data: pa.LargeBinaryArray, layout: Layout, kryo: KryoDialect, renames: tuple[ClassRename, ...]
) -> pa.LargeBinaryArray:
    """Values with the new names of classes, in bulk if possible.

    Raises ``SchemaChangeError`` if an old name of a class can't be changed.
    """
    likely = (pc.any(may_hold_name(data, rename)).as_py() for rename in renames)
    if not may_name_classes(layout) or not any(likely):
        return data
    renaming = Renaming(layout, kryo, renames)
    new = with_new_names(layout, renaming.name)
    writes = replace(kryo, classes=with_new_names(kryo.classes, renaming.name))
    return _in_bulk(data, BulkRecoding.of(layout, new, kryo, writes), renaming.of)


def may_hold_name(data: pa.Array, rename: ClassRename) -> pa.BooleanArray:
    """Whether values may contain the old name of a class."""
    # Kryo changes the last letter.
    return pc.fill_null(pc.match_substring(data, rename.old[:-1]), fill_value=False)
