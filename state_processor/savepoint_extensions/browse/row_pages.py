"""Rows of a table page by page, in bounded memory."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_database.types import PRINTABLE, dated_columns, for_people

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.scan import TableScan

PAGE_ROWS = 50
KEPT_SIZE = 16 << 20
"""Bytes of pages in memory, so that going back reads nothing; the last page always stays."""


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
