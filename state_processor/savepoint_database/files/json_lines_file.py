"""JSON lines: an object per row, as ``json_texts`` writes them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.files.json_texts import from_json_texts, json_texts, read_types
from savepoint_database.files.text_values import parsed, projected

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_database.files.table_format import FileSplit

_CHUNK_SIZE = 8 << 20

# The largest row, so that a file without ends of lines does not fill the memory.
_LONGEST_LINE = 256 << 20


def write_json_lines(file: pa.NativeFile, _schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    """Writes tables as lines."""
    for table in tables:
        columns = [column.combine_chunks() for column in table.columns]
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
    """The names of the fields of each object."""
    if pc.any(pc.invert(pc.starts_with(texts, "{"))).as_py():
        raise pa.ArrowInvalid("no JSON object")
    return projected(texts, 'json_keys("value"::JSON)')


def read_json_lines(split: FileSplit, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of these columns; ``TableFileError`` for a line that is no object, or another type."""
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
