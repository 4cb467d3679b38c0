"""The JSON Schema of a file of changes, with which editors complete and check it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_extensions.change_files.change_kinds import ChangeKind


def change_schema(kinds: Mapping[str, ChangeKind]) -> dict[str, Any]:
    """The JSON Schema of a list of changes of these kinds."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Changes of a savepoint",
        "description": "A list of changes in their order, for savepoint apply.",
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "properties": {name: _entry(kind) for name, kind in kinds.items()},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        },
    }


def _entry(kind: ChangeKind) -> dict[str, Any]:
    """The schema of an entry, which may be empty if no word is required."""
    schema = kind.schema()
    return schema if "required" in schema else {**schema, "type": ["object", "null"]}
