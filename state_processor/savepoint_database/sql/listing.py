"""The answer to ``SHOW TABLES``: an engine knows but the tables that queries have named so far."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_database.sql.sql_text import NAME

if TYPE_CHECKING:
    from savepoint_database.snapshot.sql_tables import SqlTables

_SHOW_TABLES = re.compile(
    rf"\s*SHOW\s+(?:ALL\s+)?TABLES(?:\s+(?:FROM|IN)\s+(?P<operator>{NAME}))?[\s;]*", re.IGNORECASE
)
_SCHEMA = pa.schema({"name": pa.utf8(), "table": pa.utf8(), "problem": pa.utf8()})


def listing(sql: str, tables: SqlTables) -> pa.Table | None:
    """The tables, if that is what a statement asks for. Reads the headers of all state files.

    Args:
        sql: The statement: ``SHOW TABLES``, ``SHOW ALL TABLES``, ``SHOW TABLES FROM summarize``.
        tables: The tables that there are.

    Returns:
        ``name`` in SQL, full name of the ``table``, and the ``problem`` of one that can't be read.

    Raises:
        TableNotFoundError: The operator is none of the savepoint, or one of several.
    """
    asked = _SHOW_TABLES.fullmatch(sql)
    if asked is None:
        return None
    shown = (
        tables
        if asked["operator"] is None
        else tables.of_operator(tables.single(asked["operator"]))
    )
    rows = [
        {
            "name": table.sql,
            "table": table.full_name,
            "problem": None if table.problem is None else str(table.problem),
        }
        for table in shown
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)
