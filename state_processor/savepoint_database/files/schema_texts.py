"""The schema of a table as text that others take: DDL of Flink, Avro, JSON Schema, PyFlink, Spark.

| form        | what it is                                                                           |
|-------------|--------------------------------------------------------------------------------------|
| ddl         | ``CREATE TABLE`` for Flink's connector ``savepoint``, which has keyed state only     |
| avro        | the schema that an exported Avro file has                                            |
| json-schema | JSON Schema of a row as ``show --output json`` prints it                             |
| pyflink     | the descriptors with which a PyFlink job accesses the states                       |
| spark       | the columns as ``spark.read.schema`` and ``createDataFrame`` take them               |

A state that a form can't express is a comment with the reason.
"""

from __future__ import annotations

import json
import keyword
import re
from typing import TYPE_CHECKING, Any, Literal, get_args

import pyarrow as pa

from savepoint_database.files.avro_file import avro_schema
from savepoint_database.files.savepoint_ddl import create_table
from savepoint_database.types.spark_values import EXPORTED, PRINTABLE
from savepoint_database.types.sql_names import unused
from savepoint_formats import layout as layouts
from savepoint_formats.errors import StateTypeError
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated
from savepoint_formats.printable import printable
from savepoint_formats.snapshots import type_text
from savepoint_formats.state_files import StateKind, value_parts
from savepoint_formats.values import spark_type_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.scan import TableScan
    from savepoint_formats.state_files import State
    from savepoint_formats.tables import Table

SchemaForm = Literal["ddl", "avro", "json-schema", "pyflink", "spark"]
FORMS: tuple[str, ...] = get_args(SchemaForm)

_PYFLINK_TYPES: dict[type[Layout], str] = {
    layouts.Boolean: "BOOLEAN",
    layouts.Byte: "BYTE",
    layouts.Short: "SHORT",
    layouts.Int: "INT",
    layouts.Long: "LONG",
    layouts.Float: "FLOAT",
    layouts.Double: "DOUBLE",
    layouts.Char: "CHAR",
    layouts.Text: "STRING",
    layouts.BigInteger: "BIG_INT",
    layouts.BigDecimal: "BIG_DEC",
    layouts.Instant: "INSTANT",
    layouts.SqlTimestamp: "SQL_TIMESTAMP",
}
_DESCRIPTORS = {
    StateKind.VALUE: "ValueStateDescriptor",
    StateKind.LIST: "ListStateDescriptor",
    StateKind.MAP: "MapStateDescriptor",
    StateKind.REDUCING: "ReducingStateDescriptor",
    StateKind.AGGREGATING: "AggregatingStateDescriptor",
}
_FUNCTIONS = {
    StateKind.REDUCING: "reduce_function, ",
    StateKind.AGGREGATING: "aggregate_function, ",
}


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
            return json.dumps(avro_schema(EXPORTED["refuse"].schema(scan.schema)), indent=2)
        case "json-schema":
            return json.dumps(_json_schema(scan, table), indent=2, ensure_ascii=False)
        case "pyflink":
            return pyflink_descriptors(shown)
        case "spark":
            names = pa.struct(list(EXPORTED["refuse"].schema(scan.schema)))
            return spark_type_name(names).removeprefix("STRUCT<").removesuffix(">")
    raise ValueError(f"there is no form {form!r}; there are: {', '.join(FORMS)}")


def _json_schema(scan: TableScan, table: str) -> dict[str, Any]:
    nothing = pa.RecordBatch.from_arrays(
        [pa.array([], field.type) for field in scan.schema], schema=scan.schema
    )
    row = _json_type(pa.struct(list(PRINTABLE.batch(nothing).schema)))
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


