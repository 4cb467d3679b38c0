"""Columns of values of Avro, as another schema reads them: Avro's schema resolution, in bulk.

| writer    | reader                                                                     |
|-----------|----------------------------------------------------------------------------|
| record    | its fields by name or alias; new ones get their default, others go         |
| enum      | the symbol, or the default of the enum                                     |
| number    | a wider number; string and bytes each other                                |
| type      | the branch of a union with the same full name, else the same type, else    |
|           | the first that reads it                                                    |
| union     | each branch by itself                                                      |

A union with one branch besides null is a column of that branch, any other a struct of its branches.
Avro: specification, *Schema Resolution*.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_extensions.upgrade.compatibility.avro_resolution import is_read, source_field
from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.snapshots import full_name
from savepoint_formats.values import Collections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_extensions.upgrade.compatibility.avro_resolution import AvroSchema

_NAMED = ("record", "enum", "fixed")
_TEXTS = ("string", "bytes")


def resolved(
    column: pa.Array, writer: AvroSchema, reader: AvroSchema, target: pa.DataType, place: str = ""
) -> pa.Array:
    """The column as the reader's schema has it; it has nulls only where the writer's is a union.

    ``target`` is the type of the reader's column. Raises ``SchemaChangeError`` for values that the
    reader can't have.
    """
    if reader.kind == "union":
        return _as_union(column, writer, reader, target, place)
    if writer.kind == "union":
        return _from_union(column, writer, reader, target, place)
    if writer.kind == reader.kind == "record":
        return _record(column, writer, reader, target, place)
    if writer.kind == reader.kind == "enum":
        return _symbols(column, reader, place)
    if writer.kind == reader.kind == "array":
        parts = writer.part(writer.json["items"]), reader.part(reader.json["items"])
        lists = Collections(column)
        elements = resolved(lists.elements, *parts, target.value_type, f"{place}[]")
        return lists.with_elements(elements, target)
    if writer.kind == reader.kind == "map":
        parts = writer.part(writer.json["values"]), reader.part(reader.json["values"])
        item = target.item_type
        return Collections(column).with_items(
            lambda items: resolved(items, *parts, item, f"{place}[]")
        )
    if writer.kind in _TEXTS and reader.kind in _TEXTS:
        return _text(column, target, place)
    return column.cast(target, safe=False)


def _record(
    column: pa.Array, writer: AvroSchema, reader: AvroSchema, target: pa.DataType, place: str
) -> pa.Array:
    written = {part["name"]: part for part in writer.json["fields"]}
    stored = dict(zip(written, column.flatten(), strict=True))
    children = []
    for part, field in zip(reader.json["fields"], target, strict=True):
        where, type_ = f"{place}.{part['name']}".lstrip("."), reader.part(part["type"])
        source = source_field(part, written)
        if source is None:
            children.append(_default(part, type_, field.type, len(column)))
        else:
            old = writer.part(source["type"])
            children.append(resolved(stored[source["name"]], old, type_, field.type, where))
    return pa.StructArray.from_arrays(children, fields=list(target))


def _symbols(column: pa.Array, reader: AvroSchema, place: str) -> pa.Array:
    known = pc.is_in(column, pa.array(reader.json["symbols"], column.type))
    if pc.all(known, min_count=0).as_py():
        return column
    if "default" not in reader.json:
        lost = pc.unique(column.filter(pc.invert(known))).to_pylist()
        raise SchemaChangeError(
            f"{place}: values {', '.join(map(repr, lost))} of the enum are gone"
        )
    return pc.if_else(known, column, pa.scalar(reader.json["default"], column.type))


def _text(column: pa.Array, target: pa.DataType, place: str) -> pa.Array:
    try:
        return column.cast(target)
    except pa.ArrowInvalid as error:
        raise SchemaChangeError(f"{place}: bytes that are no UTF-8 text: {error}") from error


def _branches(union: AvroSchema) -> Iterator[tuple[str, AvroSchema]]:
    """The branches of a union that are not null, with the names of their columns."""
    branches = union.branches
    names = [full_name(it.json) if it.kind in _NAMED else it.kind for it in branches]
    short = [name.rpartition(".")[2] for name in names]
    shown = short if len(set(short)) == len(short) else names
    return (pair for pair in zip(shown, branches, strict=True) if pair[1].kind != "null")


def _stored(column: pa.Array, writer: AvroSchema) -> Iterator[tuple[AvroSchema, pa.Array]]:
    """The types that a writer's values have, each with the column of its values; others are null."""
    if writer.kind != "union":
        yield writer, column
        return
    branches = list(_branches(writer))
    if len(branches) == 1:
        yield branches[0][1], column
        return
    values = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
    for name, branch in branches:
        yield branch, values[name]


