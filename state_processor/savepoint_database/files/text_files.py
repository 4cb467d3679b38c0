"""Scalars as texts, and texts as scalars, in bulk.

| Arrow                        | text                                                     |
|------------------------------|----------------------------------------------------------|
| timestamp                    | ``2026-01-31 12:00:00.000``, with ``Z`` after it if UTC  |
| date32, time32, time64       | ``2026-01-31``, ``12:00:00.000``                         |
| duration                     | its number, in its unit: milliseconds                    |
| decimal                      | its digits, ``12.50``                                    |
| binary                       | hexadecimal digits                                       |
| float, double                | ``0.1``, ``nan``, ``inf``, ``-inf``; read in any case    |
| utf8                         | as it is                                                 |

``parsed`` names the row of the first wrong text.

CSV files: a line of names, then a line per row, all of it text.

| value                | text                                                                 |
|----------------------|----------------------------------------------------------------------|
| null                 | nothing; the empty text is ``""``                                    |
| bool, number         | ``true``, ``1``, ``1.5``, ``nan``, ``inf``                           |
| list, map, struct    | JSON, see ``json_texts``                                             |
| others               | see ``text_values``                                                  |

Arrow arrays as JSON texts, and back, in bulk: DuckDB writes and reads the JSON. Files have an object per row.

| Arrow                      | JSON                                                       |
|----------------------------|------------------------------------------------------------|
| bool, integers, float      | true, 1, 1.5; ``"NaN"``, ``"Infinity"``, ``"-Infinity"``   |
| list, struct               | array, object                                              |
| map                        | object; the key is the text of a scalar                    |
| map whose keys are nested  | array of objects with ``key`` and ``value``                |
| other scalars              | string, see ``text_values``                                |

A value that is read may be a string or a number, if its scalar can be read from that text.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from savepoint_database.types.spark_values import converted, entries_type, is_nested
from savepoint_database.types.sql_names import double_quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from savepoint_database.files.table_format import FileSplit


_HEXADECIMAL = "^([0-9A-Fa-f]{2})*$"

_LONGEST_SHOWN = 100


def texts_of(array: pa.Array) -> pa.Array:
    """Scalars as texts."""
    if pa.types.is_binary(array.type):
        return projected(array, 'lower(hex("value"))').cast(pa.utf8())
    if pa.types.is_duration(array.type):
        return array.cast(pa.int64()).cast(pa.utf8())
    return array.cast(pa.utf8())


def values_of(texts: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Texts as scalars, or ``pa.ArrowInvalid``; times of day remain texts, as in Spark."""
    if pa.types.is_binary(wanted):
        return _bytes(texts.cast(pa.utf8()))
    if pa.types.is_duration(wanted):
        return texts.cast(pa.int64()).cast(wanted)
    if pa.types.is_null(wanted):
        return pa.nulls(len(texts))
    if pa.types.is_time(wanted):
        return texts.cast(pa.utf8())
    return texts.cast(wanted)


def read_type(data_type: pa.DataType) -> pa.DataType:
    """Type of the scalars that ``values_of`` gives."""
    return pa.utf8() if pa.types.is_time(data_type) else data_type


def projected(array: pa.Array, expression: str) -> pa.Array:
    """DuckDB's result of an expression about ``"value"``, per element."""
    table = duckdb.from_arrow(pa.table({"value": array}))
    result = table.project(f'{expression} AS "value"').to_arrow_table()
    return whole_column(result.column("value"))


def _bytes(texts: pa.Array) -> pa.Array:
    is_wrong = pc.invert(pc.match_substring_regex(texts, _HEXADECIMAL))
    wrong = texts.filter(pc.fill_null(is_wrong, False))
    if len(wrong):
        raise pa.ArrowInvalid(f"{wrong[0].as_py()!r} is not a text of hexadecimal digits")
    return projected(texts, 'unhex("value")').cast(pa.binary())


