"""Writes tables to files of every format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_database.files.avro_file import write_avro
from savepoint_database.files.csv_file import write_csv
from savepoint_database.files.json_lines_file import write_json_lines
from savepoint_database.files.parquet_file import write_parquet
from savepoint_database.files.table_format import TableFormat
from savepoint_formats.errors import TableFileError
from savepoint_formats.locations.location import Location
from savepoint_formats.new_snapshot.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_WRITERS: dict[TableFormat, Callable[[pa.NativeFile, pa.Schema, Iterator[pa.Table]], None]] = {
    TableFormat.PARQUET: write_parquet,
    TableFormat.AVRO: write_avro,
    TableFormat.CSV: write_csv,
    TableFormat.JSONL: write_json_lines,
}

# Limits of the rows that are encoded at once, in Parquet a row group.
_TABLE_SIZE = 64 << 20
_TABLE_ROWS = 1 << 20


def write_table_file(
    path: str,
    table_format: TableFormat,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    *,
    is_overwritten: bool,
) -> int:
    """Writes rows to a file, a local path or a URI; returns its size in bytes.

    Raises:
        TableFileError: A file exists, or appears meanwhile, and is not overwritten; or a value can't be
            written.
        SavepointError: The file system refuses the file.
    """
    with whole_file(path, is_overwritten=is_overwritten) as file:
        try:
            _WRITERS[table_format](file, schema, _tables(schema, batches))
        except pa.ArrowException as error:
            raise TableFileError(f"{path} can't be written as {table_format}: {error}") from error
    return int(Location.of(path).file_size() or 0)


def _tables(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Groups batches to tables of an efficient size."""
    gathered: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        gathered.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _TABLE_ROWS or size >= _TABLE_SIZE:
            yield pa.Table.from_batches(gathered, schema)
            gathered, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(gathered, schema)