def there(column: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """The column whose values that are there are changed."""
    if not column.null_count:
        return change(column)
    is_there = column.is_valid().to_numpy(zero_copy_only=False)
    places = pa.array(np.cumsum(is_there) - 1, mask=~is_there)
    return change(column.filter(pa.array(is_there))).take(places)


def _from_union(
    column: pa.Array, writer: AvroSchema, reader: AvroSchema, target: pa.DataType, place: str
) -> pa.Array:
    if column.null_count and any(branch.kind == "null" for branch in writer.branches):
        raise SchemaChangeError(
            f"{place or 'the value'}: {column.null_count} values are null, which the new schema has not"
        )
    parts = []
    for branch, values in _stored(column, writer):
        if is_read(reader, branch):
            change = partial(resolved, writer=branch, reader=reader, target=target, place=place)
            parts.append(there(values, change))
        elif values.null_count < len(values):
            count = len(values) - values.null_count
            raise SchemaChangeError(
                f"{place}: {count} values of a branch that the new schema lacks"
            )
    return pc.coalesce(*parts) if parts else pa.nulls(len(column), target)


def _as_union(
    column: pa.Array, writer: AvroSchema, reader: AvroSchema, target: pa.DataType, place: str
) -> pa.Array:
    has_null = any(branch.kind == "null" for branch in reader.branches)
    if column.null_count and not has_null:
        raise SchemaChangeError(f"{place}: {column.null_count} values are null")
    branches = list(_branches(reader))
    types = [target] if len(branches) == 1 else [field.type for field in target]
    chosen: list[list[pa.Array]] = [[] for _ in branches]
    for old, values in _stored(column, writer):
        number = _branch_for(old, [branch for _, branch in branches])
        if number is None:
            if values.null_count < len(values) and old.kind != "null":
                raise SchemaChangeError(f"{place}: no branch of the union reads {old.kind}")
            continue
        new, type_ = branches[number][1], types[number]
        change = partial(resolved, writer=old, reader=new, target=type_, place=place)
        chosen[number].append(there(values, change))
    columns = [
        pc.coalesce(*parts) if parts else pa.nulls(len(column), type_)
        for parts, type_ in zip(chosen, types, strict=True)
    ]
    if len(branches) == 1:
        return columns[0]
    is_null = np.all([it.is_null().to_numpy(zero_copy_only=False) for it in columns], axis=0)
    return pa.StructArray.from_arrays(columns, fields=list(target), mask=pa.array(is_null))


def _branch_for(writer: AvroSchema, branches: list[AvroSchema]) -> int | None:
    """The number of the branch that reads a type: the same type first, as Avro has it."""
    readable = [number for number, branch in enumerate(branches) if is_read(branch, writer)]
    same = [number for number in readable if branches[number].kind == writer.kind]
    called = [number for number in same if _is_called_fully(branches[number], writer)]
    return next(iter((*called, *same, *readable)), None)


def _is_called_fully(branch: AvroSchema, writer: AvroSchema) -> bool:
    """Whether it has the full name of the writer's type: several branches may share the short one."""
    return writer.kind in _NAMED and full_name(writer.json) in branch.full_names


def _default(part: Any, reader: AvroSchema, target: pa.DataType, count: int) -> pa.Array:
    """A new field: its default, once per row."""
    if "default" not in part:
        raise SchemaChangeError(f"field {part['name']!r} is new, and has no default")
    try:
        value = _default_value(part["default"], reader)
    except ValueError as error:
        raise SchemaChangeError(
            f"field {part['name']!r} is new, and its default {part['default']!r} is no value of its type"
        ) from error
    return pa.array([value], target).take(pa.array(np.zeros(count, np.int64)))


def _default_value(value: Any, schema: AvroSchema) -> Any:
    """A default of JSON as a value of Arrow; raises ``ValueError`` if the type doesn't have it."""
    match schema.kind, value:
        case "union", _:
            return _union_default(value, schema)
        case "record", dict():
            return {
                part["name"]: _default_value(
                    value.get(part["name"], part.get("default")), schema.part(part["type"])
                )
                for part in schema.json["fields"]
            }
        case "array", list():
            return [_default_value(item, schema.part(schema.json["items"])) for item in value]
        case "map", dict():
            inside = schema.part(schema.json["values"])
            return [(key, _default_value(item, inside)) for key, item in value.items()]
        case "bytes", str():
            return value.encode("latin-1")
        case "fixed", str() if len(value) == schema.json["size"]:
            return value.encode("latin-1")
        case "enum", str() if value in schema.json["symbols"]:
            return value
        case (("int" | "long"), int()) if _fits(value, schema.kind):
            return value
        case (("float" | "double"), int() | float()) if not isinstance(value, bool):
            return float(value)
        case ("string", str()) | ("boolean", bool()) | ("null", None):
            return value
    raise ValueError(f"{value!r} of {schema.kind}")


def _fits(value: int, kind: str) -> bool:
    limit = 1 << (31 if kind == "int" else 63)
    return not isinstance(value, bool) and -limit <= value < limit


def _union_default(value: Any, schema: AvroSchema) -> Any:
    """The default in the first branch that has it; releases before Avro 1.12 know only the first branch."""
    if value is None and any(branch.kind == "null" for branch in schema.branches):
        return None
    branches = list(_branches(schema))
    for name, branch in branches:
        with suppress(ValueError):
            inner = _default_value(value, branch)
            return inner if len(branches) == 1 else {name: inner}
    raise ValueError(f"{value!r} of a union")
