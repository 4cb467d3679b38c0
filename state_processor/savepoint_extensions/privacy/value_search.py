"""Values looked for in the decoded state of an operator, and in the bytes of files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.audit.key_state import key_texts
from savepoint_extensions.privacy.field_walk import FieldWalk
from savepoint_extensions.privacy.masked_entries import walked_keys, walked_values
from savepoint_extensions.privacy.shown_values import is_number_among, is_shown
from savepoint_formats.errors import SavepointError
from savepoint_formats.layout import with_open_pojos
from savepoint_formats.metadata import KeyGroupsHandle
from savepoint_formats.pass_through import decoded, decoded_keys
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.state_files import element_arrays, element_layout, entry_layouts, key_layout
from savepoint_formats.tables import visible_key
from savepoint_formats.values import OBJECT_TYPE, UNDECODED_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.privacy.text_forms import SoughtTexts
    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.metadata import OperatorStateHandle
    from savepoint_formats.sources.keyed_source import StoredHandle
    from savepoint_formats.state_files import State, StateChunk
    from savepoint_formats.values import KryoDialect

    Hit = tuple[str, str, str | None]
    """State, field and text of the key."""

    Decimals = frozenset[tuple[str, str]]

    Walk = Callable[[pa.Array, FieldWalk], object]

BYTES = "bytes"
_COMPRESSED = {
    b"\x1f\x8b\x08": "gzip",
    b"x\x01": "zlib",
    b"x\x5e": "zlib",
    b"x\x9c": "zlib",
    b"x\xda": "zlib",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\x04\x22\x4d\x18": "LZ4",
    b"LZ4Block": "LZ4",
    b"\x82SNAPPY\0": "Snappy",
    b"\xff\x06\0\0sNaPpY": "Snappy",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"PK\x03\x04": "zip",
}
"""First bytes of compressed files -> the codec."""
_OPAQUE = (OBJECT_TYPE, UNDECODED_TYPE)


class ValueSearch:
    """A search for texts; counts what it has read, and notes what it could not read.

    ``decimals`` has the states, empty for keys, and fields with numbers of any size, which are texts
    in Arrow.
    """

    def __init__(
        self, sought: SoughtTexts, *, contains: bool, decimals: Decimals = frozenset()
    ) -> None:
        self._sought = sought
        self._contains = contains
        self._decimals = decimals
        self.entries = 0
        self.table_entries = 0
        """Current entries of keyed state in tables of RocksDB."""
        self.problems: list[str] = []

    def in_key_groups(
        self, operator: Operator, stored: StoredHandle, key_groups: KeyGroupRange
    ) -> Iterator[Hit]:
        """The places in some key groups of a handle; raises what reading it raises."""
        states = [state for state in operator.catalog.states if state.kind.is_keyed]
        settings = SourceSettings(operator.record.max_parallelism, operator.kryo)
        source = stored.source(operator.directory, key_layout(states[0]), settings)
        for state_chunk in source.state_chunks(
            frozenset(state.name for state in states), key_groups
        ):
            self.entries += len(state_chunk.entries)
            # Timers beside a RocksDB lie in a file of their own.
            if not isinstance(stored.handle, KeyGroupsHandle):
                self.table_entries += len(state_chunk.entries)
            yield from self._in_chunk(state_chunk, operator)

    def _in_chunk(self, state_chunk: StateChunk, operator: Operator) -> Iterator[Hit]:
        state, entries, kryo = state_chunk.state, state_chunk.entries, operator.kryo
        key_of, value_of = entry_layouts(state.with_open_pojos())
        hits = list(self._in_data(entries.keys, key_of, kryo, walked_keys, state.name))
        if value_of is not None:
            walk = partial(walked_values, state)
            hits += self._in_data(entries.values, value_of, kryo, walk, state.name)
        if not hits:
            return
        rows = np.array([row for row, _ in hits])
        texts = _key_texts(state_chunk, rows, kryo)
        for (_, name), text in zip(hits, texts, strict=True):
            is_shared = name.partition(".")[0] in ("key", "namespace")
            yield "" if is_shared else state.job_name, name, text

    def in_elements(
        self, operator: Operator, state: State, handle: OperatorStateHandle
    ) -> Iterator[Hit]:
        """The places in an operator state of a handle; raises what reading it raises."""
        layout = with_open_pojos(element_layout(state))
        walk = partial(walked_values, state)
        for data in element_arrays(operator.directory, handle, state.name):
            self.entries += len(data)
            for _, name in self._in_data(data, layout, operator.kryo, walk, state.name):
                yield state.job_name, name, None

    def _in_data(
        self,
        data: pa.LargeBinaryArray,
        layout: Layout,
        kryo: KryoDialect | None,
        walk: Walk,
        state: str,
    ) -> Iterator[tuple[int, str]]:
        """Rows and fields that have a value; rows that can't be decoded are searched as bytes."""
        try:
            column = decoded(data, layout, kryo)
        except SavepointError as error:
            self._note(f"values are only searched as bytes: {error}")
            for row in np.flatnonzero(self._sought.search.has_any(data)).tolist():
                yield row, BYTES
            return
        yield from self._bisected(column, np.arange(len(column)), walk, state)

    def _bisected(
        self, column: pa.Array, rows: NDArray[np.int64], walk: Walk, state: str
    ) -> Iterator[tuple[int, str]]:
        """The rows with a value, found by halving; halves without one are skipped."""
        names = self._fields_in(column.take(pa.array(rows)), walk, state) if len(rows) else []
        if names and len(rows) == 1:
            for name in names:
                yield int(rows[0]), name
        elif names:
            middle = len(rows) // 2
            yield from self._bisected(column, rows[:middle], walk, state)
            yield from self._bisected(column, rows[middle:], walk, state)

    def _fields_in(self, column: pa.Array, walk: Walk, state: str) -> list[str]:
        names: dict[str, None] = {}

        def leaf(name: str, values: pa.Array) -> pa.Array:
            is_decimal = not self._decimals.isdisjoint(((state, name), ("", name)))
            if name not in names and self._is_in(values, is_decimal=is_decimal):
                names[name] = None
            return values

        walk(column, FieldWalk(leaf))
        return list(names)

    def _is_in(self, values: pa.Array, *, is_decimal: bool = False) -> bool:
        """Whether any value of a leaf is, or contains, a searched text."""
        if values.null_count == len(values):
            return False
        if values.type in _OPAQUE:
            if self._sought.has_others:
                self._note(
                    "objects that Kryo wrote are only searched as text; describe their classes"
                )
            data = values.filter(values.is_valid()).flatten()
            self._note_compressed(data[values.type.get_field_index("bytes")])
            names = {field.name for field in values.type} - {"reason"}
            parts = (data[values.type.get_field_index(name)] for name in names)
            return any(bool(self._sought.search.has_any(part).any()) for part in parts)
        if pa.types.is_binary(values.type):
            if self._sought.has_others:
                self._note("values that are bytes are only searched as text")
            self._note_compressed(values)
            return bool(self._sought.search.has_any(values).any()) or is_shown(
                values, self._sought.values
            )
        if pa.types.is_string(values.type):
            if is_decimal and is_number_among(values, self._sought.values):
                return True
            if self._contains:
                return any(
                    pc.any(pc.match_substring(values, text)).as_py()
                    for text in self._sought.spellings
                )
            return bool(pc.any(pc.is_in(values, pa.array(self._sought.spellings))).as_py())
        return is_shown(values, self._sought.values)

    def _note_compressed(self, values: pa.Array) -> None:
        """Notes bytes that begin like a compressed file: they may have any text."""
        whole = values.cast(pa.large_binary())
        for start, codec in _COMPRESSED.items():
            if pc.any(pc.starts_with(whole, start)).as_py():
                self._note(f"values that are bytes may be compressed by {codec}: not searched")

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def _key_texts(
    state_chunk: StateChunk, rows: NDArray[np.int64], kryo: KryoDialect | None
) -> list[str | None]:
    """The texts of the keys of some entries; None if they can't be read."""
    try:
        return list(key_texts(visible_key(decoded_keys(state_chunk.chosen(rows), kryo))))
    except SavepointError:
        return [None] * len(rows)
