"""Names and texts as Spark SQL takes them, and queries as trees of DuckDB's parser."""

from __future__ import annotations

import json
import re
from itertools import chain, count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb


def sql_name(name: str) -> str:
    """A name for Spark's catalog; in quotes if SQL needs them."""
    plain = plain_name(name)
    return plain if plain.isidentifier() else quoted(plain)


def plain_name(name: str) -> str:
    """A name of letters, digits and ``_`` for Spark's catalog."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def unused(name: str, names: Iterable[str]) -> str:
    """The name; if ``names`` has it, with the first unused number appended."""
    taken = {other.casefold() for other in names}
    numbered = (f"{name}_{number}" for number in count(2))
    return next(
        candidate for candidate in chain([name], numbered) if candidate.casefold() not in taken
    )


def distinct(names: Iterable[str]) -> list[str]:
    """Names of a query's columns; repeated names get numbers."""
    chosen: list[str] = []
    for name in names:
        candidates = chain([name], (f"{name}_{number}" for number in count(2)))
        chosen.append(next(candidate for candidate in candidates if candidate not in chosen))
    return chosen


def quoted(name: str) -> str:
    """A name in Spark's quotes."""
    return "`" + name.replace("`", "``") + "`"


def unquoted(name: str) -> str:
    """A name without double quotes or backquotes."""
    quote = name[:1]
    return name[1:-1].replace(quote * 2, quote) if quote in ('"', "`") else name


def double_quoted(name: str) -> str:
    """A name in the quotes of the SQL standard."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as a literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


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
