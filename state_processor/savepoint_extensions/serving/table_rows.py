"""Rows of a table or a query, page by page, and as a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from savepoint_cli.terminal import cell_text
from savepoint_database import files
from savepoint_database.sql import SqlDatabase
from savepoint_database.types import PRINTABLE, double_quoted
from savepoint_formats.printable import printable
from savepoint_formats.scan import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from state_processor import Savepoint

    FileForm = Literal["csv", "parquet"]

PAGE_ROWS = 50
_OPTIONS = ReadOptions(nanoseconds="text", undescribed_subclasses="bytes")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows of a table that a page shows.

    ``name`` is its full name, ``table`` the one in SQL, ``where`` a condition in SQL, ``sort`` a column.
    """

    name: str
    table: str
    where: str
    sort: str
    is_descending: bool
    page: int

    @property
    def sql(self) -> str:
        """The query for all rows."""
        # A comment at the end of a condition ends with its line.
        where = f" WHERE ({self.where}\n)" if self.where.strip() else ""
        order = f" ORDER BY {double_quoted(self.sort)}" if self.sort else ""
        return f"SELECT * FROM {self.table}{where}{order}{' DESC' * bool(order and self.is_descending)}"


@dataclass(frozen=True, slots=True)
class RowsPage:
    """Some rows as cells. ``rows`` has them as Arrow too, because their keys are needed."""

    names: list[str]
    cells: list[list[str]]
    rows: pa.Table
    has_more: bool


@dataclass(frozen=True, slots=True)
class TableRows:
    """Answers queries about a savepoint. DuckDB takes ``memory_limit`` before it uses the disk."""

    savepoint: Savepoint
    memory_limit: str

    def page(self, sql: str, number: int) -> RowsPage:
        """The rows of page ``number``, which counts from 0, of a query.

        Raises ``QueryError`` for a wrong query.
        """
        with self._database() as database:
            result = database.query(sql).with_distinct_names()
            batches = _skipping(result.batches, number * PAGE_ROWS)
            rows = _first(pa.Table.from_batches([], result.schema), batches, PAGE_ROWS + 1)
        shown = rows.slice(0, PAGE_ROWS).combine_chunks()
        printed = [PRINTABLE.batch(batch) for batch in shown.to_batches()]
        cells = [
            [cell_text(column[row]) for column in batch.columns]
            for batch in printed
            for row in range(batch.num_rows)
        ]
        names = [printable(name, keep="") for name in rows.schema.names]
        return RowsPage(names, cells, shown, rows.num_rows > PAGE_ROWS)

    def write(self, sql: str, form: FileForm, folder: Path) -> Path:
        path = folder / f"rows.{form}"
        with self._database() as database:
            rows = database.query(sql).with_distinct_names()
            kind = files.TableFormat(form)
            files.write_table_file(str(path), kind, rows.schema, rows.batches, is_overwritten=False)
        return path

    def _database(self) -> SqlDatabase:
        return SqlDatabase(self.savepoint, _OPTIONS, times="dates", memory_limit=self.memory_limit)


def _skipping(batches: Iterator[pa.RecordBatch], count: int) -> Iterator[pa.RecordBatch]:
    """Rows behind the first ``count``. An empty slice would keep the memory of its batch."""
    for batch in batches:
        if count < batch.num_rows:
            yield batch.slice(count)
        count = max(0, count - batch.num_rows)


def _first(empty: pa.Table, batches: Iterator[pa.RecordBatch], count: int) -> pa.Table:
    """The first rows; reads no further."""
    taken: list[pa.RecordBatch] = []
    for batch in batches:
        taken.append(batch.slice(0, count))
        count -= taken[-1].num_rows
        if not count:
            break
    return pa.Table.from_batches(taken, empty.schema)
