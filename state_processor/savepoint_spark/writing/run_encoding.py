"""Encodes rows as runs: the map side of writing keyed state.

A task encodes the columns of each batch of its partition. It sends a row per key group and state of
a batch to the task that writes the file of the key group. Rows are sorted only by key group,
because a canonical file needs no more.

| column    | type       | meaning                                                              |
|-----------|------------|----------------------------------------------------------------------|
| key_group | INT        | of the keys                                                          |
| run       | BINARY     | entries of one state as a section of a canonical file has them       |
| keys      | BINARY     | a hash of 16 bytes of each row's key and namespace, which no other   |
|           |            | row may have; rows with hashes have no run                           |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from savepoint_database.types import from_spark
from savepoint_formats.entries import (
    KeyColumns,
    ListEncoder,
    MapEncoder,
    TimerEncoder,
    ValueEncoder,
    distinct_hashes,
    runs,
)
from savepoint_formats.errors import KeyGroupError, NullKeyError, UnstableHashError, within
from savepoint_formats.hashing import hashed_key_groups
from savepoint_formats.key_groups import prefix_size
from savepoint_formats.layout import VoidNamespace, as_records, without_ttl
from savepoint_formats.state_files import StateKind
from savepoint_formats.tables import stream_elements, with_times
from savepoint_formats.values import arrow_type
from savepoint_spark.workers.start import keep_what_is_imported

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from savepoint_formats.entries import EncodedEntries
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.layout import Layout

RUNS = "key_group INT, run BINARY, keys BINARY"
RUN_SCHEMA = pa.schema({"key_group": pa.int32(), "run": pa.binary(), "keys": pa.binary()})
HASH_SIZE = 16

BATCH_SIZE = 16 << 20
"""Bytes of rows that are encoded together."""

KEY, NAMESPACE, KEY_GROUP = "key", "namespace", "key_group"


class EntryEncoder(Protocol):
    """Makes entries of a column of values."""

    def entries(self, keys: KeyColumns, values: pa.Array) -> EncodedEntries:
        """The entries of some rows."""


@dataclass(frozen=True, slots=True)
class StateColumn:
    """A state, and the column with its values.

    ``id`` is its index in the header of the file. ``times`` is the column of last access in ms, if
    there is one. States without a namespace of their own get the void one.
    """

    name: str
    id: int
    kind: StateKind
    stored: Layout
    has_namespace: bool
    values: str
    times: str | None = None

    @property
    def column_layout(self) -> Layout:
        """The layout of the column's values; timers are a list of timestamps."""
        return as_records(self.stored if self.times is None else without_ttl(self.stored))

    def encoder(self) -> EntryEncoder:
        kinds = {
            StateKind.LIST: ListEncoder,
            StateKind.MAP: MapEncoder,
            StateKind.TIMERS: TimerEncoder,
        }
        make: type[EntryEncoder] = kinds.get(self.kind, ValueEncoder)
        return make(self.stored)  # type: ignore[call-arg]  # each takes what its kind stores


TIMESTAMPS = pa.list_(pa.int64())
"""Arrow type of timers, in ms."""


