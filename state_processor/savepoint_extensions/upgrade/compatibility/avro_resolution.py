"""Whether a reader's Avro schema reads what a writer's schema wrote, as Flink asks Avro.

| reader       | writer                                                                          |
|--------------|---------------------------------------------------------------------------------|
| record       | a record of the same name or an alias; fields that it lacks have a default      |
| enum         | one of the same name without other symbols, unless the reader has a default     |
| fixed        | one of the same name and size                                                   |
| long         | int                                                                             |
| float        | int, long                                                                       |
| double       | int, long, float                                                                |
| string, bytes | each other                                                                     |
| union        | a type that one of its branches reads                                           |
| any          | a union if the reader reads each of its branches                                |

Flink: ``AvroSchemaSerializerConfigSnapshot``, Avro: ``SchemaCompatibility``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from savepoint_formats.snapshots import full_name, with_full_names

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROMOTED = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "string": ("bytes",),
    "bytes": ("string",),
}
_NUMBERS = ("int", "long", "float", "double")
_NAMED = ("record", "error", "enum", "fixed")
_MAX_TYPES = 10_000
"""Schemas with more named types are not compared."""


def unwritten_parts(reader: str, writer: str) -> tuple[list[str], list[str]]:
    """The parts that a writer's records lose where they have no class of their own.

    Flink reads such a record by the writer's schema, and hands it to the serializer of the reader's,
    which writes field by field, by position. Both schemas can be understood, and the reader's reads
    the writer's.

    Returns:
        The types that can't be written, and the fields that get the values of others; each with the
        reason.
    """
    by_position = _ByPosition()
    schemas = AvroSchema.of(json.loads(reader)), AvroSchema.of(json.loads(writer))
    failed = list(dict.fromkeys(by_position.unwritten(*schemas, "")))
    return failed, list(dict.fromkeys(by_position.shifted))


def unread_parts(reader: str, writer: str) -> list[str] | None:
    """The types in a writer's schema that a reader's doesn't read, each with the reason.

    None if one of the schemas can't be understood.
    """
    try:
        schemas = AvroSchema.of(json.loads(reader)), AvroSchema.of(json.loads(writer))
        return list(dict.fromkeys(_Comparison().unread(*schemas, "")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def is_read(reader: AvroSchema, writer: AvroSchema) -> bool:
    """Whether a reader's type reads all values of a writer's."""
    return next(_Comparison().unread(reader, writer, ""), None) is None


def source_field(reader_field: Any, written: dict[str, Any]) -> Any:
    """The field of a writer's record that a reader's field gets its values from; None if there is none."""
    names = (reader_field["name"], *reader_field.get("aliases", ()))
    return next((written[name] for name in names if name in written), None)


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A type of a schema with full names: its kind, its JSON, and the named types."""

    kind: str
    json: Any
    named: dict[str, Any]

    @classmethod
    def of(cls, schema: Any) -> AvroSchema:
        named: dict[str, Any] = {}
        whole = with_full_names(schema)
        _collect(whole, named)
        return cls._at(whole, named)

    @classmethod
    def _at(cls, schema: Any, named: dict[str, Any]) -> AvroSchema:
        match schema:
            case list():
                return cls("union", schema, named)
            case str():
                return (
                    cls._at(named[schema], named) if schema in named else cls(schema, schema, named)
                )
            case {"type": str() as kind} if kind in _NAMED:
                return cls("record" if kind == "error" else kind, schema, named)
            case {"type": "array" | "map" as kind}:
                return cls(kind, schema, named)
            case {"type": inside}:
                return cls._at(inside, named)
        raise ValueError(f"not a schema: {schema!r}")

    def part(self, schema: Any) -> AvroSchema:
        """A type inside this one."""
        return self._at(schema, self.named)

    @property
    def branches(self) -> list[AvroSchema]:
        """The types of a union; the type itself otherwise."""
        return [self.part(branch) for branch in self.json] if self.kind == "union" else [self]

    @property
    def name(self) -> str:
        """Name without namespace of a named type."""
        return str(self.json["name"]).rpartition(".")[2]

    @property
    def full_names(self) -> list[str]:
        """The name and the aliases of a named type, with their namespaces."""
        names = (self.json["name"], *self.json.get("aliases", ()))
        return [full_name({**self.json, "name": name}) for name in names]

    def is_called_as(self, writer: AvroSchema) -> bool:
        """Whether it has the name of the writer's type, or an alias that is its full name."""
        return self.name == writer.name or full_name(writer.json) in self.full_names


def _collect(schema: Any, names: dict[str, Any]) -> None:
    """Notes the named types of a schema by their full names."""
    if len(names) > _MAX_TYPES:
        raise ValueError(f"more than {_MAX_TYPES} named types")
    if isinstance(schema, list):
        for branch in schema:
            _collect(branch, names)
    if not isinstance(schema, dict):
        return
    if schema.get("type") in _NAMED:
        names[full_name(schema)] = schema
    for part in (*schema.get("fields", ()), schema.get("items"), schema.get("values")):
        _collect(part, names)
    if isinstance(schema.get("type"), dict | list):
        _collect(schema["type"], names)


