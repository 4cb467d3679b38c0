"""The schema of a table as text that others take: DDL of Flink, Avro, JSON Schema, PyFlink, Spark.

| form        | what it is                                                                           |
|-------------|--------------------------------------------------------------------------------------|
| ddl         | ``CREATE TABLE`` for Flink's connector ``savepoint``, which has keyed state only     |
| avro        | the schema that an exported Avro file has                                            |
| json-schema | JSON Schema of a row as ``show --output json`` prints it                             |
| pyflink     | the descriptors by which a PyFlink job would get at the states                       |
| spark       | the columns as ``spark.read.schema`` and ``createDataFrame`` take them               |

What a form has no words for is a comment that says why.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, get_args

import pyarrow as pa

from savepoint_database.files.avro_schema import avro_schema
from savepoint_database.files.descriptor_texts import pyflink_descriptors
from savepoint_database.files.savepoint_ddl import create_table
from savepoint_database.types.spark_values import exported_schema, to_printable
from savepoint_formats.values.arrow_types import spark_type_name

if TYPE_CHECKING:
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.scan.scan import TableScan

SchemaForm = Literal["ddl", "avro", "json-schema", "pyflink", "spark"]
FORMS: tuple[str, ...] = get_args(SchemaForm)


def schema_text(snapshot: Snapshot, table: str, form: SchemaForm) -> str:
    """Schema of a table as text, to copy.

    Args:
        snapshot: The savepoint.
        table: ``<operator>.<table>``.
        form: One of ``ddl``, ``avro``, ``json-schema``, ``pyflink``, ``spark``.

    Raises:
        OperatorNotFoundError: There is no such operator; the message lists all operators.
        StateNotFoundError: The operator has no such table; the message lists its tables.
        StateTypeError: The form can't describe such a table.
        ValueError: There is no such form.

    Example:
        >>> print(schema_text(savepoint, "summarize.keyed_state", "ddl"))
    """
    operator, shown = snapshot.table(table)
    scan = snapshot.scan(table)
    match form:
        case "ddl":
            return create_table(snapshot.directory.absolute_uri, operator, shown)
        case "avro":
            return json.dumps(avro_schema(exported_schema(scan.schema, "refuse")), indent=2)
        case "json-schema":
            return json.dumps(_json_schema(scan, table), indent=2, ensure_ascii=False)
        case "pyflink":
            return pyflink_descriptors(shown)
        case "spark":
            names = pa.struct(list(exported_schema(scan.schema, "refuse")))
            return spark_type_name(names).removeprefix("STRUCT<").removesuffix(">")
    raise ValueError(f"there is no form {form!r}; there are: {', '.join(FORMS)}")


def _json_schema(scan: TableScan, table: str) -> dict[str, Any]:
    nothing = pa.RecordBatch.from_arrays(
        [pa.array([], field.type) for field in scan.schema], schema=scan.schema
    )
    row = _json_type(pa.struct(list(to_printable(nothing).schema)))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": table, **row}


def _json_type(data_type: pa.DataType) -> dict[str, Any]:
    """JSON schema of a type: bytes are hexadecimal, maps lists of pairs."""
    if pa.types.is_struct(data_type):
        properties = {field.name: _nullable(field.type) for field in data_type}
        closed = {"required": list(properties), "additionalProperties": False}
        return {"type": "object", "properties": properties, **closed}
    if pa.types.is_map(data_type):
        pair = [_json_type(data_type.key_type), _nullable(data_type.item_type)]
        items = {"type": "array", "prefixItems": pair, "minItems": 2, "maxItems": 2}
        return {"type": "array", "items": items}
    if pa.types.is_list(data_type):
        return {"type": "array", "items": _nullable(data_type.value_type)}
    if pa.types.is_boolean(data_type):
        return {"type": "boolean"}
    if pa.types.is_integer(data_type):
        bits = data_type.bit_width - 1
        return {"type": "integer", "minimum": -(1 << bits), "maximum": (1 << bits) - 1}
    if pa.types.is_floating(data_type):
        # JSON has no numbers for these three values.
        return {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}
    if pa.types.is_binary(data_type):
        return {"type": "string", "pattern": "^([0-9a-f]{2})*$"}
    return {"type": "null"} if pa.types.is_null(data_type) else {"type": "string"}


def _nullable(data_type: pa.DataType) -> dict[str, Any]:
    schema = _json_type(data_type)
    return schema if schema == {"type": "null"} else {"anyOf": [schema, {"type": "null"}]}
