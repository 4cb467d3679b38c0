"""Queries of Spark SQL about a savepoint: what they give, and what they make views of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from support.changed_metadata import renamed
from support.many_operators import job_of_many_operators
from support.sample_rows import Sample, copy_of, file_of
from support.sent_statements import statements_of

from savepoint_database.rows.rows import result_rows
from savepoint_formats.errors import FormatError, QueryError, TableFileError, TableNotFoundError
from state_processor import Savepoint
from state_processor.savepoint.spark_database import SparkDatabase

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CURRENCY = Sample("currency-2.2.1-rocksdb-native")
Rows = list[dict[str, Any]]


@pytest.fixture
def currency(spark: SparkSession) -> SparkDatabase:
    return SparkDatabase(Savepoint.load(spark, CURRENCY.path))


def rows_of(database: SparkDatabase, query: str, limit: int = 9) -> tuple[list[str], Rows]:
    found = database.query(query, limit)
    names, rows = result_rows(found.schema, found.batches)
    return names, list(rows)


def test_has_names_and_rows(currency: SparkDatabase) -> None:
    query = "SELECT key, total FROM summarize.keyed_state WHERE key < 0 ORDER BY key"
    assert rows_of(currency, query) == (
        ["key", "total"],
        [{"key": -2147483648, "total": 758887.21875}, {"key": -7, "total": 913265.84375}],
    )


def test_joins_tables(currency: SparkDatabase) -> None:
    query = (
        "SELECT s.key, r.key, r.value FROM summarize.keyed_state s"
        " JOIN currency_converter.rates r ON s.key = r.key ORDER BY s.key"
    )
    assert rows_of(currency, query) == (
        ["key", "key_2", "value"],
        [{"key": 0, "key_2": 0, "value": 11.875}, {"key": 1, "key_2": 1, "value": 13.125}],
    )
    assert currency.query(query).read_all().to_pylist() == rows_of(currency, query)[1]


def test_has_no_more_rows_than_wanted(currency: SparkDatabase) -> None:
    assert len(rows_of(currency, "SELECT * FROM summarize.keyed_state", 3)[1]) == 3


def test_all_rows_come_in_their_order(currency: SparkDatabase) -> None:
    """Tables of several partitions, and of none."""
    query = "SELECT key, total, to_timestamp_ntz('2024-01-01') AS day FROM summarize.keyed_state"
    everything = currency.query(f"{query} ORDER BY total DESC").read_all()
    totals = everything["total"].to_pylist()
    assert totals == sorted(totals, reverse=True)
    assert everything.num_rows == 24
    nothing = currency.query(f"{query} WHERE key = 4711").read_all()
    assert (nothing.num_rows, nothing.schema) == (0, everything.schema)


@pytest.mark.parametrize(
    ("query", "kind", "reason"),
    [
        ("SELEKT 1", QueryError, "a statement of type SELEKT, expected a query"),
        ("SELECT 1 +", QueryError, "Syntax error at or near end of input"),
        (
            "SELECT * FROM summarise.keyed_state",
            TableNotFoundError,
            "no table summarise.keyed_state; there are: .*did you mean 'summarize.keyed_state'",
        ),
        ("SELECT totl FROM summarize.keyed_state", QueryError, "`totl` cannot be resolved"),
        ("SELECT 1 / 0", QueryError, "Division by zero"),
        ("SELECT assert_true(false, 'oops')", QueryError, "oops"),
    ],
)
def test_a_query_that_fails_is_an_error_of_one_line(
    currency: SparkDatabase, query: str, kind: type[Exception], reason: str
) -> None:
    for limit in (9, None):
        with pytest.raises(kind, match=reason) as raised:
            currency.query(query, limit).read_all()
        assert "\n" not in str(raised.value)


def test_a_damaged_savepoint_tells_what_is_damaged(spark: SparkSession, tmp_path: Path) -> None:
    savepoint = copy_of(CURRENCY, tmp_path)
    rates = file_of(savepoint, "currency_converter 0: operator state")
    rates.write_bytes(rates.read_bytes()[:-3])
    database = SparkDatabase(Savepoint.load(spark, savepoint.path))
    for limit in (9, None):
        with pytest.raises(FormatError, match=f"{rates.name} at byte ") as raised:
            database.query("SELECT * FROM currency_converter.rates", limit).read_all()
        assert "operator currency_converter" in str(raised.value)
        assert "\n" not in str(raised.value)


def test_writes_a_directory_which_it_replaces_only_if_told(
    currency: SparkDatabase, tmp_path: Path
) -> None:
    out = str(tmp_path / "rows")
    query = "SELECT * FROM summarize.keyed_state"
    currency.write(query, out, is_overwritten=False)
    assert pq.read_table(out).num_rows == 24
    with pytest.raises(TableFileError, match="rows exists already; write to another directory"):
        currency.write(query, out, is_overwritten=False)
    currency.write(f"{query} WHERE key = -7", out, is_overwritten=True)
    assert pq.read_table(out)["key"].to_pylist() == [-7]


def test_only_what_a_query_names_becomes_a_view_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = SparkDatabase(Savepoint.load(spark, str(job_of_many_operators(tmp_path))))
    sent = statements_of(spark, monkeypatch)
    for query in (
        'SELECT count(*) AS n FROM "currency-summarize".keyed_state',
        "SELECT count(*) AS n FROM currency_summarize.keyed_state",
    ):
        assert rows_of(database, query)[1] == [{"n": 24}]
    (made,) = [text for text in sent if "VIEW" in text]
    assert made.startswith("CREATE OR REPLACE VIEW currency_summarize.keyed_state AS ")


def test_a_name_that_fits_several_operators_is_no_view_of_an_older_savepoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Neither of one operator nor, where it was registered before, of another savepoint."""
    older = renamed(Path(CURRENCY.path), tmp_path / "older", {"summarize": "k-bigdec"})
    assert "k_bigdec.keyed_state" in Savepoint.load(spark, str(older)).register()
    uids = {"summarize": "K-BIGDEC", "currency_converter": "k-bigdec"}
    alike = Savepoint.load(spark, str(renamed(Path(CURRENCY.path), tmp_path / "alike", uids)))
    query = "SELECT count(*) AS n FROM k_bigdec.keyed_state"
    message = r'fits several operators.*"K-BIGDEC" \(K_BIGDEC_bb472623\), "k-bigdec"'
    with pytest.raises(TableNotFoundError, match=message):
        SparkDatabase(alike).query(query)

    Savepoint.load(spark, str(older)).register()
    names = alike.register()
    assert names["K_BIGDEC_bb472623.keyed_state"] == "K-BIGDEC.keyed_state"
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(query)
    assert spark.table("K_BIGDEC_bb472623.keyed_state").count() == 24
    assert "fits several operators" in alike.unread_views()["k_bigdec.keyed_state"]


def test_tables_are_shown_of_which_no_query_was_asked(currency: SparkDatabase) -> None:
    shown = currency.query("SHOW TABLES FROM summarize").read_all().to_pylist()
    assert [row["name"] for row in shown] == ["summarize.keyed_state"]
