"""Keys that a query wants of the tables that it scans.

DuckDB pushes conditions down to scans. Its plan shows them as SQL, and ``sqlglot`` reads that. A
condition that is not understood costs speed only: then all keys are read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

if TYPE_CHECKING:
    from collections.abc import Iterator

Keys = frozenset[Any] | None
"""Keys, possibly more than fulfil a condition, never fewer; None for all."""


def scanned_keys(plan: str, key: str) -> dict[tuple[str, ...], Keys]:
    """Columns that a scan of Arrow data projects -> keys that it lets pass.

    ``plan`` is the answer to ``EXPLAIN (FORMAT json)``, ``key`` the column of keys. Scans that project
    columns of the same names share their keys, since a plan names no tables.
    """
    scanned: dict[tuple[str, ...], Keys] = {}
    for scan in _arrow_scans(json.loads(plan)):
        columns = tuple(_texts(scan.get("Projections")))
        keys: Keys = None
        for text in _texts(scan.get("Filters")):
            keys = _of_both(keys, _filter_keys(text, key))
        scanned[columns] = _of_either(scanned[columns], keys) if columns in scanned else keys
    return scanned


def _arrow_scans(nodes: list[Any]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        details = node["extra_info"]
        if str(details.get("Function", "")).endswith("ARROW_SCAN"):
            yield details
        yield from _arrow_scans(node["children"])


def _texts(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def _filter_keys(text: str, key: str) -> Keys:
    try:
        return _keys(sqlglot.parse_one(text, read="duckdb"), key)
    except SqlglotError:
        return None


def _keys(condition: exp.Expression, key: str) -> Keys:
    match condition:
        case exp.Paren():
            return _keys(condition.this, key)
        case exp.And():
            return _of_both(_keys(condition.left, key), _keys(condition.right, key))
        case exp.Or():
            return _of_either(_keys(condition.left, key), _keys(condition.right, key))
        case exp.EQ() if _is_key(condition.left, key):
            return _constants([condition.right])
        case exp.EQ() if _is_key(condition.right, key):
            return _constants([condition.left])
        case exp.In() if _is_key(condition.this, key) and condition.expressions:
            return _constants(condition.expressions)
        case _:
            return None


def _of_both(first: Keys, second: Keys) -> Keys:
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _of_either(first: Keys, second: Keys) -> Keys:
    return None if first is None or second is None else first | second


def _is_key(node: exp.Expression, key: str) -> bool:
    return isinstance(node, exp.Column) and node.parts[-1].name == key and len(node.parts) == 1


def _constants(nodes: list[exp.Expression]) -> Keys:
    """Constants whose equality is the same to DuckDB and Java, unlike that of floating point."""
    is_plain = all(isinstance(node, exp.Boolean) or node.is_string or node.is_int for node in nodes)
    return frozenset(node.to_py() for node in nodes) if is_plain else None
