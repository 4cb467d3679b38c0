"""Avro files. No Arrow library writes them, so rows are Python objects: the slowest format."""

from __future__ import annotations

import zlib
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa

from savepoint_database.files.avro_schema import (
    arrow_schema,
    avro_schema,
    row_type,
    stored_type,
)
from savepoint_database.types.nested_arrays import converted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_database.files.table_format import FileSplit

_ROWS = 10_000
_MAGIC = b"Obj\x01"

# Errors of a reader in Cython for bytes that don't fit the schema.
_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    OverflowError,
    LookupError,
    SystemError,
    zlib.error,
    pa.ArrowException,
)


def write_avro(file: pa.NativeFile, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    """Writes tables as records."""
    rows = chain.from_iterable(map(_records, tables))
    fastavro.writer(file, avro_schema(schema), rows, codec="deflate", strict=True)


def _records(table: pa.Table) -> Iterator[dict[str, Any]]:
    columns = [column.combine_chunks() for column in table.columns]
    rows = pa.StructArray.from_arrays(columns, fields=list(table.schema))
    stored = converted(rows, stored_type(rows.type), _stored)
    for start in range(0, len(stored), _ROWS):
        yield from stored[start : start + _ROWS].to_pylist(maps_as_pydicts="strict")


def _stored(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    return values if values.type == wanted else values.cast(wanted)


def avro_file_schema(split: FileSplit, _columns: Mapping[str, pa.DataType | None]) -> pa.Schema:
    """Columns of the file. Raises ``TableFileError`` for another format, or an unsupported type."""
    with _opened(split) as reader:
        return arrow_schema(reader.writer_schema)


def read_avro(split: FileSplit, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows of these columns. Raises ``TableFileError`` for damage, and times outside the years 1 to 9999."""
    with _opened(split) as reader:
        record = reader.writer_schema
        names = {field.get("column", field["name"]): field["name"] for field in record["fields"]}
        types = {field.name: row_type(field.type) for field in schema}
        while rows := list(islice(reader, _ROWS)):
            columns = [
                converted(
                    pa.array([row[names[name]] for row in rows], data_type),
                    schema.field(name).type,
                    _stored,
                )
                for name, data_type in types.items()
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


@contextmanager
def _opened(split: FileSplit) -> Iterator[Any]:
    location = split.location
    try:
        with location.filesystem.open_input_stream(location.path, compression=None) as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise split.error(f"it is no Avro file, which begins with {_MAGIC!r}")
        with location.filesystem.open_input_stream(location.path, compression=None) as file:
            yield fastavro.reader(file)
    except _DAMAGE as error:
        raise split.error(f"it can't be read as Avro: {error}") from error
