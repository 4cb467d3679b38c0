"""Avro files: Arrow types as Avro's. Rows of nested values are Python objects on their way.

| Arrow                       | Avro                                                              |
|-----------------------------|-------------------------------------------------------------------|
| bool; int8 to int32, int64  | boolean; int, long                                                |
| float, double               | float, double                                                     |
| utf8, binary                | string, bytes                                                     |
| decimal                     | bytes, ``decimal``                                                |
| date32                      | int, ``date``                                                     |
| time32[ms], time64[ns]      | int, ``time-millis``; string                                      |
| timestamp[ms, us, ns, UTC]  | long, ``timestamp-millis``, ``timestamp-micros``, ``-nanos``      |
| timestamp without a zone    | the same, ``local-timestamp-…``                                   |
| duration                    | long, in milliseconds                                             |
| list, struct                | array, record                                                     |
| map<utf8, x>                | map                                                               |
| map of other keys           | array of records ``key`` and ``value``, ``"logicalType": "map"``  |
| null                        | null                                                              |

Every field is a union with null. In a name, ``_`` replaces characters that Avro refuses; the
attribute ``column`` of the field then has the original name.
"""

from __future__ import annotations

import os
import re
import zlib
from contextlib import contextmanager
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from savepoint_database.files.avro_rows import are_single, encoded_integer, encoded_rows
from savepoint_database.files.text_files import whole_column
from savepoint_database.types.spark_values import converted, entries_type
from savepoint_database.types.sql_names import unused
from savepoint_formats.extras import imported
from savepoint_formats.program.byte_ranges import ranges_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from savepoint_database.files.table_format import FileSplit

Json = Any

_SCALARS: tuple[tuple[pa.DataType, Json], ...] = (
    (pa.bool_(), "boolean"),
    (pa.int8(), "int"),
    (pa.int16(), "int"),
    (pa.int32(), "int"),
    (pa.int64(), "long"),
    (pa.float32(), "float"),
    (pa.float64(), "double"),
    (pa.utf8(), "string"),
    (pa.binary(), "bytes"),
    (pa.null(), "null"),
    (pa.date32(), {"type": "int", "logicalType": "date"}),
    (pa.time32("ms"), {"type": "int", "logicalType": "time-millis"}),
    (pa.time64("ns"), "string"),
    (pa.duration("ms"), "long"),
)
_UNITS = {"ms": "millis", "us": "micros", "ns": "nanos"}
_PLAIN = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.utf8(),
    "bytes": pa.binary(),
    "null": pa.null(),
    "enum": pa.utf8(),
    "fixed": pa.binary(),
}

_ROWS = 10_000
_BLOCK_SIZE = 1 << 18
_SYNC_SIZE = 16
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


def avro_schema(schema: pa.Schema) -> Json:
    """Schema of a file with these columns."""
    return _record(pa.struct(list(schema)), map("row_{}".format, count(1)))


def _record(struct: pa.StructType, names: Iterator[str]) -> Json:
    record: Json = {"type": "record", "name": next(names), "fields": []}
    for field, name in zip(struct, field_names(struct), strict=True):
        avro_type = _avro_type(field.type, names)
        field_type = avro_type if avro_type == "null" else ["null", avro_type]
        added = {"name": name, "type": field_type}
        if name != field.name:
            added["column"] = field.name
        record["fields"].append(added)
    return record


def field_names(struct: pa.StructType) -> list[str]:
    """Names of a struct's fields that Avro accepts."""
    names: list[str] = []
    for field in struct:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", field.name)
        names.append(unused(plain if re.match("[A-Za-z_]", plain) else f"_{plain}", names))
    return names


def _avro_type(data_type: pa.DataType, names: Iterator[str]) -> Json:
    if pa.types.is_struct(data_type):
        return _record(data_type, names)
    if pa.types.is_list(data_type):
        return {"type": "array", "items": _nullable(data_type.value_type, names)}
    if pa.types.is_map(data_type):
        if pa.types.is_string(data_type.key_type):
            return {"type": "map", "values": _nullable(data_type.item_type, names)}
        entries = _record(entries_type(data_type.key_type, data_type.item_type).value_type, names)
        return {"type": "array", "logicalType": "map", "items": entries}
    if pa.types.is_decimal(data_type):
        digits = {"precision": data_type.precision, "scale": data_type.scale}
        return {"type": "bytes", "logicalType": "decimal", **digits}
    if pa.types.is_timestamp(data_type):
        prefix = "" if data_type.tz else "local-"
        unit = _UNITS[data_type.unit]
        return {"type": "long", "logicalType": f"{prefix}timestamp-{unit}"}
    return next(name for known, name in _SCALARS if known == data_type)


def _nullable(data_type: pa.DataType, names: Iterator[str]) -> Json:
    avro_type = _avro_type(data_type, names)
    return avro_type if avro_type == "null" else ["null", avro_type]


def stored_type(data_type: pa.DataType) -> pa.DataType:
    """Arrow type of Avro's storage: numbers for times, lists for maps of other keys."""
    return _shaped(data_type, _stored_leaf)


def row_type(data_type: pa.DataType) -> pa.DataType:
    """Arrow type of rows on reading: with Avro's shape and names, but with times."""
    return _shaped(data_type, lambda leaf: leaf)


