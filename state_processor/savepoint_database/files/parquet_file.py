"""Parquet files: every Arrow type as it is."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from savepoint_database.files.table_format import FileSplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SPLIT_SIZE = 64 << 20
# Read ahead per column. A row group as a whole may be larger than memory.
_BUFFER_SIZE = 1 << 20


def write_parquet(file: pa.NativeFile, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    """Writes tables, a row group each."""
    with parquet.ParquetWriter(file, schema) as writer:
        for table in tables:
            writer.write_table(table)


def parquet_schema(split: FileSplit, _columns: Mapping[str, pa.DataType | None]) -> pa.Schema:
    """Columns of the file. Raises ``TableFileError`` if it is no Parquet file."""
    with _opened(split) as file:
        return file.schema_arrow


def parquet_splits(split: FileSplit) -> Iterator[FileSplit]:
    """Splits of a file: adjacent row groups up to a number of bytes."""
    with _opened(split) as file:
        sizes = [
            file.metadata.row_group(index).total_byte_size for index in range(file.num_row_groups)
        ]
    groups: list[int] = []
    for index, size in enumerate(sizes):
        if groups and size + sum(sizes[group] for group in groups) > _SPLIT_SIZE:
            yield FileSplit(split.location, tuple(groups))
            groups = []
        groups.append(index)
    if groups:
        yield FileSplit(split.location, tuple(groups))


def read_parquet(split: FileSplit, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows of these columns. Raises ``TableFileError`` for a damaged file."""
    with _opened(split) as file:
        groups = range(file.num_row_groups) if split.row_groups is None else split.row_groups
        yield from file.iter_batches(row_groups=list(groups), columns=schema.names)


@contextmanager
def _opened(split: FileSplit) -> Iterator[parquet.ParquetFile]:
    location = split.location
    try:
        with parquet.ParquetFile(
            location.path,
            filesystem=location.filesystem,
            pre_buffer=False,
            buffer_size=_BUFFER_SIZE,
        ) as file:
            yield file
    except (OSError, pa.ArrowException) as error:
        raise split.error(f"it can't be read as Parquet: {error}") from error