def parsed(
    split: FileSplit,
    field: pa.Field,
    texts: pa.Array,
    row: int,
    parse: Callable[[pa.Array, pa.DataType], pa.Array],
) -> pa.Array:
    """Values of texts that become a column; ``row`` is the number of the first one.

    ``parse`` raises an error of Arrow or DuckDB for a wrong text, whose row the ``TableFileError`` names.
    """
    try:
        return parse(texts, field.type)
    except (pa.ArrowException, duckdb.Error) as error:
        if len(texts) > 1:
            # Each half is tried, to find the first wrong text.
            half = len(texts) // 2
            parsed(split, field, texts[:half], row, parse)
            parsed(split, field, texts[half:], row + half, parse)
        shown = texts[0].as_py()[:_LONGEST_SHOWN]
        reason = " ".join(str(error).partition("LINE ")[0].split())
        message = f"column {field.name!r} takes {field.type}, found {shown!r} ({reason})"
        raise split.error(message, row) from error


_CHUNK_SIZE = 8 << 20

# The largest row, so that a file without ends of lines does not fill the memory.
_LONGEST_LINE = 256 << 20


def json_texts(array: pa.Array) -> pa.Array:
    """Each value as a JSON text; null where the value is."""
    form = converted(array, _shape(array.type, _written_leaf), _written)
    texts = projected(form, 'CAST(to_json("value") AS VARCHAR)')
    texts = texts.cast(pa.utf8())
    # Without nulls, this would only be a copy.
    return pc.if_else(array.is_null(), None, texts) if array.null_count else texts


def from_json_texts(texts: pa.Array, wanted: pa.DataType, field: str | None = None) -> pa.Array:
    """Values of JSON texts; null where the text is null or ``null``.

    With ``field``, values of this field of objects; null where an object lacks it. Times of day remain
    texts, see ``read_types``. Raises ``duckdb.Error`` or ``pa.ArrowInvalid`` for a text that does not fit.
    """
    shape = _shape(wanted, lambda _: pa.utf8())
    part = '"value"::JSON'
    if field is not None:
        pointer = field.replace("~", "~0").replace("/", "~1").replace("'", "''")
        part = f"json_extract({part}, '/{pointer}')"
    # Without the array, DuckDB would keep the quotes of a string.
    row = f"CAST(CASE WHEN {part} IS NOT NULL THEN json_array({part}) END AS {_duckdb_type(pa.list_(shape))})"
    values = projected(texts, f"({row})[1]")
    return converted(values, read_types(wanted), values_of)


def read_types(data_type: pa.DataType) -> pa.DataType:
    """Type of the values that ``from_json_texts`` gives: times of day are texts."""
    if pa.types.is_map(data_type):
        return pa.map_(read_types(data_type.key_type), read_types(data_type.item_type))
    return _shape(data_type, read_type)


