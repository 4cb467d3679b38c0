"""A file of rows that is being written: it is there when it is whole, or not at all."""

from __future__ import annotations

import posixpath
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from savepoint_formats.errors import TableFileError
from savepoint_formats.locations.location import Location
from savepoint_formats.new_snapshot.new_file import refusals_told
from state_processor.files.avro_file import write_avro
from state_processor.files.csv_file import write_csv
from state_processor.files.json_lines_file import write_json_lines
from state_processor.files.parquet_file import write_parquet
from state_processor.files.table_format import TableFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_WRITERS: dict[TableFormat, Callable[[pa.NativeFile, pa.Schema, Iterator[pa.Table]], None]] = {
    TableFormat.PARQUET: write_parquet,
    TableFormat.AVRO: write_avro,
    TableFormat.CSV: write_csv,
    TableFormat.JSONL: write_json_lines,
}

# What is encoded at once, and a row group of Parquet.
_TABLE_SIZE = 64 << 20
_TABLE_ROWS = 1 << 20

# What the file systems of this name show is what was written so far; the others show a file once
# it is closed.
_SHOWS_UNFINISHED = {"local", "hdfs"}


def write_table_file(
    path: str,
    table_format: TableFormat,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    *,
    is_overwritten: bool,
) -> int:
    """Writes rows to a file.

    Args:
        path: A local path, or a URI of a file system that pyarrow knows.
        table_format: Its format.
        schema: The columns.
        batches: The rows.
        is_overwritten: Whether a file that lies there is replaced.

    Returns:
        The size of the file in bytes.

    Raises:
        TableFileError: Something lies there that is not to be replaced; or a value can't be written.
        SavepointError: The file system does not take it.
    """
    expect_free(path, is_overwritten=is_overwritten)
    location = Location.of(path)
    with refusals_told(path), _new_file(location) as file:
        try:
            _WRITERS[table_format](file, schema, _tables(schema, batches))
        except pa.ArrowException as error:
            raise TableFileError(f"{path} can't be written as {table_format}: {error}") from error
    return int(location.file_size() or 0)


def expect_free(path: str, *, is_overwritten: bool) -> None:
    """Raises ``TableFileError`` if something lies there that is not to be replaced."""
    location = Location.of(path)
    file_type = location.filesystem.get_file_info(location.path).type
    if file_type == fs.FileType.Directory:
        raise TableFileError(f"{path} is a directory; name a file to write to")
    if file_type != fs.FileType.NotFound and not is_overwritten:
        raise TableFileError(f"{path} exists already; write to another file, or overwrite it")


@contextmanager
def _new_file(location: Location) -> Iterator[pa.NativeFile]:
    filesystem, folder, name = location.filesystem, *posixpath.split(location.path)
    is_moved = filesystem.type_name in _SHOWS_UNFINISHED
    path = posixpath.join(folder, f".{name}-{uuid4().hex}") if is_moved else location.path
    file = filesystem.open_output_stream(path, compression=None)
    try:
        yield file
        file.close()
        if is_moved:
            filesystem.move(path, location.path)
    except BaseException:
        with suppress(OSError):
            file.close()
        with suppress(OSError):
            filesystem.delete_file(path)
        raise


def _tables(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches, as many at a time as are worth it."""
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
