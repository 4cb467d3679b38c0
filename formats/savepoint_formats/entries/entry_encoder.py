"""Encodes columns of keys and values as entries of keyed state; ``EntryDecoder`` reads them.

| state             | entries of a row                                                        |
|-------------------|-------------------------------------------------------------------------|
| value, reducing,  | one, unless the value is null                                           |
| aggregating       |                                                                         |
| list              | one, unless the list is null or empty                                   |
| map               | one per entry of the map                                                |
| timers            | one per timestamp; the timer is the key, and the value is empty         |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.layout import MapOf, Nullable, Repeated, Struct
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.element_rows import Collections
from savepoint_formats.values.state_entries import Delimited, NullableRest, entry_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout

    Rows = NDArray[np.int64]

_NOTHING = b""


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """Keys and namespaces of rows.

    ``identities`` are the bytes of both in an entry's key, without the key-group prefix.
    """

    keys: pa.Array
    namespaces: pa.Array
    identities: pa.LargeBinaryArray

    @classmethod
    def encoded(
        cls, key: Layout, namespace: Layout, keys: pa.Array, namespaces: pa.Array
    ) -> KeyColumns:
        """Encodes keys and namespaces; raises ``NullValueError`` for a null key."""
        whole = entry_key(0, key, namespace)
        names, fields = whole.names[1:], whole.fields[1:]
        both = pa.StructArray.from_arrays([keys, namespaces], names=names)
        return cls(keys, namespaces, Encoder(Struct(names, fields)).encode(both))

    def take(self, rows: Rows) -> KeyColumns:
        if len(rows) == len(self.keys) and bool((rows == np.arange(len(rows))).all()):
            return self
        indices = pa.array(rows)
        return KeyColumns(
            self.keys.take(indices), self.namespaces.take(indices), self.identities.take(indices)
        )


@dataclass(frozen=True, slots=True)
class EncodedEntries:
    """Entries of one state, and the row that each comes from."""

    entries: StoredEntries
    rows: Rows


class ValueEncoder:
    """Encodes a state that has one value per key."""

    def __init__(self, stored: Layout) -> None:
        self._values = Encoder(stored)

    def entries(self, keys: KeyColumns, values: pa.Array) -> EncodedEntries:
        """Encodes each value that is not null."""
        rows = _present(values)
        encoded = values if len(rows) == len(values) else values.take(pa.array(rows))
        stored = StoredEntries(keys.take(rows).identities, self._values.encode(encoded))
        return EncodedEntries(stored, rows)


class ListEncoder(ValueEncoder):
    """Encodes a state of lists."""

    def __init__(self, stored: Repeated) -> None:
        super().__init__(Delimited(stored.element))

    def entries(self, keys: KeyColumns, values: pa.Array) -> EncodedEntries:
        """Encodes each list that has elements."""
        is_empty = pa.array(Collections(values).lengths == 0)
        return super().entries(keys, pc.if_else(is_empty, pa.scalar(None, values.type), values))


class MapEncoder:
    """Encodes a state of maps."""

    def __init__(self, stored: MapOf) -> None:
        value = stored.value.inner if isinstance(stored.value, Nullable) else stored.value
        self._user_keys = Encoder(stored.key)
        self._values = Encoder(NullableRest(value))

    def entries(self, keys: KeyColumns, values: pa.Array) -> EncodedEntries:
        """Encodes each entry of each map."""
        maps = Collections(values)
        rows, entries = maps.rows, maps.elements
        identities = keys.take(rows).identities
        whole = pc.binary_join_element_wise(
            identities,
            self._user_keys.encode(entries.field(0)),
            pa.scalar(_NOTHING, pa.large_binary()),
        )
        return EncodedEntries(StoredEntries(whole, self._values.encode(entries.field(1))), rows)


class TimerEncoder:
    """Encodes timers."""

    def __init__(self, stored: Struct) -> None:
        self._names = stored.names
        self._timers = Encoder(stored)

    def entries(self, keys: KeyColumns, values: pa.Array) -> EncodedEntries:
        """Encodes each timestamp; a row has one or a list of them."""
        if pa.types.is_list(values.type):
            lists = Collections(values)
            rows, timestamps = lists.rows, lists.elements
        else:
            rows = _present(values)
            timestamps = values.drop_null()
        of_rows = keys.take(rows)
        columns = [timestamps, of_rows.keys, of_rows.namespaces]
        timers = self._timers.encode(pa.StructArray.from_arrays(columns, names=self._names))
        nothing = pa.repeat(pa.scalar(_NOTHING, pa.large_binary()), len(rows))
        return EncodedEntries(StoredEntries(timers, nothing), rows)


def _present(values: pa.Array) -> Rows:
    """Numbers of the rows that are not null."""
    if not values.null_count:
        return np.arange(len(values), dtype=np.int64)
    return np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
