"""Export of rows to files and databases of other programs, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_database.files.table_files import FORMATS
from savepoint_database.files.table_format import TableFormat, TableTarget
from savepoint_database.files.text_files import without_formulas
from savepoint_database.types.spark_values import EXPORTED
from savepoint_formats.errors import TableFileError
from savepoint_formats.lazy_names import named
from savepoint_formats.locations import path_text
from savepoint_formats.new_snapshot import expect_free, whole_file
from savepoint_formats.values import checked_nanoseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from savepoint_formats.locations import PathText
    from savepoint_formats.scan import Split, TableScan

_WRITE_TABLE = "savepoint_extensions.databases.table_targets:write_to_target"

# Rows encoded at once; in Parquet, a row group. DuckDB has copies of them.
_TABLE_ROWS = 1 << 19
_DUCKDB_ROWS = 1 << 18
_ROW_SIZE = 64
"""Bytes of a row above which there are fewer at once."""


@dataclass(frozen=True, slots=True)
class ExportedTable:
    """A written file, or table of a database.

    Attributes:
        path: Path of the file, or place of the table.
        format: Format of the file, or the database.
        columns: Names of the columns.
        rows: Number of rows.
        size: In bytes.
        seconds: Duration of the export.
    """

    path: str
    format: str
    columns: tuple[str, ...]
    rows: int
    size: int
    seconds: float


def export_table(
    scan: TableScan,
    path: PathText,
    table_format: TableFormat | TableTarget | str,
    *,
    overwrite: bool = False,
    escape_formulas: bool = False,
    on_split: Callable[[], None] = lambda: None,
) -> ExportedTable:
    """Writes a table to a file or a database; holds only a few batches in memory.

    Args:
        scan: The table, and what to read of it; see ``Savepoint.scan``.
        path: A local path, or a URI of a file system that pyarrow knows. For ``duckdb`` a local file, in which
            the table is ``operator.table``; for ``delta`` the directory of the table; for ``iceberg`` the
            table, ``catalog.namespace.table``. The file or table appears when it is complete.
        table_format: ``parquet``, ``avro``, ``csv``, ``jsonl``, ``duckdb``, ``delta`` or ``iceberg``.
        overwrite: Whether an existing file, or table of a database, is replaced.
        escape_formulas: Whether texts in CSV that a spreadsheet would take as formulas get a quote
            in front.
        on_split: Called after each split of the scan.

    Raises:
        ValueError: Formulas are escaped in another format than CSV.
        TableFileError: The file or table exists and ``overwrite`` is false, or a value can't be written.
        MissingPackageError: The extra ``delta`` or ``iceberg`` is not installed.
        InexactTimeError: A time has digits that neither the format nor the scan's option
            ``nanoseconds`` can keep.
        SavepointError: The table can't be read, or the file system refuses the file.

    Example:
        >>> export_table(savepoint.scan("summarize.keyed_state"), "totals.parquet", "parquet")
    """
    start, path = perf_counter(), path_text(path)
    is_database = table_format in set(TableTarget)
    form = TableTarget(table_format) if is_database else TableFormat(table_format)
    if escape_formulas and form is not TableFormat.CSV:
        raise ValueError(f"formulas are only escaped in CSV, not in {table_format}")
    # Texts have all digits anyway.
    asked = checked_nanoseconds(scan.options.nanoseconds)
    nanoseconds = asked if is_database or TableFormat(form).has_types else "text"
    rows = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for split in splits:
            for batch in scan.read(split):
                rows += batch.num_rows
                exported = EXPORTED[nanoseconds].batch(batch)
                yield without_formulas(exported) if escape_formulas else exported
            on_split()

    if isinstance(form, TableFormat):
        expect_free(path, is_overwritten=overwrite)
    splits: tuple[Split, ...] = tuple(scan.splits())
    schema = EXPORTED[nanoseconds].schema(scan.schema)
    if isinstance(form, TableFormat):
        size = write_table_file(path, form, schema, batches(), is_overwritten=overwrite)
    else:
        limit = _DUCKDB_ROWS if form is TableTarget.DUCKDB else _TABLE_ROWS
        tables = _tables(schema, batches(), limit)
        size = named(_WRITE_TABLE)(form, scan, path, schema, tables, is_overwritten=overwrite)
    seconds = round(perf_counter() - start, 3)
    return ExportedTable(path, form, tuple(scan.schema.names), rows, size, seconds)


def write_table_file(
    path: str,
    table_format: TableFormat,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    *,
    is_overwritten: bool,
) -> int:
    """Writes rows to a file, a local path or a URI; returns its size in bytes.

    Raises ``TableFileError`` if a file is there, or a value can't be written.
    """
    with whole_file(path, is_overwritten=is_overwritten) as file:
        try:
            FORMATS[table_format].write(file, schema, _tables(schema, batches, _TABLE_ROWS))
        except pa.ArrowException as error:
            raise TableFileError(f"{path} can't be written as {table_format}: {error}") from error
        return int(file.tell())


def _tables(schema: pa.Schema, batches: Iterable[pa.RecordBatch], limit: int) -> Iterator[pa.Table]:
    gathered: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        gathered.append(batch)
        # Buffers have room that ``nbytes`` doesn't count.
        rows, size = rows + batch.num_rows, size + batch.get_total_buffer_size()
        del batch
        if rows >= limit or size >= limit * _ROW_SIZE:
            yield _joined(gathered, schema)
            rows = size = 0
    if rows:
        yield _joined(gathered, schema)


def _joined(gathered: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """All batches as a table. The list is empty then, so that memory is freed when the table is."""
    table = pa.Table.from_batches(gathered, schema)
    gathered.clear()
    return table
