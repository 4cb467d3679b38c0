"""Stored entries of some keys, decoded as a state backend restores them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_database.types.python_values import is_map, map_entries, python_values
from savepoint_database.types.spark_values import to_python
from savepoint_formats.errors import within
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.layout import MapOf, Nullable, Repeated
from savepoint_formats.program.encode import Encoder
from savepoint_formats.sources.state_rows import EntryDecoders
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.state_files.state_piece import part_of
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_functions.functions.backends.namespaces import plain
from savepoint_functions.functions.backends.timed_states import timed_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from savepoint_formats.entries.entry_spans import Part
    from savepoint_formats.layout import Layout
    from savepoint_formats.pass_through.stored_states import StoredStates
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_piece import StatePiece

    Rows = Iterator[tuple[bytes, Any, Any]]

_KEY, _NAMESPACE, _TIMESTAMP = "key", "namespace", "timestamp"


class InitialValues:
    """What keys have in stored entries.

    Args:
        stored: Where the entries are from.
        places: State -> its place in what a backend has of a key.
        count: The number of places.
    """

    def __init__(self, stored: StoredStates, places: Mapping[str, int], count: int) -> None:
        self._settings = stored.settings
        self._prefix_size = prefix_size(stored.record.max_parallelism)
        self._places = places
        self._count = count
        self._key = Encoder(stored.key)
        self._decoders: dict[str, tuple[State, EntryDecoders]] = {}

    def add_to(self, by_key: dict[bytes, list[Any]], pieces: Iterable[StatePiece]) -> None:
        """Adds what keys have in pieces, each of a state, to what they have in others.

        Raises:
            FormatError: An entry is damaged.
        """
        for piece in pieces:
            place = self._places[piece.state.name]
            with within(f"state {piece.state.name!r}"):
                rows = self._rows(piece)
                if piece.state.namespace is None:
                    for key_bytes, _, contents in rows:
                        self._of(by_key, key_bytes)[place] = contents
                    continue
                for key_bytes, namespace, contents in rows:
                    of_key = self._of(by_key, key_bytes)
                    if of_key[place] is None:
                        of_key[place] = []
                    of_key[place].append((namespace, contents))

    def _of(self, by_key: dict[bytes, list[Any]], key_bytes: bytes) -> list[Any]:
        if key_bytes not in by_key:
            by_key[key_bytes] = [None] * self._count
        return by_key[key_bytes]

    def _rows(self, piece: StatePiece) -> Rows:
        """The bytes of each key, the namespace, and what it has there."""
        state, decoders = self._decoder(piece.state)
        part = part_of([piece], self._prefix_size)
        if state.kind is StateKind.TIMERS:
            return self._timers(decoders, part)
        return self._values(state, decoders, part)

    def _values(self, state: State, decoders: EntryDecoders, part: Part) -> Rows:
        types = {state.name: arrow_type(state.stored)}
        joined = decoders.batch(part[0], decoders.rows(part)).joined(types)
        column = _python(joined.columns[state.name])
        contents = map_entries(column) if is_map(state) else python_values(column)
        return zip(*self._places_of(joined.keys), contents, strict=True)

    def _timers(self, decoders: EntryDecoders, part: Part) -> Rows:
        timers: dict[tuple[bytes, Any], list[Any]] = {}
        for rows in decoders.timers(part):
            times = rows.timers.field(_TIMESTAMP).cast(pa.int64()).to_pylist()
            for key_bytes, namespace, time in zip(
                *self._places_of(rows.timers), times, strict=True
            ):
                timers.setdefault((key_bytes, namespace), []).append((time, None))
        for (key_bytes, namespace), of_place in timers.items():
            yield key_bytes, namespace, of_place

    def _places_of(self, keys: pa.StructArray) -> tuple[list[bytes], list[Any]]:
        """The bytes of keys, as those of rows are encoded, and their namespaces."""
        key_bytes = self._key.encode(keys.field(_KEY)).to_pylist()
        namespaces = map(plain, python_values(_python(keys.field(_NAMESPACE))))
        return key_bytes, list(namespaces)

    def _decoder(self, state: State) -> tuple[State, EntryDecoders]:
        if state.name not in self._decoders:
            timed = replace(state, stored=_with_numbers(state.kind, state.stored))
            self._decoders[state.name] = timed, EntryDecoders([timed], self._settings)
        return self._decoders[state.name]


def _with_numbers(kind: StateKind, stored: Layout) -> Layout:
    """The layout of a state with times of TTL as numbers, as backends keep them."""
    match kind, stored:
        case StateKind.LIST, Repeated(element):
            return replace(stored, element=timed_layout(element))
        case StateKind.MAP, MapOf(_, Nullable(value) as values):
            return replace(stored, value=replace(values, inner=timed_layout(value)))
        case _:
            return timed_layout(stored)


def _python(column: pa.Array) -> pa.Array:
    return to_python(pa.RecordBatch.from_arrays([column], [_KEY])).column(0)