def pyflink_descriptors(table: Table) -> str:
    """Descriptors of a table's states, and the type of its keys; ``StateTypeError`` without descriptors."""
    kind = table.states[0].kind
    if not kind.is_keyed or kind is StateKind.TIMERS:
        raise StateTypeError(
            f"table {table.name} is no keyed state, and only keyed state has descriptors"
        )
    used = sorted(
        {_DESCRIPTORS[state.kind] for state in table.states if state.kind in _DESCRIPTORS}
    )
    lines = [
        "from pyflink.common import Types",
        f"from pyflink.datastream.state import {', '.join(used)}",
        "",
    ]
    key = table.states[0].key
    if key is not None:
        lines += [_assignment("key_type", _type(key), key)]
    taken = ["key_type", "Types", *used, *keyword.kwlist]
    for state in table.states:
        name = re.sub(r"^(?=\d)", "_", re.sub(r"\W", "_", state.name))
        name = unused(name if name.isidentifier() else "state", taken)
        taken.append(name)
        lines += _descriptor(state, name)
    return "\n".join(lines)


def _descriptor(state: State, name: str) -> Iterable[str]:
    descriptor = _DESCRIPTORS.get(state.kind)
    if descriptor is None:
        yield _comment(f"{state.name}: PyFlink has no {state.kind.value} state")
        return
    parts = value_parts(state.kind, state.value)
    types = [_type(part) for part in parts]
    for part, text in zip(parts, types, strict=True):
        if text is None:
            yield _comment(f"{state.name}: PyFlink has no type for {_class_name(part)}")
            return
    arguments = _FUNCTIONS.get(state.kind, "") + ", ".join(map(str, types))
    if state.has_ttl:
        yield _comment(f"{state.name} has a time to live: enable_time_to_live(ttl_config)")
    yield f"{name} = {descriptor}({state.name!r}, {arguments})"


def _assignment(name: str, text: str | None, layout: Layout) -> str:
    if text:
        return f"{name} = {text}"
    return _comment(f"{name}: PyFlink has no type for {_class_name(layout)}")


def _comment(text: str) -> str:
    """A comment of one line: behind a line break, a name of the savepoint would be code."""
    return f"# {printable(text)}"


def flink_type(layout: Layout) -> str:
    """The type of a value in Flink, such as ``MAP<STRING, com.acme.Order>``."""
    match layout:
        case (
            Nullable(inner)
            | layouts.Framed(inner)
            | layouts.Varying(inner)
            | layouts.OfClass(inner)
        ):
            return flink_type(inner)
        case Repeated(element) | layouts.MaskedRepeated(element):
            return f"LIST<{flink_type(element)}>"
        case MapOf(key, value):
            return f"MAP<{flink_type(key)}, {flink_type(value)}>"
        case layouts.Struct(_, fields) | layouts.MaskedStruct(_, fields):
            word = "TUPLE" if isinstance(layout, layouts.Struct) else "ROW"
            return f"{word}<{', '.join(map(flink_type, fields))}>"
        case layouts.BinaryRow(names, types):
            named = zip(names, types, strict=True)
            return f"ROW<{', '.join(f'{name} {type_text(kind)}' for name, kind in named)}>"
    return _PYFLINK_TYPES.get(type(layout)) or _class_name(layout)


def _class_name(layout: Layout) -> str:
    return getattr(layout, "class_name", "") or type(layout).__name__


def _type(layout: Layout) -> str | None:
    plain = _PYFLINK_TYPES.get(type(layout))
    if plain:
        return f"Types.{plain}()"
    match layout:
        case Repeated(element):
            return _of("LIST", [_type(element)])
        case MapOf(key, value):
            return _of("MAP", [_type(key), _type(value)])
        case layouts.Struct(names, fields) if names == tuple(f"f{n}" for n in range(len(names))):
            return _listed("TUPLE", "", fields)
        case layouts.MaskedStruct(names, fields):
            return _listed("ROW_NAMED", f"{list(names)!r}, ", fields)
        case _:
            return None


def _of(name: str, types: list[str | None]) -> str | None:
    known = [text for text in types if text]
    return f"Types.{name}({', '.join(known)})" if len(known) == len(types) else None


def _listed(name: str, before: str, fields: tuple[Layout, ...]) -> str | None:
    types = [_type(field) for field in fields]
    known = [text for text in types if text]
    return f"Types.{name}({before}[{', '.join(known)}])" if len(known) == len(types) else None
