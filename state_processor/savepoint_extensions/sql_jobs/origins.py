"""Settings of a plan's node in a form that can be compared: origins in place of numbers of columns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from savepoint_extensions.sql_jobs.plans.compiled_plan import parse_type
from savepoint_formats.snapshots import holds

Origin = Hashable

REFERENCES = {
    "grouping",
    "leftKeys",
    "rightKeys",
    "uniqueKeys",
    "partitionKeys",
    "orderKey",
    "timeAttributeIndex",
    "leftTimeIndex",
    "rightTimeIndex",
    "leftTimeAttributeIndex",
    "rightTimeAttributeIndex",
    "windowStart",
    "windowEnd",
    "sliceEnd",
    "fields",
    "index",
    "argList",
    "filterArg",
    "inputIndex",
    "fieldIndex",
    "partition_key_indices",
    "primaryKeys",
    "inputUpsertKey",
    "leftJoinKeys",
    "rightJoinKeys",
}
"""Names of JSON fields with numbers of columns."""

_KEYS_OF_JOINS = ("leftKeys", "rightKeys", "filterNulls")
_COUNT_OF_COLUMNS = "originalInputFields"
_OF_RIGHT = "right"
"""Beginning of the names of JSON fields with numbers of columns of the second input."""

_UNORDERED = {"uniqueKeys", "partitionKeys", "partition_key_indices", "partition"}
"""Columns of keys, whose order changes no row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that a node emits.

    Attributes:
        row_set: Which rows they are.
        columns: The origin of each column.
        unaggregated: The rows in front of a local aggregation, which calls of the global one name.
    """

    row_set: Hashable
    columns: tuple[Origin, ...]
    unaggregated: Rows | None = None


def frozen(value: Any, inputs: Sequence[Rows], name: str = "") -> Hashable:
    """A value of JSON that can be compared, with origins in place of numbers of columns."""
    match value:
        case {"kind": "INPUT_REF", "inputIndex": int(number)}:
            return origin_of(number, inputs)
        case {"internalName": "$CAST$1", "operands": [{"kind": "INPUT_REF"} as column]} if _widens(
            value
        ):
            return frozen(column, inputs)
        case {"leftKeys": [*_], "rightKeys": [*_]}:
            rest = {key: item for key, item in value.items() if key not in _KEYS_OF_JOINS}
            sides = (of_side(key, value.get(key) or (), inputs) for key in _KEYS_OF_JOINS)
            return frozenset(zip_longest(*sides)), frozen(rest, inputs)
        case Mapping():
            named = sorted(item for item in value.items() if item[0] != _COUNT_OF_COLUMNS)
            return tuple((key, of_side(key, item, inputs)) for key, item in named)
        case list() | tuple():
            items = tuple(frozen(item, inputs, name) for item in value)
            return frozenset(items) if name in _UNORDERED else items
        case int(number) if name in REFERENCES and not isinstance(number, bool):
            return origin_of(number, inputs)
        case _:
            return value  # type: ignore[no-any-return]  # JSON has nothing else


def _widens(cast: Mapping[str, Any]) -> bool:
    """Whether a cast keeps all values: a planner may put it before or behind an operator."""
    wide, narrow = parse_type(cast.get("type")), parse_type(cast["operands"][0].get("type"))
    return wide is not None and narrow is not None and holds(wide, narrow)


def of_side(name: str, value: Any, inputs: Sequence[Rows]) -> Any:
    """The value of a field of JSON; some fields name columns of the second input."""
    is_right = name.startswith(_OF_RIGHT) and len(inputs) > 1
    if name in _UNORDERED and isinstance(value, Mapping):
        return frozenset(frozen(column, inputs, "fields") for column in value.get("fields") or ())
    return frozen(value, inputs[1:] if is_right else inputs, name)


def origin_of(number: int, inputs: Sequence[Rows]) -> Origin:
    """Origin of the column of this number."""
    columns = [column for rows in inputs for column in rows.columns]
    if 0 <= number < len(columns):
        return columns[number]
    # Constants of an OVER window come behind the columns; -1 is none.
    return "none", number - len(columns) if number >= 0 else number
