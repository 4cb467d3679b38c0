"""Queries as trees of DuckDB's parser."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb


def parse_tree(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    """The tree of a query; its member ``error`` says whether DuckDB understands it."""
    # The function of DuckDB's library that lists tables binds them, and fails for unknown ones.
    ((tree,),) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    return json.loads(tree)


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """A node of a tree, and all nodes below it."""
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for child in tree:
            yield from nodes(child)
