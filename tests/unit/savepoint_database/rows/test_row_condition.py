"""Conditions on rows: which columns they are about, and that they choose rows and do nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from savepoint_database.rows.row_condition import RowCondition
from savepoint_formats.errors import ConditionError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = pa.record_batch(
    {
        "Key": ["a", "b", None],
        "total": [1, 20, None],
        "place": [{"city": "Köln", "key": 1}, None, {"city": None, "key": 3}],
        "memos": [["x"], [], ["x", "yy"]],
    }
)


def chosen(text: str, rows: pa.RecordBatch = ROWS) -> list[str | None]:
    keys: list[str | None] = RowCondition.of(text, rows.schema).filtered(rows)["Key"].to_pylist()
    return keys


@pytest.mark.parametrize(
    ("text", "columns", "keys"),
    [
        ("total > 10", ("total",), ["b"]),
        ("NOT total > 10 OR TOTAL IS NULL", ("total",), ["a", None]),
        ("place.city = 'Köln'", ("place",), ["a"]),
        ("place.key = 3 -- of a place", ("Key", "place"), [None]),
        ("list_contains(memos, 'x') AND \"key\" IS NULL", ("Key", "memos"), [None]),
        ("len(list_filter(memos, lambda memo: len(memo) > 1)) = 1", ("memos",), [None]),
        ("COLUMNS('t.*') = 20", tuple(ROWS.schema.names), ["b"]),
        ("1 = 1", (), ["a", "b", None]),
        ("1 = 0", (), []),
    ],
)
def test_chooses_rows_by_the_columns_that_it_is_about(
    text: str, columns: tuple[str, ...], keys: list[str | None]
) -> None:
    assert RowCondition.of(text, ROWS.schema).columns == columns
    assert chosen(text) == keys


def test_means_times_in_utc() -> None:
    times = pa.array([0, 86_399_000, 86_400_000], pa.timestamp("ms", "UTC"))
    rows = pa.record_batch({"Key": ["a", "b", "c"], "seen": times})
    assert chosen("seen < '1970-01-02'", rows) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("totl > 5", "there is no column 'totl'; there are: Key, total, place, memos; did you"),
        ("place.zip = 1", 'Could not find key "zip"'),
        ("total IN (SELECT 20)", "it contains a query, expected a condition on columns"),
        (
            "EXISTS (FROM read_text('{file}'))",
            "it contains a query, expected a condition on columns",
        ),
        ("total IN (FROM ROWS)", "it contains a query, expected a condition on columns"),
        ("total > 5 LIMIT 1", "modifiers"),
        ("total > 5; DROP TABLE x", "Parser Error"),
        ("total > 5; COPY (SELECT 1) TO '{file}'", "Parser Error"),
        ("total > 5, total > 6", "single expression"),
        ("sum(total) > 5", "aggregates"),
        ("total > ?", "parameter"),
        ("getenv('HOME') = 'x'", "getenv does not exist"),
        ("", "Parser Error|single expression"),
    ],
)
def test_that_is_none_is_refused_in_one_line(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "kept.txt"
    file.write_text("as it was", encoding="utf-8")
    with pytest.raises(ConditionError, match=reason) as raised:
        RowCondition.of(text.format(file=file), ROWS.schema)
    assert "\n" not in str(raised.value)
    assert file.read_text(encoding="utf-8") == "as it was"


def test_that_fails_on_a_value_says_so() -> None:
    condition = RowCondition.of("CAST(Key AS INT) > 5", ROWS.schema)
    with pytest.raises(ConditionError, match="Could not convert string 'a' to INT32"):
        condition.filtered(ROWS)
