"""Queries list all tables, also those that can't be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.sample_rows import Sample, copy_of, file_of

from savepoint_formats.errors import TableNotFoundError
from savepoint_formats.savepoint_warnings import UnreadTableWarning

if TYPE_CHECKING:
    from pathlib import Path

    from state_processor import Savepoint

CURRENCY = Sample("currency-2.2.1-hashmap-canonical")
TABLES = {
    "currency_converter.rates",
    "rates_source.SourceReaderState",
    "rates_source.coordinator_state",
    "summarize.keyed_state",
    "transactions_source.SourceReaderState",
    "transactions_source.coordinator_state",
}


@pytest.fixture
def damaged(tmp_path: Path) -> Savepoint:
    """A savepoint that has lost the files of a table."""
    savepoint = copy_of(CURRENCY, tmp_path)
    for subtask in (0, 1):
        file_of(savepoint, f"summarize {subtask}: keyed state").unlink()
    return savepoint


@pytest.mark.parametrize("query", ["SHOW TABLES", " show all  tables;"])
def test_all_tables_are_shown(query: str) -> None:
    rows = CURRENCY.open().sql(query).to_pylist()
    assert {row["name"] for row in rows} == TABLES
    assert {row["table"] for row in rows} == TABLES
    assert {row["problem"] for row in rows} == {None}


def test_those_of_an_operator_are_shown() -> None:
    rows = CURRENCY.open().sql("SHOW TABLES FROM Summarize").to_pylist()
    assert [row["name"] for row in rows] == ["summarize.keyed_state"]
    with pytest.raises(TableNotFoundError, match="no table sumarize"):
        CURRENCY.open().sql("SHOW TABLES IN sumarize")


def test_those_that_cannot_be_read_tell_why(damaged: Savepoint) -> None:
    rows = damaged.sql("SHOW TABLES").to_pylist()
    (problem,) = [row["problem"] for row in rows if row["problem"]]
    assert "does not exist" in problem
    assert {row["name"] for row in rows} == TABLES


@pytest.mark.parametrize(
    "query",
    [
        "SELECT table_schema || '.' || table_name FROM information_schema.tables",
        "SELECT schema || '.' || name FROM (SHOW ALL TABLES)",
        "SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal",
    ],
)
def test_catalogs_have_all_tables_and_warn_of_those_that_cannot_be_read(
    damaged: Savepoint, query: str
) -> None:
    found = {name for row in CURRENCY.open().sql(query).to_pylist() for name in row.values()}
    assert found >= TABLES
    with pytest.warns(UnreadTableWarning, match=r"summarize\.keyed_state could not be read"):
        rows = damaged.sql(query).to_pylist()
    found = {name for row in rows for name in row.values()}
    assert found >= TABLES - {"summarize.keyed_state"}
    assert "summarize.keyed_state" not in found