@dataclass(slots=True)
class _Comparison:
    """A walk over two schemas; a pair of records that it has met already counts as read."""

    met: set[tuple[int, int]] = field(default_factory=set)
    known: dict[tuple[int, int], bool] = field(default_factory=dict)

    def unread(self, reader: AvroSchema, writer: AvroSchema, place: str) -> Iterator[str]:
        """The reasons why the reader doesn't read all of the writer's type."""
        if writer.kind == "union":
            for branch in writer.branches:
                yield from self.unread(reader, branch, place)
        elif reader.kind == "union":
            if not any(self._reads(branch, writer) for branch in reader.branches):
                yield f"{place}: no branch of the union reads {_text(writer)}"
        elif reader.kind != writer.kind:
            if writer.kind not in _PROMOTED.get(reader.kind, ()):
                yield f"{place}: {_text(writer)} → {_text(reader)}"
        elif reader.kind in _NAMED:
            yield from self._unread_named(reader, writer, place)
        elif reader.kind in ("array", "map"):
            name = "items" if reader.kind == "array" else "values"
            inside = reader.part(reader.json[name]), writer.part(writer.json[name])
            yield from self.unread(*inside, f"{place}[]")

    def _reads(self, reader: AvroSchema, writer: AvroSchema) -> bool:
        pair = id(reader.json), id(writer.json)
        if pair not in self.known:
            inside = _Comparison(set(self.met), self.known)
            self.known[pair] = next(inside.unread(reader, writer, ""), None) is None
        return self.known[pair]

    def _unread_named(self, reader: AvroSchema, writer: AvroSchema, place: str) -> Iterator[str]:
        if not reader.is_called_as(writer):
            yield f"{place}: {writer.name} → {reader.name}"
        elif reader.kind == "fixed":
            if reader.json["size"] != writer.json["size"]:
                yield f"{place}: {writer.json['size']} → {reader.json['size']} bytes"
        elif reader.kind == "enum":
            lost = [each for each in writer.json["symbols"] if each not in reader.json["symbols"]]
            if lost and "default" not in reader.json:
                yield f"{place}: it lacks {', '.join(map(str, lost))}, and has no default"
        elif (pair := (id(reader.json), id(writer.json))) not in self.met:
            self.met.add(pair)
            yield from self._unread_fields(reader, writer, place)

    def _unread_fields(self, reader: AvroSchema, writer: AvroSchema, place: str) -> Iterator[str]:
        written = {part["name"]: part for part in writer.json["fields"]}
        for part in reader.json["fields"]:
            source = source_field(part, written)
            type_ = reader.part(part["type"])
            where = f"{place}.{part['name']}"
            if source is not None:
                yield from self.unread(type_, writer.part(source["type"]), where)
            elif "default" not in part and not _has_default(type_):
                yield f"{where}: it is new, and has no default"


@dataclass(slots=True)
class _ByPosition:
    """A walk over the schema that writes a record, and that of the record.

    Attributes:
        shifted: Fields that get the value of another one.
    """

    shifted: list[str] = field(default_factory=list)
    met: set[tuple[int, int]] = field(default_factory=set)

    def unwritten(self, new: AvroSchema, old: AvroSchema, place: str) -> Iterator[str]:
        """The reasons why the new schema can't write all values of the old one."""
        if old.kind == "union":
            for branch in old.branches:
                yield from self.unwritten(new, branch, place)
        elif new.kind == "union":
            same = [branch for branch in new.branches if _text(branch) == _text(old)]
            if not same:
                yield f"{place}: {_text(old)} is in no branch of the union"
            for branch in same[:1]:
                yield from self.unwritten(branch, old, place)
        elif new.kind != old.kind:
            if old.kind not in _NUMBERS or new.kind not in _NUMBERS:
                yield f"{place}: {_text(old)} → {_text(new)}"
        elif new.kind in ("array", "map"):
            name = "items" if new.kind == "array" else "values"
            inside = new.part(new.json[name]), old.part(old.json[name])
            yield from self.unwritten(*inside, f"{place}[]")
        elif new.kind == "enum":
            lost = [each for each in old.json["symbols"] if each not in new.json["symbols"]]
            if lost:
                yield f"{place}: it lacks {', '.join(map(str, lost))}"
        elif new.kind == "record" and (pair := (id(new.json), id(old.json))) not in self.met:
            self.met.add(pair)
            yield from self._unwritten_fields(new, old, place)

    def _unwritten_fields(self, new: AvroSchema, old: AvroSchema, place: str) -> Iterator[str]:
        stored = old.json["fields"]
        for index, part in enumerate(new.json["fields"]):
            where = f"{place}.{part['name']}"
            if index >= len(stored):
                yield f"{where}: the stored records have no field {index}"
                continue
            source = stored[index]
            if source["name"] not in (part["name"], *part.get("aliases", ())):
                self.shifted.append(f"{where}: it gets {source['name']}")
            yield from self.unwritten(new.part(part["type"]), old.part(source["type"]), where)


def _has_default(schema: AvroSchema) -> bool:
    return schema.kind == "enum" and "default" in schema.json


def _text(schema: AvroSchema) -> str:
    return schema.name if schema.kind in _NAMED else schema.kind
