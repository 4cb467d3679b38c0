"""CSV files: a line of names, then a line per row, all of it text.

| value                | text                                                                 |
|----------------------|----------------------------------------------------------------------|
| null                 | nothing; the empty text is ``""``                                    |
| bool, number         | ``true``, ``1``, ``1.5``, ``nan``, ``inf``                           |
| list, map, struct    | JSON, see ``json_texts``                                             |
| others               | see ``text_values``                                                  |
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from savepoint_database.files.json_texts import from_json_texts, json_texts, read_types
from savepoint_database.files.text_values import parsed, texts_of, values_of
from savepoint_database.types.nested_arrays import is_nested

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_database.files.table_format import FileSplit

# Also the size of the largest row, because Arrow refuses rows larger than a block.
_BLOCK_SIZE = 16 << 20

_FORMULA = r"^[=+\-@\t\r]"


def write_csv(file: pa.NativeFile, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    """Writes tables as lines, under a line of names."""
    csv_schema = pa.schema([field.with_type(_csv_type(field.type)) for field in schema])
    with csv.CSVWriter(file, csv_schema) as writer:
        for table in tables:
            columns = [_csv_column(column.combine_chunks()) for column in table.columns]
            writer.write_table(pa.Table.from_arrays(columns, schema=csv_schema))


def _csv_type(data_type: pa.DataType) -> pa.DataType:
    is_plain = pa.types.is_boolean(data_type) or pa.types.is_integer(data_type)
    return data_type if is_plain or pa.types.is_floating(data_type) else pa.utf8()


def _csv_column(values: pa.Array) -> pa.Array:
    if is_nested(values.type):
        return json_texts(values)
    return values if _csv_type(values.type) == values.type else texts_of(values)


def without_formulas(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows with a quote in front of each text that a spreadsheet would take as a formula.

    Such texts begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. Numbers stay as they are.
    """
    columns = list(batch.columns)
    for index, column in enumerate(columns):
        if pa.types.is_string(column.type):
            quoted = pc.binary_join_element_wise("'", column, "")
            columns[index] = pc.if_else(pc.match_substring_regex(column, _FORMULA), quoted, column)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def csv_schema(split: FileSplit, columns: Mapping[str, pa.DataType | None]) -> pa.Schema:
    """Columns of the file with the given types, or text. Raises ``TableFileError`` if it is no CSV file."""
    with _opened(split) as reader:
        names = reader.schema.names
    return pa.schema([(name, read_types(columns.get(name) or pa.utf8())) for name in names])


def read_csv(split: FileSplit, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows of these columns. Raises ``TableFileError`` for a text that does not fit its column."""
    row = 1
    with _opened(split) as reader:
        for batch in reader:
            columns = [
                parsed(
                    split,
                    field,
                    batch.column(field.name),
                    row,
                    from_json_texts if is_nested(field.type) else values_of,
                )
                for field in schema
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)
            row += batch.num_rows


@contextmanager
def _opened(split: FileSplit) -> Iterator[csv.CSVStreamingReader]:
    location = split.location
    try:
        with location.filesystem.open_input_file(location.path) as file:
            names = _names(file)
            file.seek(0)
            yield csv.open_csv(
                file,
                csv.ReadOptions(block_size=_BLOCK_SIZE),
                csv.ParseOptions(newlines_in_values=True),
                csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.utf8()),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    null_values=[""],
                ),
            )
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise split.error(f"it can't be read as CSV: {error}") from error


def _names(file: pa.NativeFile) -> list[str]:
    """Names of the columns; read first so that types are not guessed."""
    options = csv.ReadOptions(block_size=_BLOCK_SIZE)
    names: list[str] = csv.open_csv(
        file, options, csv.ParseOptions(newlines_in_values=True)
    ).schema.names
    return names
