"""Names of tables in the text of a query, as both engines take them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from savepoint_formats.errors import QueryError
from state_processor.snapshot.sql_tables import SqlTables
from state_processor.sql.sql_text import Dialect, expect_spark_query, rewritten


def operator(uid: str, *tables: str, hash_: str = "0" * 32) -> Any:
    """What names need of an operator; its tables are those of a savepoint otherwise."""
    named = tuple(SimpleNamespace(name=name) for name in tables)
    return SimpleNamespace(uid=uid, id=hash_, name=uid, tables=named, unread_tables={})


TABLES = SqlTables(
    cast(
        "Any",
        [
            operator("summarize", "keyed_state"),
            operator("session-window", "window_state", "my list"),
            operator("session window", "window_state", hash_="1" * 32),
            operator("4_join", "keyed_state"),
            operator("a.b", "c.d"),
        ],
    )
)


class TestTables:
    @pytest.mark.parametrize(
        ("database", "table", "sql"),
        [
            ("summarize", "keyed_state", "summarize.keyed_state"),
            ("SUMMARIZE", "Keyed_State", "summarize.keyed_state"),
            ("session-window", "window_state", "session_window.window_state"),
            ("session_window", "window_state", "session_window.window_state"),
            ("session window", "window_state", "session_window.window_state_2"),
            ("session_window", "window_state_2", "session_window.window_state_2"),
            ("1" * 32, "window_state_2", "session_window.window_state_2"),
            ("session-window", "my list", "session_window.my_list"),
            ("session-window", "my_list", "session_window.my_list"),
            ("4_join", "keyed_state", '"4_join".keyed_state'),
            ("a.b", "c.d", "a_b.c_d"),
        ],
    )
    def test_are_found_by_each_name(self, database: str, table: str, sql: str) -> None:
        found = TABLES.find(database, table)
        assert found is not None
        assert found.sql == sql

    @pytest.mark.parametrize(
        ("database", "table"),
        [("summarize", "timers"), ("session+window", "window_state"), ("", ""), ("x", "y")],
    )
    def test_are_not_found_by_others(self, database: str, table: str) -> None:
        assert TABLES.find(database, table) is None

    def test_have_a_name_each(self) -> None:
        assert [table.sql for table in TABLES] == [
            "summarize.keyed_state",
            "session_window.window_state",
            "session_window.my_list",
            "session_window.window_state_2",
            '"4_join".keyed_state',
            "a_b.c_d",
        ]


class TestRewritten:
    @pytest.mark.parametrize(
        ("sql", "duckdb"),
        [
            ("FROM summarize.keyed_state", 'FROM "summarize"."keyed_state"'),
            ("FROM summarize . keyed_state s", 'FROM "summarize"."keyed_state" s'),
            ('FROM "session-window".window_state', 'FROM "session_window"."window_state"'),
            ("FROM `session-window`.window_state", 'FROM "session_window"."window_state"'),
            ('FROM "a.b"."c.d"', 'FROM "a_b"."c_d"'),
            ("summarize.keyed_state.total", '"summarize"."keyed_state".total'),
            ("FROM summarize.keyd_state", 'FROM "summarize".keyd_state'),
            ("SELECT `a b`", 'SELECT "a b"'),
            ("'summarize.keyed_state'", "'summarize.keyed_state'"),
            ("'it''s summarize.keyed_state'", "'it''s summarize.keyed_state'"),
            ("'\\' || summarize.keyed_state", '\'\\\' || "summarize"."keyed_state"'),
            ("E'\\' summarize.keyed_state'", "E'\\' summarize.keyed_state'"),
            ("$$summarize.keyed_state$$", "$$summarize.keyed_state$$"),
            ("-- summarize.keyed_state\n1", "-- summarize.keyed_state\n1"),
            ("/* summarize.keyed_state */", "/* summarize.keyed_state */"),
            ("SUMMARIZE t", "SUMMARIZE t"),
            ("1.5e3 + s.total", "1.5e3 + s.total"),
        ],
    )
    def test_for_duckdb(self, sql: str, duckdb: str) -> None:
        assert rewritten(sql, TABLES, Dialect.DUCKDB) == duckdb

    @pytest.mark.parametrize(
        ("sql", "spark"),
        [
            ("FROM summarize.keyed_state", "FROM `summarize`.`keyed_state`"),
            ('FROM "session-window".window_state', "FROM `session_window`.`window_state`"),
            ("FROM `session-window`.window_state", "FROM `session_window`.`window_state`"),
            ("FROM '4_join'", "FROM '4_join'"),
            ('SELECT "a text", `a b`', 'SELECT "a text", `a b`'),
            ("'\\' summarize.keyed_state'", "'\\' summarize.keyed_state'"),
        ],
    )
    def test_for_spark(self, sql: str, spark: str) -> None:
        assert rewritten(sql, TABLES, Dialect.SPARK) == spark


class TestQueriesOfSpark:
    @pytest.mark.parametrize(
        "sql",
        [
            "select 1",
            "-- DROP\n /* SET */ SELECT 'DROP'",
            "(SELECT 1) UNION (SELECT 2)",
            "FROM summarize.keyed_state |> WHERE total > 1",
            "WITH a AS (SELECT 1), b (n) AS (SELECT 2) SELECT * FROM a, b",
            "WITH a AS (SELECT 'x) INSERT INTO') SELECT delete FROM a",
            'WITH a AS (SELECT ") DELETE") SELECT * FROM a',
            "VALUES (1)",
            "EXPLAIN SELECT 1",
            "DESCRIBE summarize.keyed_state",
        ],
    )
    def test_are_taken(self, sql: str) -> None:
        expect_spark_query(sql)

    @pytest.mark.parametrize(
        ("sql", "kind"),
        [
            ("DROP VIEW summarize.keyed_state", "DROP"),
            ("/* SELECT */ insert into t SELECT 1", "INSERT"),
            ("SET spark.sql.ansi.enabled = false", "SET"),
            ("CREATE TABLE t AS SELECT 1", "CREATE"),
            ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "INSERT"),
            ("WITH a (n) AS (SELECT 1), b AS (SELECT 2) DELETE FROM t", "DELETE"),
            ("FROM a INSERT OVERWRITE t SELECT *", "INSERT"),
            ("-- nothing", "nothing"),
        ],
    )
    def test_are_told_from_other_statements(self, sql: str, kind: str) -> None:
        with pytest.raises(QueryError, match=f"of type {kind}, expected a query"):
            expect_spark_query(sql)
