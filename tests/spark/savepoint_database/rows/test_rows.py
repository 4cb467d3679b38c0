"""Rows for people: the first ones, and those of a condition."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.sample_rows import Sample, copy_of, file_of

from savepoint_database.rows.rows import first_rows
from savepoint_formats.errors import (
    ColumnNotFoundError,
    ConditionError,
    StateFileNotFoundError,
)
from savepoint_formats.tables.tables import Column

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_formats.scan.scan import TableScan

CURRENCY = Sample("currency-2.2.1-rocksdb-native")
STATES = Sample("states-2.2.1-hashmap-canonical")


def summarize(**options: Any) -> TableScan:
    return CURRENCY.open().scan("summarize.keyed_state", **options)


def stateful(**options: Any) -> TableScan:
    return STATES.open().scan("stateful.keyed_state", **options)


class TestFirstRows:
    @pytest.mark.parametrize("limit", [0, 1, 5, 24, 1000])
    def test_are_as_many_as_wanted(self, limit: int) -> None:
        assert len(first_rows(summarize(), limit)) == min(limit, 24)

    def test_do_without_the_files_of_later_ones(self, tmp_path: Path) -> None:
        savepoint = copy_of(Sample("currency-2.2.1-hashmap-canonical"), tmp_path)
        scan = savepoint.scan("summarize.keyed_state")
        last = file_of(savepoint, "summarize 1: keyed state")
        last.unlink()
        assert len(first_rows(scan, 3)) == 3
        with pytest.raises(StateFileNotFoundError, match=last.name):
            first_rows(scan, 1000)

    def test_have_times_as_texts(self) -> None:
        (row,) = first_rows(stateful(keys=("",), columns=("last_seen", "last_day")), 9)
        assert row == {"last_seen": "2024-03-01 10:10:50.293213000Z", "last_day": "2024-03-01"}


class TestCondition:
    def test_chooses_rows(self) -> None:
        expected = [row for row in CURRENCY.keyed_state("summarize") if row["count"] > 13]
        found = first_rows(summarize(), 1000, "count > 13")
        assert sorted(found, key=lambda row: row["key"]) == expected
        assert len(expected) == 4

    def test_counts_only_what_it_chooses(self) -> None:
        assert len(first_rows(summarize(), 3, "key > 1000")) == 3

    def test_of_no_row(self) -> None:
        assert first_rows(summarize(), 9, "count > 1000") == []

    def test_may_be_about_columns_that_are_not_wanted(self) -> None:
        found = first_rows(summarize(columns=("total",)), 9, "key = 1003")
        assert found == [{"total": 387227.96875}]

    @pytest.mark.parametrize(
        "condition",
        [
            "customer.name = ''",
            "average.f1 = 4 AND key < ' '",
            "list_contains(memos, 'rent; March') AND len(memos) = 2 AND key = ''",
            "by_currency['SEK'] = 771775",
            "last_day = DATE '2024-03-01' AND last_id = 213",
            "last_seen = TIMESTAMPTZ '2024-03-01 10:10:50.293213+00'",
            "recent_memo IS NOT NULL AND reminders = 2 AND key = ''",
            "CAST(balance AS DECIMAL(20, 2)) = -266.25",
        ],
    )
    def test_may_be_about_values_of_every_kind(self, condition: str) -> None:
        assert [row["key"] for row in first_rows(stateful(), 9, condition)] == [""]

    @pytest.mark.parametrize("name", ["$row", "$ROW"])
    def test_beside_a_state_that_is_called_as_its_own_column(self, name: str) -> None:
        scan = summarize()
        key, total, counted = scan.table.columns
        columns = (key, total, Column(name, counted.layout))
        renamed = replace(scan, table=replace(scan.table, columns=columns))
        found = first_rows(renamed, 1000, f'"{name}" > 13')
        assert len(found) == 4
        assert all(row[name] > 13 for row in found)

    def test_on_a_window(self) -> None:
        scan = Sample("windows-1.20.5-rocksdb-native").open().scan("tumbling.window_state")
        (row,) = first_rows(scan, 9, "namespace.end = 1709290800000 AND key = 42")
        assert row["window-contents"]["f3"] == 1549275

    def test_beside_a_column_that_is_always_null(self) -> None:
        scan = Sample("windows-1.20.5-rocksdb-native").open().scan("count_window.window_state")
        (row,) = first_rows(scan, 9, "key.f0 = -2147483648 AND key.f1 = 1")
        assert (row["namespace"], row["count"]) == (None, 3)

    @pytest.mark.parametrize(
        ("condition", "reason"),
        [
            ("totl > 5", "no column 'totl'; there are: key, total, count; did you mean 'total'"),
            ("key IN (SELECT 1003)", "it contains a query"),
            ("EXISTS (FROM read_csv('/etc/passwd'))", "it contains a query"),
            ("key IN (SELECT key FROM scan)", "it contains a query"),
            ("key > 5 LIMIT 1", "Parser Error"),
            ("key > 5, total > 5", "single expression"),
            ("count(*) > 1", "aggregates"),
            ("total >", "syntax error"),
            ("total = 'much'", "Could not convert string 'much'"),
            ("1 = 1; DROP TABLE x", "Parser Error"),
        ],
    )
    def test_that_makes_no_sense_is_an_error_of_one_line(self, condition: str, reason: str) -> None:
        with pytest.raises(ConditionError, match=reason) as raised:
            first_rows(summarize(), 9, condition)
        assert condition in str(raised.value)
        assert "\n" not in str(raised.value)

    def test_of_a_table_without_the_columns_wanted(self) -> None:
        with pytest.raises(ColumnNotFoundError, match="no column 'sum'"):
            first_rows(summarize(columns=("sum",)), 9, "key = 1")
