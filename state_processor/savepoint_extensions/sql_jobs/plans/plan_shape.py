"""Shape of the JSON of a plan's node: the fields that are read here.

Each field may be missing or null. Other fields may have any values; only their depth is limited.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DEEPEST = 200
"""Limit of values within values; expressions of a query nest some tens deep."""

_NUMBERS = [int]
_CALLS = [{"name": object, "argList": _NUMBERS, "filterArg": int}]
_JOIN = {"leftKeys": _NUMBERS, "rightKeys": _NUMBERS}
_ROW = {"fields": [{"name": object}]}
_FIELDS = {"fields": [{"index": int}]}
_NODE: dict[str, Any] = {
    "state": [{"index": int}],
    "configuration": {"table.exec.uid.format": str},
    "outputType": _ROW,
    "localAggInputRowType": _ROW,
    "scanTableSource": {
        "table": {"identifier": str, "resolvedTable": {"schema": {"columns": [{"name": object}]}}},
        "abilities": [{"type": object}],
    },
    "dynamicTableSink": {
        "table": {
            "resolvedTable": {
                "schema": {"columns": [{"name": object}], "primaryKey": {"columns": [str]}}
            }
        }
    },
    "projection": [object],
    "grouping": _NUMBERS,
    "partialAggGrouping": _NUMBERS,
    "aggCalls": _CALLS,
    "partialOriginalAggCalls": _CALLS,
    "aggCallNeedRetractions": [object],
    "overSpec": {"groups": [{"aggCalls": _CALLS, "orderBy": _FIELDS}]},
    "windowing": {"window": {"type": object}},
    "joinSpec": _JOIN,
    "intervalJoinSpec": {"joinSpec": _JOIN},
    "orderBy": _FIELDS,
    "sortSpec": _FIELDS,
    "inputUpsertKey": _NUMBERS,
    "inputUniqueKeys": [[_NUMBERS]],
    "joinAttributeMap": {"0": [{"rightFieldIndex": int}]},
    "functionCall": {"operands": [{"partitionKeys": _NUMBERS}]},
    **{
        f"{side}{keys}": [_NUMBERS]
        for side in ("left", "right")
        for keys in ("UpsertKeys", "UniqueKeys")
    },
}
_TEXTS = {"outputType", "localAggInputRowType"}
"""Fields whose value may be a text instead."""


def misshapen(node: Mapping[str, Any]) -> str | None:
    """The first place of a node whose shape is not Flink's; None if there is none."""
    if _is_deep(node):
        return f"values more than {_DEEPEST} deep"
    for name, shape in _NODE.items():
        given = node.get(name)
        if given is None or (isinstance(given, str) and name in _TEXTS):
            continue
        place = _other_shape(given, shape, name)
        if place is not None:
            return place
    return None


def _is_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level:
        depth += 1
        parts = (
            list(holder.values()) if isinstance(holder, Mapping) else holder for holder in level
        )
        level = [part for inner in parts for part in inner if isinstance(part, (Mapping, list))]
        if depth > _DEEPEST:
            return True
    return False


def _other_shape(value: Any, shape: Any, place: str) -> str | None:
    match value, shape:
        case Mapping(), dict():
            there = [name for name in shape if value.get(name) is not None]
            parts = ((value[name], shape[name], f"{place}.{name}") for name in there)
        case list(), [inner]:
            parts = ((part, inner, f"{place}[{at}]") for at, part in enumerate(value))
        case _, type() if isinstance(value, shape):
            return None
        case _:
            return f"{place} is {str(value)[:80]!r}"
    places = (_other_shape(*part) for part in parts)
    return next((wrong for wrong in places if wrong is not None), None)
