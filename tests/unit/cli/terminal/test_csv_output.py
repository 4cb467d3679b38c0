"""CSV is CSV alone: each line of stdout is a row of one table."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
from support.commands import result_of

if TYPE_CHECKING:
    from pathlib import Path

STATES = "states-2.2.1-hashmap-canonical"


def tables(text: str) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(text)))
    assert len({len(row) for row in rows}) == 1, text
    return rows


@pytest.mark.parametrize(
    ("words", "column"),
    [
        (["describe"], "uid"),
        (["stats"], "operator"),
        (["files"], "path"),
        (["list"], "table"),
        (["key", "customer-005"], "row"),
        (["show", "stateful.timers"], "timestamp"),
        (["find", "customer-005"], "field"),
    ],
)
def test_each_answer_is_one_table(samples: Path, words: list[str], column: str) -> None:
    command, *arguments = words
    result = result_of(command, samples / STATES, *arguments, "--output", "csv")
    assert result.exit_code == 0
    head, *rows = tables(result.stdout)
    assert column in head
    assert rows


def test_rows_of_several_tables_keep_their_place(samples: Path) -> None:
    result = result_of("key", samples / STATES, "customer-005", "--output", "csv")
    head, *rows = tables(result.stdout)
    assert head == ["operator", "table", "row"]
    assert {row[1] for row in rows} == {"keyed_state", "timers"}
    assert {json.loads(row[2])["key"] for row in rows} == {"customer-005"}


def test_what_csv_leaves_out_is_said_on_stderr(samples: Path) -> None:
    result = result_of("stats", samples / STATES, "--output", "csv")
    assert "--output json has these, too: " in result.stderr
    assert "Timers" in result.stderr
    result = result_of("verify", samples / STATES, "--output", "csv")
    assert result.stdout == ""
    assert "Faults: none" in result.stderr
