"""Names of tables in the text of a query, and the answer to ``SHOW TABLES``.

A uid may be a word of SQL (``summarize``), or hold characters that Spark's catalog refuses. Names of
tables are therefore found among the tokens of a query and written as its engine takes them.
Everything else stays as it is, and the engine's own parser judges it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot.dialects import DuckDB, Spark
from sqlglot.errors import TokenError
from sqlglot.tokens import Tokenizer, TokenType

from savepoint_database.types.sql_names import double_quoted, quoted, unquoted
from savepoint_formats.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlglot.tokens import Token

    from savepoint_database.snapshot.sql_tables import SqlTable, SqlTables

_LISTED = pa.schema({"name": pa.utf8(), "table": pa.utf8(), "problem": pa.utf8()})


class _DuckDbTokens(DuckDB.Tokenizer):  # type: ignore[misc]  # seen as Any
    IDENTIFIERS = ('"', "`")
    BYTE_STRINGS = (("e'", "'"), ("E'", "'"))
    # After the first word of a command, sqlglot makes no tokens.
    COMMANDS = frozenset[TokenType]()


class _SparkTokens(Spark.Tokenizer):  # type: ignore[misc]  # seen as Any
    COMMANDS = frozenset[TokenType]()


class Dialect(StrEnum):
    """The SQL of an engine."""

    DUCKDB = "duckdb"
    SPARK = "spark"

    def quoted(self, name: str) -> str:
        """A name in this dialect's quotes."""
        return double_quoted(name) if self is Dialect.DUCKDB else quoted(name)


_TOKENIZERS: dict[Dialect, type[Tokenizer]] = {
    Dialect.DUCKDB: _DuckDbTokens,
    Dialect.SPARK: _SparkTokens,
}

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
    """The query with names of tables as the engine takes them; ambiguous names stay as they are.

    Uids may be in double quotes or backquotes, in both dialects.
    """
    texts: list[str] = []
    position = 0
    for start, end, text in _replacements(sql, tables, dialect):
        texts += [sql[position:start], text]
        position = end
    return "".join([*texts, sql[position:]])


def _replacements(sql: str, tables: SqlTables, dialect: Dialect) -> Iterator[tuple[int, int, str]]:
    """Start and end of each name that is written in another way, and its new text."""
    for chain in _chains(sql, dialect):
        rest = chain
        if len(chain) > 1:
            database, name = (_raw(sql, token) for token in chain[:2])
            if table := tables.find(database, name):
                text = f"{dialect.quoted(table.database)}.{dialect.quoted(table.name)}"
                yield chain[0].start, chain[1].end + 1, text
                rest = chain[2:]
            elif database == unquoted(database) and len(tables.operators(database)) == 1:
                # A word of SQL is not a name to the engine's parser.
                yield chain[0].start, chain[0].end + 1, dialect.quoted(database)
                rest = chain[1:]
        for token in rest:
            name = _raw(sql, token)
            if dialect is Dialect.DUCKDB and name.startswith("`"):
                yield token.start, token.end + 1, double_quoted(unquoted(name))


def named_tables(sql: str, tables: SqlTables, dialect: Dialect) -> list[SqlTable]:
    """The tables that a query names, once each."""
    named = (tables.find(*names) for names in _pairs(sql, dialect))
    return list({table.spark_sql: table for table in named if table is not None}.values())


def ambiguous_names(sql: str, tables: SqlTables, dialect: Dialect) -> set[tuple[str, str]]:
    """Names in a query, without quotes, that fit several tables."""
    return {
        (unquoted(operator), unquoted(table))
        for operator, table in _pairs(sql, dialect)
        if tables.tables(operator, table) and tables.find(operator, table) is None
    }


def words(sql: str, dialect: Dialect = Dialect.DUCKDB) -> list[str]:
    """The tokens of a text as they are written; none if a quote in it does not end."""
    return [_raw(sql, token) for token in _tokens(sql, dialect)]


def without_explain(sql: str) -> str:
    """The query behind ``EXPLAIN`` and ``EXPLAIN ANALYZE``."""
    behind = (
        token
        for token in _tokens(sql, Dialect.DUCKDB)
        if token.text.upper() not in ("EXPLAIN", "ANALYZE")
    )
    first = next(behind, None)
    return sql if first is None else sql[first.start :]


def _pairs(sql: str, dialect: Dialect) -> Iterator[tuple[str, str]]:
    """The first two of names with dots between them."""
    for chain in _chains(sql, dialect):
        if len(chain) > 1:
            yield _raw(sql, chain[0]), _raw(sql, chain[1])


def _chains(sql: str, dialect: Dialect) -> Iterator[list[Token]]:
    """Names with dots between them."""
    chain: list[Token] = []
    is_open = False
    for token in _tokens(sql, dialect):
        if token.token_type is TokenType.DOT:
            is_open = True
            continue
        if chain and not is_open:
            yield chain
            chain = []
        is_open = False
        if _is_name(_raw(sql, token), token):
            chain.append(token)
        elif chain:
            yield chain
            chain = []
    if chain:
        yield chain


def _is_name(raw: str, token: Token) -> bool:
    return raw[0] in '"`' or token.token_type is TokenType.VAR or raw.isidentifier()


def _raw(sql: str, token: Token) -> str:
    return sql[token.start : token.end + 1]


def _tokens(sql: str, dialect: Dialect) -> list[Token]:
    try:
        return list(_TOKENIZERS[dialect]().tokenize(sql))
    except TokenError:
        # The engine's parser reports the mistake.
        return []


def expect_spark_query(sql: str) -> None:
    """Raises ``QueryError`` if a statement of Spark's is not a query; Spark is not needed for it."""
    outer = list(_outer_words(sql))
    kind = outer[0] if outer else "nothing"
    if kind in ("WITH", "FROM"):
        changes = (
            word
            for before, word, behind in zip(outer, outer[1:], [*outer[2:], ""], strict=False)
            if word in _CHANGES and (before == ")" or behind in ("INTO", "OVERWRITE"))
        )
        kind = next(changes, kind)
    if kind not in _SPARK_QUERIES:
        raise QueryError(f"a statement of type {kind}, expected a query: SELECT ...")


def _outer_words(sql: str) -> Iterator[str]:
    """The words of a statement outside of parentheses, and the outermost parentheses."""
    depth = 0
    for word in map(str.upper, words(sql, Dialect.SPARK)):
        depth -= word == ")"
        if depth == 0:
            yield word
        depth += word == "("


def listing(sql: str, tables: SqlTables) -> pa.Table | None:
    """The tables, if a statement asks for them; reads the headers of all state files.

    The statement is ``SHOW TABLES``, ``SHOW ALL TABLES`` or ``SHOW TABLES FROM summarize``. The columns
    are ``name`` in SQL, full name of the ``table``, and the ``problem`` of one that can't be read.
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
    return pa.Table.from_pylist(rows, _LISTED)


def _asked(sql: str, tables: SqlTables) -> Iterable[SqlTable] | None:
    written = [word for word in words(sql) if word != ";"]
    match [word.upper() for word in written]:
        case ["SHOW", "TABLES"] | ["SHOW", "ALL", "TABLES"]:
            return tables
        case ["SHOW", "TABLES", "FROM" | "IN", _] | ["SHOW", "ALL", "TABLES", "FROM" | "IN", _]:
            return tables.of_operator(tables.single(written[-1]))
        case _:
            return None
