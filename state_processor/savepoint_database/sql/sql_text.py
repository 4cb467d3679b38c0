"""Names of tables in the text of a query.

A uid may be a word of SQL (``summarize``), or hold what names of Spark's catalog do not. So names
of tables are found in the text, and written as an engine takes them. Texts and comments stay as
they are. What is found nowhere is left to the engine's own parser.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from savepoint_database.types.sql_names import double_quoted, quoted, unquoted
from savepoint_formats.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_database.snapshot.sql_tables import SqlTable, SqlTables

NAME = r"""(?:"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^\W\d][\w$]*)"""
"""A name in the text of a query, as an expression."""

_PARTS = re.compile(NAME)
_CHAIN = rf"(?P<names>{NAME}(?:\s*\.\s*{NAME})*)"
_COMMENTS = r"--[^\n]*|/\*.*?\*/"
_ESCAPED = r"'(?:[^'\\]|\\.|'')*'"


class Dialect(Enum):
    """Whose SQL a text is."""

    DUCKDB = re.compile(
        rf"(?:{_COMMENTS}|[eE]{_ESCAPED}|'(?:[^']|'')*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)|{_CHAIN}",
        re.DOTALL,
    )
    SPARK = re.compile(rf"(?:{_COMMENTS}|[rR]?{_ESCAPED})|{_CHAIN}", re.DOTALL)

    def quoted(self, name: str) -> str:
        """A name in this dialect's quotes."""
        return double_quoted(name) if self is Dialect.DUCKDB else quoted(name)


_SPARK_WORDS = re.compile(
    rf"""{_COMMENTS}|[rR]?{_ESCAPED}|"(?:[^"\\]|\\.)*"|`[^`]*`|(?P<word>[^\W\d]\w*|[^\s\w])""",
    re.DOTALL,
)
_SPARK_QUERIES = {
    "(",
    "SELECT",
    "WITH",
    "FROM",
    "VALUES",
    "TABLE",
    "EXPLAIN",
    "DESCRIBE",
    "DESC",
    "SHOW",
}
_CHANGES = {"INSERT", "DELETE", "UPDATE", "MERGE"}


def rewritten(sql: str, tables: SqlTables, dialect: Dialect) -> str:
    """The query with names of tables as the engine takes them; ambiguous ones stay as they are.

    Args:
        sql: The query. Uids are in double quotes or backquotes, in both dialects.
        tables: The tables that there are.
        dialect: Of which engine the text is.
    """

    def replaced(match: re.Match[str]) -> str:
        text = match["names"]
        return match[0] if text is None else _rewritten_names(text, tables, dialect)

    return dialect.value.sub(replaced, sql)


def named_tables(sql: str, tables: SqlTables, dialect: Dialect) -> list[SqlTable]:
    """The tables whose names a query has, once each.

    Arguments are those of ``rewritten``.
    """
    named = (tables.find(*names) for names in _pairs(sql, dialect))
    return list({table.spark_sql: table for table in named if table is not None}.values())


def ambiguous_names(sql: str, tables: SqlTables, dialect: Dialect) -> set[tuple[str, str]]:
    """The names in a query that fit several tables, without quotes.

    Arguments are those of ``rewritten``.
    """
    return {
        (unquoted(operator), unquoted(table))
        for operator, table in _pairs(sql, dialect)
        if tables.tables(operator, table) and tables.find(operator, table) is None
    }


def names_in(text: str) -> list[str]:
    """The names in a text, in their quotes if they have any."""
    return _PARTS.findall(text)


def _pairs(sql: str, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """The first two of names with dots between them."""
    for match in dialect.value.finditer(sql):
        names = names_in(match["names"] or "")
        if len(names) > 1:
            yield names[0], names[1]


def expect_spark_query(sql: str) -> None:
    """Raises ``QueryError`` if a statement of Spark's is no query; its parser is not needed for it."""
    words = list(_outer_words(sql))
    kind = words[0] if words else "nothing"
    if kind in ("WITH", "FROM"):
        changes = (
            word
            for before, word, behind in zip(words[:-1], words[1:], [*words[2:], ""], strict=True)
            if word in _CHANGES and (before == ")" or behind in ("INTO", "OVERWRITE"))
        )
        kind = next(changes, kind)
    if kind not in _SPARK_QUERIES:
        raise QueryError(f"a statement of type {kind}, expected a query: SELECT ...")


def _outer_words(sql: str) -> Iterator[str]:
    """The words of a statement that stand in no parentheses, and the parentheses around those."""
    depth = 0
    for match in _SPARK_WORDS.finditer(sql):
        word = (match["word"] or "").upper()
        depth -= word == ")"
        if word and depth == 0:
            yield word
        depth += word == "("


def _rewritten_names(text: str, tables: SqlTables, dialect: Dialect) -> str:
    parts = list(_PARTS.finditer(text))
    if len(parts) > 1:
        database, name = (part[0] for part in parts[:2])
        if table := tables.find(database, name):
            start = f"{dialect.quoted(table.database)}.{dialect.quoted(table.name)}"
            return start + _as_quoted(text[parts[1].end() :], dialect)
        if database == unquoted(database) and len(tables.operators(database)) == 1:
            # Whatever follows, a word of SQL is no name to the parser.
            return dialect.quoted(database) + _as_quoted(text[parts[0].end() :], dialect)
    return _as_quoted(text, dialect)


def _as_quoted(text: str, dialect: Dialect) -> str:
    """Names in backquotes as DuckDB takes them; in double quotes they may be texts of Spark's."""
    if dialect is not Dialect.DUCKDB or "`" not in text:
        return text
    return _PARTS.sub(
        lambda match: double_quoted(unquoted(match[0])) if match[0][0] == "`" else match[0], text
    )
