"""Files of rows that form one table: a file, or all files of a directory."""

from __future__ import annotations

import posixpath
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs, parquet

from savepoint_database.files.avro_file import avro_file_schema, read_avro, write_avro
from savepoint_database.files.table_format import FileSplit, TableFormat
from savepoint_database.files.text_files import (
    csv_schema,
    json_lines_schema,
    read_csv,
    read_json_lines,
    write_csv,
    write_json_lines,
)
from savepoint_database.types.spark_values import SPARK, TIME_TEXTS
from savepoint_formats.errors import ColumnNotFoundError, ColumnTypeError, TableFileError
from savepoint_formats.locations import Location
from savepoint_formats.printable import alternatives

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    ColumnTypes = Mapping[str, pa.DataType | None]


_SPLIT_SIZE = 64 << 20
# Read ahead per column. A row group as a whole may be larger than memory.
_BUFFER_SIZE = 1 << 20
_LARGE_VALUE = 1 << 20
"""Bytes of a value that Parquet's statistics would copy several times."""


def write_parquet(file: pa.NativeFile, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    """Writes tables, a row group each.

    Columns with large values in the first table get no statistics and no dictionary: these would
    need five times the size of a value. Pages of the second version need two copies fewer.
    """
    first = next(tables, schema.empty_table())
    small = [name for name in schema.names if _largest(first.column(name)) < _LARGE_VALUE]
    is_small = len(small) == len(schema)
    columns = True if is_small else small
    version = "1.0" if is_small else "2.0"
    with parquet.ParquetWriter(
        file, schema, use_dictionary=columns, write_statistics=columns, data_page_version=version
    ) as writer:
        if len(first):
            writer.write_table(first)
        del first
        for table in tables:
            writer.write_table(table)
            del table  # else it would stay until the next one is gathered


def _largest(column: pa.ChunkedArray) -> int:
    """Bytes of the largest text or binary value; 0 for other types."""
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    is_binary = pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
    return (pc.max(pc.binary_length(column)).as_py() or 0) if is_text or is_binary else 0


def parquet_schema(split: FileSplit, _columns: Mapping[str, pa.DataType | None]) -> pa.Schema:
    """Columns of the file. Raises ``TableFileError`` if it is not a Parquet file."""
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


class _Functions(NamedTuple):
    schema: Callable[[FileSplit, ColumnTypes], pa.Schema]
    read: Callable[[FileSplit, pa.Schema], Iterator[pa.RecordBatch]]
    write: Callable[[pa.NativeFile, pa.Schema, Iterator[pa.Table]], None]


FORMATS = {
    TableFormat.PARQUET: _Functions(parquet_schema, read_parquet, write_parquet),
    TableFormat.AVRO: _Functions(avro_file_schema, read_avro, write_avro),
    TableFormat.CSV: _Functions(csv_schema, read_csv, write_csv),
    TableFormat.JSONL: _Functions(json_lines_schema, read_json_lines, write_json_lines),
}


@dataclass(frozen=True)
class TableFiles:
    """Files with the same columns; small and picklable.

    Attributes:
        path: The user's path.
        format: Format of the files.
        files: The files.
    """

    path: str
    format: TableFormat
    files: tuple[FileSplit, ...]

    @classmethod
    def at(cls, path: str, table_format: TableFormat | None = None) -> Self:
        """The file at ``path``, or the files of one format in the directory there.

        Args:
            path: A local path, or a URI of a file system that pyarrow knows.
            table_format: The format; by default from the names of the files.

        Raises:
            TableFileError: There is no file, or the format is unknown.
        """
        location = Location.of(path)
        names = _files(location)
        if not names:
            raise TableFileError(f"{path} does not exist, or has no files in it")
        formats = {TableFormat.of_name(name) for name in names}
        file_format = table_format or next(iter(formats))
        if file_format is None or (table_format is None and len(formats) > 1):
            known = ", ".join(TableFormat)
            raise TableFileError(
                f"{path}: file names do not tell a single format; name it: {known}"
            )
        files = tuple(FileSplit(Location(location.filesystem, name)) for name in names)
        return cls(path, file_format, files)

    def schema(self, columns: ColumnTypes) -> pa.Schema:
        """All columns; ``columns`` has the types for formats without types.

        Raises:
            TableFileError: The first file has another format.
        """
        types = {
            name: data_type and TIME_TEXTS.type(data_type) for name, data_type in columns.items()
        }
        return FORMATS[self.format].schema(self.files[0], types)

    def chosen(self, columns: ColumnTypes) -> pa.Schema:
        """These columns, with types as in ``schema``.

        Raises:
            TableFileError: The first file has another format.
            ColumnNotFoundError: The file lacks a column; the message lists its columns.
            ColumnTypeError: Neither the file nor ``columns`` has the type.
        """
        schema = self.schema(columns)
        for name, wanted in columns.items():
            if name not in schema.names:
                known = alternatives(name, schema.names)
                raise ColumnNotFoundError(f"{self.path} has no column {name!r}; {known}")
            if wanted is None and not self.format.has_types:
                raise ColumnTypeError(
                    f"{self.path}: {self.format} does not store the type of column {name!r}:"
                    " the description must"
                )
        return pa.schema([schema.field(name) for name in columns])

    def splits(self) -> tuple[FileSplit, ...]:
        """Splits that can be read independently of each other.

        Raises:
            TableFileError: A file has another format.
        """
        if self.format is not TableFormat.PARQUET:
            return self.files
        return tuple(split for file in self.files for split in parquet_splits(file))

    def read(self, split: FileSplit, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Rows of a split, with Spark's types.

        Raises:
            TableFileError: A file is damaged, or has other types than the first.
        """
        for batch in FORMATS[self.format].read(split, schema):
            if batch.schema.types != schema.types:
                actual = ", ".join(map(str, batch.schema.types))
                expected = ", ".join(map(str, schema.types))
                raise split.error(
                    f"its columns are {actual}, but those of other files are {expected}"
                )
            yield SPARK["refuse"].batch(batch)


def _files(location: Location) -> list[str]:
    """The file, or the files in the directory that are not hidden (as Spark's markers are)."""
    info = location.info()
    if info.type == fs.FileType.File:
        return [location.path]
    if info.type != fs.FileType.Directory:
        return []
    return sorted(
        info.path
        for info in location.infos()
        if info.type == fs.FileType.File
        and not posixpath.basename(info.path).startswith(("_", "."))
    )
