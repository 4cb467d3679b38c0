"""Names of Java classes in an Avro schema: its named types, and some properties.

A name without a dot belongs to the namespace around it, so that a change of one name may change
others. Therefore a schema in which a name changes is written with all names in full.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_NAMED_TYPES = ("record", "enum", "fixed", "error")
_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "string", "bytes")
_PROPERTIES = ("java-class", "java-key-class", "java-element-class")


@dataclass(frozen=True, slots=True)
class AvroNames:
    """A walk that changes names in a schema; ``known`` has the full names of types so far."""

    change: Callable[[str], str]
    known: set[str] = field(default_factory=set)

    def of(self, schema: str) -> str:
        """The changed schema; the same text if no name changes."""
        try:
            before = json.loads(schema)
            plain = AvroNames(lambda name: name)._schema(before, "")
            changed = self._schema(before, "")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return schema
        return schema if changed == plain else json.dumps(changed, ensure_ascii=False)

    def _schema(self, schema: Any, namespace: str) -> Any:
        match schema:
            case str():
                return self._reference(schema, namespace)
            case list():
                return [self._schema(branch, namespace) for branch in schema]
            case {"type": kind} if kind in _NAMED_TYPES:
                return self._definition(schema, namespace)
            case dict():
                return self._with_properties(schema) | {
                    part: self._schema(schema[part], namespace)
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
        name = schema["name"]
        around = name.rpartition(".")[0] or schema.get("namespace", namespace) or ""
        full = f"{around}.{name.rpartition('.')[2]}".lstrip(".")
        self.known.add(full)
        made = self._with_properties(schema)
        made["namespace"], _, made["name"] = self.change(full).rpartition(".")
        if "fields" in schema:
            made["fields"] = [
                {**self._with_properties(field), "type": self._schema(field["type"], around)}
                for field in schema["fields"]
            ]
        return made

    def _with_properties(self, schema: dict[str, Any]) -> dict[str, Any]:
        named = {key: self.change(schema[key]) for key in _PROPERTIES if key in schema}
        return {**schema, **named}
