"""Names of tables in the text of a query, as both engines take them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from savepoint_database.snapshot.sql_tables import SqlTables
from savepoint_database.sql.sql_text import Dialect, expect_spark_query, rewritten
from savepoint_formats.errors import QueryError
from savepoint_formats.key_groups.operator_id import OperatorId


def operator(uid: str, *tables: str) -> Any:
    """A stand-in for an operator with these tables."""
    named = tuple(SimpleNamespace(name=name) for name in tables)
    id_ = str(OperatorId.from_uid(uid))
    record = SimpleNamespace(name="")
    return SimpleNamespace(
        uid=uid, id=id_, name=uid, record=record, readable_tables=named, unread_tables={}
    )


TABLES = SqlTables(
    cast(
        "Any",
        [
            operator("summarize", "keyed_state"),
            operator("session-window", "window_state", "my list"),
            operator("Join", "a_b", "a-b", "c"),
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
            (str(OperatorId.from_uid("session-window")), "my list", "session_window.my_list"),
            ("JOIN", "C", "Join.c"),
            ("Join", '"a_b"', "Join.a_b_28cb39ea"),
            ("Join", "a-b", "Join.a_b_35c2229e"),
            ("join", "A_B_28CB39EA", "Join.a_b_28cb39ea"),
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
        [
            ("summarize", "timers"),
            ("session+window", "window_state"),
            ("", ""),
            ("x", "y"),
            ("Join", "a_b"),
        ],
    )
    def test_are_not_found_by_others(self, database: str, table: str) -> None:
        assert TABLES.find(database, table) is None

    def test_have_a_name_each(self) -> None:
        assert [table.sql for table in TABLES] == [
            "summarize.keyed_state",
            "session_window.window_state",
            "session_window.my_list",
            "Join.a_b_28cb39ea",
            "Join.a_b_35c2229e",
            "Join.c",
            '"4_join".keyed_state',
            "a_b.c_d",
        ]


class TestAmbiguousNames:
    """No name of several operators or tables is one of them, whichever comes first."""

    TABLES = SqlTables(
        cast("Any", [operator("K-BIGDEC", "keyed_state"), operator("k-bigdec", "timers")])
    )

    @pytest.mark.parametrize("table", ["keyed_state", "timers"])
    @pytest.mark.parametrize("name", ["k_bigdec", "K_BIGDEC", '"K_bigdec"', "`k_bigdec`"])
    def test_are_no_table(self, name: str, table: str) -> None:
        assert self.TABLES.find(name, table) is None
        assert "k_bigdec.timers" not in [one.sql.casefold() for one in self.TABLES]
        error = str(self.TABLES.unknown(name, table))
        assert "fits several operators" in error
        assert '"K-BIGDEC" (K_BIGDEC_bb472623)' in error
        assert '"k-bigdec" (k_bigdec_b2c983f3)' in error

    @pytest.mark.parametrize(
        ("name", "table"),
        [
            ('"K-BIGDEC"', "keyed_state"),
            ("`k-bigdec`", "timers"),
            ("K_bigdec_BB472623", "keyed_state"),
            ("k_bigdec_b2c983f3", "timers"),
        ],
    )
    def test_of_one_operator_alone_are_its_tables(self, name: str, table: str) -> None:
        found = self.TABLES.find(name, table)
        assert found is not None
        assert found.table == table

    def test_of_tables_list_the_tables(self) -> None:
        error = str(TABLES.unknown("join", "A_B"))
        assert "join.A_B fits several tables" in error
        assert '"Join"."a-b" (Join.a_b_35c2229e), "Join"."a_b" (Join.a_b_28cb39ea)' in error

    def test_are_left_to_the_engine_in_a_query(self) -> None:
        for dialect in Dialect:
            assert rewritten("FROM k_bigdec.timers", self.TABLES, dialect) == "FROM k_bigdec.timers"


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
            "WITH",
            "FROM",
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
            ("INSERT", "INSERT"),
        ],
    )
    def test_are_told_from_other_statements(self, sql: str, kind: str) -> None:
        with pytest.raises(QueryError, match=f"of type {kind}, expected a query"):
            expect_spark_query(sql)
