"""Differences between the rows of a table in two savepoints, found in bounded memory.

| table                        | compared                                                       |
|------------------------------|----------------------------------------------------------------|
| of the same max parallelism  | a range of key groups at a time; where a ``Narrowing`` is      |
|                              | known, only the rows that may differ                           |
| of another one, or without   | as a whole; large tables go to files, from which the rows that |
| key groups                   | differ are read                                                |

DuckDB pairs the rows by a join of their hashes, on disk if they need more memory. Columns of
hashes: ``row``, the number of the row; ``key_0`` and ``key_1``, the hash of its keys;
``value_0`` and ``value_1``, the hash of its other columns.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.checks.entry_digests import (
    is_nothing,
    row_hashes,
    value_hashes,
    without_empty,
)
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.state_files import StateKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.checks.entry_digests import Hashes
    from savepoint_formats.scan import ReadOptions
    from savepoint_formats.tables import Table


_MEMORY_LIMIT = "512MB"
_BATCH_ROWS = 1 << 16
_NAMES = ["row", "key_0", "key_1", "value_0", "value_1"]
_PAIRS = """
    SELECT b.row AS before, a.row AS after
    FROM {before} AS b FULL JOIN {after} AS a
    ON b.key_0 = a.key_0 AND b.key_1 = a.key_1 AND b.number = a.number
    WHERE b.value_0 IS DISTINCT FROM a.value_0 OR b.value_1 IS DISTINCT FROM a.value_1
    ORDER BY before IS NOT NULL AND after IS NOT NULL, after IS NOT NULL, before, after
"""
_NUMBERED = """(
    SELECT *, row_number() OVER (PARTITION BY key_0, key_1 ORDER BY value_0) AS number FROM {0}
)"""
_ONCE = "(SELECT *, 1 AS number FROM {0})"


@contextmanager
def pairing() -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """A database without tables, and a directory for files of rows; both end with the context."""
    with (
        TemporaryDirectory(prefix="savepoint-diff-") as folder,
        duckdb.connect(
            config={"temp_directory": f"{folder}/join", "memory_limit": _MEMORY_LIMIT}
        ) as connection,
    ):
        yield connection, Path(folder)


def hash_columns(first_row: int, keys: Hashes, values: Hashes) -> pa.RecordBatch:
    """Hashes of consecutive rows."""
    rows = np.arange(first_row, first_row + len(keys))
    halves = (hashes[:, half].copy() for hashes in (keys, values) for half in range(2))
    return pa.RecordBatch.from_arrays(list(map(pa.array, (rows, *halves))), names=_NAMES)


def changed_pairs(
    connection: duckdb.DuckDBPyConnection, before: pa.Table, after: pa.Table, *, may_repeat: bool
) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Rows that differ: their numbers before and after, null where one side lacks the key.

    Deleted rows come first, then inserted ones, then updated ones. With ``may_repeat``,
    a key may have several rows; each of them is paired with at most one row of the other side.
    """
    counted = _NUMBERED if may_repeat else _ONCE
    connection.register("rows_before", before)
    connection.register("rows_after", after)
    sides = {name: counted.format(f"rows_{name}") for name in ("before", "after")}
    for batch in connection.sql(_PAIRS.format(**sides)).to_arrow_reader(_BATCH_ROWS):
        yield batch.column("before"), batch.column("after")


def rows_at(table: pa.Table, rows: pa.Array) -> pa.Table:
    """These rows, batch by batch, because Arrow's ``take`` first copies whole columns of texts."""
    order = np.argsort(rows)
    numbers = rows.to_numpy()[order]
    batches = table.to_batches()
    starts = np.cumsum([0, *map(len, batches)])
    ends = pairwise(np.searchsorted(numbers, starts))
    batches = [
        batch.take(pa.array(numbers[begin:end] - start))
        for batch, start, (begin, end) in zip(batches, starts[:-1], ends, strict=True)
        if begin < end
    ]
    return pa.Table.from_batches(batches, table.schema).take(np.argsort(order))


CHANGE_TYPE = "change_type"
PREIMAGE, POSTIMAGE = "update_preimage", "update_postimage"

BUCKET_SIZE = 64 << 20
"""Bytes of state that are compared at once, unless a single key group is larger."""

_COLLECTIONS = (StateKind.LIST, StateKind.MAP)


@dataclass(frozen=True)
class Side:
    """A table of one of the savepoints; ``options`` select what is compared."""

    operator: Operator
    table: Table
    options: ReadOptions

    @cached_property
    def schema(self) -> pa.Schema:
        return self.operator.scan(self.table, self.options).schema

    @property
    def size(self) -> int:
        """Bytes of all keyed state, or all operator state, of the operator."""
        catalog = self.operator.catalog
        return catalog.keyed_size if self.has_key_groups else catalog.operator_size

    @property
    def has_key_groups(self) -> bool:
        """Whether rows can be read by key groups."""
        kind = self.table.states[0].kind
        return kind.is_keyed or kind is StateKind.RAW_KEYED

    @property
    def max_parallelism(self) -> int:
        return self.operator.record.max_parallelism

    def batches(self, key_groups: KeyGroupRange | None = None) -> Iterator[pa.RecordBatch]:
        """Rows of these key groups, or all."""
        options = self.options
        if key_groups is not None:
            options = replace(options, key_groups=key_groups)
        yield from self.operator.scan(self.table, options).batches()


