"""The answer to ``SHOW TABLES``; an engine knows only the tables that queries have named so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_database.sql.sql_text import words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_database.snapshot.sql_tables import SqlTable, SqlTables

_SCHEMA = pa.schema({"name": pa.utf8(), "table": pa.utf8(), "problem": pa.utf8()})


def listing(sql: str, tables: SqlTables) -> pa.Table | None:
    """The tables, if a statement asks for them; reads the headers of all state files.

    The statement is ``SHOW TABLES``, ``SHOW ALL TABLES`` or ``SHOW TABLES FROM summarize``. The columns
    are ``name`` in SQL, full name of the ``table``, and the ``problem`` of one that can't be read.

    Raises:
        TableNotFoundError: The savepoint has no such operator, or several.
    """
    shown = _asked(sql, tables)
    if shown is None:
        return None
    rows = [
        {
            "name": table.sql,
            "table": table.full_name,
            "problem": None if table.problem is None else str(table.problem),
        }
        for table in shown
    ]
    return pa.Table.from_pylist(rows, _SCHEMA)


def _asked(sql: str, tables: SqlTables) -> Iterable[SqlTable] | None:
    written = [word for word in words(sql) if word != ";"]
    match [word.upper() for word in written]:
        case ["SHOW", "TABLES"] | ["SHOW", "ALL", "TABLES"]:
            return tables
        case ["SHOW", "TABLES", "FROM" | "IN", _] | ["SHOW", "ALL", "TABLES", "FROM" | "IN", _]:
            return tables.of_operator(tables.single(written[-1]))
        case _:
            return None
