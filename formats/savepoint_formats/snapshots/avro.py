"""Snapshots of Flink's Avro serializer, which hold a schema.

| version          | body                            |
|------------------|---------------------------------|
| 1 (up to 1.7)    | utf schema                      |
| 2 (1.8 to 1.11)  | utf runtime class, utf schema   |
| 3 (from 1.12 on) | both as ``StringValue``         |

Values are not in Avro's binary encoding: numbers have a fixed size, strings an i32 size.

A name without a dot belongs to the namespace around it, so a change of one name may change others.
Therefore a schema in which a name changes is written with full names.

Flink: ``AvroSerializerSnapshot``, ``DataOutputEncoder``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.codecs import UTF
from savepoint_formats.layout import IndexedUnion, Layout, Opaque, Struct
from savepoint_formats.snapshots.fields import STRING
from savepoint_formats.snapshots.snapshot import SnapshotKind, TypeSerializerSnapshot, register

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.snapshots.fields import Field

_BODIES: dict[int, tuple[Field, ...]] = {
    1: (("schema", UTF),),
    2: (("runtime_class", UTF), ("schema", UTF)),
    3: (("runtime_class", STRING), ("schema", STRING)),
}
_PRIMITIVES: dict[str, Layout] = {
    "null": layouts.Marker(None),
    "boolean": layouts.Boolean(),
    "int": layouts.Int(),
    "long": layouts.Long(),
    "float": layouts.Float(),
    "double": layouts.Double(),
    "string": layouts.Utf8(),
    "bytes": layouts.Bytes(),
}
_NAMED_TYPES = ("record", "enum", "fixed", "error")
_PROPERTIES = ("java-class", "java-key-class", "java-element-class")
_MAX_DEPTH = 50
# A type that is named twice is laid out twice: a short schema can mean a vast layout.
_MAX_TYPES = 10_000


def _avro(snapshot: TypeSerializerSnapshot) -> Layout:
    try:
        return layouts.varying(
            _SchemaReader().layout(with_full_names(json.loads(snapshot["schema"] or "")), ())
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"its Avro schema can't be read: {error!r}"
        return Opaque(snapshot.class_name, reason, is_damage=True)


class _SchemaReader:
    """Turns a schema into a layout; remembers named types because later ones refer to them."""

    def __init__(self) -> None:
        self._named: dict[str, dict[str, Any]] = {}
        self._types = 0

    def layout(self, schema: Any, path: tuple[str, ...]) -> Layout:
        """The layout of a schema with full names, inside the named types ``path``."""
        self._types += 1
        if self._types > _MAX_TYPES:
            raise ValueError(f"more than {_MAX_TYPES} types")
        match schema:
            case str() if schema in _PRIMITIVES:
                return _PRIMITIVES[schema]
            case str() if schema in path or len(path) > _MAX_DEPTH:
                return Opaque(schema, "an Avro record that contains itself")
            case str():
                return self._named_type(self._named[schema], path)
            case list():
                return self._union(schema, path)
            case {"type": "array", "items": items}:
                return layouts.BlockRepeated(self.layout(items, path))
            case {"type": "map", "values": values}:
                return layouts.BlockMap(self.layout(values, path))
            case {"type": "record" | "error" | "enum" | "fixed", "name": str()}:
                return self._named_type(schema, path)
            case {"type": inner_schema}:
                return self.layout(inner_schema, path)
        raise ValueError(f"no schema: {schema!r}")

    def _named_type(self, schema: dict[str, Any], path: tuple[str, ...]) -> Layout:
        full = full_name(schema)
        self._named[full] = schema
        match schema["type"]:
            case "enum":
                return layouts.Enum(full, tuple(map(str, schema["symbols"])))
            case "fixed" if int(schema["size"]) < 0:
                raise ValueError(f"a size of {schema['size']}")
            case "fixed":
                return layouts.FixedBytes(int(schema["size"]))
        names = tuple(part["name"] for part in schema["fields"])
        fields = (self.layout(part["type"], (*path, full)) for part in schema["fields"])
        return Struct(names, tuple(fields))

    def _union(self, branches: list[Any], path: tuple[str, ...]) -> Layout:
        names = tuple(map(_branch_name, branches))
        short = tuple(name.rpartition(".")[2] for name in names)
        parts = tuple(self.layout(branch, path) for branch in branches)
        return IndexedUnion(short if len(set(short)) == len(short) else names, parts)


def full_name(schema: dict[str, Any], namespace: str = "") -> str:
    """The name of a named type with its namespace, by default that of the types around it."""
    name = schema["name"]
    if "." in name:
        return str(name).lstrip(".")
    return f"{schema.get('namespace', namespace) or ''}.{name}".lstrip(".")


def with_full_names(schema: Any) -> Any:
    """The schema whose named types have a namespace each, and are referred to by full names."""
    return AvroNames(lambda name: name).schema(schema, "")


def _branch_name(schema: Any) -> str:
    match schema:
        case str():
            return schema
        case {"name": str()}:
            return full_name(schema)
        case {"type": inner_schema}:
            return _branch_name(inner_schema)
    return "union"


@dataclass(frozen=True, slots=True)
class AvroNames:
    """A walk that changes names in a schema; ``known`` has the full names of types so far."""

    change: Callable[[str], str]
    known: set[str] = field(default_factory=set)

    def of(self, schema: str) -> str:
        """The changed schema; the same text if no name changes."""
        try:
            before = json.loads(schema)
            plain = with_full_names(before)
            changed = self.schema(before, "")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return schema
        return schema if changed == plain else json.dumps(changed, ensure_ascii=False)

    def schema(self, schema: Any, namespace: str) -> Any:
        """The changed JSON of a schema inside a namespace."""
        match schema:
            case str():
                return self._reference(schema, namespace)
            case list():
                return [self.schema(branch, namespace) for branch in schema]
            case {"type": kind} if kind in _NAMED_TYPES:
                return self._definition(schema, namespace)
            case dict():
                return self._with_properties(schema) | {
                    part: self.schema(schema[part], namespace)
                    for part in ("type", "items", "values")
                    if part in schema
                }
            case _:
                return schema

    def _reference(self, name: str, namespace: str) -> str:
        if name in _PRIMITIVES or name in _NAMED_TYPES or name in ("array", "map"):
            return name
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        return self.change(full if full in self.known else name)

    def _definition(self, schema: dict[str, Any], namespace: str) -> dict[str, Any]:
        full = full_name(schema, namespace)
        around = full.rpartition(".")[0]
        self.known.add(full)
        made = self._with_properties(schema)
        made["namespace"], _, made["name"] = self.change(full).rpartition(".")
        if "fields" in schema:
            made["fields"] = [
                {**self._with_properties(field), "type": self.schema(field["type"], around)}
                for field in schema["fields"]
            ]
        return made

    def _with_properties(self, schema: dict[str, Any]) -> dict[str, Any]:
        named = {key: self.change(schema[key]) for key in _PROPERTIES if key in schema}
        return {**schema, **named}


register(
    {
        "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot": SnapshotKind(
            _avro, lambda version: _BODIES[version]
        )
    }
)
