"""Forty operators with long names: every screen tells them apart at 80 and 120 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.long_names import LONG, NAMES, job_of_long_names
from support.terminal import Terminal

from savepoint_formats.shared_names import without_shared

if TYPE_CHECKING:
    from pathlib import Path

UIDS = [LONG.format(name) for name in NAMES]
SHARED = "begins with com.acme.payments.risk.streaming. and ends with -v2--region-eu-west-1"


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return job_of_long_names(tmp_path_factory.mktemp("long"))


def test_what_all_names_share_is_left_out_and_noted() -> None:
    assert without_shared("operator", UIDS[:3], UIDS) == (
        list(NAMES[:3]),
        f"each operator {SHARED}",
    )


def test_the_table_of_an_operator_stays() -> None:
    tables = [f"{uid}.{table}" for uid in UIDS for table in ("keyed_state", "timers")]
    shown, note = without_shared("table", tables[:2], tables)
    assert shown == [f"{NAMES[0]}.keyed_state", f"{NAMES[0]}.timers"]
    assert note == f"each table {SHARED}"


@pytest.mark.parametrize(
    "names",
    [
        ["orders", "payments", "refunds"],
        # Words are never cut, and two names share something by chance.
        ["reconciliation_a", "reconciliation_b"],
        ["transactions", "transactionslog", "transactionstate"],
        [],
    ],
)
def test_names_that_share_little_stay_whole(names: list[str]) -> None:
    assert without_shared("operator", names, names) == (names, "")


@pytest.mark.parametrize("columns", [80, 120])
def test_describe_shows_the_largest_operators_on_a_screen(savepoint: Path, columns: int) -> None:
    with Terminal(("describe", savepoint), columns=columns) as terminal:
        assert terminal.finish() == 0
    lines = terminal.text.splitlines()
    assert len(lines) < 40
    assert [line.split()[0] for line in lines if " total, count" in line] == list(NAMES[1:10])
    assert "10 of them; the others have 72,600 bytes" in terminal.text
    assert f"each operator {SHARED}" in terminal.text


@pytest.mark.parametrize("command", ["list", "stats", "doctor --target 2.2"])
def test_operators_can_be_told_apart(savepoint: Path, command: str) -> None:
    name, *options = command.split()
    with Terminal((name, savepoint, *options), columns=80) as terminal:
        assert terminal.finish() == 0
    assert f" {SHARED}" in terminal.text
    for operator in NAMES[:1] if name == "stats" else NAMES[:10]:
        assert any(line.startswith(operator) for line in terminal.text.splitlines()), operator


def test_the_types_of_a_table_are_not_cut(savepoint: Path) -> None:
    with Terminal(("schema", savepoint, f"{UIDS[0]}.keyed_state"), columns=80) as terminal:
        assert terminal.finish() == 0
    assert "customer           STRUCT<address: STRUCT<city: STRING, zip: INT>," in terminal.text
    assert "tags: ARRAY<STRING>>" in terminal.text
    assert "…" not in terminal.text