@dataclass(frozen=True, slots=True)
class RunEncoding:
    """Encodes rows as runs.

    The columns of states follow those of key, namespace and key group. ``hash_keys`` gives the
    user's Java hash codes. With ``is_keyed_once`` no key, or key and namespace, may have two rows.
    With ``checks_key_groups``, given key groups must be those of known hash codes.
    """

    key: Layout
    namespace: Layout | None
    max_parallelism: int
    states: tuple[StateColumn, ...]
    hash_keys: HashKeys | None = None
    has_key_groups: bool = False
    is_keyed_once: bool = True
    checks_key_groups: bool = False

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The runs of the rows of a partition, in a task of Spark."""
        encoders = self.encoders()
        for batch in gathered(batches):
            yield from self.encoded(batch, encoders)
        keep_what_is_imported()

    def encoders(self) -> list[EntryEncoder]:
        return [state.encoder() for state in self.states]

    def encoded(
        self, batch: pa.RecordBatch, encoders: list[EntryEncoder]
    ) -> Iterator[pa.RecordBatch]:
        """The runs of the rows of a batch."""
        keys = self._column(batch, KEY, arrow_type(self.key))
        with within("the column of the keys"):
            key_groups = self._key_groups(batch, keys)
            plain = self._keyed(keys, VoidNamespace(), pa.nulls(len(keys)))
            windows = plain
            if self.namespace is not None:
                namespaces = self._column(batch, NAMESPACE, arrow_type(self.namespace))
                windows = self._keyed(keys, self.namespace, namespaces)
        if self.is_keyed_once:
            yield self._hashes(key_groups, windows)
        for state, encoder in zip(self.states, encoders, strict=True):
            with within(f"state {state.name!r}"):
                values = self._values(state, batch)
                of = windows if state.has_namespace else plain
                made_entries = encoder.entries(of, values)
                made = runs(
                    made_entries.entries,
                    key_groups[made_entries.rows],
                    state.id,
                    prefix_size(self.max_parallelism),
                )
            yield run_rows(made.column("key_group"), made.column("run"))

    def _hashes(self, key_groups: NDArray[np.uint16], keys: KeyColumns) -> pa.RecordBatch:
        order = np.argsort(key_groups, kind="stable")
        groups, starts = np.unique(key_groups[order], return_index=True)
        hashes = np.take(distinct_hashes(keys.identities), order, axis=0)
        # The same key may have a row in another DataFrame with other states.
        hashes[:, 0] ^= np.uint64(self.states[0].id)
        offsets = pa.array(np.append(starts, len(order)) * HASH_SIZE, pa.int32()).buffers()[1]
        buffers = [None, offsets, pa.py_buffer(hashes)]
        column = pa.BinaryArray.from_buffers(pa.binary(), len(groups), buffers)
        return run_rows(pa.array(groups.astype(np.int32)), hashes=column)

    def _key_groups(self, batch: pa.RecordBatch, keys: pa.Array) -> NDArray[np.uint16]:
        present(keys)
        if self.has_key_groups:
            given = batch.column(KEY_GROUP)
            if self.checks_key_groups:
                return checked_key_groups(
                    given, keys, self.key, self.max_parallelism, self.hash_keys
                )
            return given_key_groups(given, keys, self.max_parallelism)
        return hashed_key_groups(self.key, keys, self.max_parallelism, self.hash_keys)

    def _keyed(self, keys: pa.Array, namespace: Layout, namespaces: pa.Array) -> KeyColumns:
        return KeyColumns.encoded(self.key, namespace, keys, namespaces)

    def _column(self, batch: pa.RecordBatch, name: str, wanted: pa.DataType) -> pa.Array:
        return from_spark(batch.column(name), wanted)

    def _values(self, state: StateColumn, batch: pa.RecordBatch) -> pa.Array:
        if state.kind is StateKind.TIMERS:
            return self._column(batch, state.values, TIMESTAMPS)
        values = self._column(batch, state.values, arrow_type(state.column_layout))
        if state.times is None:
            return stream_elements(values, state.stored)
        timed = with_times(values, batch.column(state.times), as_records(state.stored))
        return stream_elements(timed, state.stored)


def given_key_groups(given: pa.Array, keys: pa.Array, max_parallelism: int) -> NDArray[np.uint16]:
    """Key groups that a column gives, or ``KeyGroupError``."""
    key_groups = np.asarray(given.fill_null(-1).to_numpy())
    (wrong,) = np.nonzero((key_groups < 0) | (key_groups >= max_parallelism))
    if len(wrong):
        raise KeyGroupError(
            f"key group {given[int(wrong[0])].as_py()} of key {keys[int(wrong[0])].as_py()!r},"
            f" expected 0 to {max_parallelism - 1}"
        )
    return key_groups.astype(np.uint16)


def checked_key_groups(
    given: pa.Array,
    keys: pa.Array,
    layout: Layout,
    max_parallelism: int,
    hash_keys: HashKeys | None,
) -> NDArray[np.uint16]:
    """``given_key_groups``; ``KeyGroupError`` also if a key's hash code is known and gives another."""
    key_groups = given_key_groups(given, keys, max_parallelism)
    try:
        known = hashed_key_groups(layout, keys, max_parallelism, hash_keys)
    except UnstableHashError:
        return key_groups
    (wrong,) = np.nonzero(key_groups != known)
    if len(wrong):
        first = int(wrong[0])
        raise KeyGroupError(
            f"key group {key_groups[first]} of key {keys[first].as_py()!r}, but its hash code gives"
            f" {known[first]} of {max_parallelism}: leave key_groups out, or write with the"
            " max_parallelism of the savepoint that they come from"
        )
    return key_groups


def present(keys: pa.Array) -> pa.Array:
    """The keys; ``NullKeyError`` if one is null."""
    if keys.null_count:
        raise NullKeyError(f"{keys.null_count} keys of {len(keys)} are null: leave them out")
    return keys


def run_rows(
    key_groups: pa.Array, runs: pa.Array | None = None, hashes: pa.Array | None = None
) -> pa.RecordBatch:
    """Rows of ``RUN_SCHEMA``: runs of these key groups, or hashes of their keys."""
    nothing = pa.nulls(len(key_groups), pa.binary())
    columns = [key_groups, nothing if runs is None else runs, nothing if hashes is None else hashes]
    return pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, RUN_SCHEMA, strict=True)],
        schema=RUN_SCHEMA,
    )


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in larger batches: the more keys of a key group come at once, the better."""
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        pending.append(batch)
        size += batch.nbytes
        if size >= BATCH_SIZE:
            yield pa.concat_batches(pending)
            pending, size = [], 0
    if size:
        yield pa.concat_batches(pending)
