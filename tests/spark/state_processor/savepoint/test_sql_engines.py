"""One query, two engines: DuckDB over our scans and Spark give the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.sample_rows import Sample

from savepoint_database.snapshot.sql_tables import SqlTables
from savepoint_database.sql.sql_text import Dialect, rewritten
from state_processor import Savepoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CURRENCY = Sample("currency-2.2.1-rocksdb-canonical")
STATES = Sample("states-2.2.1-hashmap-canonical")
SQL = Sample("sql-2.2.1-hashmap-canonical")
WINDOWS = Sample("windows-2.2.1-rocksdb-native")

QUERIES = [
    (CURRENCY, "SELECT key, total FROM summarize.keyed_state WHERE key IN (-7, 1003) ORDER BY key"),
    (CURRENCY, "SELECT count(*), sum(total), min(count), max(count) FROM summarize.keyed_state"),
    (CURRENCY, "SELECT count % 3 AS rest, avg(total) FROM summarize.keyed_state GROUP BY 1"),
    (
        CURRENCY,
        """
        SELECT s.key, r.value * s.total FROM summarize.keyed_state s
        LEFT JOIN currency_converter.rates r ON s.key = r.key
        """,
    ),
    (
        CURRENCY,
        "SELECT key, rank() OVER (PARTITION BY count ORDER BY total DESC) FROM summarize.keyed_state",
    ),
    (STATES, "SELECT key, customer.name, average.f1, by_currency['SEK'] FROM stateful.keyed_state"),
    (STATES, "SELECT key, recent_memo FROM stateful.keyed_state WHERE recent_memo IS NULL"),
    (
        STATES,
        "SELECT key, last_seen, last_day FROM stateful.keyed_state WHERE last_seen IS NOT NULL",
    ),
    (STATES, "SELECT sum(CAST(balance AS DECIMAL(20, 2))) FROM stateful.keyed_state"),
    (STATES, "SELECT a.key FROM stateful.keyed_state a JOIN stateful.keyed_state b USING (key)"),
    (STATES, "SELECT time_domain, count(*) FROM stateful.timers GROUP BY time_domain"),
    (STATES, "SELECT key, memos, changes FROM stateful.keyed_state WHERE key = ''"),
    (SQL, 'SELECT key.f0, "accState".f1 FROM "4_group-aggregate".keyed_state'),
    (SQL, 'SELECT key, namespace, "window-aggs" FROM "8_window_aggregate".window_state'),
    (WINDOWS, "SELECT key, namespace.start, timestamp FROM tumbling.timers"),
    (WINDOWS, "WITH t AS (SELECT namespace FROM session.window_state) SELECT count(*) FROM t"),
]


@pytest.mark.parametrize(("sample", "query"), QUERIES, ids=lambda one: str(one)[:60])
def test_both_engines_give_the_same_rows(spark: SparkSession, sample: Sample, query: str) -> None:
    savepoint = Savepoint.load(spark, sample.path, uids=sample.uids)
    savepoint.register()
    text = rewritten(
        query.replace('"accState"', "accState").replace('"window-aggs"', "`window-aggs`"),
        SqlTables(savepoint.operators()),
        Dialect.SPARK,
    )
    by_spark = spark.sql(text).toArrow()
    by_duckdb = savepoint.sql(query)
    assert by_duckdb.num_rows > 0
    rows = [
        sorted(repr([str(value) for value in row.values()]) for row in table.to_pylist())
        for table in (
            by_duckdb.rename_columns([f"c{i}" for i in range(by_duckdb.num_columns)]),
            by_spark.rename_columns([f"c{i}" for i in range(by_spark.num_columns)]),
        )
    ]
    assert rows[0] == rows[1]