def _stored_leaf(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_date32(data_type) or pa.types.is_time32(data_type):
        return pa.int32()
    if pa.types.is_timestamp(data_type) or pa.types.is_duration(data_type):
        return pa.int64()
    return pa.utf8() if pa.types.is_time64(data_type) else data_type


def _shaped(data_type: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    if pa.types.is_struct(data_type):
        pairs = zip(field_names(data_type), data_type, strict=True)
        return pa.struct([(name, _shaped(field.type, leaf)) for name, field in pairs])
    if pa.types.is_list(data_type):
        return pa.list_(_shaped(data_type.value_type, leaf))
    if pa.types.is_map(data_type):
        key, item = data_type.key_type, _shaped(data_type.item_type, leaf)
        if pa.types.is_string(key):
            return pa.map_(key, item)
        return entries_type(_shaped(key, leaf), item)
    return leaf(data_type)


def arrow_schema(record: Json) -> pa.Schema:
    """Columns of a file. Raises ``ValueError`` for a type that Arrow lacks."""
    return pa.schema([(_column(field), _arrow_type(field["type"])) for field in record["fields"]])


def _column(field: Json) -> str:
    return str(field.get("column", field["name"]))


def _arrow_type(avro_type: Json) -> pa.DataType:
    match avro_type:
        case list():
            others = [branch for branch in avro_type if branch != "null"]
            if len(others) > 1:
                raise ValueError(f"a union of {len(others)} types, which a column can't have")
            return _arrow_type(others[0]) if others else pa.null()
        case {"type": "record" | "error", "fields": fields}:
            return pa.struct([(_column(field), _arrow_type(field["type"])) for field in fields])
        case {"type": "array", "logicalType": "map", "items": {"fields": [key, value]}}:
            return pa.map_(_arrow_type(key["type"]), _arrow_type(value["type"]))
        case {"type": "array", "items": items}:
            return pa.list_(_arrow_type(items))
        case {"type": "map", "values": values}:
            return pa.map_(pa.utf8(), _arrow_type(values))
        case {"logicalType": str(logical)}:
            return _logical_type(logical, avro_type)
        case {"type": inner}:
            return _arrow_type(inner)
        case str() if avro_type in _PLAIN:
            return _PLAIN[avro_type]
    raise ValueError(f"a type {avro_type!r}, which a column can't have")


def _logical_type(logical: str, avro_type: Json) -> pa.DataType:
    zone = None if logical.startswith("local-") else "UTC"
    match logical.removeprefix("local-"):
        case "decimal":
            return pa.decimal128(avro_type["precision"], avro_type.get("scale", 0))
        case "date":
            return pa.date32()
        case "time-millis":
            return pa.time32("ms")
        case "time-micros":
            return pa.time64("us")
        case "timestamp-millis":
            return pa.timestamp("ms", zone)
        case "timestamp-micros":
            return pa.timestamp("us", zone)
        case "timestamp-nanos":
            return pa.timestamp("ns", zone)
        case "uuid":
            return pa.utf8()
        case _:
            return _arrow_type(avro_type["type"])


def write_avro(file: pa.NativeFile, schema: pa.Schema, tables: Iterator[pa.Table]) -> None:
    """Writes tables as records."""
    record, stored = avro_schema(schema), stored_type(pa.struct(list(schema)))
    if not are_single(stored):
        rows = chain.from_iterable(map(_records, tables))
        imported("fastavro").writer(file, record, rows, codec="deflate", strict=True)
        return
    sync = os.urandom(_SYNC_SIZE)
    imported("fastavro").writer(file, record, [], codec="deflate", sync_marker=sync)
    for stored_rows in map(_stored_rows, tables):
        for start in range(0, len(stored_rows), _ROWS):
            for number, data in _blocks(encoded_rows(stored_rows[start : start + _ROWS])):
                for part in (encoded_integer(number), encoded_integer(len(data)), data, sync):
                    file.write(part)


def _blocks(rows: pa.LargeBinaryArray) -> Iterator[tuple[int, bytes]]:
    """Number of rows and compressed bytes of blocks, which have ``_BLOCK_SIZE`` bytes or a row more."""
    content, ranges = ranges_in(rows)
    start = 0
    while start < len(rows):
        first = int(ranges.starts[start])
        end = int(np.searchsorted(ranges.ends, first + _BLOCK_SIZE, "right"))
        end = min(max(end, start + 1), len(rows))
        # Avro's deflate has neither zlib's header nor its checksum.
        compress = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        data = compress.compress(content[first : int(ranges.ends[end - 1])].data)
        yield end - start, data + compress.flush()
        start = end


def _stored_rows(table: pa.Table) -> pa.StructArray:
    columns = [whole_column(column) for column in table.columns]
    rows = pa.StructArray.from_arrays(columns, fields=list(table.schema))
    return converted(rows, stored_type(rows.type), _stored)


def _records(table: pa.Table) -> Iterator[dict[str, Any]]:
    stored = _stored_rows(table)
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
            yield imported("fastavro").reader(file)
    except _DAMAGE as error:
        raise split.error(f"it can't be read as Avro: {error}") from error
