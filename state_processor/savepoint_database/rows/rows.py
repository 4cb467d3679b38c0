"""Rows of a table for people: the first few, those of some keys or a condition, or page by page."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.rows.row_condition import RowCondition
from savepoint_database.types.spark_values import PRINTABLE, printable_rows
from savepoint_database.types.sql_names import distinct
from savepoint_database.types.timer_dates import dated_columns, for_people, with_dates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.scan import TableScan

Rows = list[dict[str, Any]]

_ACCESS = pa.timestamp("ms", "UTC")
_HUGE = pa.decimal128(38, 0)

PAGE_ROWS = 50
KEPT_SIZE = 16 << 20
"""Bytes of pages in memory, so that going back reads nothing; the last page always stays."""


def first_rows(
    scan: TableScan, limit: int, where: str | None = None, times: Times = "numbers"
) -> Rows:
    """The first rows of a table as plain values; reads no further than it must.

    Times and dates are text, maps are lists of pairs. ``where`` is a condition in SQL, which may use
    columns that are not shown. ``times`` is the form of the times of timers and of access to state with
    TTL, also for the condition.
    """
    names = scan.schema.names
    if where is not None:
        scan = replace(scan, options=replace(scan.options, columns=None))
    batches = scan.batches()
    dated = dated_columns(scan.table, times)
    batches = (with_dates(batch, dated) for batch in batches)
    if scan.options.with_times and times == "numbers":
        batches = map(_with_raw_times, batches)
    if where is not None:
        batches = _filtered(batches, where)
    return list(islice(_rows(batch.select(names) for batch in batches), limit))


def _with_raw_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Times of last access, next to each value, in milliseconds since the epoch."""
    schema = pa.schema([field.with_type(_raw(field.type)) for field in batch.schema])
    columns = (
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    )
    return pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _raw(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field, kind.item_field.with_type(_raw(kind.item_type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_raw(kind.value_type)))
    if pa.types.is_struct(kind) and [field.name for field in kind] == ["timestamp", "value"]:
        time, value = kind
        return pa.struct([time.with_type(pa.int64()), value]) if time.type == _ACCESS else kind
    return kind


def _filtered(batches: Iterator[pa.RecordBatch], where: str) -> Iterator[pa.RecordBatch]:
    condition = None
    for batch in batches:
        condition = condition or RowCondition.of(where, batch.schema)
        yield condition.filtered(batch)


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from printable_rows(_with_plain_types(batch))


def _with_plain_types(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with 64-bit integers for DuckDB's sums, which have 128 bits, if they fit."""
    columns = [
        column.cast(pa.int64()) if column.type.equals(_HUGE) and _fits(column) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _fits(column: pa.Array) -> bool:
    extremes = pc.min_max(column)
    bounds = [extremes[name].as_py() for name in ("min", "max")]
    return all(bound is None or -(1 << 63) <= bound < 1 << 63 for bound in bounds)


def result_rows(
    schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Names of the columns and rows of a query's result; repeated names get numbers. See ``first_rows``."""
    names = distinct(schema.names)
    renamed = (pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)
    return names, _rows(renamed)


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """Consecutive rows of a table, with times as text; ``number`` and ``first_row`` count from 0."""

    number: int
    first_row: int
    rows: pa.RecordBatch
    is_last: bool


class RowPages:
    """Pages of ``size`` rows of a table; threads may share them.

    Memory holds a batch of the scan and ``kept_size`` bytes of pages. An older page is read again, from
    the beginning of its split.
    """

    def __init__(
        self, scan: TableScan, size: int = PAGE_ROWS, *, kept_size: int = KEPT_SIZE
    ) -> None:
        self.scan = scan
        self._size, self._kept_size = size, kept_size
        self._splits = scan.splits()
        self._lock = Lock()
        self._kept: dict[int, Page] = {}
        # Number of rows before each split that was reached so far.
        self._starts = [0]
        self._begin_split(0)

    def page(self, number: int) -> Page:
        """A page; empty after the last one."""
        with self._lock:
            if number not in self._kept:
                try:
                    self._keep(self._read(number))
                except BaseException:
                    # A failed scan gives no more rows, so the next page begins anew.
                    self._begin_split(0)
                    raise
            return self._kept[number]

    def _begin_split(self, split: int) -> None:
        self._split, self._row = split, self._starts[split]
        self._batches: Iterator[pa.RecordBatch] = (
            self.scan.read(self._splits[split]) if self._splits else iter(())
        )
        self._rest: pa.RecordBatch | None = None

    def _read(self, number: int) -> Page:
        start = number * self._size
        if start < self._row:
            self._begin_split(bisect_right(self._starts, start) - 1)
        while self._row < start and self._has_rows():
            self._take(start - self._row)
        parts: list[pa.RecordBatch] = []
        first, wanted = self._row, start + self._size
        while self._row < wanted and self._has_rows():
            parts.append(self._take(wanted - self._row))
        return Page(number, first, self._shown(parts), not self._has_rows())

    def _has_rows(self) -> bool:
        """Whether rows remain; reads a batch if that is unknown."""
        while self._rest is None or not self._rest.num_rows:
            self._rest = next(self._batches, None)
            if self._rest is None:
                if self._split + 1 >= len(self._splits):
                    return False
                self._split += 1
                if self._split == len(self._starts):
                    self._starts.append(self._row)
                self._batches = self.scan.read(self._splits[self._split])
        return True

    def _take(self, count: int) -> pa.RecordBatch:
        assert self._rest is not None  # _has_rows was true
        taken = self._rest.slice(0, count)
        self._rest = self._rest.slice(taken.num_rows)
        self._row += taken.num_rows
        return taken

    def _shown(self, parts: list[pa.RecordBatch]) -> pa.RecordBatch:
        # Copies, because slices would keep their whole batches in memory.
        copies = [part.take(pa.array(range(part.num_rows), pa.int32())) for part in parts]
        rows = pa.concat_batches(copies or [pa.RecordBatch.from_pylist([], self.scan.schema)])
        return PRINTABLE.batch(for_people(rows, dated_columns(self.scan.table, "dates")))

    def _keep(self, page: Page) -> None:
        self._kept[page.number] = page
        size = sum(page.rows.nbytes for page in self._kept.values())
        for number in [kept for kept in self._kept if kept != page.number]:
            if size <= self._kept_size:
                return
            size -= self._kept.pop(number).rows.nbytes
