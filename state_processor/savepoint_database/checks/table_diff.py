"""In what rows a table of two savepoints differs: bucket by bucket, in bounded memory.

| max parallelism | a bucket is                                                             |
|-----------------|-------------------------------------------------------------------------|
| the same        | some key groups: what both savepoints have of them. Where the entries   |
|                 | are the same bytes, no row is decoded                                   |
| another one     | rows by a hash of their keys: both tables are read once, and their rows |
|                 | are laid out on disk                                                    |

Tables without key groups, those of operator state, are one bucket if they are small.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.checks.entry_digests import EntryDigests
from savepoint_formats.checks.row_changes import HashedRows, RowChanges
from savepoint_formats.checks.row_hashes import (
    is_nothing,
    row_hashes,
    value_hashes,
    without_empty,
)
from savepoint_formats.errors import SavepointError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.state_files.state import StateKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.checks.row_hashes import Hashes
    from savepoint_formats.scan.read_options import ReadOptions
    from savepoint_formats.tables.tables import Table

CHANGE_TYPE = "change_type"

BUCKET_SIZE = 64 << 20
"""Bytes of state that are compared at once, unless a single key group is larger."""

_GIVEN_UP = 2
"""Buckets in a row with other bytes, after which bytes are not compared any more."""

_COLLECTIONS = (StateKind.LIST, StateKind.MAP)


@dataclass(frozen=True)
class Side:
    """A table of one of the savepoints.

    Attributes:
        operator: Its operator.
        table: The table.
        options: What of it is compared.
    """

    operator: Operator
    table: Table
    options: ReadOptions

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns that it has."""
        return self.operator.scan(self.table, self.options).schema

    @property
    def size(self) -> int:
        """Bytes of the state that it is a part of."""
        catalog = self.operator.catalog
        return catalog.keyed_size if self.has_key_groups else catalog.operator_size

    @property
    def has_key_groups(self) -> bool:
        """Whether its rows can be read by key groups."""
        kind = self.table.states[0].kind
        return kind.is_keyed or kind is StateKind.RAW_KEYED

    @property
    def max_parallelism(self) -> int:
        """That of its operator."""
        return self.operator.record.max_parallelism

    def batches(self, key_groups: KeyGroupRange | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of some key groups, or all."""
        options = self.options
        if key_groups is not None:
            options = replace(options, key_groups=key_groups)
        yield from self.operator.scan(self.table, options).batches()

    def digests(self) -> EntryDigests:
        """What digests its entries."""
        settings = SourceSettings(self.max_parallelism, self.operator.kryo)
        directory, record = self.operator.directory, self.operator.record
        return EntryDigests(directory, record, self.table.states, settings)


@dataclass(slots=True)
class ChangeCounts:
    """How many rows there are of each kind."""

    inserted: int = 0
    deleted: int = 0
    updated: int = 0
    unchanged: int = 0

    def add(self, changes: RowChanges) -> None:
        """Adds those of a bucket."""
        self.inserted += len(changes.inserted)
        self.deleted += len(changes.deleted)
        self.updated += len(changes.before)
        self.unchanged += changes.unchanged


@dataclass(frozen=True)
class TableDiff:
    """A table of two savepoints.

    Attributes:
        before: The table of the first.
        after: The table of the second.
        keys: The columns that tell rows apart.
        values: The columns that are compared; their types are the same.
        bucket_size: Bytes of state that are compared at once.
    """

    before: Side
    after: Side
    keys: tuple[str, ...]
    values: tuple[str, ...]
    bucket_size: int = BUCKET_SIZE

    @property
    def name(self) -> str:
        """The full name of the table."""
        return f"{self.before.operator.name}.{self.before.table.name}"

    @property
    def schema(self) -> pa.Schema:
        """``change_type``, then the columns that both tables have."""
        types = {field.name: field.type for field in self.before.schema}
        columns = [pa.field(name, types[name]) for name in (*self.keys, *self.values)]
        return pa.schema([pa.field(CHANGE_TYPE, pa.string()), *columns])

    def parts(self) -> list[KeyGroupRange | None]:
        """What can be compared by itself, in any process: some key groups, or all as None."""
        return list(self._ranges()) if self._is_by_key_groups else [None]

    def changes(
        self,
        counts: ChangeCounts | None = None,
        parts: Iterable[KeyGroupRange | None] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows that differ, bucket by bucket; each row before and after an update.

        Args:
            counts: Adds up the rows of each kind on the way.
            parts: Which of ``parts`` are compared; all by default.

        Raises:
            SavepointError: A file is gone or damaged.
        """
        counts = counts or ChangeCounts()
        ranges = [part for part in (self.parts() if parts is None else parts) if part is not None]
        buckets = self._key_group_buckets(ranges, counts) if ranges else self._spilled()
        for before, after in buckets:
            changes = RowChanges.of(self._hashed(before), self._hashed(after))
            counts.add(changes)
            yield from self._feed(before, after, changes)

    @property
    def _is_by_key_groups(self) -> bool:
        is_same = self.before.max_parallelism == self.after.max_parallelism
        return self.before.has_key_groups and is_same

    def _key_group_buckets(
        self, ranges: Iterable[KeyGroupRange], counts: ChangeCounts
    ) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Both tables, some key groups at a time; without those whose bytes are the same."""
        failures = 0 if self._may_compare_bytes else _GIVEN_UP
        for key_groups in ranges:
            if failures < _GIVEN_UP:
                rows = self._same_bytes(key_groups)
                if rows is not None:
                    counts.unchanged += rows
                    failures = 0
                    continue
                failures += 1
            yield self._table(self.before, key_groups), self._table(self.after, key_groups)

    def _ranges(self) -> Iterator[KeyGroupRange]:
        total = self.before.max_parallelism
        size = max(self.before.size, self.after.size)
        count = min(total, max(1, -(-size // self.bucket_size)))
        borders = [total * number // count for number in range(count + 1)]
        for start, end in pairwise(borders):
            yield KeyGroupRange(start, end - 1)

    @property
    def _may_compare_bytes(self) -> bool:
        """Whether the same bytes are the same values, and the table is made of entries."""
        before, after = self.before, self.after
        kryo = {
            side.operator.kryo.version if side.operator.kryo else None for side in (before, after)
        }
        states = before.table.states
        is_same = set(states) == set(after.table.states) and len(kryo) == 1
        is_of_entries = states[0].kind.is_keyed and not states[0].scope.is_local
        return is_same and is_of_entries

    def _same_bytes(self, key_groups: KeyGroupRange) -> int | None:
        """The number of rows, if all entries are the same bytes."""
        before, after = self._digests
        try:
            first = before.of(key_groups, with_rows=True)
            is_same = first.sums == after.of(key_groups, with_rows=False).sums
        except SavepointError:
            return None  # decoded, it may have borders; or the error is raised then
        return first.row_count() if is_same else None

    @cached_property
    def _digests(self) -> tuple[EntryDigests, EntryDigests]:
        return self.before.digests(), self.after.digests()

    def _table(self, side: Side, key_groups: KeyGroupRange | None) -> pa.Table:
        return self._present(pa.Table.from_batches(side.batches(key_groups), side.schema))

    def _present(self, rows: pa.Table) -> pa.Table:
        """The columns that are compared, of the rows that have anything in them."""
        rows = rows.select([*self.keys, *self.values])
        if not self._collections or not len(rows):
            return rows
        is_empty = np.logical_and.reduce(
            [is_nothing(self._value(rows, name)) for name in self.values]
        )
        return rows.filter(pa.array(~is_empty)) if is_empty.any() else rows

    @cached_property
    def _collections(self) -> dict[str, StateKind]:
        """The columns of lists and maps, which may be empty in one backend and absent in another."""
        table = self.before.table
        kind = table.states[0].kind
        if not kind.is_keyed or kind is StateKind.TIMERS:
            return {}
        columns = table.columns[-len(table.states) :]
        pairs = zip(columns, table.states, strict=True)
        return {
            column.name: state.job_kind for column, state in pairs if state.job_kind in _COLLECTIONS
        }

    def _value(self, rows: pa.Table, name: str) -> Hashes:
        column = rows.column(name).combine_chunks()
        kind = self._collections.get(name)
        hashes = value_hashes(column, is_set=kind is StateKind.MAP)
        if kind is None or not isinstance(column, pa.ListArray | pa.MapArray):
            return hashes
        return without_empty(column, hashes)

    def _hashed(self, rows: pa.Table) -> HashedRows:
        keys = [rows.column(name).combine_chunks() for name in self.keys]
        values = np.zeros((len(rows), 2), np.uint64)
        for name in self.values:
            values = values * np.uint64(31) + self._value(rows, name)
        return HashedRows(row_hashes(keys, len(rows)), values)

    def _feed(
        self, before: pa.Table, after: pa.Table, changes: RowChanges
    ) -> Iterator[pa.RecordBatch]:
        for kind, rows, taken in (
            ("delete", before, changes.deleted),
            ("insert", after, changes.inserted),
        ):
            if len(taken):
                names = pa.array(np.repeat(kind, len(taken)), pa.string())
                yield from self._shaped(rows.take(taken), names)
        if len(changes.before):
            rows = pa.concat_tables([before.take(changes.before), after.take(changes.after)])
            count = len(changes.before)
            order = np.stack([np.arange(count), np.arange(count) + count], axis=1).ravel()
            names = pa.array(["update_preimage", "update_postimage"] * count, pa.string())
            yield from self._shaped(rows.take(order), names)

    def _shaped(self, rows: pa.Table, names: pa.Array) -> Iterator[pa.RecordBatch]:
        return iter(rows.add_column(0, CHANGE_TYPE, names).cast(self.schema).to_batches())

    def _spilled(self) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Both tables by the hashes of their keys, through files if they are large."""
        size = max(self.before.size, self.after.size)
        count = max(1, -(-size // self.bucket_size))
        if count == 1:
            yield self._table(self.before, None), self._table(self.after, None)
            return
        with TemporaryDirectory(prefix="savepoint-diff-") as folder:
            paths = [
                self._buckets(side, Path(folder) / str(number), count)
                for number, side in enumerate((self.before, self.after))
            ]
            for bucket in range(count):
                first, second = (_read(side[bucket]) for side in paths)
                yield first, second

    def _buckets(self, side: Side, folder: Path, count: int) -> list[Path]:
        """Files with the rows of each bucket."""
        folder.mkdir()
        paths = [folder / f"{bucket}.arrow" for bucket in range(count)]
        schema = side.schema
        schema = pa.schema([schema.field(name) for name in (*self.keys, *self.values)])
        with ExitStack() as stack:
            files = [stack.enter_context(pa.ipc.new_file(str(path), schema)) for path in paths]
            for batch in side.batches():
                rows = self._present(pa.Table.from_batches([batch]))
                buckets = self._bucket_of(rows, count)
                for bucket in np.unique(buckets):
                    files[bucket].write_table(rows.filter(pa.array(buckets == bucket)))
        return paths

    def _bucket_of(self, rows: pa.Table, count: int) -> NDArray[np.int64]:
        keys = [rows.column(name).combine_chunks() for name in self.keys]
        return (row_hashes(keys, len(rows))[:, 0] % np.uint64(count)).astype(np.int64)


def _read(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def compared_columns(before: Side, after: Side) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that tell rows apart, and those that are compared; both tables have them."""
    keys = _key_columns(before.table)
    types = [{field.name: field.type for field in side.schema} for side in (before, after)]
    shared = [name for name in types[0] if name in types[1] and types[0][name] == types[1][name]]
    return keys, tuple(name for name in shared if name not in keys)


def has_same_keys(before: Side, after: Side, keys: Iterable[str]) -> bool:
    """Whether the columns that tell rows apart are of the same types."""
    types = [{field.name: field.type for field in side.schema} for side in (before, after)]
    return all(name in types[1] and types[0][name] == types[1][name] for name in keys)


def _key_columns(table: Table) -> tuple[str, ...]:
    names = [column.name for column in table.columns]
    kind = table.states[0].kind
    if kind.is_keyed and kind is not StateKind.TIMERS:
        return tuple(names[: -len(table.states)])
    return tuple(names[:1]) if kind is StateKind.BROADCAST else tuple(names)