def _shape(data_type: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type in JSON: maps are of texts, or lists of entries."""

    def shaped(inner: pa.DataType) -> pa.DataType:
        return _shape(inner, leaf)

    if pa.types.is_list(data_type):
        return pa.list_(shaped(data_type.value_type))
    if pa.types.is_map(data_type) and is_nested(data_type.key_type):
        return entries_type(shaped(data_type.key_type), shaped(data_type.item_type))
    if pa.types.is_map(data_type):
        return pa.map_(pa.utf8(), shaped(data_type.item_type))
    if pa.types.is_struct(data_type):
        return pa.struct([field.with_type(shaped(field.type)) for field in data_type])
    return leaf(data_type)


def _written_leaf(data_type: pa.DataType) -> pa.DataType:
    is_json = pa.types.is_boolean(data_type) or pa.types.is_integer(data_type)
    if is_json:
        return data_type
    return pa.json_() if pa.types.is_floating(data_type) else pa.utf8()


def _written(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Scalars for JSON; a float becomes its own JSON text because JSON lacks some floats."""
    if isinstance(wanted, pa.JsonType):
        texts = values.cast(pa.utf8())
        # JSON's -0 is an integer, which loses the sign.
        texts = pc.if_else(pc.equal(texts, "-0"), "-0.0", texts)
        numbers = values.to_numpy(zero_copy_only=False)
        if not np.isfinite(numbers).all():
            for value, name in ((np.nan, "NaN"), (np.inf, "Infinity"), (-np.inf, "-Infinity")):
                is_value = np.isnan(numbers) if name == "NaN" else numbers == value
                texts = pc.if_else(pa.array(is_value), f'"{name}"', texts)
            texts = pc.if_else(values.is_null(), pa.scalar(None, pa.utf8()), texts)
        return pa.ExtensionArray.from_storage(wanted, texts)
    return values if values.type == wanted else texts_of(values)


def _duckdb_type(data_type: pa.DataType) -> str:
    """DuckDB's name of a type whose scalars are texts."""
    if pa.types.is_list(data_type):
        return f"{_duckdb_type(data_type.value_type)}[]"
    if pa.types.is_map(data_type):
        return f"MAP(VARCHAR, {_duckdb_type(data_type.item_type)})"
    if pa.types.is_struct(data_type):
        fields = (f"{double_quoted(field.name)} {_duckdb_type(field.type)}" for field in data_type)
        return f"STRUCT({', '.join(fields)})"
    return "VARCHAR"


def write_json_lines(file: pa.NativeFile, _schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    """Writes tables as lines."""
    for table in tables:
        columns = [whole_column(column) for column in table.columns]
        rows = pa.StructArray.from_arrays(columns, table.schema.names)
        lines = pc.binary_join_element_wise(json_texts(rows), "\n", "")
        _, offsets, data = lines.cast(pa.large_utf8()).buffers()
        if len(lines):
            file.write(data[: memoryview(offsets).cast("q")[len(lines)]])


def json_lines_schema(split: FileSplit, columns: Mapping[str, pa.DataType | None]) -> pa.Schema:
    """Columns of the objects in the first chunk, with the given types, or text."""
    texts = next(_chunks(split), pa.array([], pa.utf8()))
    field = pa.field("object", pa.list_(pa.utf8()))
    keys = parsed(split, field, texts, 1, _keys)
    names = pc.unique(keys.flatten()).to_pylist()
    return pa.schema([(name, read_types(columns.get(name) or pa.utf8())) for name in names])


def _keys(texts: pa.Array, _wanted: pa.DataType) -> pa.Array:
    if pc.any(pc.invert(pc.starts_with(texts, "{"))).as_py():
        raise pa.ArrowInvalid("no JSON object")
    return projected(texts, 'json_keys("value"::JSON)')


def read_json_lines(split: FileSplit, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of these columns; ``TableFileError`` for a line that is not an object, or another type."""
    row = 1
    for texts in _chunks(split):
        parsed(split, pa.field("object", pa.list_(pa.utf8())), texts, row, _keys)
        columns = [
            parsed(split, field, texts, row, partial(from_json_texts, field=field.name))
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
        row += len(texts)


def _chunks(split: FileSplit) -> Iterator[pa.Array]:
    """The lines that are not empty, as many at a time as fit into a chunk."""
    location = split.location
    try:
        with location.filesystem.open_input_file(location.path) as file:
            rest: list[bytes] = []
            while chunk := file.read(_CHUNK_SIZE):
                whole, newline, end = chunk.rpartition(b"\n")
                if newline:
                    yield _lines(b"".join([*rest, whole]))
                    rest = []
                rest.append(end)
                if sum(map(len, rest)) > _LONGEST_LINE:
                    raise split.error(
                        f"it has a line of more than {_LONGEST_LINE:,} bytes: write one object per line"
                    )
            if any(rest):
                yield _lines(b"".join(rest))
    except (OSError, pa.ArrowException) as error:
        raise split.error(f"it can't be read as JSON lines: {error}") from error


def _lines(data: bytes) -> pa.Array:
    text = pa.array([data], pa.binary()).cast(pa.utf8())
    lines = pc.utf8_trim_whitespace(pc.split_pattern(text, "\n").flatten())
    return lines.filter(pc.not_equal(lines, ""))


# Also the size of the largest row, because Arrow refuses rows larger than a block.
_BLOCK_SIZE = 16 << 20

_FORMULA = r"^[=+\-@\t\r]"


def write_csv(file: pa.NativeFile, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    """Writes tables as lines, under a line of names."""
    csv_schema = pa.schema([field.with_type(_csv_type(field.type)) for field in schema])
    with csv.CSVWriter(file, csv_schema) as writer:
        for texts in map(partial(_csv_table, csv_schema), tables):
            writer.write_table(texts)


def _csv_table(csv_schema: pa.Schema, table: pa.Table) -> pa.Table:
    columns = [_csv_column(whole_column(column)) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=csv_schema)


def whole_column(column: pa.ChunkedArray) -> pa.Array:
    """A column in one array; Arrow would copy a single chunk, too."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


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
    """Columns of the file with the given types, or text. Raises ``TableFileError`` if it is not a CSV file."""
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