@dataclass(slots=True)
class ChangeCounts:
    """Numbers of rows of each kind; ``unchanged`` is None if some rows were not counted."""

    inserted: int = 0
    deleted: int = 0
    updated: int = 0
    unchanged: int | None = 0

    def add_unchanged(self, rows: int | None) -> None:
        is_known = self.unchanged is not None and rows is not None
        self.unchanged = (self.unchanged or 0) + (rows or 0) if is_known else None

    @classmethod
    def joined(cls, several: Iterable[ChangeCounts]) -> ChangeCounts:
        total = cls()
        for counts in several:
            total.inserted += counts.inserted
            total.deleted += counts.deleted
            total.updated += counts.updated
            total.add_unchanged(counts.unchanged)
        return total


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Rows of a part that may differ: both sides without others; None if there are none.

    ``rows`` is the number of all rows of the part before; None if it was not counted.
    """

    sides: tuple[Side, Side] | None
    rows: int | None


Narrowing: TypeAlias = "Callable[[KeyGroupRange], Narrowed | None]"
"""Finds the rows of a part that may differ in the bytes of files; None if all rows may."""


@dataclass(frozen=True, slots=True)
class _Rows:
    rows: pa.Table
    hashes: pa.Table


@dataclass(frozen=True)
class TableDiff:
    """A table of two savepoints: ``keys`` identify rows, ``values`` are compared and have the same types."""

    before: Side
    after: Side
    keys: tuple[str, ...]
    values: tuple[str, ...]
    bucket_size: int = BUCKET_SIZE
    narrow: Callable[[TableDiff], Narrowing | None] | None = None

    @property
    def name(self) -> str:
        return f"{self.before.operator.name}.{self.before.table.name}"

    @property
    def schema(self) -> pa.Schema:
        """``change_type``, then the columns that both tables have."""
        types = {field.name: field.type for field in self.before.schema}
        columns = [pa.field(name, types[name]) for name in (*self.keys, *self.values)]
        return pa.schema([pa.field(CHANGE_TYPE, pa.string()), *columns])

    def parts(self) -> list[KeyGroupRange | None]:
        """Ranges of key groups that any process can compare independently; None for the whole table."""
        return list(self._ranges()) if self._is_by_key_groups else [None]

    def changes(
        self,
        counts: ChangeCounts | None = None,
        parts: Iterable[KeyGroupRange | None] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows that differ; each row before and after an update.

        ``counts`` adds up the rows of each kind on the way. ``parts`` defaults to all of them.
        """
        counts = counts or ChangeCounts()
        with ExitStack() as stack:
            database = None
            for part in self.parts() if parts is None else parts:
                sides: tuple[Side, Side] | None = (self.before, self.after)
                narrowed = self._narrowing(part) if part is not None and self._narrowing else None
                if narrowed is not None:
                    sides = narrowed.sides
                    counts.add_unchanged(narrowed.rows)
                if sides is None:
                    continue
                connection, folder = database = database or stack.enter_context(pairing())
                before = self._rows(sides[0], part, folder / "before.arrow")
                after = self._rows(sides[1], part, folder / "after.arrow")
                if narrowed is None:
                    counts.add_unchanged(len(before.rows))
                for pairs in changed_pairs(
                    connection, before.hashes, after.hashes, may_repeat=not self.has_unique_keys
                ):
                    yield from self._feed(before.rows, after.rows, pairs, counts)

    @cached_property
    def _narrowing(self) -> Narrowing | None:
        return None if self.narrow is None else self.narrow(self)

    @property
    def _is_by_key_groups(self) -> bool:
        is_same = self.before.max_parallelism == self.after.max_parallelism
        return self.before.has_key_groups and is_same

    def _ranges(self) -> Iterator[KeyGroupRange]:
        total = self.before.max_parallelism
        size = max(self.before.size, self.after.size)
        count = min(total, max(1, -(-size // self.bucket_size)))
        borders = [total * number // count for number in range(count + 1)]
        for start, end in pairwise(borders):
            yield KeyGroupRange(start, end - 1)

    @property
    def has_unique_keys(self) -> bool:
        """Whether the table consists of entries, and each key has one row."""
        state = self.before.table.states[0]
        return state.kind.is_keyed and not state.scope.is_local

    def _rows(self, side: Side, key_groups: KeyGroupRange | None, path: Path) -> _Rows:
        """Rows in memory, or in a file for a large table."""
        batches = self._hashed(side, key_groups)
        first = next(batches)
        if key_groups is None and side.size > self.bucket_size:
            with pa.ipc.new_file(str(path), first.schema) as file:
                for batch in chain([first], batches):
                    file.write_batch(batch)
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        else:
            table = pa.Table.from_batches([first, *batches])
        names = len(table.column_names) - len(self.keys) - len(self.values)
        columns = range(len(table.column_names))
        return _Rows(table.select(columns[names:]), table.select(columns[:names]))

    def _hashed(self, side: Side, key_groups: KeyGroupRange | None) -> Iterator[pa.RecordBatch]:
        """Batches of hashes and columns; at least one."""
        empty = pa.RecordBatch.from_pylist([], side.schema)
        count = 0
        for batch in chain([empty], side.batches(key_groups)):
            rows = self._present(batch)
            keys = row_hashes([rows.column(name) for name in self.keys], len(rows))
            values = np.zeros((len(rows), 2), np.uint64)
            for name in self.values:
                values = values * np.uint64(31) + self._value(rows, name)
            hashes = hash_columns(count, keys, values)
            names = [*hashes.schema.names, *rows.schema.names]
            yield pa.RecordBatch.from_arrays([*hashes.columns, *rows.columns], names=names)
            count += len(rows)

    def _present(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Columns that are compared, in the rows where any has a value."""
        rows = rows.select([*self.keys, *self.values])
        if not self._collections or not len(rows):
            return rows
        is_empty = np.logical_and.reduce(
            [is_nothing(self._value(rows, name)) for name in self.values]
        )
        return rows.filter(pa.array(~is_empty)) if is_empty.any() else rows

    @cached_property
    def _collections(self) -> dict[str, StateKind]:
        """Columns of lists and maps, which may be empty in one backend and absent in another."""
        table = self.before.table
        kind = table.states[0].kind
        if not kind.is_keyed or kind is StateKind.TIMERS:
            return {}
        columns = table.columns[-len(table.states) :]
        pairs = zip(columns, table.states, strict=True)
        return {
            column.name: state.job_kind for column, state in pairs if state.job_kind in _COLLECTIONS
        }

    def _value(self, rows: pa.RecordBatch, name: str) -> Hashes:
        column = rows.column(name)
        kind = self._collections.get(name)
        hashes = value_hashes(column, has_no_order=kind is StateKind.MAP)
        if kind is None or not isinstance(column, pa.ListArray | pa.MapArray):
            return hashes
        return without_empty(column, hashes)

    def _feed(
        self,
        before: pa.Table,
        after: pa.Table,
        pairs: tuple[pa.Array, pa.Array],
        counts: ChangeCounts,
    ) -> Iterator[pa.RecordBatch]:
        first, second = pairs
        deleted, inserted = first.filter(second.is_null()), second.filter(first.is_null())
        is_updated = pc.and_(first.is_valid(), second.is_valid())
        updated = first.filter(is_updated)
        count = len(updated)
        counts.deleted += len(deleted)
        counts.inserted += len(inserted)
        counts.updated += count
        counts.add_unchanged(-len(deleted) - count)
        if len(deleted):
            yield from self._shaped(rows_at(before, deleted), ["delete"] * len(deleted))
        if len(inserted):
            yield from self._shaped(rows_at(after, inserted), ["insert"] * len(inserted))
        if count:
            images = [rows_at(before, updated), rows_at(after, second.filter(is_updated))]
            order = np.arange(2 * count).reshape(2, count).T.ravel()
            names = [PREIMAGE, POSTIMAGE] * count
            yield from self._shaped(pa.concat_tables(images).take(order), names)

    def _shaped(self, rows: pa.Table, kinds: list[str]) -> Iterator[pa.RecordBatch]:
        kind = pa.array(kinds, pa.string())
        # No cast: Arrow casts no null of a struct whose fields are never null.
        columns = [kind, *rows.columns]
        return iter(pa.Table.from_arrays(columns, schema=self.schema).to_batches())


def compared_columns(before: Side, after: Side) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns that identify rows, and columns that are compared; both tables have them."""
    keys = _key_columns(before.table)
    types = [{field.name: field.type for field in side.schema} for side in (before, after)]
    shared = [name for name in types[0] if name in types[1] and types[0][name] == types[1][name]]
    return keys, tuple(name for name in shared if name not in keys)


def has_same_keys(before: Side, after: Side, keys: Iterable[str]) -> bool:
    """Whether the columns that identify rows have the same types."""
    types = [{field.name: field.type for field in side.schema} for side in (before, after)]
    return all(name in types[1] and types[0][name] == types[1][name] for name in keys)


def _key_columns(table: Table) -> tuple[str, ...]:
    names = [column.name for column in table.columns]
    kind = table.states[0].kind
    if kind.is_keyed and kind is not StateKind.TIMERS:
        return tuple(names[: -len(table.states)])
    return tuple(names[:1]) if kind is StateKind.BROADCAST else tuple(names)
