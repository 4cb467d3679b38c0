"""Stored entries of some keys, decoded: as columns, or as values that a state backend restores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.types.python_values import is_map, map_entries, python_values
from savepoint_database.types.spark_values import PYTHON
from savepoint_formats.errors import within
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.layout import MapOf, Nullable, Repeated
from savepoint_formats.program.encode import Encoder
from savepoint_formats.sources.state_rows import EntryDecoders
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.state_files.state_chunk import part_of
from savepoint_formats.tables.visible import visible_elements
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_functions.functions.backends.namespaces import plain
from savepoint_functions.functions.backends.wrapping_states import timed_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_formats.entries.entry_spans import Part
    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through.stored_states import StoredStates
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_chunk import StateChunk


_KEY, _NAMESPACE, _TIMESTAMP = "key", "namespace", "timestamp"


class InitialValues:
    """Decodes entries; an entry that is damaged raises ``FormatError``."""

    def __init__(self, stored: StoredStates) -> None:
        self._settings = stored.settings
        self._prefix_size = prefix_size(stored.record.max_parallelism)
        self._key = Encoder(stored.key)
        self._decoders: dict[str, EntryDecoders] = {}

    def columns(
        self, keys: pa.LargeBinaryArray, chunks: Iterable[StateChunk], types: pa.Schema
    ) -> dict[str, pa.Array]:
        """A column for each state with entries, with a row per key; null where a key has none."""
        columns = {}
        for chunk in chunks:
            name = chunk.state.name
            with within(f"state {name!r}"):
                stored, values = self._column(chunk, chunk.state, types.field(name).type)
                columns[name] = values.take(pc.index_in(keys, self._key.encode(stored.field(_KEY))))
        return columns

    def by_key(self, chunks: Iterable[StateChunk]) -> Iterator[tuple[str, bytes, Any]]:
        """The state, the bytes of the key and its snapshot, for each state and key with entries."""
        for chunk in chunks:
            name = chunk.state.name
            with within(f"state {name!r}"):
                timed = replace(
                    chunk.state, stored=_with_numbers(chunk.state.kind, chunk.state.stored)
                )
                is_timers = timed.kind is StateKind.TIMERS
                rows = self._timers(chunk, timed) if is_timers else self._values(chunk, timed)
                if timed.namespace is None:
                    for (key_bytes, _), contents in rows:
                        yield name, key_bytes, contents
                    continue
                by_key: dict[bytes, list[tuple[Any, Any]]] = {}
                for (key_bytes, namespace), contents in rows:
                    by_key.setdefault(key_bytes, []).append((namespace, contents))
                for key_bytes, pairs in by_key.items():
                    yield name, key_bytes, pairs

    def _values(self, chunk: StateChunk, state: State) -> Iterator[tuple[tuple[bytes, Any], Any]]:
        keys, values = self._column(chunk, state, arrow_type(state.stored))
        column = _python(visible_elements(values, state.stored))
        contents = map_entries(column) if is_map(state) else python_values(column)
        return zip(self._keys(keys), contents, strict=True)

    def _timers(self, chunk: StateChunk, state: State) -> Iterable[tuple[tuple[bytes, Any], Any]]:
        timers: dict[tuple[bytes, Any], list[Any]] = {}
        decoders, part = self._prepared(chunk, state)
        for rows in decoders.timers(part):
            times = rows.timers.field(_TIMESTAMP).cast(pa.int64()).to_pylist()
            for key, time in zip(self._keys(rows.timers), times, strict=True):
                timers.setdefault(key, []).append((time, None))
        return timers.items()

    def _column(
        self, chunk: StateChunk, state: State, wanted: pa.DataType
    ) -> tuple[pa.StructArray, pa.Array]:
        """The keys that have entries, and what each has."""
        decoders, part = self._prepared(chunk, state)
        joined = decoders.batch(part[0], decoders.rows(part)).joined({state.name: wanted})
        return joined.keys, joined.columns[state.name]

    def _prepared(self, chunk: StateChunk, state: State) -> tuple[EntryDecoders, Part]:
        if state.name not in self._decoders:
            self._decoders[state.name] = EntryDecoders([state], self._settings)
        return self._decoders[state.name], part_of([chunk], self._prefix_size)

    def _keys(self, keys: pa.StructArray) -> Iterator[tuple[bytes, Any]]:
        """The bytes of each key, encoded as those of rows are, and its namespace."""
        key_bytes = self._key.encode(keys.field(_KEY)).to_pylist()
        namespaces = map(plain, python_values(_python(keys.field(_NAMESPACE))))
        return zip(key_bytes, namespaces, strict=True)


def _with_numbers(kind: StateKind, stored: Layout) -> Layout:
    """The layout of a state with times of TTL as numbers, as backends have them."""
    match kind, stored:
        case StateKind.LIST, Repeated(element):
            return replace(stored, element=timed_layout(element))
        case StateKind.MAP, MapOf(_, Nullable(value) as values):
            return replace(stored, value=replace(values, inner=timed_layout(value)))
        case _:
            return timed_layout(stored)


def _python(column: pa.Array) -> pa.Array:
    return PYTHON.batch(pa.RecordBatch.from_arrays([column], [_KEY])).column(0)
