"""Rows on the command line, with the times that state with TTL was accessed last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from support.commands import lines
from support.sample_rows import SAMPLES

STATES = SAMPLES / "states-2.2.1-hashmap-canonical"
ROWS = ("show", STATES, "stateful.keyed_state", "-n", "99", "--with-times")
COLUMNS = ("--column", "recent_memo", "--column", "recent_memos", "--column", "recent_by_currency")


def test_times_of_access_are_dates_or_numbers() -> None:
    dated, raw = lines(*ROWS, *COLUMNS), lines(*ROWS, *COLUMNS, "--times", "raw")
    assert [_with_numbers(row) for row in dated] == raw
    assert any(row["recent_memo"] for row in raw)


def test_other_columns_are_as_they_are() -> None:
    columns = ("--column", "key", "--column", "last_seen", "--column", "average")
    assert lines(*ROWS, *columns) == lines(*ROWS, *columns, "--times", "raw")


def test_conditions_are_about_what_is_shown() -> None:
    where = "recent_memo.timestamp > {}"
    dated = lines(*ROWS, *COLUMNS, "--where", where.format("TIMESTAMPTZ '2000-01-01 00:00Z'"))
    raw = lines(*ROWS, *COLUMNS, "--times", "raw", "--where", where.format(946684800000))
    assert [_with_numbers(row) for row in dated] == raw
    assert len(raw) > 0


def _with_numbers(value: object) -> object:
    """A value whose times of access are milliseconds."""
    if isinstance(value, dict):
        numbers = {name: _with_numbers(one) for name, one in value.items()}
        if isinstance(value.get("timestamp"), str):
            time = datetime.fromisoformat(value["timestamp"])
            numbers["timestamp"] = (time - datetime.fromtimestamp(0, UTC)) // timedelta(
                milliseconds=1
            )
        return numbers
    return [_with_numbers(one) for one in value] if isinstance(value, list) else value
